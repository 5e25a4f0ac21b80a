package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// spendBucket holds what was spent, by day and actor.
const spendBucket = "spend"

// spent is what an actor, or everybody, spent on one day (UTC), with what is
// set aside at the moment.
type spent struct {
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"usd"`
}

// meter keeps the daily limits. What is set aside is booked in the store at
// once, so that several processes share one limit; what a killed process had
// set aside stays booked for that day, which errs on the careful side.
type meter struct {
	records Records
	clock   Clock
}

// Meter guards what is spent for an actor outside of any task.
func (o *Orchestrator) Meter(actor string) Meter {
	return &taskMeter{meter: o.meter, actor: actor, budgets: o.opts.Budgets}
}

// taskMeter implements Meter for one task.
type taskMeter struct {
	meter   *meter
	actor   string
	budgets Budgets
}

// Reserve implements Meter.
func (m *taskMeter) Reserve(ctx context.Context, tokens int64, usd float64) (Reservation, error) {
	day := m.meter.clock.Now().UTC().Format(time.DateOnly)
	actor := day + "/actor/" + m.actor
	add := spent{Tokens: max(tokens, 0), USD: max(usd, 0)}
	err := m.meter.book(ctx, actor, add, func(s spent) error {
		return within(s, m.budgets.ActorDailyTokens, m.budgets.ActorDailyUSD, "actor_daily")
	})
	if err != nil {
		return nil, err
	}
	all := day + "/all"
	err = m.meter.book(ctx, all, add, func(s spent) error {
		return within(s, m.budgets.DailyTokens, m.budgets.DailyUSD, "daily")
	})
	if err != nil {
		back := spent{Tokens: -add.Tokens, USD: -add.USD}
		return nil, errors.Join(err, m.meter.book(context.WithoutCancel(ctx), actor, back, nil))
	}
	return &reservation{meter: m.meter, keys: []string{actor, all}, held: add}, nil
}

// within checks a day's sum against its limits; 0 is no limit.
func within(s spent, tokens int64, usd float64, name string) error {
	if tokens > 0 && s.Tokens > tokens {
		return &BudgetError{Budget: name + "_tokens", Limit: fmt.Sprintf("%d tokens a day", tokens)}
	}
	if usd > 0 && s.USD > usd {
		return &BudgetError{Budget: name + "_usd", Limit: fmt.Sprintf("$%.2f a day", usd)}
	}
	return nil
}

// book adds to a day's sum unless allowed says no to the new sum.
func (m *meter) book(ctx context.Context, key string, add spent, allowed func(spent) error) error {
	for {
		var sum spent
		record, err := m.records.Get(ctx, spendBucket, key)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return fmt.Errorf("read budget: %w", err)
		default:
			if err := json.Unmarshal(record.Value, &sum); err != nil {
				return fmt.Errorf("read budget: %w", err)
			}
		}
		sum.Tokens, sum.USD = max(sum.Tokens+add.Tokens, 0), max(sum.USD+add.USD, 0)
		if allowed != nil {
			if err := allowed(sum); err != nil {
				return err
			}
		}
		body, err := json.Marshal(sum)
		if err != nil {
			return fmt.Errorf("book budget: %w", err)
		}
		_, err = m.records.Put(ctx, spendBucket, key, body, record.Revision)
		if errors.Is(err, ErrConflict) {
			continue // somebody else booked meanwhile
		}
		if err != nil {
			return fmt.Errorf("book budget: %w", err)
		}
		return nil
	}
}

// SpentToday is what all people together have spent on this day (UTC), with
// what is set aside at the moment.
func (o *Orchestrator) SpentToday(ctx context.Context) (tokens int64, usd float64, err error) {
	record, err := o.opts.Store.Get(ctx, spendBucket, o.now().UTC().Format(time.DateOnly)+"/all")
	if errors.Is(err, ErrNotFound) {
		return 0, 0, nil
	}
	var sum spent
	if err == nil {
		err = json.Unmarshal(record.Value, &sum)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read budget: %w", err)
	}
	return sum.Tokens, sum.USD, nil
}

// prune removes the sums of days before the given one.
func (m *meter) prune(ctx context.Context, before time.Time) error {
	records, err := m.records.List(ctx, spendBucket, "")
	if err != nil {
		return fmt.Errorf("prune budgets: %w", err)
	}
	first := before.UTC().Format(time.DateOnly)
	for _, r := range records {
		if r.Key < first {
			if err := m.records.Delete(ctx, spendBucket, r.Key); err != nil {
				return fmt.Errorf("prune budgets: %w", err)
			}
		}
	}
	return nil
}

// reservation implements Reservation. It is booked on the day it was made,
// even when it is settled after midnight.
type reservation struct {
	meter *meter
	keys  []string

	// mu guards what follows: only the first Settle counts.
	mu      sync.Mutex
	held    spent
	settled bool
}

// Settle implements Reservation.
func (r *reservation) Settle(ctx context.Context, tokens int64, usd float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled {
		return nil
	}
	r.settled = true
	rest := spent{Tokens: max(tokens, 0) - r.held.Tokens, USD: max(usd, 0) - r.held.USD}
	for _, key := range r.keys {
		// What is spent is spent: a cancelled task must book it all the same.
		if err := r.meter.book(context.WithoutCancel(ctx), key, rest, nil); err != nil {
			return fmt.Errorf("settle budget: %w", err)
		}
	}
	return nil
}
