package inert_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Weekly sales, 2026-11-30":      "Weekly sales, 2026-11-30",
		" two\n lines\u2028and\ttabs ":  "two lines and tabs",
		"hidden \u202eorder\u200b":      "hidden order",
		"@octocat, @org/team":           "@\u2060octocat, @\u2060org/team",
		"fixes #12, octo/sales#3 GH-45": "fixes #\u206012, octo/sales#\u20603 GH-\u206045",
		"C# and item-5 stay":            "C# and item-5 stay",
		"\x00\x1b[31m":                  "[31m",
		"   \n":                         "",
		"Продажи <b>за</b> `неделю`":    "Продажи <b>за</b> `неделю`",
	} {
		if got := inert.Title(text); got != want {
			t.Errorf("Title(%q) = %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{strings.Repeat("я", 300), strings.Repeat("@", 300), "x\xff" + strings.Repeat("ю", 255)} {
		if got := inert.Title(text); utf8.RuneCountInString(got) > 256 || !utf8.ValidString(got) {
			t.Errorf("Title of %d characters has %d", utf8.RuneCountInString(text), utf8.RuneCountInString(got))
		}
	}
}
