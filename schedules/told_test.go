package schedules

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestTold shows what a chat confirms: Markdown that says what, of which files,
// by which policies and when.
func TestTold(t *testing.T) {
	s := Schedule{
		Name: "weekly", Owner: bot.Actor{ID: "a"}, Cron: "0 9 * * 1", Zone: "Europe/Berlin", Words: "every Monday\nat 9",
		Request: "Revenue " + strings.Repeat("x", 300), Inputs: []bot.InputRef{{Name: "sales-*.csv"}},
		To: []bot.Origin{{Adapter: "github", Place: "github:octo/sales", Title: "Sales, {{date}}"}},
	}
	line, err := s.Normalize()
	if err != nil {
		t.Fatal(err)
	}
	want := "**weekly** `0 9 * * 1` (Europe/Berlin)\n\n- What: Revenue " + strings.Repeat("x", 191) + `…
- Understood from: every Monday at 9
- File: ` + "`sales-*.csv`" + `
- Missed runs: the latest made up for once within 6h
- If the run before still goes on: the new one is skipped
- Each answer opens an issue in octo/sales: Sales, 2026-11-30

The next three times:

- Mon 30 Nov 2026 09:00 CET
- Mon 7 Dec 2026 09:00 CET
- Mon 14 Dec 2026 09:00 CET
`
	now := time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
	if got := s.Told(line, now); got != want {
		t.Errorf("told as\n%s\nwant\n%s", got, want)
	}
	s.Overlap, s.Skill = OverlapQueue, "weekly-sales"
	if got := s.Told(line, now); !strings.Contains(got, "the new one waits for it") || !strings.Contains(got, "- What: the report `weekly-sales`\n") {
		t.Errorf("told as\n%s", got)
	}
}
