package schedules_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// rush is the real core on a real store whose runs are let go one by one.
type rush struct {
	t     testing.TB
	core  *bot.Orchestrator
	store *boltstore.Store
	now   time.Time

	mu    sync.Mutex // guards what follows
	begun []string   // owners of scheduled runs, and "person", in the order of their starts
	at    time.Time  // when the person's task began
	more  *sync.Cond
	open  bool
	takes time.Duration // each run, once they are let go

	waited []time.Duration // of people's tasks, from being asked to their start
}

func (r *rush) Now() time.Time { return r.now }

// Run implements bot.Runner: it says that it began, and waits to be let go.
func (r *rush) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	who := "person"
	if run.Task.Event.Scheduled {
		who = run.Task.Event.Actor.ID
	} else {
		r.at = time.Now()
		r.waited = append(r.waited, r.at.Sub(run.Task.Event.Received))
	}
	r.begun = append(r.begun, who)
	r.more.Broadcast()
	stop := context.AfterFunc(ctx, func() { r.mu.Lock(); defer r.mu.Unlock(); r.more.Broadcast() })
	defer stop()
	for !r.open && ctx.Err() == nil {
		r.more.Wait()
	}
	if r.takes > 0 {
		r.mu.Unlock()
		time.Sleep(r.takes)
		r.mu.Lock()
	}
	return bot.Outcome{State: bot.TaskDone, Message: "done"}, nil
}

// until waits until n runs have begun.
func (r *rush) until(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.begun) < n {
		r.more.Wait()
	}
}

// nowhere takes answers and keeps nothing.
type nowhere struct{ bot.Channel }

func (nowhere) Authorize(context.Context, bot.Event) (bot.Decision, error) {
	return bot.Decision{Allowed: true}, nil
}

func (nowhere) Send(context.Context, bot.Delivery) (bot.Receipt, error) {
	return bot.Receipt{ID: "sent"}, nil
}

func (nowhere) Progress(context.Context, bot.Task, bot.Progress, *bot.Receipt) (*bot.Receipt, error) {
	return nil, nil
}

func newRush(t testing.TB, schedulesOf map[string]int) (*rush, *schedules.Clock) {
	t.Helper()
	dir := t.TempDir()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := &rush{t: t, store: store, now: time.Date(2026, 11, 30, 8, 59, 0, 0, time.UTC)}
	r.more = sync.NewCond(&r.mu)
	policy := bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk, bot.MaySchedule}}}
	log := slog.New(slog.DiscardHandler)
	if r.core, err = bot.New(bot.OrchestratorOptions{
		Store: store, Blobs: blobs, Runner: r, Policy: policy, Channels: map[string]bot.Channel{"test": nowhere{}},
		Limits: bot.Limits{Running: 4, RunningPerActor: 4}, Logger: log,
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.core.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		store.Close()
		blobs.Close()
	})
	clock, err := schedules.NewClock(schedules.ClockOptions{
		Book: schedules.NewBook(store), Tasks: r.core, Policy: policy, Notify: silent{}, Time: r, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	service := schedules.NewService(clock, schedules.Limits{})
	for owner, n := range schedulesOf {
		for i := range n {
			name := fmt.Sprintf("%s-%03d", owner, i)
			if _, err := service.Add(t.Context(), schedules.Schedule{
				Name: name, Owner: bot.Actor{ID: "test:" + owner}, Cron: "0 9 * * *", Zone: "UTC", Request: "report", From: schedules.FromConfig,
				To: []bot.Origin{{Adapter: "test", Place: "test:" + owner, Conversation: "test:" + name}},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, clock
}

// crowded is a thousand schedules, most of them of one owner.
func crowded() map[string]int {
	owners := map[string]int{"crowd": 550}
	for i := range 9 {
		owners[fmt.Sprintf("few%d", i)] = 50
	}
	return owners
}

type silent struct{}

func (silent) Notify(context.Context, string, bot.Origin, string) error { return nil }

func (silent) Tell(context.Context, string, schedules.Schedule, string) error { return nil }

// TestAThousandSchedulesInOneMinute has all of them run, owners with few not
// behind one with many, while a person's task starts as soon as any place is free.
func TestAThousandSchedulesInOneMinute(t *testing.T) {
	owners := crowded()
	r, clock := newRush(t, owners)
	r.now = r.now.Add(time.Minute)
	clock.Tick(t.Context(), r.core)
	tasks, err := r.core.Tasks(t.Context(), bot.TaskQuery{Limit: 2000})
	if err != nil || len(tasks) != 1000 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	r.until(3) // of four places one is kept for people
	asked := time.Now()
	if _, err := r.core.Submit(t.Context(), bot.Event{
		Key: "test:ask", Kind: bot.EventRequest, Origin: bot.Origin{Adapter: "test", Place: "test:talk", Conversation: "talk"}, Actor: bot.Actor{ID: "test:ada"}, Text: "now, please",
	}); err != nil {
		t.Fatal(err)
	}
	r.until(4)
	r.mu.Lock()
	if r.begun[3] != "person" {
		t.Errorf("begun: %q; no run was let go, and the person waits", r.begun)
	}
	t.Logf("a person's task began %v after it was asked, beside 1,000 schedules of one minute", r.at.Sub(asked))
	r.open = true
	r.more.Broadcast()
	r.mu.Unlock()
	r.until(1001)
	r.mu.Lock()
	begun := slices.DeleteFunc(slices.Clone(r.begun), func(who string) bool { return who == "person" })
	r.mu.Unlock()
	ran := map[string]int{}
	for i, who := range begun {
		ran[strings.TrimPrefix(who, "test:")]++
		if i != 499 {
			continue
		}
		// Half way, in the order of their coming, it would all have been the crowd's.
		if n := ran["crowd"]; n > 60 {
			t.Errorf("of 500 runs the owner of many had %d; turn by turn it is 50", n)
		}
	}
	if n := r.fewBehind(owners); n > 60 {
		t.Errorf("the owner of many had %d runs before the last of those with 50", n)
	}
	for owner, n := range owners {
		if ran[owner] != n {
			t.Errorf("%s ran %d times, want %d", owner, ran[owner], n)
		}
	}
}
