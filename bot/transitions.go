package bot

import (
	"fmt"
	"slices"
	"time"
)

// Final reports whether a task in this state has ended for good.
func (s TaskState) Final() bool { return len(s.next()) == 0 }

// next is the table of a task's transitions: what each state may become.
func (s TaskState) next() []TaskState {
	switch s {
	case "":
		return []TaskState{TaskQueued}
	case TaskQueued:
		return []TaskState{TaskRunning, TaskFailed, TaskCancelled, TaskRefused}
	case TaskRunning:
		// Back to queued when a run is to be tried again later.
		return []TaskState{TaskQueued, TaskWaiting, TaskDone, TaskFailed, TaskCancelled, TaskRefused}
	case TaskWaiting:
		return []TaskState{TaskQueued, TaskCancelled}
	default: // TaskDone, TaskFailed, TaskCancelled, TaskRefused
		return nil
	}
}

// move takes the task to another state and records when and why.
func (t *Task) move(to TaskState, at time.Time, why string) error {
	if !slices.Contains(t.State.next(), to) {
		return &TransitionError{What: "task " + t.ID, From: string(t.State), To: string(to)}
	}
	t.State = to
	if to != TaskRunning {
		t.Claim = nil
	}
	t.Transitions = append(slices.Clip(t.Transitions), Transition{To: to, At: at, Why: why})
	switch {
	case to == TaskRunning && t.Started.IsZero():
		t.Started = at
	case to.Final():
		t.Ended = at
	}
	return nil
}

// Final reports whether a delivery in this state needs nothing more.
func (s DeliveryState) Final() bool { return len(s.next()) == 0 }

// next is the table of a delivery's transitions.
func (s DeliveryState) next() []DeliveryState {
	switch s {
	case "":
		return []DeliveryState{DeliveryPending}
	case DeliveryPending:
		return []DeliveryState{DeliverySending, DeliveryFailed}
	case DeliverySending:
		// Pending again when the failure is surely harmless.
		return []DeliveryState{DeliveryPending, DeliveryUnsure, DeliverySent, DeliveryFailed}
	case DeliveryUnsure:
		// Pending when the platform says that it has no such message.
		return []DeliveryState{DeliveryPending, DeliverySent, DeliveryFailed}
	default: // DeliverySent, DeliveryFailed
		return nil
	}
}

// move takes the delivery to another state and records when.
func (d *Delivery) move(to DeliveryState, at time.Time) error {
	if !slices.Contains(d.Status.next(), to) {
		return &TransitionError{What: "delivery " + d.ID, From: string(d.Status), To: string(to)}
	}
	d.Status = to
	if to != DeliverySending {
		d.Claim = nil
	}
	d.Moves = append(slices.Clip(d.Moves), DeliveryMove{To: to, At: at})
	return nil
}

// TransitionError is a move that the tables do not have: something else
// changed the state first, or the code is wrong.
type TransitionError struct {
	What     string
	From, To string
}

// Error implements error.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s cannot go from %q to %q", e.What, e.From, e.To)
}
