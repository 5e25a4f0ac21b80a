package schedules

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		if !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

func TestPhrasesAreUnderstood(t *testing.T) {
	rows := lines(t, "testdata/phrases.tsv")
	if len(rows) < 150 {
		t.Fatalf("only %d phrases", len(rows))
	}
	for _, row := range rows {
		cells := append(strings.Split(row, "\t"), "", "", "")
		got, err := Understand(cells[0])
		if err != nil {
			t.Errorf("%q: %v", cells[0], err)
			continue
		}
		if want := (Phrase{Cron: cells[1], Rest: cells[2], Zone: cells[3]}); got != want {
			t.Errorf("%q is %+v, want %+v", cells[0], got, want)
		}
		if _, err := ParseLine(got.Cron, "UTC"); err != nil {
			t.Errorf("%q: %v", cells[0], err)
		}
	}
}

func TestWhatCannotBeDecidedIsAskedBack(t *testing.T) {
	rows := lines(t, "testdata/askback.txt")
	if len(rows) < 30 {
		t.Fatalf("only %d phrases", len(rows))
	}
	for _, row := range rows {
		got, err := Understand(row)
		var ask *AskBackError
		if !errors.As(err, &ask) {
			t.Errorf("%q was understood as %+v, %v", row, got, err)
			continue
		}
		if !strings.Contains(ask.Question, "?") && !strings.Contains(ask.Question, "cron line") {
			t.Errorf("%q: %q asks nothing", row, ask.Question)
		}
	}
}

func FuzzUnderstand(f *testing.F) {
	for _, s := range []string{"every Monday at 9", "каждый день в 9 утра", "every 1st , and 15th", "at @ : .", "every every every"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Understand(text)
		if err != nil {
			return
		}
		if _, err := ParseLine(p.Cron, "UTC"); err != nil && !errors.Is(err, ErrNever) {
			t.Errorf("%q gave the line %q: %v", text, p.Cron, err)
		}
		if utf8.ValidString(text) && !utf8.ValidString(p.Rest) {
			t.Errorf("%q left %q", text, p.Rest)
		}
	})
}
