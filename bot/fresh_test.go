package bot_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestFreshInput shows that an input which must be new is missing while it is
// the last good run's, and counts again after a run that did not end well.
func TestFreshInput(t *testing.T) {
	fail := false
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if fail {
			return bot.Outcome{}, &bot.TaskError{Kind: "sandbox", Message: "no engine"}
		}
		return echo(ctx, run)
	})
	file := "week1"
	w.platform.fetch = func(_ bot.InputRef, to io.Writer) (bot.Fetched, error) {
		_, err := io.WriteString(to, file)
		return bot.Fetched{Name: file + ".csv", Source: "file/" + file}, err
	}
	run := func(key string, dry bool) bot.Input {
		t.Helper()
		e := request("weekly", "ada", "report")
		e.Key, e.Options.DryRun = key, dry
		e.Inputs = []bot.InputRef{{Name: "*.csv", Ref: "newest", Fresh: true}}
		ticket, err := w.Submit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return w.settle(ticket.Task).Inputs[0]
	}
	if in := run("0", true); in.Problem != "" {
		t.Errorf("a dry run: %+v", in)
	}
	if in := run("1", false); in.Problem != "" || in.Name != "week1.csv" {
		t.Errorf("after a dry run: %+v", in)
	}
	if in := run("2", false); !strings.Contains(in.Problem, "no new one has come since") || !strings.Contains(in.Problem, "week1.csv") || in.Blob != "" {
		t.Errorf("the same file: %+v", in)
	}
	file, fail = "week2", true
	if in := run("3", false); in.Problem != "" {
		t.Errorf("another file: %+v", in)
	}
	fail = false
	if in := run("4", false); in.Problem != "" || in.Name != "week2.csv" {
		t.Errorf("a file whose run failed: %+v", in)
	}
	w.platform.fetch = func(bot.InputRef, io.Writer) (bot.Fetched, error) {
		return bot.Fetched{}, &bot.InputError{Name: "*.csv", Reason: "no file of this name"}
	}
	if in := run("5", false); !strings.Contains(in.Problem, "no file") || in.Name == "" {
		t.Errorf("a missing file: %+v", in)
	}
}
