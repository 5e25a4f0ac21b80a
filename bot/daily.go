package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// dayCounts are the counts of tasks a day that accepting t raises. A schedule's
// fires count to the day's total alone: they do not use up what their owner may
// ask, and are bounded where schedules are made.
func (t *Task) dayCounts() []Count {
	day := t.Created.UTC().Format(time.DateOnly)
	var counts []Count
	if most := t.Budgets.ActorDailyTasks; most > 0 && !t.Event.Scheduled {
		counts = append(counts, Count{Key: day + "/tasks/actor/" + t.Event.Actor.ID, Most: int64(most)})
	}
	if most := t.Budgets.DailyTasks; most > 0 {
		counts = append(counts, Count{Key: day + "/tasks/all", Most: int64(most)})
	}
	return counts
}

// room looks whether the counts can be raised, so that a flood beyond a limit
// costs reads alone. What it finds may change until the commit, which decides.
func (o *Orchestrator) room(ctx context.Context, counts []Count) error {
	for _, c := range counts {
		r, err := o.opts.Store.Get(ctx, CountBucket, c.Key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		var n int64
		if err == nil {
			err = json.Unmarshal(r.Value, &n)
		}
		if err != nil {
			return fmt.Errorf("read count of tasks: %w", err)
		}
		if n >= c.Most {
			return &CountError{Count: c}
		}
	}
	return nil
}

// overDay says why nothing more is taken today.
func (o *Orchestrator) overDay(full Count) Refusal {
	now := o.now().UTC()
	midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	again := fmt.Sprintf("Please ask again after 00:00 UTC, in %s.", waitText(midnight.Sub(now)))
	if strings.HasSuffix(full.Key, "/all") {
		return Refusal{Kind: "daily_tasks", Message: fmt.Sprintf(
			"I have taken %d requests today, which is all I may for one day. %s What was asked before goes on.", full.Most, again)}
	}
	return Refusal{Kind: "actor_daily_tasks", Message: fmt.Sprintf(
		"You have asked for %d tasks today, which is the most for one person and day. %s What you asked before goes on.", full.Most, again)}
}

// waitText shows a wait as people read it: "3 h 20 min".
func waitText(d time.Duration) string {
	minutes := int((d + time.Minute - 1) / time.Minute)
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	if minutes%60 == 0 {
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// pruneCounts removes the counts of days before the given one.
func (o *Orchestrator) pruneCounts(ctx context.Context, before time.Time) error {
	records, err := o.opts.Store.List(ctx, CountBucket, "")
	if err != nil {
		return fmt.Errorf("prune counts: %w", err)
	}
	first := before.UTC().Format(time.DateOnly)
	for _, r := range records {
		if r.Key < first {
			if err := o.opts.Store.Delete(ctx, CountBucket, r.Key); err != nil {
				return fmt.Errorf("prune counts: %w", err)
			}
		}
	}
	return nil
}
