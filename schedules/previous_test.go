package schedules

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

type answered []bot.Task

func (a answered) Tasks(context.Context, bot.TaskQuery) ([]bot.Task, error) { return a, nil }

type oneBlob struct{ bot.Blobs }

func (oneBlob) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	if sha == "gone" {
		return nil, bot.ErrNotFound
	}
	return struct {
		*strings.Reader
		io.Closer
	}{strings.NewReader("content of " + sha), io.NopCloser(nil)}, nil
}

func TestPreviousOutput(t *testing.T) {
	run := func(id string, dry bool, files ...bot.Artifact) bot.Task {
		return bot.Task{ID: id, State: bot.TaskDone, Event: bot.Event{Key: id, Options: bot.Options{DryRun: dry}}, Outcome: &bot.Outcome{Message: "answer of " + id, Files: files}}
	}
	last := run("last", false, bot.Artifact{Name: "state.csv", Blob: "s1"}, bot.Artifact{Name: "old.csv", Blob: "gone"})
	tasks := answered{run("now", false), run("dry", true, bot.Artifact{Name: "state.csv", Blob: "dry"}), last, run("older", false)}
	for pattern, want := range map[string]string{
		"state.csv": "content of s1", "st*.csv": "content of s1", "answer.md": "answer of last", "none.csv": "made no such file", "old.csv": "kept no longer",
	} {
		in, err := PreviousInput(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		fetched, err := NewPrevious(tasks, oneBlob{}).Fetch(t.Context(), bot.Event{Key: "now"}, in, &got)
		var final *bot.InputError
		if errors.As(err, &final) {
			got.WriteString(final.Reason)
		} else if err != nil || fetched.Source == "" {
			t.Errorf("%s: %+v, %v", pattern, fetched, err)
		}
		if !strings.Contains(got.String(), want) {
			t.Errorf("%s gave %q, want %q", pattern, got.String(), want)
		}
	}
	in, _ := PreviousInput("state.csv")
	var final *bot.InputError
	if _, err := NewPrevious(answered{run("now", false)}, oneBlob{}).Fetch(t.Context(), bot.Event{Key: "now"}, in, io.Discard); !errors.As(err, &final) || !strings.Contains(final.Reason, "the first") {
		t.Errorf("the first run: %v", err)
	}
	if _, err := PreviousInput("[x"); err == nil {
		t.Error("a bad pattern was taken")
	}
}
