package inert

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTitle is the most that GitHub takes as an issue's title, in characters.
const maxTitle = 256

// Title makes a title of text: one line of at most 256 characters without
// control or formatting characters. A title is no Markdown, so that nothing in
// it can be escaped: what would name a person or another issue is parted by an
// invisible word joiner. "" is the title of text that says nothing.
func Title(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}), " ")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text))
	var out strings.Builder
	before := ' '
	for _, r := range text {
		// @name, #1, GH-1 and owner/repo@sha lose their meaning.
		if before == '@' || before == '#' && unicode.IsDigit(r) || before == '-' && unicode.IsDigit(r) && endsInGH(out.String()) {
			out.WriteRune('\u2060')
		}
		out.WriteRune(r)
		before = r
	}
	title := out.String()
	if utf8.RuneCountInString(title) > maxTitle {
		title = string([]rune(title)[:maxTitle-1]) + "…"
	}
	return title
}

func endsInGH(text string) bool {
	return len(text) >= 3 && strings.EqualFold(text[len(text)-3:], "gh-")
}
