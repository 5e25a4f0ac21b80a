package github_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// A file that was missing and is there by the time the task is done again is
// read then.
func TestRetryLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper use data/later.csv")
	w.idle(l)
	if got := w.one(n); !strings.Contains(got.Body, "there is no data/later.csv") {
		t.Fatalf("answer %q", got.Body)
	}
	w.hub.Commit(repo, "main", "ann", "c", map[string]string{"data/later.csv": "l\n1\n"})
	w.hub.Comment(repo, n, "ann", "@sandpiper /retry")
	w.idle(l)
	got := w.answers(n)
	if len(got) != 2 || !strings.Contains(got[1].Body, "`l/1/`") || strings.Contains(got[1].Body, "there is no") {
		t.Errorf("answers %+v", got)
	}
}

// The answer to a question may name files like the request did.
func TestAnswerNamesFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{runner: func(_ context.Context, run bot.Run) (bot.Outcome, error) {
		if len(run.Task.Answers) == 0 {
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which file?"}}, nil
		}
		message := "Read:"
		for _, in := range run.Task.Inputs {
			message += " " + in.Name + " " + in.Problem
		}
		return bot.Outcome{State: bot.TaskDone, Message: message}, nil
	}})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper sum up data/a.csv")
	w.until("it asks", func() bool {
		got := w.answers(n)
		return len(got) == 1 && strings.Contains(got[0].Body, "Which file?")
	})
	w.hub.Comment(repo, n, "ann", "@sandpiper data/b.csv and data/none.csv")
	w.idle(l)
	got := w.answers(n)
	if body := got[len(got)-1].Body; strings.Count(body, "a.csv ") != 1 || !strings.Contains(body, "b.csv ") || !strings.Contains(body, "there is no data/none.csv") {
		t.Errorf("answer %q", body)
	}
}
