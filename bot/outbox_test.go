package bot_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestTheOutboxUnderAnyWeather lets a platform fail in random ways, over several
// lives of the process: each delivery must arrive exactly once, in its order.
func TestTheOutboxUnderAnyWeather(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		lives := rapid.IntRange(1, 3).Draw(rt, "lives")
		t.Run("", func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) // used under the platform's lock
			w := newWorld(t, echo)
			weather := func(d bot.Delivery) error {
				switch n := random.IntN(10); {
				case n < 2:
					return &bot.SendError{Class: bot.Retryable, After: time.Millisecond, Err: errors.New("busy")}
				case n < 4:
					return &bot.SendError{Class: bot.Ambiguous, Err: errLost}
				}
				return nil
			}
			w.platform.send = weather
			w.platform.lose = func(d bot.Delivery) error {
				if random.IntN(3) == 0 {
					return errLost // unclassed: ambiguous
				}
				return nil
			}
			w.platform.find = func(bot.Delivery) error {
				if random.IntN(3) == 0 {
					return errLost
				}
				return nil
			}
			var want []string
			n := 0
			for range lives {
				for range 4 {
					n++
					w.ask("c1", "alice", fmt.Sprint("q", n))
					want = append(want, fmt.Sprint("answer: answer to q", n))
				}
				w.end()
				w.start()
			}
			w.idle()
			w.platform.once(t)
			if got := withoutProgress(w.platform.messages()); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
		})
		if t.Failed() {
			rt.Fatal("see the subtest")
		}
	})
}

func TestOneStuckPlaceHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, echo)
	stuck := true
	w.platform.send = func(d bot.Delivery) error {
		if stuck && d.Origin.Conversation == "stuck" {
			return &bot.SendError{Class: bot.Retryable, Err: errors.New("busy")}
		}
		return nil
	}
	held := w.ask("stuck", "alice", "one")
	for i := range 20 {
		w.settle(w.ask(fmt.Sprint("c", i), "bob", "q"))
	}
	if ds, err := w.Deliveries(t.Context(), held); err != nil || len(ds) == 0 || ds[0].Status.Final() {
		t.Errorf("the stuck one: %+v %v", ds, err)
	}
	w.platform.mu.Lock()
	stuck = false
	w.platform.mu.Unlock()
	w.settle(held)
}

func TestADeliveryThatKeepsFailingEnds(t *testing.T) {
	for _, class := range []bot.FailureClass{bot.Retryable, bot.Ambiguous} {
		w := newWorld(t, echo, func(o *bot.OrchestratorOptions) { o.Timing.GiveUp = 50 * time.Millisecond })
		w.platform.noProgress = true
		w.platform.send = func(bot.Delivery) error { return &bot.SendError{Class: class, Err: errors.New("never")} }
		w.platform.find = func(bot.Delivery) error { return errLost }
		id := w.ask("c1", "alice", "q")
		w.settle(id)
		w.idle()
		ds, err := w.Deliveries(t.Context(), id)
		if err != nil || len(ds) != 2 || ds[0].Status != bot.DeliveryFailed || ds[0].Failure == "" || class == bot.Retryable && ds[0].Attempts < 6 || ds[1].Status != bot.DeliveryFailed {
			t.Errorf("%s: %+v %v", class, ds, err)
		}
		w.end()
	}
}

func TestFilesThatThePlatformRefusedAreNamed(t *testing.T) {
	w := newWorld(t, quoting)
	w.platform.noProgress = true
	w.platform.receipt = func(d bot.Delivery) bot.Receipt {
		if d.Kind != bot.DeliverFiles {
			return bot.Receipt{ID: "m"}
		}
		return bot.Receipt{ID: "m", Undelivered: []bot.Undelivered{{Name: d.Files[0].Name, Reason: "it is empty"}}}
	}
	w.settle(w.ask("c1", "alice", "q"))
	w.idle()
	want := []string{"answer: quote: q", "files: [out.bin]", "notice: Not delivered:\n- `out.bin`: it is empty"}
	if got := w.platform.messages(); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestAnswersGoToAllAllowedPlaces(t *testing.T) {
	w := newWorld(t, quoting, func(o *bot.OrchestratorOptions) {
		o.Policy = bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MaySchedule}, Destinations: []string{"test:room*"}}}
	})
	e := request("c1", "alice", "q")
	e.Scheduled = true
	for _, place := range []string{"test:room1", "test:elsewhere"} {
		e.Also = append(e.Also, bot.Origin{Adapter: "test", Conversation: place, Place: place})
	}
	ticket, err := w.Submit(t.Context(), e)
	if err != nil || ticket.Task == "" {
		t.Fatalf("%+v %v", ticket, err)
	}
	w.settle(ticket.Task)
	var got []string
	for _, d := range w.platform.order {
		got = append(got, d.Origin.Place+" "+string(d.Kind))
	}
	slices.Sort(got)
	if want := []string{"test:place answer", "test:place files", "test:room1 answer", "test:room1 files"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if !strings.Contains(w.platform.order[0].Message, "Not sent to test:elsewhere") {
		t.Errorf("the barred place is not named: %q", w.platform.order[0].Message)
	}
}

func TestProgressIsOneMessageOverLives(t *testing.T) {
	g := newGate()
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		for i := range 50 {
			run.Report(bot.Progress{Now: fmt.Sprint("step ", i)})
		}
		return g.Run(ctx, run)
	}, func(o *bot.OrchestratorOptions) { o.Timing.Grace = 1 })
	id := w.ask("c1", "alice", "q")
	<-g.started
	until(t, "progress is recorded", func() bool {
		task, err := w.Task(t.Context(), id)
		return err == nil && task.Progress != nil
	})
	w.end()
	w.start()
	<-g.started
	close(g.open)
	w.settle(id)
	w.idle()
	w.platform.mu.Lock()
	defer w.platform.mu.Unlock()
	if w.platform.made != 1 {
		t.Errorf("%d progress messages", w.platform.made)
	}
	last := w.platform.order[slices.IndexFunc(w.platform.order, func(d bot.Delivery) bool { return d.Kind == bot.DeliverProgress })]
	if last.Earlier == nil || last.Earlier.ID != "progress-of-"+id || last.State != bot.TaskDone {
		t.Errorf("it ends with %+v", last)
	}
}

func TestWaitingTasksAreToldTheirPlace(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	w.ask("c1", "alice", "runs")
	<-g.started
	second := w.ask("c1", "alice", "waits")
	until(t, "its place is told", func() bool {
		w.platform.mu.Lock()
		defer w.platform.mu.Unlock()
		return slices.ContainsFunc(w.platform.progress, func(p bot.Progress) bool {
			return p.Task == second && p.State == bot.TaskQueued && p.Position == 1
		})
	})
	close(g.open)
	w.settle(second)
	w.idle()
}
