package bot

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func taskStates() []TaskState {
	return []TaskState{"", TaskQueued, TaskRunning, TaskWaiting, TaskDone, TaskFailed, TaskCancelled, TaskRefused}
}

func TestEveryMoveOfATask(t *testing.T) {
	// Written down once more, by hand: a changed table must be changed twice.
	allowed := map[[2]TaskState]bool{
		{"", TaskQueued}:             true,
		{TaskQueued, TaskRunning}:    true,
		{TaskQueued, TaskFailed}:     true,
		{TaskQueued, TaskCancelled}:  true,
		{TaskQueued, TaskRefused}:    true,
		{TaskRunning, TaskQueued}:    true,
		{TaskRunning, TaskWaiting}:   true,
		{TaskRunning, TaskDone}:      true,
		{TaskRunning, TaskFailed}:    true,
		{TaskRunning, TaskCancelled}: true,
		{TaskRunning, TaskRefused}:   true,
		{TaskWaiting, TaskQueued}:    true,
		{TaskWaiting, TaskCancelled}: true,
	}
	final := []TaskState{TaskDone, TaskFailed, TaskCancelled, TaskRefused}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, from := range taskStates() {
		if from.Final() != slices.Contains(final, from) {
			t.Errorf("%q is final: %v", from, from.Final())
		}
		for _, to := range taskStates() {
			task := Task{ID: "T", State: from}
			err := task.move(to, now, "because")
			var refused *TransitionError
			switch {
			case allowed[[2]TaskState{from, to}]:
				want := Transition{To: to, At: now, Why: "because"}
				if err != nil || task.State != to || len(task.Transitions) != 1 || task.Transitions[0] != want {
					t.Errorf("%q to %q: %v, %+v", from, to, err, task)
				}
				if task.Ended.IsZero() == to.Final() || task.Started.IsZero() == (to == TaskRunning) {
					t.Errorf("%q to %q: started %v, ended %v", from, to, task.Started, task.Ended)
				}
			case !errors.As(err, &refused) || task.State != from || len(task.Transitions) != 0:
				t.Errorf("%q to %q: %v", from, to, err)
			}
		}
	}
}

func TestEveryMoveOfADelivery(t *testing.T) {
	allowed := map[[2]DeliveryState]bool{
		{"", DeliveryPending}:              true,
		{DeliveryPending, DeliverySending}: true,
		{DeliveryPending, DeliveryFailed}:  true,
		{DeliverySending, DeliveryPending}: true,
		{DeliverySending, DeliveryUnsure}:  true,
		{DeliverySending, DeliverySent}:    true,
		{DeliverySending, DeliveryFailed}:  true,
		{DeliveryUnsure, DeliveryPending}:  true,
		{DeliveryUnsure, DeliverySent}:     true,
		{DeliveryUnsure, DeliveryFailed}:   true,
	}
	states := []DeliveryState{"", DeliveryPending, DeliverySending, DeliveryUnsure, DeliverySent, DeliveryFailed}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, from := range states {
		if want := from == DeliverySent || from == DeliveryFailed; from.Final() != want {
			t.Errorf("%q is final: %v", from, from.Final())
		}
		for _, to := range states {
			d := Delivery{Status: from}
			err := d.move(to, now)
			var refused *TransitionError
			if allowed[[2]DeliveryState{from, to}] {
				if err != nil || d.Status != to || len(d.Moves) != 1 || d.Moves[0] != (DeliveryMove{To: to, At: now}) {
					t.Errorf("%q to %q: %v, %+v", from, to, err, d)
				}
			} else if !errors.As(err, &refused) || d.Status != from || len(d.Moves) != 0 {
				t.Errorf("%q to %q: %v", from, to, err)
			}
		}
	}
}
