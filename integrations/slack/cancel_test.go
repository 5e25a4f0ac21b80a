package slack_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// until waits for cond in a workspace.
func (w *whole) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.Await(ctx, cond); err != nil {
		t.Fatalf("waited for %s in vain:\n%s", what, w.Transcript(w.channel))
	}
}

// last is the newest reply in a thread that shows one of the texts.
func (w *whole) last(root string, texts ...string) (slacktest.Message, bool) {
	for _, m := range slices.Backward(w.Replies(w.channel, root)) {
		for _, text := range texts {
			if strings.Contains(m.Shown(), text) {
				return m, true
			}
		}
	}
	return slacktest.Message{}, false
}

// TestCancelRetryAndChoose presses each button with the real core behind it:
// Cancel ends a running task, Retry runs it again, a choice answers a question.
func TestCancelRetryAndChoose(t *testing.T) {
	runs := 0
	w := assemble(t, slacktest.Options{Unlimited: true}, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		runs++
		switch {
		case runs == 1: // is cancelled
			<-ctx.Done()
			return bot.Outcome{}, context.Cause(ctx)
		case len(run.Task.Answers) == 0:
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which year?", Choices: []string{"2024", "2025"}}}, nil
		}
		return bot.Outcome{State: bot.TaskDone, Message: "The year is " + run.Task.Answers[0].Text}, nil
	}, nil)
	defer w.stop()
	bob := w.AddUser(slacktest.User{Name: "Bob"})
	w.until(t, "a connection", func() bool { return w.Sockets() > 0 })
	root := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " report"})
	press := func(user, label string, texts ...string) {
		t.Helper()
		w.until(t, label, func() bool {
			m, ok := w.last(root, texts...)
			return ok && slices.Contains(m.Buttons(), label)
		})
		m, _ := w.last(root, texts...)
		w.Press(user, w.channel, m.TS, label)
	}
	press(bob, "Cancel", "⏳")
	w.until(t, "the refusal to somebody else", func() bool { return len(w.Ephemerals(w.channel, bob)) == 1 })
	press(w.ada, "Cancel", "⏳")
	w.until(t, "the end", func() bool { _, ok := w.last(root, "🛑 Cancelled"); return ok })
	press(w.ada, "Retry", "Cancelled.")
	press(w.ada, "2025", "Which year?")
	w.until(t, "the answer", func() bool { _, ok := w.last(root, "The year is 2025"); return ok })
	w.until(t, "the choice in place of the buttons", func() bool {
		m, ok := w.last(root, "You chose: 2025")
		return ok && len(m.Buttons()) == 0
	})
}
