package bot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// gate is a runner that waits until it is opened.
type gate struct {
	started chan string
	open    chan struct{}
}

func newGate() gate { return gate{started: make(chan string, 100), open: make(chan struct{})} }

func (g gate) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	g.started <- run.Task.ID
	select {
	case <-g.open:
		return echo(ctx, run)
	case <-ctx.Done():
		return bot.Outcome{}, context.Cause(ctx)
	}
}

func TestTwinsMergeUntilTheTaskStarts(t *testing.T) {
	g := newGate()
	var inputs []string
	var once sync.Mutex
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		out, err := g.Run(ctx, run)
		once.Lock()
		defer once.Unlock()
		for _, in := range run.Task.Inputs {
			inputs = append(inputs, in.Name)
		}
		return out, err
	})
	first := w.ask("c1", "alice", "first")
	<-g.started
	// One mention fires two events; the one with the file comes second.
	bare := request("c1", "alice", "")
	bare.Key = "test:twin"
	full := bare
	full.Text, full.Inputs = "count it", []bot.InputRef{{Name: "a.csv", Ref: "F1"}}
	for i, e := range []bot.Event{bare, full, full, bare} {
		ticket, err := w.Submit(t.Context(), e)
		if err != nil || ticket.Duplicate != (i > 0) || ticket.Position != 1 {
			t.Fatalf("twin %d: %+v %v", i, ticket, err)
		}
	}
	late := request("c1", "alice", "first")
	late.Inputs = []bot.InputRef{{Name: "late.csv", Ref: "F2"}}
	if ticket, err := w.Submit(t.Context(), late); err != nil || ticket.Task != first || !ticket.Duplicate {
		t.Errorf("twin of what runs: %+v %v", ticket, err)
	}
	if task, err := w.Task(t.Context(), first); err != nil || len(task.Event.Inputs) != 0 {
		t.Errorf("a twin changed what runs: %+v %v", task.Event.Inputs, err)
	}
	close(g.open)
	w.idle()
	if !slices.Equal(inputs, []string{"a.csv"}) {
		t.Errorf("inputs %q", inputs)
	}
	if got := withoutProgress(w.platform.messages()); !slices.Equal(got, []string{"answer: answer to first", "answer: answer to count it"}) {
		t.Errorf("sent %q", got)
	}
}

func TestEditsReachOnlyWhatHasNotStarted(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	edit := func(conversation, actor, from, to string) {
		t.Helper()
		e := request(conversation, actor, from)
		e.Kind, e.Key, e.Text = bot.EventEdit, "test:edit of "+from+to, to
		if _, err := w.Submit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	w.ask("c1", "alice", "runs")
	<-g.started
	w.ask("c1", "alice", "waits")
	edit("c1", "alice", "runs", "changed while it ran")
	edit("c1", "alice", "waits", "changed in time")
	edit("c1", "mallory", "waits", "somebody else's words")
	close(g.open)
	w.idle()
	if got := withoutProgress(w.platform.messages()); !slices.Equal(got, []string{"answer: answer to runs", "answer: answer to changed in time"}) {
		t.Errorf("sent %q", got)
	}
}

func TestCapsAreDecidedBeforeAnythingIsStored(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) {
		o.Limits = bot.Limits{Running: 1, WaitingPerActor: 3, WaitingPerConversation: 2}
	})
	w.ask("c0", "alice", "runs")
	<-g.started
	refused := map[string]int{}
	for i := range 40 {
		e := request(fmt.Sprint("c", i%2), "alice", fmt.Sprint(i))
		ticket, err := w.Submit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if ticket.Refused != nil {
			refused[ticket.Refused.Kind]++
		}
	}
	tasks, err := w.Tasks(t.Context(), bot.TaskQuery{})
	if err != nil || len(tasks) != 4 || refused["waiting"] != 37 {
		t.Errorf("%d tasks, refused %v (%v)", len(tasks), refused, err)
	}
	if n := w.Refusals()["waiting"]; n != 37 {
		t.Errorf("counted %d refusals", n)
	}
	if ticket, err := w.Submit(t.Context(), request("c0", "alice", "runs")); err != nil || !ticket.Duplicate || ticket.Refused != nil {
		t.Errorf("a redelivery is no new request: %+v %v", ticket, err)
	}
	w.ask("c9", "bob", "others may")
	close(g.open)
	w.idle()
	for i := range 40 { // as when they are read again after a lost connection
		if ticket, err := w.Submit(t.Context(), request(fmt.Sprint("c", i%2), "alice", fmt.Sprint(i))); err != nil || !ticket.Duplicate {
			t.Errorf("%d runs although it was refused: %+v %v", i, ticket, err)
		}
	}
	w.idle()
	if tasks, err := w.Tasks(t.Context(), bot.TaskQuery{}); err != nil || len(tasks) != 5 {
		t.Errorf("%d tasks (%v), want 5", len(tasks), err)
	}
	notices := slices.DeleteFunc(w.platform.messages(), func(m string) bool { return !strings.HasPrefix(m, "notice") })
	if len(notices) != 1 || !strings.Contains(notices[0], "Too many of your requests") {
		t.Errorf("told %q", notices)
	}
}

func TestADeniedActorIsToldOnceAndCostsNothing(t *testing.T) {
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
		o.Policy = bot.Rules{{Origin: "test:other", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}}
	})
	for i := range 100 {
		ticket, err := w.Submit(t.Context(), request("c1", "mallory", fmt.Sprint(i)))
		if err != nil || ticket.Task != "" || ticket.Refused == nil || ticket.Refused.Kind != "policy" || !ticket.Refused.Told {
			t.Fatalf("%d: %+v %v", i, ticket, err)
		}
	}
	inline := request("c1", "eve", "inline")
	inline.Inline = true
	ticket, err := w.Submit(t.Context(), inline)
	if err != nil || ticket.Refused == nil || ticket.Refused.Told || ticket.Refused.Message == "" {
		t.Errorf("inline refusal: %+v %v", ticket, err)
	}
	w.idle()
	tasks, err := w.Tasks(t.Context(), bot.TaskQuery{Commands: true})
	if got := w.platform.messages(); err != nil || len(tasks) != 0 || len(got) != 1 || !strings.HasPrefix(got[0], "notice: I do not take requests from you here.") {
		t.Errorf("%d tasks, sent %q (%v)", len(tasks), got, err)
	}
	refusals := 0
	for e, err := range w.store.Audit(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == bot.AuditRefusal {
			refusals++
		}
	}
	if refusals != 2 || w.Refusals()["policy"] != 101 {
		t.Errorf("%d refusals in the audit, %d counted", refusals, w.Refusals()["policy"])
	}
}

func TestPausedIntakeLetsAcceptedWorkGoOn(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	id := w.ask("c1", "alice", "before")
	<-g.started
	w.Pause()
	ticket, err := w.Submit(t.Context(), request("c2", "alice", "during"))
	if err != nil || ticket.Refused == nil || ticket.Refused.Kind != "paused" {
		t.Errorf("paused: %+v %v", ticket, err)
	}
	close(g.open)
	if task := w.settle(id); task.State != bot.TaskDone {
		t.Errorf("accepted work is %s", task.State)
	}
	w.Resume()
	w.settle(w.ask("c2", "alice", "after"))
}

func TestARightThatThePlatformMustGrant(t *testing.T) {
	tests := []struct {
		name    string
		answers []any // a bot.Decision or an error, in turn
		want    bot.TaskState
		message string
	}{
		{"granted", []any{bot.Decision{Allowed: true}}, bot.TaskDone, "answer: answer to q"},
		{"denied", []any{bot.Decision{Reason: "Only members may ask."}}, bot.TaskRefused, "answer: Only members may ask."},
		{"no answer, then granted", []any{errLost, errLost, errLost, bot.Decision{Allowed: true}}, bot.TaskDone, "answer: answer to q"},
		{"no answer, then denied", []any{errLost, errLost, bot.Decision{Reason: "No."}}, bot.TaskRefused, "answer: No."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked int
			w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
				if d, ok := test.answers[asked-1].(bot.Decision); !ok || !d.Allowed {
					t.Error("it ran without the right")
				}
				return echo(ctx, run)
			})
			w.platform.authorize = func(bot.Event) (bot.Decision, error) {
				asked++
				if err, failed := test.answers[asked-1].(error); failed {
					return bot.Decision{}, err
				}
				return test.answers[asked-1].(bot.Decision), nil
			}
			e := request("c1", "alice", "q")
			e.NeedsRight = true
			ticket, err := w.Submit(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			task := w.settle(ticket.Task)
			if got := withoutProgress(w.platform.messages()); task.State != test.want || asked != len(test.answers) || !slices.Equal(got, []string{test.message}) {
				t.Errorf("%s after %d questions, sent %q", task.State, asked, got)
			}
		})
	}
}

// A schedule's owner must have the right in each place that its answer goes to;
// of places on other platforms the owner is nobody, and the operator named them.
func TestRightsAreAskedForEachPlace(t *testing.T) {
	for name, test := range map[string]struct {
		no    string // the place without the right
		lost  bool   // it does not answer at first
		local bool   // the policy says it
		want  bot.TaskState
	}{
		"all":         {want: bot.TaskDone},
		"the first":   {no: "test:place", want: bot.TaskRefused},
		"the second":  {no: "test:room", want: bot.TaskRefused},
		"by policy":   {no: "test:room", local: true, want: bot.TaskRefused},
		"elsewhere":   {no: "other:room", want: bot.TaskDone},
		"asked again": {lost: true, want: bot.TaskDone},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
				o.Channels["other"] = o.Channels["test"]
				rules := bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MaySchedule}}}
				if test.local {
					rules = append(bot.Rules{{Origin: test.no, Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}}, rules...)
				}
				o.Policy = rules
			})
			var mu sync.Mutex
			asked := map[string]int{}
			w.platform.authorize = func(e bot.Event) (bot.Decision, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[e.Origin.Place]++
				if test.lost && e.Origin.Place == "test:room" && asked[e.Origin.Place] < 3 {
					return bot.Decision{}, errLost
				}
				return bot.Decision{Allowed: test.local || e.Origin.Place != test.no, Reason: "You are nobody here."}, nil
			}
			e := request("c1", "test:alice", "q")
			e.Scheduled, e.NeedsRight = true, true
			for _, place := range []string{"other:room", "test:room"} {
				adapter, _, _ := strings.Cut(place, ":")
				e.Also = append(e.Also, bot.Origin{Adapter: adapter, Conversation: place, Place: place})
			}
			ticket, err := w.Submit(t.Context(), e)
			if err != nil || ticket.Task == "" {
				t.Fatalf("%+v %v", ticket, err)
			}
			task := w.settle(ticket.Task)
			w.idle()
			sent := len(w.platform.messages())
			if task.State != test.want || asked["other:room"] != 0 || (test.want == bot.TaskRefused) != (sent == 0) {
				t.Errorf("%s, asked %v, %d messages", task.State, asked, sent)
			}
			if test.want == bot.TaskRefused && test.no == "test:room" && !strings.Contains(task.Outcome.Message, "test:room: ") {
				t.Errorf("the refusal names no place: %q", task.Outcome.Message)
			}
		})
	}
}

func TestRightsAreAskedAgainWhenATaskResumes(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) { o.Timing.Grace = 1 })
	id := w.ask("c1", "alice", "q")
	<-g.started
	w.end()
	w.options.Policy = bot.Rules{{Origin: "*", Actors: []string{"bob"}, May: []bot.Right{bot.MayAsk}}}
	w.start()
	if task := w.settle(id); task.State != bot.TaskRefused || task.Outcome.Error.Kind != "policy" {
		t.Errorf("task is %s: %+v", task.State, task.Outcome)
	}
}

func TestAQuestionGoesOnInTheSameTask(t *testing.T) {
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if run.Task.Event.Text == "sum it" && len(run.Task.Answers) == 0 {
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which sheet?", Choices: []string{"A", "B"}}}, nil
		}
		if len(run.Task.Answers) == 0 {
			return echo(ctx, run)
		}
		names := ""
		for _, in := range run.Task.Inputs {
			names += " " + in.Name
		}
		return bot.Outcome{State: bot.TaskDone, Message: "sheet " + run.Task.Answers[0].Text + names}, nil
	})
	id := w.ask("c1", "alice", "sum it")
	if task := w.settle(id); task.State != bot.TaskWaiting {
		t.Fatalf("task is %s", task.State)
	}
	w.end() // the question outlives the process
	w.start()
	other := w.ask("c1", "bob", "something else")
	if other == id {
		t.Error("somebody else answered")
	}
	w.settle(other)
	fired := request("c1", "alice", "a schedule of hers")
	fired.Scheduled = true
	if ticket, err := w.Submit(t.Context(), fired); err != nil || ticket.Task == id {
		t.Errorf("a schedule answered: %+v %v", ticket, err)
	}
	w.idle()
	answer := request("c1", "alice", "B")
	answer.Inputs = []bot.InputRef{{Name: "more.csv", Ref: "F"}}
	for i := range 2 {
		ticket, err := w.Submit(t.Context(), answer)
		if err != nil || ticket.Task != id || ticket.Duplicate != (i > 0) {
			t.Fatalf("answer %d: %+v %v", i, ticket, err)
		}
	}
	task := w.settle(id)
	w.idle()
	want := []string{"question: ", "answer: answer to something else", "answer: answer to a schedule of hers", "answer: sheet B more.csv"}
	if got := withoutProgress(w.platform.messages()); task.State != bot.TaskDone || !slices.Equal(got, want) {
		t.Errorf("%s, sent %q", task.State, got)
	}
	asked := slices.IndexFunc(w.platform.order, func(d bot.Delivery) bool { return d.Kind == bot.DeliverQuestion })
	if q := w.platform.order[asked].Question; q == nil || q.Text != "Which sheet?" || len(q.Choices) != 2 {
		t.Errorf("asked %+v", q)
	}
}

func TestTasksOfAnAdapterThatIsNotHereStayUntouched(t *testing.T) {
	w := newWorld(t, echo)
	e := request("c1", "alice", "elsewhere")
	e.Origin.Adapter = "slack"
	if _, err := w.Submit(t.Context(), e); err == nil {
		t.Error("accepted what nothing here can answer")
	}
	w.end()
	w.options.Channels = map[string]bot.Channel{"test": w.platform, "slack": w.platform}
	w.options.Runner = runner(func(ctx context.Context, _ bot.Run) (bot.Outcome, error) {
		<-ctx.Done()
		return bot.Outcome{}, ctx.Err()
	})
	w.options.Timing.Grace = 1
	w.start()
	ticket, err := w.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	w.end()
	w.options.Channels = map[string]bot.Channel{"test": w.platform}
	w.start()
	w.idle()
	if task, err := w.Task(t.Context(), ticket.Task); err != nil || task.State.Final() {
		t.Errorf("task is %s (%v)", task.State, err)
	}
	w.end()
	w.options.Channels = map[string]bot.Channel{"slack": w.platform}
	w.options.Runner = runner(echo)
	w.start()
	if task := w.settle(ticket.Task); task.State != bot.TaskDone {
		t.Errorf("task is %s", task.State)
	}
}

func TestAFailingRunIsTriedAgainAndThenTold(t *testing.T) {
	for _, fails := range []int{1, 2, 3} {
		runs := 0
		w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
			if runs++; runs <= fails {
				if runs == 2 {
					panic("a bug")
				}
				return bot.Outcome{}, errors.New("a hiccup with user data in it")
			}
			return echo(ctx, run)
		})
		task := w.settle(w.ask("c1", "alice", "q"))
		want := bot.TaskDone
		if fails == 3 {
			want = bot.TaskFailed
		}
		if task.State != want {
			t.Errorf("%d failures: %s", fails, task.State)
		}
		if strings.Contains(strings.Join(w.platform.messages(), "\n"), "hiccup") {
			t.Error("an internal error was shown")
		}
	}
}

func TestSecretsNeverLeave(t *testing.T) {
	const secret = "the-bot's-own-token"
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		run.Report(bot.Progress{Now: "using " + secret, Todo: []bot.TodoItem{{Text: secret}}})
		text, err := run.Blobs.Put(ctx, strings.NewReader("key,"+secret+"\n"), 0)
		if err != nil {
			return bot.Outcome{}, err
		}
		clean, err := run.Blobs.Put(ctx, strings.NewReader("a,b\n"), 0)
		return bot.Outcome{
			State: bot.TaskDone, Message: "it is " + secret,
			Files: []bot.Artifact{
				{Name: secret + ".csv", MediaType: "text/csv; charset=utf-8", Size: text.Size, Blob: text.SHA256},
				{Name: "b.csv", MediaType: "text/csv", Size: clean.Size, Blob: clean.SHA256},
			},
			Undelivered: []bot.Undelivered{{Name: secret, Reason: secret}},
		}, err
	}, func(o *bot.OrchestratorOptions) { o.Redactor = bot.NewRedactor([]string{secret}) })
	task := w.settle(w.ask("c1", "alice", "q"))
	w.idle()
	w.platform.mu.Lock()
	shown := fmt.Sprintf("%+v %+v", w.platform.order, w.platform.progress)
	w.platform.mu.Unlock()
	if strings.Contains(shown, secret) {
		t.Errorf("shown: %s", shown)
	}
	files := task.Outcome.Files
	if got := w.blob(files[0].Blob); got != "key,[secret removed]\n" || files[0].Size != int64(len(got)) {
		t.Errorf("file holds %q and is said to have %d bytes", got, files[0].Size)
	}
	if got := w.blob(files[1].Blob); got != "a,b\n" {
		t.Errorf("clean file holds %q", got)
	}
}

func TestAMisbehavingFetch(t *testing.T) {
	// A channel that writes on after the blob is full, and one that fails late,
	// must neither block nor leave half a file.
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) { o.Limits.Input = 10 })
	w.platform.fetch = func(_ bot.InputRef, out io.Writer) (bot.Fetched, error) {
		for range 1000 {
			_, _ = out.Write(make([]byte, 1000))
		}
		return bot.Fetched{}, nil
	}
	e := request("c1", "alice", "q")
	e.Inputs = []bot.InputRef{{Name: "a", Ref: "a"}}
	ticket, err := w.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if task := w.settle(ticket.Task); task.Inputs[0].Problem != "it is larger than 10 bytes" {
		t.Errorf("input: %+v", task.Inputs[0])
	}
}

func TestAKnownFailureIsNotToldAgain(t *testing.T) {
	for _, c := range []struct {
		known string
		tells bool
	}{{"", true}, {"the engine is down", false}, {"another", true}} {
		w := newWorld(t, func(context.Context, bot.Run) (bot.Outcome, error) {
			return bot.Outcome{State: bot.TaskFailed, Error: &bot.TaskError{Kind: "engine", Message: "the engine is down"}}, nil
		})
		event := request("k1", "alice", "report")
		event.Options.KnownFailure = c.known
		ticket, err := w.Submit(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		w.settle(ticket.Task)
		if got := len(withoutProgress(w.platform.messages())) > 0; got != c.tells {
			t.Errorf("known %q: told %t, want %t", c.known, got, c.tells)
		}
	}
}
