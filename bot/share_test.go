package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// shared is one store that several cores work on, as processes over a clustered
// store do. It lives in a bubble of time, so that no stall of the machine makes
// a claim expire.
type shared struct {
	t        *testing.T
	store    *boltstore.Store
	blobs    *boltstore.Blobs
	platform *platform
	channel  bot.Channel // the platform, or what stands before it
	log      *lockedBuffer

	// mu guards what follows.
	mu   sync.Mutex
	runs map[string][]string // which processes ran each task
	busy map[string]int      // runs by conversation
}

// process is one core of them.
type process struct {
	*bot.Orchestrator
	gate *breakable
	stop func()
}

// breakable is a process's way to the store, which can break.
type breakable struct {
	bot.Store
	broken atomic.Bool
}

var errBroken = errors.New("the store cannot be reached")

func (g *breakable) Commit(ctx context.Context, c bot.Commit) (bot.Commit, error) {
	if g.broken.Load() {
		return bot.Commit{}, errBroken
	}
	return g.Store.Commit(ctx, c)
}

func (g *breakable) Task(ctx context.Context, id string) (bot.Task, error) {
	if g.broken.Load() {
		return bot.Task{}, errBroken
	}
	return g.Store.Task(ctx, id)
}

// share runs the test on a store that several processes have open.
func share(t *testing.T, test func(s *shared)) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{t: t, platform: newPlatform(), log: &lockedBuffer{}, runs: map[string][]string{}, busy: map[string]int{}}
		s.channel = s.platform
		dir := t.TempDir()
		var err error
		if s.store, err = boltstore.Open(boltstore.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if s.blobs, err = boltstore.OpenBlobs(boltstore.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		test(s)
		if err := errors.Join(s.store.Close(), s.blobs.Close()); err != nil {
			t.Error(err)
		}
		s.platform.once(t)
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
}

// start runs one more process; work is what its runner does.
func (s *shared) start(name string, work runner) *process {
	s.t.Helper()
	p := &process{gate: &breakable{Store: s.store}}
	var err error
	p.Orchestrator, err = bot.New(bot.OrchestratorOptions{
		Store: p.gate, Blobs: s.blobs, Channels: map[string]bot.Channel{"test": s.channel},
		Policy: bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)).With("process", name),
		Limits: bot.Limits{RunningPerActor: 4},
		Runner: runner(func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
			conversation := run.Task.Event.Origin.Conversation
			s.mu.Lock()
			s.runs[run.Task.ID] = append(s.runs[run.Task.ID], name)
			if s.busy[conversation]++; s.busy[conversation] > 1 {
				s.t.Errorf("%d tasks of %s run at once", s.busy[conversation], conversation)
			}
			s.mu.Unlock()
			outcome, err := work(ctx, run)
			s.mu.Lock()
			s.busy[conversation]--
			s.mu.Unlock()
			return outcome, err
		}),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("stop %s: %v", name, err)
		}
	}
	return p
}

// ended waits in the bubble's time until that many tasks have ended and nothing
// is owed.
func (s *shared) ended(n int) []bot.Task {
	s.t.Helper()
	for deadline := time.Now().Add(time.Hour); ; time.Sleep(100 * time.Millisecond) {
		tasks, err := s.store.Tasks(s.t.Context(), bot.TaskQuery{Limit: 1000})
		if err != nil {
			s.t.Fatal(err)
		}
		owed, err := s.store.Pending(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		final := 0
		for i := range tasks {
			if tasks[i].State.Final() {
				final++
			}
		}
		if final == n && len(owed) == 0 {
			slices.Reverse(tasks)
			return tasks
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d of %d tasks have ended and %d deliveries are owed", final, n, len(owed))
		}
	}
}

// answers are the messages that are no progress.
func (s *shared) answers() []string {
	return slices.DeleteFunc(s.platform.messages(), func(m string) bool { return strings.HasPrefix(m, "progress") })
}

// threeTurns journals three turns of a second each.
func threeTurns(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	have, err := run.Journal.Steps(ctx)
	if err != nil {
		return bot.Outcome{}, err
	}
	for n := len(have) + 1; n <= 3; n++ {
		time.Sleep(time.Second)
		if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage(fmt.Sprint(n))}); err != nil {
			return bot.Outcome{}, err
		}
	}
	return echo(ctx, run)
}

func TestTwoProcessesDoEachTaskOnceAndInOrder(t *testing.T) {
	share(t, func(s *shared) {
		both := []*process{s.start("a", threeTurns), s.start("b", threeTurns)}
		const conversations, each = 5, 6
		for n := range each {
			for c := range conversations {
				e := request(fmt.Sprint("c", c), fmt.Sprint("actor", c), fmt.Sprint("question ", n))
				for _, p := range []*process{both[(n+c)%2], both[(n+c+1)%2]} { // the second one is a twin
					if ticket, err := p.Submit(s.t.Context(), e); err != nil || ticket.Task == "" {
						s.t.Fatalf("submit: %+v %v", ticket, err)
					}
				}
			}
			time.Sleep(time.Second)
		}
		tasks := s.ended(conversations * each)
		by := map[string]int{}
		want := map[string][]string{}
		for i := range tasks {
			task := &tasks[i]
			if task.State != bot.TaskDone || task.Attempts != 1 || len(s.runs[task.ID]) != 1 || task.Claim != nil {
				s.t.Errorf("task %s is %s after %d attempts, run by %v, claimed by %v", task.ID, task.State, task.Attempts, s.runs[task.ID], task.Claim)
			}
			by[strings.Join(s.runs[task.ID], " ")]++
			want[task.Event.Origin.Conversation] = append(want[task.Event.Origin.Conversation], "answer to "+task.Event.Text)
		}
		if by["a"] == 0 || by["b"] == 0 {
			s.t.Errorf("the tasks were run by %v", by)
		}
		got := map[string][]string{}
		for _, d := range s.platform.order {
			if d.Kind == bot.DeliverProgress {
				continue
			}
			got[d.Origin.Conversation] = append(got[d.Origin.Conversation], d.Message)
		}
		for c := range want {
			if !slices.Equal(got[c], want[c]) {
				s.t.Errorf("answers in %s came as %q, want %q", c, got[c], want[c])
			}
		}
		for _, p := range both {
			p.stop()
		}
	})
}

// TestAProcessThatLostTheStoreIsTakenOver breaks the way of one process to the
// store in the middle of a run: the other takes the task over when the claim has
// expired, and what the first one does when it is back changes nothing.
func TestAProcessThatLostTheStoreIsTakenOver(t *testing.T) {
	share(t, func(s *shared) {
		begun, back := make(chan struct{}), make(chan struct{})
		late := make(chan error, 1)
		a := s.start("a", func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
			if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage("1")}); err != nil {
				s.t.Error(err)
			}
			close(begun)
			<-back // heeds nothing, as a process that is suspended
			s.mu.Lock()
			s.busy["c"] = 0 // its own; the other's is over
			s.mu.Unlock()
			_, err := run.Journal.Append(context.WithoutCancel(ctx), bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage("2")})
			late <- err
			return bot.Outcome{State: bot.TaskDone, Message: "too late"}, nil
		})
		if _, err := a.Submit(s.t.Context(), request("c", "alice", "q")); err != nil {
			s.t.Fatal(err)
		}
		<-begun
		a.gate.broken.Store(true)
		lost := time.Now()
		s.mu.Lock()
		s.busy["c"] = 0
		s.mu.Unlock()
		b := s.start("b", threeTurns)
		task := s.ended(1)[0]
		if took := time.Since(lost); took < 15*time.Second || took > 2*time.Minute {
			s.t.Errorf("it was taken over and done after %v", took)
		}
		a.gate.broken.Store(false)
		close(back)
		if err := <-late; !errors.Is(err, bot.ErrConflict) {
			s.t.Errorf("the late process appends a step: %v", err)
		}
		time.Sleep(5 * time.Minute)
		steps, err := s.store.Steps(s.t.Context(), task.ID)
		again, err2 := s.store.Task(s.t.Context(), task.ID)
		if err := errors.Join(err, err2); err != nil || len(steps) != 3 || again.Revision != task.Revision || again.Outcome.Message != "answer to q" || again.Attempts != 2 {
			s.t.Errorf("%d steps (%v), task %+v", len(steps), err, again)
		}
		if got := s.answers(); len(got) != 1 || got[0] != "answer: answer to q" {
			s.t.Errorf("messages are %q", got)
		}
		a.stop()
		b.stop()
	})
}

func TestAProcessThatStopsHandsOver(t *testing.T) {
	share(t, func(s *shared) {
		a := s.start("a", func(ctx context.Context, _ bot.Run) (bot.Outcome, error) {
			<-ctx.Done()
			return bot.Outcome{}, context.Cause(ctx)
		})
		if _, err := a.Submit(s.t.Context(), request("c", "alice", "q")); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(time.Second)
		a.stop()
		stopped := time.Now()
		b := s.start("b", echo)
		s.ended(1)
		if took := time.Since(stopped); took > 5*time.Second {
			s.t.Errorf("it was taken over after %v, though its claim was given back", took)
		}
		b.stop()
	})
}

func TestCancelAndAnswerReachAnotherProcess(t *testing.T) {
	share(t, func(s *shared) {
		a := s.start("a", func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
			if run.Task.Event.Text == "ask" && len(run.Task.Answers) == 0 {
				return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which?"}}, nil
			}
			if len(run.Task.Answers) > 0 {
				return bot.Outcome{State: bot.TaskDone, Message: "then " + run.Task.Answers[0].Text}, nil
			}
			<-ctx.Done()
			return bot.Outcome{}, context.Cause(ctx)
		})
		long, err := a.Submit(s.t.Context(), request("c1", "alice", "long"))
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := a.Submit(s.t.Context(), request("c2", "alice", "ask")); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		b := s.start("b", func(_ context.Context, run bot.Run) (bot.Outcome, error) {
			return bot.Outcome{State: bot.TaskDone, Message: "then " + run.Task.Answers[0].Text}, nil
		})
		asked := time.Now()
		if err := b.Cancel(s.t.Context(), long.Task, bot.CancelRequest{}); err != nil {
			s.t.Fatal(err)
		}
		for u, err := range b.Watch(s.t.Context(), long.Task) {
			if err != nil {
				s.t.Fatal(err)
			}
			if u.Task.State == bot.TaskCancelled {
				break
			}
		}
		if task, err := s.store.Task(s.t.Context(), long.Task); err != nil || task.Ended.Sub(asked) > 2*time.Second {
			s.t.Errorf("the other process's run was cancelled after %v (%v)", task.Ended.Sub(asked), err)
		}
		if _, err := b.Submit(s.t.Context(), request("c2", "alice", "this one")); err != nil {
			s.t.Fatal(err)
		}
		if tasks := s.ended(2); tasks[1].Outcome.Message != "then this one" {
			s.t.Errorf("the answer became %+v", tasks[1].Outcome)
		}
		a.stop()
		b.stop()
	})
}

// slow is a platform whose first message takes long.
type slow struct {
	*platform
	begun atomic.Bool
}

func (p *slow) Send(ctx context.Context, d bot.Delivery) (bot.Receipt, error) {
	if !p.begun.Swap(true) {
		time.Sleep(50 * time.Second) // under Timing.Call, over Timing.Lease
	}
	return p.platform.Send(ctx, d)
}

// TestADeliveryUnderWayIsLeftAlone lets a send take long: the other process
// neither looks it up nor sends it again.
func TestADeliveryUnderWayIsLeftAlone(t *testing.T) {
	share(t, func(s *shared) {
		s.channel = &slow{platform: s.platform}
		a := s.start("a", echo)
		if _, err := a.Submit(s.t.Context(), request("c", "alice", "q")); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(time.Second)
		b := s.start("b", echo)
		s.ended(1)
		if got := s.answers(); len(got) != 1 || s.platform.lookups != 0 {
			s.t.Errorf("messages are %q after %d look-ups", got, s.platform.lookups)
		}
		a.stop()
		b.stop()
	})
}
