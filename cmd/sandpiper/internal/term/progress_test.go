package term

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProgressElsewhereThanOnATerminalSaysEachThingOnce(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	p.Show(bot.Progress{Task: "1", State: bot.TaskQueued, Position: 2})
	for range 3 {
		p.Show(bot.Progress{Task: "1", State: bot.TaskRunning, Now: "reading \x1b[31msales.csv"})
	}
	p.Show(bot.Progress{Task: "1", State: bot.TaskRunning, Todo: []bot.TodoItem{{Text: "read", Done: true}, {Text: "plot"}}})
	p.Note("a\nnote")
	p.Close()
	want := "sandpiper: waiting: 2 tasks stand before this one\nsandpiper: reading sales.csv …\nsandpiper: done: read\nsandpiper: a note\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestProgressOnATerminalReplacesItsBlockAndLeavesNothing(t *testing.T) {
	var out bytes.Buffer
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := &Progress{to: &out, width: 30, now: func() time.Time { return start.Add(67 * time.Second) }, seen: map[string]bool{}}
	p.Show(bot.Progress{
		Task: "1", State: bot.TaskRunning, Started: start, Now: "a step with \x1b]0;evil\x07 a name far too long for the width",
		Todo: []bot.TodoItem{{Text: "read", Done: true}, {Text: "plot"}},
	})
	p.Show(bot.Progress{Task: "1", State: bot.TaskRunning, Started: start, Now: "next"})
	p.erase()
	text := out.String()
	for _, want := range []string{"1:07  a step", "✓ read", "· plot", "\x1b[3A\r", "1:07  next", "\x1b[1A\r\x1b[J"} {
		if !strings.Contains(text, want) {
			t.Errorf("output lacks %q:\n%q", want, text)
		}
	}
	if strings.Contains(text, "evil") || !strings.HasSuffix(text, "\x1b[1A\r\x1b[J") {
		t.Errorf("output is %q", text)
	}
}

func TestTableIsAlignedAndClean(t *testing.T) {
	var out bytes.Buffer
	table := Table{Header: []string{"NAME", "TITLE"}}
	table.Add("日本", "two\nlines")
	table.Add("a", "\x1b[2Jb")
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "NAME  TITLE\n日本  two lines\na     b\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
