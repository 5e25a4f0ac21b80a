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

// TestChangesWhileAway edits and deletes requests while no socket is up. On
// connect a deleted one that runs or waits is cancelled, an ended one forgotten;
// an edit replaces what has not begun, and is offered for what has.
func TestChangesWhileAway(t *testing.T) {
	started := make(chan string, 10)
	w := assemble(t, slacktest.Options{Unlimited: true}, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		started <- run.Task.Event.Text
		switch text := run.Task.Event.Text; {
		case strings.HasPrefix(text, "hold"):
			<-ctx.Done()
			return bot.Outcome{}, context.Cause(ctx)
		case strings.HasPrefix(text, "ask"):
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which year?"}}, nil
		}
		return bot.Outcome{State: bot.TaskDone, Message: "answer to " + run.Task.Event.Text}, nil
	}, func(o *bot.OrchestratorOptions) { o.Limits = bot.Limits{Running: 1, RunningPerActor: 1} })
	defer w.stop()
	w.until(t, "a connection", func() bool { return w.Sockets() > 0 })
	root := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: "a talk among people"})
	say := func(text, thread string) string {
		return w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " " + text, Thread: thread})
	}
	state := func(text string) bot.TaskState {
		tasks, err := w.core.Tasks(t.Context(), bot.TaskQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if task.Event.Text == text {
				return task.State
			}
		}
		return ""
	}
	var roots []string
	for _, text := range []string{"done, deleted", "done, edited", "ask, deleted"} {
		roots = append(roots, say(text, ""))
		want := bot.TaskDone
		if strings.HasPrefix(text, "ask") {
			want = bot.TaskWaiting
		}
		<-started
		w.until(t, text, func() bool { return state(text) == want })
	}
	held := say("hold", root)
	<-started
	deleted, edited, kept := say("queued, deleted", ""), say("queued, edited", ""), say("queued, kept", "")
	w.until(t, "all to be queued", func() bool {
		return state("queued, deleted") == bot.TaskQueued && state("queued, edited") == bot.TaskQueued && state("queued, kept") == bot.TaskQueued
	})

	w.SetDown(true)
	w.DropSockets()
	for _, ts := range []string{roots[0], roots[2], held, deleted} {
		w.Delete(w.channel, ts)
	}
	w.Edit(w.channel, roots[1], slacktest.Mention+" done, and edited")
	w.Edit(w.channel, edited, slacktest.Mention+" by month")
	w.SetDown(false)

	w.until(t, "the answers", func() bool { return state("by month") == bot.TaskDone && state("queued, kept") == bot.TaskDone })
	w.until(t, "the offer", func() bool {
		return slices.ContainsFunc(w.Ephemerals(w.channel, w.ada), func(m slacktest.Message) bool { return slices.Contains(m.Buttons(), "Run edited") })
	})
	w.until(t, "what was deleted to be forgotten", func() bool {
		tasks, err := w.core.Tasks(t.Context(), bot.TaskQuery{})
		gone := map[bot.TaskState]int{}
		for _, task := range tasks {
			if task.Forgotten() && task.Event.Text == "" {
				gone[task.State]++
			}
		}
		return err == nil && gone[bot.TaskCancelled] == 3 && gone[bot.TaskDone] == 1
	})
	if got := len(w.Replies(w.channel, kept)); got < 1 {
		t.Errorf("%d replies to what was kept", got)
	}
	// Another connection tells nobody anything again.
	before := len(w.Ephemerals(w.channel, w.ada))
	w.Disconnect("refresh_requested")
	w.DropSockets()
	looked := len(w.Calls("conversations.history"))
	w.until(t, "another round", func() bool { return w.Sockets() > 0 && len(w.Calls("conversations.history")) > looked })
	last := say("last", "")
	w.until(t, "life to go on", func() bool { _, ok := w.last(last, "answer to last"); return ok })
	if got := len(w.Ephemerals(w.channel, w.ada)); got != before {
		t.Errorf("%d remarks after another connection, before it %d", got, before)
	}
}

// TestSlashCommand shows that a request by slash command is committed,
// acknowledged, and only then given its thread: once, in its order, whatever
// becomes of the calls, and however often Slack sends it.
func TestSlashCommand(t *testing.T) {
	asked := func(w *world) (out []string) {
		for _, m := range w.Messages(w.sales) {
			if m.User == slacktest.BotUser && m.OnlyFor == "" {
				out = append(out, m.Shown())
			}
		}
		return out
	}
	for name, fault := range map[string]slacktest.Fault{
		"slow":      {Kind: slacktest.Slow, Wait: time.Second},
		"lost":      {Kind: slacktest.Lose},
		"limited":   {Kind: slacktest.Limit, RetryAfter: 1},
		"an outage": {Kind: slacktest.Status, Code: 503},
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, setup{})
			fault.Method = "chat.postMessage"
			w.Inject(fault)
			w.Slash(w.ada, w.sales, "/sandpiper", "first <!channel>")
			w.wait(t, "the acknowledgement", func() bool { return w.Acks().Acked == 1 })
			if took := w.Acks().Times[0]; took > 900*time.Millisecond {
				t.Errorf("acknowledged after %v", took)
			}
			w.Slash(w.ada, w.sales, "/sandpiper", "second")
			w.wait(t, "both events", func() bool { return len(w.core.all()) == 2 })
			if got := asked(w); len(got) != 2 || !strings.HasSuffix(got[0], "asked: first `@channel`") || !strings.HasSuffix(got[1], "asked: second") {
				t.Errorf("posted %q", got)
			}
			for i, e := range w.core.all() {
				m := w.Messages(w.sales)[i]
				if want := []string{"first @channel", "second"}[i]; e.Text != want || !strings.HasSuffix(e.Origin.Conversation, m.TS) || len(slacktest.LivePings(m)) > 0 {
					t.Errorf("event %+v for %+v", e, m)
				}
			}
			if got := w.Ephemerals(w.sales, w.ada); len(got) != 0 {
				t.Errorf("told %q", got[0].Text)
			}
		})
	}
	t.Run("the process ends between", func(t *testing.T) {
		w := prepare(t, setup{})
		stop := w.run(t)
		undo := w.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose, Times: -1})
		w.Slash(w.ada, w.sales, "/sandpiper", "report")
		w.wait(t, "the acknowledgement", func() bool { return w.Acks().Acked == 1 && len(asked(w)) == 1 })
		stop()
		undo()
		if len(w.core.all()) != 0 {
			t.Fatal("the process did not end between")
		}
		w.run(t)
		w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
		if got := asked(w); len(got) != 1 {
			t.Errorf("posted %q", got)
		}
	})
	t.Run("no room", func(t *testing.T) {
		w := build(t, setup{})
		w.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Fail, Error: "not_in_channel"})
		w.Slash(w.ada, w.sales, "/sandpiper", "report")
		w.wait(t, "the remark", func() bool {
			got := w.Ephemerals(w.sales, w.ada)
			return len(got) == 1 && strings.Contains(got[0].Text, "/invite")
		})
		if len(w.core.all()) != 0 {
			t.Errorf("events %+v", w.core.all())
		}
	})
	t.Run("refused", func(t *testing.T) {
		c := newCore()
		c.answer = func(bot.Event) (bot.Ticket, error) {
			return bot.Ticket{Refused: &bot.Refusal{Kind: "waiting", Message: "Too many are waiting."}}, nil
		}
		w := build(t, setup{core: c})
		w.Slash(w.ada, w.sales, "/sandpiper", "report")
		w.wait(t, "the remark", func() bool { return len(w.Ephemerals(w.sales, w.ada)) == 1 && len(asked(w)) == 0 })
	})
	t.Run("a flood", func(t *testing.T) {
		w := build(t, setup{workspace: slacktest.Options{Unlimited: true}})
		undo := w.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Status, Code: 503, Times: -1})
		for range 25 {
			w.Slash(w.ada, w.sales, "/sandpiper", "report")
		}
		w.wait(t, "the refusals", func() bool { return len(w.Ephemerals(w.sales, w.ada)) == 5 && w.Acks().Acked == 25 })
		undo()
		w.wait(t, "what was taken", func() bool { return len(w.core.all()) == 20 })
	})
}
