package slack_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// until looks at cond again and again until it is true.
func (w *whole) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain:\n%s", what, w.Transcript(w.channel))
		}
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
	press(bob, "Retry", "Cancelled.") // in vain: it is Ada's, and stays hers to do again
	w.until(t, "the second refusal", func() bool { return len(w.Ephemerals(w.channel, bob)) == 2 })
	press(w.ada, "Retry", "Cancelled.")
	press(w.ada, "Retry", "Cancelled.")
	w.until(t, "the remark on the second press", func() bool {
		got := w.Ephemerals(w.channel, w.ada)
		return len(got) > 0 && strings.Contains(got[len(got)-1].Text, "being done again already")
	})
	question, _ := w.last(root, "Which year?")
	w.until(t, "the question", func() (ok bool) { question, ok = w.last(root, "Which year?"); return ok })
	w.Press(w.ada, w.channel, question.TS, "2025")
	w.Press(w.ada, w.channel, question.TS, "2025") // a double click
	w.until(t, "the answer", func() bool { _, ok := w.last(root, "The year is 2025"); return ok })
	w.until(t, "the choice in place of the buttons", func() bool {
		m, ok := w.last(root, "You chose: 2025")
		return ok && len(m.Buttons()) == 0
	})
	w.until(t, "acknowledgements", func() bool { a := w.Acks(); return a.Acked == a.Sent })
	tasks, err := w.core.Tasks(t.Context(), bot.TaskQuery{})
	if err != nil || len(tasks) != 2 || runs != 3 {
		t.Errorf("%d tasks, %d runs (%v), want 2 and 3", len(tasks), runs, err)
	}
}

// TestRefusedRequestsAreNotSeen has a guest ask: only Slack can tell that it is
// one, so the request is taken, and refused later. The sign that we took it does
// not stay, whichever of the two comes first.
func TestRefusedRequestsAreNotSeen(t *testing.T) {
	for name, slow := range map[string]string{"the sign first": "users.info", "the refusal first": "reactions.add"} {
		t.Run(name, func(t *testing.T) {
			w := assemble(t, slacktest.Options{Unlimited: true}, func(context.Context, bot.Run) (bot.Outcome, error) {
				return bot.Outcome{State: bot.TaskDone, Message: "It is done."}, nil
			}, nil)
			defer w.stop()
			w.until(t, "a connection", func() bool { return w.Sockets() > 0 })
			defer w.Inject(slacktest.Fault{Method: slow, Kind: slacktest.Slow, Wait: 500 * time.Millisecond})()
			guest := w.AddUser(slacktest.User{Name: "Gus", Guest: true})
			ts := w.Say(slacktest.Post{Channel: w.channel, User: guest, Text: slacktest.Mention + " report"})
			w.until(t, "the refusal", func() bool { return len(w.Ephemerals(w.channel, guest)) == 1 })
			w.until(t, "the sign's going", func() bool {
				set, gone := false, false
				for _, call := range w.Calls("") {
					set = set || call.Method == "reactions.add" && call.Result == "ok"
					gone = gone || set && call.Method == "reactions.remove" && call.Result == "ok"
				}
				m, _ := w.Message(w.channel, ts)
				return gone && len(m.Reactions) == 0
			})
		})
	}
}

// TestOffers shows which buttons stand under which ending: none under that of a
// deleted request, and no way to look at programs where none ran.
func TestOffers(t *testing.T) {
	started := make(chan string, 4)
	w := assemble(t, slacktest.Options{Unlimited: true}, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		text := run.Task.Event.Text
		if text == "code" || text == "failing code" {
			data, err := json.Marshal(bot.Program{Language: "python", Code: "1", Verdict: "ok"})
			if err != nil {
				return bot.Outcome{}, err
			}
			if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepProgram, Agent: "lead", Data: data}); err != nil {
				return bot.Outcome{}, err
			}
		}
		started <- text
		switch text {
		case "delete me", "cancel me":
			<-ctx.Done()
			return bot.Outcome{}, context.Cause(ctx)
		case "failing code":
			return bot.Outcome{}, &bot.TaskError{Kind: "input", Message: "It failed."}
		}
		return bot.Outcome{State: bot.TaskDone, Message: "It is done."}, nil
	}, nil)
	defer w.stop()
	w.until(t, "a connection", func() bool { return w.Sockets() > 0 })
	for _, c := range []struct {
		text, answer string
		then         func(root, asked string)
		want         []string
	}{
		{text: "code", answer: "It is done.", want: []string{"Retry", "Show code"}},
		{text: "no code", answer: "It is done.", want: []string{"Retry"}},
		{text: "failing code", answer: "It failed.", want: []string{"Retry", "Show code"}},
		{text: "cancel me", answer: "Cancelled.", want: []string{"Retry"}, then: func(root, _ string) {
			w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " cancel", Thread: root})
		}},
		{text: "delete me", answer: "Cancelled.", then: func(_, asked string) { w.Delete(w.channel, asked) }},
	} {
		root := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: "a talk among people"})
		asked := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " " + c.text, Thread: root})
		<-started
		if c.then != nil {
			c.then(root, asked)
		}
		var m slacktest.Message
		w.until(t, "the answer to "+c.text, func() (ok bool) { m, ok = w.last(root, c.answer); return ok })
		if got := m.Buttons(); !slices.Equal(got, c.want) {
			t.Errorf("%s: buttons %q, want %q", c.text, got, c.want)
		}
	}

	// The thread goes with the message that began it: nothing is told outside.
	root := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " delete me"})
	<-started
	w.until(t, "the progress", func() bool { return len(w.Replies(w.channel, root)) == 1 })
	w.Delete(w.channel, root)
	w.until(t, "its end", func() bool { _, ok := w.last(root, "🛑 Cancelled"); return ok })
	w.until(t, "the end of the task", func() bool {
		tasks, err := w.core.Tasks(t.Context(), bot.TaskQuery{Limit: 1})
		return err == nil && len(tasks) == 1 && tasks[0].State == bot.TaskCancelled
	})
	if m, ok := w.last(root, "Cancelled."); ok {
		t.Errorf("told of the end of a deleted request: %s", m.Shown())
	}
}
