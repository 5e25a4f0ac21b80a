package bot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// said submits an inline command and returns its reply.
func (w *world) said(e bot.Event) string {
	w.t.Helper()
	e.Inline = true
	e.Key += "/inline/" + w.store.NewID(e.Received)
	ticket, err := w.Submit(w.t.Context(), e)
	if err != nil {
		w.t.Fatal(err)
	}
	return ticket.Reply
}

func TestCommandsAreAnsweredWhileATaskRuns(t *testing.T) {
	g := newGate()
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		run.Report(bot.Progress{Now: "adding up", Todo: []bot.TodoItem{{Text: "read", Done: true}, {Text: "add"}}})
		return g.Run(ctx, run)
	})
	if got := w.said(command("c1", "alice", "status")); got != "Nothing is running here." {
		t.Errorf("status of nothing: %q", got)
	}
	running := w.ask("c1", "alice", "one")
	<-g.started
	waiting := w.ask("c1", "alice", "two")
	status := w.said(command("c1", "alice", "status"))
	for _, want := range []string{"`" + running + "` is running for 0 s, 1 of 2 steps done: adding up", "`" + waiting + "` is queued, 1 before it"} {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %q: %q", want, status)
		}
	}
	if help := w.said(command("c1", "alice", "help")); !strings.Contains(help, "`cancel`") {
		t.Errorf("help: %q", help)
	}
	if got := w.said(command("c1", "alice", "dance")); !strings.Contains(got, "I do not know the command `dance`") {
		t.Errorf("unknown: %q", got)
	}
	// Not inline: the reply goes through the outbox, once for each happening.
	for range 3 {
		if ticket, err := w.Submit(t.Context(), command("c1", "alice", "status")); err != nil || ticket.Reply != "" {
			t.Errorf("status: %+v %v", ticket, err)
		}
	}
	close(g.open)
	w.idle()
	notices := 0
	for _, m := range w.platform.messages() {
		if strings.HasPrefix(m, "notice: - `"+running) {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("%d status notices", notices)
	}
	if got := w.said(command("c1", "alice", "status")); !strings.Contains(got, "The last task, `"+waiting+"`, ended") {
		t.Errorf("status after the end: %q", got)
	}
}

func TestWhoMayCancel(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) {
		o.Policy = bot.Rules{
			{Origin: "*", Actors: []string{"boss"}, May: []bot.Right{bot.MayAsk, bot.MayCancelOthers}},
			{Origin: "*", Actors: []string{"root"}, May: []bot.Right{bot.MayAsk, bot.MayAdmin}},
			{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}},
		}
		o.Limits.Running, o.Limits.RunningPerActor = 4, 4
	})
	cancel := func(conversation, actor, id string) string {
		e := command(conversation, actor, "cancel")
		e.Command.Task = id
		return w.said(e)
	}
	for _, test := range []struct {
		name, conversation, actor string
		named, allowed            bool
	}{
		{"own", "c1", "alice", false, true},
		{"own, from elsewhere", "c9", "alice", true, true},
		{"another's", "c1", "bob", false, false},
		{"another's, with the right", "c1", "boss", false, true},
		{"another's, with the right, from elsewhere", "c9", "boss", true, false},
		{"an admin, from elsewhere", "c9", "root", true, true},
	} {
		id := w.ask("c1", "alice", test.name)
		<-g.started
		name := ""
		if test.named {
			name = id
		}
		reply := cancel(test.conversation, test.actor, name)
		if ok := strings.HasPrefix(reply, "Cancelled"); ok != test.allowed {
			t.Errorf("%s: %q", test.name, reply)
		}
		if !test.allowed {
			if task, err := w.Task(t.Context(), id); err != nil || task.State != bot.TaskRunning {
				t.Errorf("%s: task is %s (%v)", test.name, task.State, err)
			}
			if err := w.Cancel(t.Context(), id, bot.CancelRequest{}); err != nil {
				t.Error(err)
			}
		}
		if task := w.settle(id); task.State != bot.TaskCancelled || task.Cancel == nil {
			t.Errorf("%s: task is %s", test.name, task.State)
		}
	}
	if got := cancel("c1", "alice", ""); got != "There is nothing to cancel here." {
		t.Errorf("cancel of nothing: %q", got)
	}
}

func TestCancelOfWhatWaits(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	w.ask("c1", "alice", "runs")
	<-g.started
	polite := w.ask("c2", "bob", "polite")
	<-g.started
	please := command("c2", "bob", "cancel")
	please.Command.Args = "that, please"
	if got := w.said(please); got != "Cancelled `"+polite+"`." {
		t.Errorf("a polite cancel: %q", got)
	}
	waiting := w.ask("c1", "alice", "waits")
	please = command("c9", "alice", "cancel")
	please.Command.Args = "`" + w.store.NewID(time.Now()) + "`"
	if got := w.said(please); got != "There is nothing to cancel here." {
		t.Errorf("cancel of an id that is none: %q", got)
	}
	if err := w.Cancel(t.Context(), waiting, bot.CancelRequest{By: bot.Actor{ID: "alice"}}); err != nil {
		t.Fatal(err)
	}
	if task := w.settle(waiting); task.State != bot.TaskCancelled || task.Attempts != 0 {
		t.Errorf("task is %s after %d attempts", task.State, task.Attempts)
	}
	if err := w.Cancel(t.Context(), waiting, bot.CancelRequest{}); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := w.Cancel(t.Context(), "nobody's", bot.CancelRequest{}); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("of no task: %v", err)
	}
	close(g.open)
	w.idle()
	w.platform.once(t)
}

func TestACancelOutlivesACrash(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) { o.Timing.Grace = 1 })
	id := w.ask("c1", "alice", "q")
	<-g.started
	w.end()
	// The mark is all that the earlier life came to write.
	w.options.Runner = runner(func(context.Context, bot.Run) (bot.Outcome, error) {
		t.Error("a cancelled task ran")
		return bot.Outcome{}, nil
	})
	markCancelled(t, w.dir, id)
	w.start()
	if task := w.settle(id); task.State != bot.TaskCancelled {
		t.Errorf("task is %s", task.State)
	}
}

func TestRetryDoesTheSameAgain(t *testing.T) {
	fail := true
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if fail {
			return bot.Outcome{}, &bot.TaskError{Kind: "model", Message: "The model is away.", Hint: "Try again."}
		}
		return bot.Outcome{State: bot.TaskDone, Message: run.Task.Event.Text + " with " + run.Task.Inputs[0].Name}, nil
	})
	e := request("c1", "alice", "q")
	e.Inputs = []bot.InputRef{{Name: "a.csv", Ref: "F"}}
	ticket, err := w.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	first := w.settle(ticket.Task)
	fail = false
	again := command("c1", "alice", "retry")
	for i := range 2 {
		if ticket, err = w.Submit(t.Context(), again); err != nil || ticket.Task == first.ID || ticket.Duplicate != (i > 0) {
			t.Fatalf("retry %d: %+v %v", i, ticket, err)
		}
	}
	second := w.settle(ticket.Task)
	w.idle()
	want := []string{"answer: The model is away. Try again.", "answer: q with a.csv"}
	if got := withoutProgress(w.platform.messages()); !slices.Equal(got, want) || second.Inputs[0].Blob != first.Inputs[0].Blob {
		t.Errorf("sent %q", got)
	}
	if first.Outcome.Error.Kind != "model" {
		t.Errorf("error is %+v", first.Outcome.Error)
	}
	if _, err := w.Retry(t.Context(), second.ID, bot.Actor{ID: "alice"}); err != nil {
		t.Error(err)
	}
	w.idle()
}

// TestRetryOnce presses for the same task again and again: from two people, two
// happenings, while the retry runs and after it. One press, one task; what is
// refused takes nothing away; what is written on purpose is done.
func TestRetryOnce(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) {
		o.Policy = bot.Rules{
			{Origin: "*", Actors: []string{"boss"}, May: []bot.Right{bot.MayAsk, bot.MayCancelOthers}},
			{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}},
		}
	})
	first := w.ask("c1", "alice", "q")
	<-g.started
	g.open <- struct{}{}
	w.settle(first)
	press := func(actor string, inline bool) bot.Ticket {
		t.Helper()
		e := command("c1", actor, "retry")
		e.Command.Task, e.Inline = first, inline
		e.Key += "/press/" + w.store.NewID(e.Received)
		ticket, err := w.Submit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return ticket
	}
	if got := press("bob", true); got.Task != "" || !strings.Contains(got.Reply, "somebody else's") {
		t.Errorf("a stranger's press: %+v", got)
	}
	second := press("alice", true)
	if second.Task == "" || second.Duplicate || second.Reply != "" {
		t.Errorf("the first press: %+v", second)
	}
	<-g.started
	for _, actor := range []string{"alice", "boss"} {
		if got := press(actor, true); got.Task != second.Task || !strings.Contains(got.Reply, "being done again already") {
			t.Errorf("%s's second press: %+v", actor, got)
		}
	}
	g.open <- struct{}{}
	w.settle(second.Task)
	if got := press("alice", true); !strings.Contains(got.Reply, "`retry "+second.Task+"`") {
		t.Errorf("a press after the retry: %+v", got)
	}
	third := press("alice", false)
	if third.Duplicate || third.Task == second.Task {
		t.Errorf("a retry written out: %+v", third)
	}
	<-g.started
	g.open <- struct{}{}
	w.settle(third.Task)
	if tasks, err := w.Tasks(t.Context(), bot.TaskQuery{}); err != nil || len(tasks) != 3 {
		t.Errorf("%d tasks, want 3 (%v)", len(tasks), err)
	}

	deleted := request("c1", "alice", "q")
	deleted.Kind = bot.EventDelete
	deleted.Key += "/deleted"
	if _, err := w.Submit(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if got := press("alice", true); got.Task != "" || !strings.Contains(got.Reply, "was deleted") {
		t.Errorf("a retry of what was deleted: %+v", got)
	}
	if _, err := w.Retry(t.Context(), first, bot.Actor{ID: "alice"}); err == nil || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("a retry of what was deleted: %v", err)
	}
}

func TestCommandsOfOtherRooms(t *testing.T) {
	var runs atomic.Int64
	blocked := make(chan struct{})
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
		o.Timing.Grace = 1
		o.Commands = map[string]bot.CommandSpec{
			"save": {Right: bot.MaySave, Help: "save NAME: keep this report", Run: func(_ context.Context, e bot.Event) (string, error) {
				if runs.Add(1) < 3 {
					return "", errLost
				}
				return "Saved as " + e.Command.Args + ".", nil
			}},
			"publish": {Right: bot.MayPublish, Run: func(context.Context, bot.Event) (string, error) { return "published", nil }},
			"refuse": {Run: func(context.Context, bot.Event) (string, error) {
				return "", &bot.TaskError{Kind: "input", Message: "There is nothing to keep."}
			}},
			"hang": {Run: func(ctx context.Context, _ bot.Event) (string, error) {
				if runs.Add(1) == 1 {
					close(blocked)
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "done in a second life", nil
			}},
		}
	})
	save := command("c1", "alice", "save")
	save.Command.Args = "weekly"
	if got := w.said(save); got != "Saved as weekly." || runs.Load() != 3 {
		t.Errorf("save: %q after %d runs", got, runs.Load())
	}
	if got := w.said(command("c1", "alice", "refuse")); got != "There is nothing to keep." {
		t.Errorf("refuse: %q", got)
	}
	if help := w.said(command("c1", "alice", "help")); !strings.Contains(help, "- `save NAME`: keep this report") {
		t.Errorf("help: %q", help)
	}
	publish := command("c1", "alice", "publish")
	publish.Inline = true
	if ticket, err := w.Submit(t.Context(), publish); err != nil || ticket.Refused == nil || !strings.Contains(ticket.Refused.Message, "publish reports") {
		t.Errorf("publish: %+v %v", ticket, err)
	}
	runs.Store(0)
	ticket, err := w.Submit(t.Context(), command("c1", "alice", "hang"))
	if err != nil {
		t.Fatal(err)
	}
	<-blocked
	w.end()
	w.start()
	w.settle(ticket.Task)
	w.idle()
	if got := w.platform.messages(); !slices.Equal(got, []string{"notice: done in a second life"}) {
		t.Errorf("sent %q", got)
	}
	if tasks, err := w.Tasks(t.Context(), bot.TaskQuery{}); err != nil || len(tasks) != 0 {
		t.Errorf("commands are listed as tasks: %d (%v)", len(tasks), err)
	}
	w.platform.once(t)
}

// TestCommandsAreObeyedOnce: a command that the platform delivers again, since
// its first delivery was never acknowledged, does not meet what has begun since.
func TestCommandsAreObeyedOnce(t *testing.T) {
	for _, crash := range []bool{false, true} {
		for _, name := range []string{"cancel", "retry"} {
			g := newGate()
			w := newWorld(t, g.Run)
			first := w.ask("c1", "alice", "one")
			<-g.started
			if name == "retry" {
				close(g.open)
				w.settle(first)
			}
			obey := command("c1", "alice", name)
			if _, err := w.Submit(t.Context(), obey); err != nil {
				t.Fatal(err)
			}
			if name == "cancel" {
				if got := w.settle(first).State; got != bot.TaskCancelled {
					t.Fatalf("state %s", got)
				}
			}
			if crash {
				w.end()
				w.start()
			}
			second := w.ask("c1", "alice", "two")
			ticket, err := w.Submit(t.Context(), obey)
			if err != nil || !ticket.Duplicate {
				t.Errorf("%s again: %+v, %v", name, ticket, err)
			}
			if name == "cancel" {
				close(g.open)
			}
			if got := w.settle(second).State; got != bot.TaskDone {
				t.Errorf("after %s: the newer task is %s", name, got)
			}
			w.idle()
			tasks, err := w.store.Tasks(t.Context(), bot.TaskQuery{Conversation: "c1"})
			if want := map[string]int{"cancel": 2, "retry": 3}[name]; err != nil || len(tasks) != want {
				t.Errorf("%s: %d tasks, want %d, %v", name, len(tasks), want, err)
			}
		}
	}
}
