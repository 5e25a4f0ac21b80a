package github_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// A life may end when its answer stands and the last reaction is not given yet:
// the one that finds the answer gives it, once, and only where one is due.
func TestFoundAnswerIsFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome  bot.Outcome
		reaction string
	}{
		"done":   {bot.Outcome{State: bot.TaskDone, Message: "Here it is."}, "rocket"},
		"failed": {bot.Outcome{State: bot.TaskFailed, Error: &bot.TaskError{Kind: "internal", Message: "It broke."}}, "confused"},
		"asked":  {bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Net or gross?"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			w := newWorld(t, setup{runner: func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
				run.Report(bot.Progress{Now: "working"})
				select {
				case <-release:
				case <-ctx.Done():
					return bot.Outcome{}, context.Cause(ctx)
				}
				return c.outcome, nil
			}})
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			w.hub.Comment(repo, n, "ann", "@sandpiper work")
			w.until("it works", func() bool { return len(w.answers(n)) == 1 })
			w.hub.Settle()
			// GitHub takes no reactions until that life is over.
			w.hub.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/comments/{id}/reactions", Kind: githubtest.Answer, Status: 502, Times: 1000})
			close(release)
			w.until("the answer stands", func() bool { return sentAnswer(t, l) != nil })
			l.stop()
			w.hub.ClearFaults()
			want := []string{"sandpiper-bot:eyes"}
			if got := w.hub.Comments(repo, n)[0].Reactions; !slices.Equal(got, want) {
				t.Fatalf("reactions %v before, want %v", got, want)
			}
			l = w.start()
			for range 2 {
				if _, found, err := l.adapter.Find(context.Background(), *sentAnswer(t, l)); err != nil || !found {
					t.Fatalf("found %v, %v", found, err)
				}
			}
			if c.reaction != "" {
				want = append(want, "sandpiper-bot:"+c.reaction)
			}
			if got := w.hub.Comments(repo, n)[0].Reactions; !slices.Equal(got, want) {
				t.Errorf("reactions %v, want %v", got, want)
			}
			w.one(n)
		})
	}
}

// sentAnswer is the answer or the question of the only task, once it was sent.
func sentAnswer(t *testing.T, l *life) *bot.Delivery {
	t.Helper()
	tasks, err := l.store.Tasks(context.Background(), everything())
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	owed, err := l.store.Deliveries(context.Background(), tasks[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range owed {
		if d := &owed[i]; d.Status == bot.DeliverySent && (d.Kind == bot.DeliverAnswer || d.Kind == bot.DeliverQuestion) {
			return d
		}
	}
	return nil
}

// What a lost receipt said of files that nobody was told of, the one that is
// found says too.
func TestFoundFilesNameTheLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper work")
	w.idle(l)
	for name, told := range map[string]bool{"none": false, "stands": true} {
		d := *sentAnswer(t, l)
		d.ID, d.Kind, d.Files = "01FILES"+name, bot.DeliverFiles, []bot.Artifact{{Name: "gone.csv", MediaType: "text/csv", Size: 3, Blob: "none"}}
		d.Task = "01TASK" + name
		if told { // an answer that can name them
			answer := d
			answer.ID, answer.Kind, answer.Files = "01ANSWER", bot.DeliverAnswer, nil
			if _, err := l.adapter.Send(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
		}
		sent, err := l.adapter.Send(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		got, found, err := l.adapter.Find(t.Context(), d)
		if err != nil || !found || !slices.Equal(got.Undelivered, sent.Undelivered) || len(got.Undelivered) != 1 || got.Told != sent.Told || got.Told != told {
			t.Errorf("%s: sent %+v, found %v %+v, %v", name, sent, found, got, err)
		}
	}
}
