package schedules

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// A title's words are those of the due time in the schedule's zone, and all else
// in it stays as it was written.
func TestTitle(t *testing.T) {
	due := time.Date(2026, time.December, 31, 23, 30, 0, 0, time.UTC) // 2027 in Berlin
	for template, want := range map[string]string{
		"Weekly sales, {{date}}":                "Weekly sales, 2027-01-01",
		"{{name}} {{ TIME }}, {{week}}":         "weekly 00:30, 2026-W53",
		"{{month}} {{quarter}} {{year}}":        "2027-01 2027-Q1 2027",
		"plain $name %s {date}":                 "plain $name %s {date}",
		"{{date}}{{date}}":                      "2027-01-012027-01-01",
		"Продажи за {{week}} (@all) `x` #1 {x}": "Продажи за 2026-W53 (@all) `x` #1 {x}",
	} {
		s := Schedule{Name: "weekly", Zone: "Europe/Berlin", To: []bot.Origin{{Place: "p"}, {Place: "r", Title: template}}}
		if err := s.checkTitle(template); err != nil {
			t.Errorf("%q: %v", template, err)
		}
		to := s.places(due)
		if to[1].Title != want || to[0].Title != "" {
			t.Errorf("%q became %q, want %q", template, to[1].Title, want)
		}
		if s.To[1].Title != template {
			t.Errorf("the schedule's own template became %q", s.To[1].Title)
		}
	}
}

// Nothing but the few words is a template: what Go's would obey is refused.
func TestTitleIsNoProgram(t *testing.T) {
	for _, template := range []string{
		"{{.}}", "{{printf \"%s\" .}}", "{{date | html}}", "{{range .}}x{{end}}", "{{template \"x\"}}", "{{/* x */}}", "{{env \"HOME\"}}", "{{}}",
		"{{date", "date}}", "{{ {{date}} }}", "{{dates}}", "two\nlines", "nul\x00", "   ", "{{date}}" + strings.Repeat("x", 191),
	} {
		s := Schedule{
			Name: "weekly", Owner: bot.Actor{ID: "a"}, Cron: "0 9 * * 1", Zone: "UTC", Request: "r",
			To: []bot.Origin{{Adapter: "github", Place: "github:o/r", Title: template}},
		}
		if _, err := s.Normalize(); err == nil || !strings.Contains(err.Error(), "title") {
			t.Errorf("%q: %v", template, err)
		}
	}
}

// A confirmation shows the title that the next answer will have.
func TestTitleIsConfirmed(t *testing.T) {
	s := Schedule{
		Name: "weekly", Owner: bot.Actor{ID: "a"}, Cron: "0 9 * * 1", Zone: "Europe/Berlin", Request: "r",
		To: []bot.Origin{{Adapter: "github", Place: "github:octo/sales", Title: "Sales, {{date}}"}},
	}
	line, err := s.Normalize()
	if err != nil {
		t.Fatal(err)
	}
	text := s.Describe(line, time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC))
	if !strings.Contains(text, "each answer opens an issue in octo/sales: Sales, 2026-11-30\n") {
		t.Errorf("described as\n%s", text)
	}
}
