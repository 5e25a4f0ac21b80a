package bot_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// spend runs a task of an actor whose run is the given function of its meter.
func (w *world) spend(actor string, f func(ctx context.Context, m bot.Meter)) bot.Task {
	w.t.Helper()
	w.spending.Lock()
	w.spendNext = f
	w.spending.Unlock()
	return w.settle(w.ask("c "+actor+w.store.NewID(time.Now()), actor, "spend"))
}

func newSpender(t *testing.T, b bot.Budgets, clock bot.Clock) *world {
	var w *world
	w = newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		w.spending.Lock()
		f := w.spendNext
		w.spending.Unlock()
		f(ctx, run.Meter)
		return echo(ctx, run)
	}, func(o *bot.OrchestratorOptions) { o.Budgets, o.Clock = b, clock })
	return w
}

func TestDailyBudgets(t *testing.T) {
	clock := &handClock{now: time.Date(2026, 5, 1, 23, 0, 0, 0, time.UTC)}
	w := newSpender(t, bot.Budgets{ActorDailyTokens: 1000, DailyTokens: 1500, ActorDailyUSD: 1}, clock)
	fails := func(ctx context.Context, m bot.Meter, tokens int64, usd float64, budget string) {
		t.Helper()
		var over *bot.BudgetError
		if _, err := m.Reserve(ctx, tokens, usd); !errors.As(err, &over) || over.Budget != budget {
			t.Errorf("reserve %d tokens and $%g: %v, want %s", tokens, usd, err, budget)
		}
	}
	works := func(ctx context.Context, m bot.Meter, tokens int64, usd float64) bot.Reservation {
		t.Helper()
		r, err := m.Reserve(ctx, tokens, usd)
		if err != nil {
			t.Errorf("reserve %d tokens and $%g: %v", tokens, usd, err)
		}
		return r
	}
	settle := func(ctx context.Context, r bot.Reservation, tokens int64, usd float64) {
		t.Helper()
		if err := r.Settle(ctx, tokens, usd); err != nil {
			t.Error(err)
		}
	}
	w.spend("alice", func(ctx context.Context, m bot.Meter) {
		r := works(ctx, m, 900, 0.5)
		fails(ctx, m, 101, 0, "actor_daily_tokens") // what is set aside counts
		fails(ctx, m, 1, 0.6, "actor_daily_usd")
		settle(ctx, r, 300, 0.2)
		settle(ctx, r, 900, 0.5) // only the first counts
		r = works(ctx, m, 700, 0.8)
		settle(ctx, r, 800, 0) // more than was set aside: it is spent all the same
	})
	w.spend("bob", func(ctx context.Context, m bot.Meter) {
		for range 3 {
			fails(ctx, m, 401, 0, "daily_tokens")
		}
		settle(ctx, works(ctx, m, 400, 0), 100, 0) // what failed before left nothing behind
	})
	w.end() // the sums outlive the process
	w.start()
	w.spend("alice", func(ctx context.Context, m bot.Meter) { fails(ctx, m, 1, 0, "actor_daily_tokens") })
	clock.add(2 * time.Hour) // the next day, in UTC
	w.spend("alice", func(ctx context.Context, m bot.Meter) { settle(ctx, works(ctx, m, 1000, 1), 1, 0) })
}

func TestConcurrentReservationsNeverPassTheLimit(t *testing.T) {
	w := newSpender(t, bot.Budgets{ActorDailyTokens: 100}, nil)
	w.spend("alice", func(ctx context.Context, m bot.Meter) {
		granted := make(chan bot.Reservation, 100)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				r, err := m.Reserve(ctx, 10, 0)
				var over *bot.BudgetError
				switch {
				case err == nil:
					granted <- r
				case !errors.As(err, &over):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(granted) != 10 {
			t.Errorf("%d reservations of a tenth each", len(granted))
		}
	})
}

func TestABudgetErrorEndsTheTaskKindly(t *testing.T) {
	w := newWorld(t, func(context.Context, bot.Run) (bot.Outcome, error) {
		return bot.Outcome{}, &bot.BudgetError{Budget: "daily_tokens", Limit: "10 tokens a day"}
	})
	task := w.settle(w.ask("c1", "alice", "q"))
	if task.State != bot.TaskFailed || task.Outcome.Error.Kind != "budget" || task.Attempts != 1 {
		t.Errorf("%s after %d attempts: %+v", task.State, task.Attempts, task.Outcome.Error)
	}
}
