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
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestARequestGoesTheWholeWay(t *testing.T) {
	var seen bot.Run
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		seen = run
		run.Report(bot.Progress{Now: "counting", Todo: []bot.TodoItem{{Text: "count"}}})
		step, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepProgram, Agent: "lead", Data: []byte(`{"language":"python","code":"print(1)","verdict":"ok"}`)})
		if err != nil || step.Seq != 1 {
			return bot.Outcome{}, fmt.Errorf("append: %d %w", step.Seq, err)
		}
		blob, err := run.Blobs.Put(ctx, strings.NewReader("picture"), 0)
		return bot.Outcome{
			State: bot.TaskDone, Message: "42",
			Files: []bot.Artifact{{Name: "chart.png", MediaType: "image/png", Size: blob.Size, Blob: blob.SHA256}},
		}, err
	})
	event := request("c1", "alice", "what is in https://example.com/a.csv?")
	event.Inputs = []bot.InputRef{{Name: "../etc/a.csv", Ref: "F1"}, {Name: "A.csv", Ref: "F2"}}
	ticket, err := w.Submit(t.Context(), event)
	if err != nil || ticket.Position != 0 {
		t.Fatalf("submit: %+v %v", ticket, err)
	}
	task := w.settle(ticket.Task)
	if task.State != bot.TaskDone || task.Outcome.Message != "42" {
		t.Fatalf("task ended as %s: %+v", task.State, task.Outcome)
	}
	if got := []string{seen.Task.Inputs[0].Name, seen.Task.Inputs[1].Name}; !slices.Equal(got, []string{"a.csv", "A (2).csv"}) {
		t.Errorf("inputs are named %q", got)
	}
	if w.blob(seen.Task.Inputs[0].Blob) != "a,b\n1,2\n" || seen.Task.Inputs[0].Source != "pinned:F1" {
		t.Errorf("input was not fetched: %+v", seen.Task.Inputs[0])
	}
	want := []string{"answer: 42", "files: [chart.png]"}
	if got := w.platform.messages(); !slices.Equal(withoutProgress(got), want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if links := w.platform.order[0].Links; !slices.Equal(links, []string{"https://example.com/a.csv"}) {
		t.Errorf("live links are %q", links)
	}
	for i, d := range []bot.TaskState{bot.TaskQueued, bot.TaskRunning, bot.TaskDone} {
		if task.Transitions[i].To != d || task.Transitions[i].At.IsZero() {
			t.Errorf("transition %d is %+v, want %s", i, task.Transitions[i], d)
		}
	}
	w.platform.once(t)
}

func withoutProgress(messages []string) []string {
	return slices.DeleteFunc(messages, func(m string) bool { return strings.HasPrefix(m, "progress") })
}

func TestOneKeyMakesOneTask(t *testing.T) {
	w := newWorld(t, echo)
	event := request("c1", "alice", "once")
	var tickets sync.Map
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			ticket, err := w.Submit(t.Context(), event)
			if err != nil {
				t.Error(err)
			}
			tickets.Store(ticket.Task, true)
		})
	}
	callers.Wait()
	w.idle()
	n := 0
	tickets.Range(func(any, any) bool { n++; return true })
	if got := withoutProgress(w.platform.messages()); n != 1 || len(got) != 1 {
		t.Errorf("%d tasks and messages %q from one happening", n, got)
	}
}

func TestASecondLifeFinishesWhatTheFirstLeft(t *testing.T) {
	started := make(chan struct{}, 10)
	hang := func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: []byte(`{}`)}); err != nil {
			return bot.Outcome{}, err
		}
		started <- struct{}{}
		<-ctx.Done()
		return bot.Outcome{}, context.Cause(ctx)
	}
	w := newWorld(t, hang, func(o *bot.OrchestratorOptions) { o.Timing.Grace = 10 * time.Millisecond })
	first, second := w.ask("c1", "alice", "long"), w.ask("c1", "alice", "next")
	<-started
	w.end()
	var steps int
	w.options.Runner = runner(func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if run.Task.ID == first {
			got, err := run.Journal.Steps(ctx)
			if err != nil {
				return bot.Outcome{}, err
			}
			steps = len(got)
		} else if len(run.History) != 1 || run.History[0].ID != first {
			return bot.Outcome{}, fmt.Errorf("history is %d tasks", len(run.History))
		}
		return echo(ctx, run)
	})
	w.start()
	if task := w.settle(first); task.State != bot.TaskDone || task.Attempts != 2 || steps != 1 {
		t.Errorf("first: %s after %d attempts with %d steps", task.State, task.Attempts, steps)
	}
	if task := w.settle(second); task.State != bot.TaskDone || task.Attempts != 1 {
		t.Errorf("second: %s after %d attempts", task.State, task.Attempts)
	}
	w.platform.once(t)
}

func TestCancelReachesWhatRuns(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprintf("heeds=%v", heeds), func(t *testing.T) {
			started, release := make(chan struct{}), make(chan struct{})
			w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
				close(started)
				if heeds {
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), bot.ErrCancelled) {
						t.Errorf("cause is %v", context.Cause(ctx))
					}
					return bot.Outcome{}, ctx.Err()
				}
				<-release
				if _, err := run.Journal.Append(context.Background(), bot.Step{}); !errors.Is(err, bot.ErrCancelled) {
					t.Errorf("the journal of an ended task takes steps: %v", err)
				}
				return bot.Outcome{State: bot.TaskDone, Message: "too late"}, nil
			})
			id := w.ask("c1", "alice", "long")
			<-started
			if ticket, err := w.Submit(t.Context(), command("c1", "alice", "cancel")); err != nil || ticket.Task != id {
				t.Fatalf("cancel: %+v %v", ticket, err)
			}
			task := w.settle(id)
			close(release)
			if task.State != bot.TaskCancelled {
				t.Errorf("task is %s", task.State)
			}
			if got := withoutProgress(w.platform.messages()); !slices.Equal(got, []string{"answer: Cancelled."}) {
				t.Errorf("sent %q", got)
			}
		})
	}
}

func TestFailuresOfSending(t *testing.T) {
	later := &bot.SendError{Class: bot.Retryable, After: time.Millisecond, Err: errors.New("slow down")}
	tests := []struct {
		name string
		set  func(p *platform)
		want []string
	}{
		{"retryable", func(p *platform) {
			n := 0
			p.send = func(bot.Delivery) error {
				if n++; n < 4 {
					return later
				}
				return nil
			}
		}, []string{"answer: answer to q"}},
		{"answer lost", func(p *platform) {
			n := 0
			p.lose = func(bot.Delivery) error {
				if n++; n == 1 {
					return errLost
				}
				return nil
			}
		}, []string{"answer: answer to q"}},
		{"request lost, and looking it up fails too", func(p *platform) {
			n, m := 0, 0
			p.send = func(bot.Delivery) error {
				if n++; n == 1 {
					return &bot.SendError{Class: bot.Ambiguous, Err: errLost}
				}
				return nil
			}
			p.find = func(bot.Delivery) error {
				if m++; m < 3 {
					return errLost
				}
				return nil
			}
		}, []string{"answer: answer to q"}},
		{"permanent", func(p *platform) {
			p.send = func(d bot.Delivery) error {
				if d.Kind == bot.DeliverAnswer {
					return &bot.SendError{Class: bot.Permanent, Err: errors.New("msg_too_long")}
				}
				return nil
			}
		}, []string{"notice: I could not deliver my answer here. It is kept under task `ID`."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, echo)
			w.platform.noProgress = true
			test.set(w.platform)
			id := w.ask("c1", "alice", "q")
			w.settle(id)
			w.idle()
			got := w.platform.messages()
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], id, "ID")
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("sent %q, want %q", got, test.want)
			}
			w.platform.once(t)
		})
	}
}

func TestInputsThatCannotBeRead(t *testing.T) {
	var inputs []bot.Input
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		inputs = run.Task.Inputs
		return echo(ctx, run)
	}, func(o *bot.OrchestratorOptions) { o.Limits.Input, o.Limits.Inputs = 100, 6 })
	tries := 0
	w.platform.fetch = func(ref bot.InputRef, out io.Writer) (bot.Fetched, error) {
		switch ref.Ref {
		case "gone":
			return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "it was deleted"}
		case "big":
			_, err := out.Write(make([]byte, 101))
			return bot.Fetched{}, err
		case "flaky":
			if tries++; tries < 3 {
				_, _ = out.Write([]byte("half of it"))
				return bot.Fetched{}, errLost
			}
		case "down":
			return bot.Fetched{}, errLost
		}
		_, err := io.WriteString(out, "x,y\n1,2\n")
		return bot.Fetched{}, err
	}
	event := request("c1", "alice", "read them")
	for _, ref := range []string{"gone", "big", "flaky", "down", "fine", "known", "one too many"} {
		event.Inputs = append(event.Inputs, bot.InputRef{Name: ref + ".csv", Ref: ref})
	}
	event.Inputs[5].Size = 101
	ticket, err := w.Submit(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	w.settle(ticket.Task)
	want := []string{"it was deleted", "it is larger than 100 bytes", "", "it could not be fetched: the place it lies in did not answer", "", "it is larger than 100 bytes", "a request may bring at most 6 files"}
	if len(inputs) != len(want) {
		t.Fatalf("the runner got %d inputs of %d", len(inputs), len(want))
	}
	for i, in := range inputs {
		if in.Problem != want[i] {
			t.Errorf("%s: problem %q, want %q", in.Name, in.Problem, want[i])
		}
		if (in.Problem == "") != (in.Blob != "" && w.blob(in.Blob) == "x,y\n1,2\n") {
			t.Errorf("%s: content does not go with its problem %q", in.Name, in.Problem)
		}
	}
}

// finder is a platform that names files only when it is asked.
type finder struct {
	*platform
	asked int // calls of Expand; they come one after the other
}

func (f *finder) Expand(_ context.Context, e bot.Event) ([]bot.InputRef, error) {
	f.asked++
	if f.asked == 1 {
		return nil, errors.New("no answer")
	}
	return []bot.InputRef{{Name: "found.csv", Ref: e.Text}}, nil
}

// What a channel can only find over the network is asked for until it
// answers, before the task counts as begun, and joins what the event brought.
func TestExpander(t *testing.T) {
	t.Parallel()
	found := &finder{}
	inputs := make(chan []bot.Input, 1)
	w := newWorld(t, func(_ context.Context, run bot.Run) (bot.Outcome, error) {
		inputs <- run.Task.Inputs
		return bot.Outcome{State: bot.TaskDone, Message: "ok"}, nil
	}, func(o *bot.OrchestratorOptions) {
		found.platform = o.Channels["test"].(*platform)
		o.Channels = map[string]bot.Channel{"test": found}
	})
	e := request("c", "ann", "data/*.csv")
	e.Inputs = []bot.InputRef{{Name: "own.csv", Ref: "own"}}
	if _, err := w.Submit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got := <-inputs
	if len(got) != 2 || got[0].Name != "own.csv" || got[1].Name != "found.csv" || got[1].Source != "pinned:data/*.csv" {
		t.Errorf("inputs %+v", got)
	}
	if found.asked != 2 {
		t.Errorf("asked %d times, want 2", found.asked)
	}
}

func TestATaskThatIsAlwaysInterruptedIsGivenUp(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run, func(o *bot.OrchestratorOptions) {
		o.Timing.Grace = 1
		o.Limits.Attempts = 3
	})
	id := w.ask("c1", "alice", "q")
	for range 3 {
		<-g.started
		w.end()
		w.start()
	}
	task := w.settle(id)
	if task.State != bot.TaskFailed || task.Outcome == nil || task.Outcome.Error == nil || !strings.Contains(task.Outcome.Error.Message, "given up") {
		t.Errorf("%s: %+v", task.State, task.Outcome)
	}
	w.idle()
	w.platform.once(t)
}
