package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Claim says which life of a process works on a task, or sends a delivery, and
// until when nobody else may. It is made and renewed in commits that check the
// revision, so that of several processes over one store one has it. Times are
// those of the processes' clocks, which must agree to within Timing.Lease.
type Claim struct {
	Life  string    `json:"life"`
	Until time.Time `json:"until"`
}

// heldError says that another process has the task now.
type heldError struct{ until time.Time }

func (e *heldError) Error() string {
	return "another process has it until " + e.until.UTC().Format(time.RFC3339)
}

// claim is what this life puts on what it takes.
func (o *Orchestrator) claim(length time.Duration) *Claim {
	return &Claim{Life: o.life, Until: o.now().Add(length)}
}

// held reports, as an error, that another life has a claim that holds. Where the
// store lets one process in at a time, every other life is over.
func (o *Orchestrator) held(c *Claim) error {
	if c == nil || c.Life == o.life || o.opts.Exclusive || !c.Until.After(o.now()) {
		return nil
	}
	return &heldError{until: c.Until}
}

// updateOurs is update for what only the process may change that works on the
// task.
func (o *Orchestrator) updateOurs(ctx context.Context, id string, change func(*Task, *Commit) error) (Task, error) {
	return o.update(ctx, id, func(t *Task, c *Commit) error {
		if err := o.held(t.Claim); err != nil {
			return err
		}
		return change(t, c)
	})
}

// free looks whether the task may begin in this process: nobody else has it, and
// no earlier one of its conversation is still to run, which this process's own
// queue need not know of.
func (o *Orchestrator) free(ctx context.Context, task *Task) error {
	if o.opts.Exclusive {
		return nil
	}
	if err := o.held(task.Claim); err != nil {
		return err
	}
	if task.Event.Kind == EventCommand {
		return nil
	}
	earlier, err := o.opts.Store.Tasks(ctx, TaskQuery{Conversation: task.Event.Origin.Conversation, Before: task.ID, Limit: o.opts.Limits.WaitingPerConversation})
	if err != nil {
		return fmt.Errorf("look for earlier tasks of the conversation: %w", err)
	}
	for i := range earlier {
		if state := earlier[i].State; state == TaskQueued || state == TaskRunning {
			o.take(&earlier[i])
			return &heldError{until: o.now().Add(o.beat())}
		}
	}
	return nil
}

// beat is how often a process looks at what others do: at its claims, at
// requests to cancel, and at what a dead one left.
func (o *Orchestrator) beat() time.Duration { return min(o.opts.Timing.Lease/3, time.Second) }

// untilFree is how long to wait for what another process has: it may be done
// before its claim ends.
func (o *Orchestrator) untilFree(held *heldError) time.Duration {
	return max(min(held.until.Sub(o.now()), o.beat()), time.Millisecond)
}

// keepClaim renews the claim on a task in work until the returned function is
// called. A task that another process has taken, or was asked elsewhere to
// cancel, is cancelled here.
func (o *Orchestrator) keepClaim(ctx context.Context, id string, cancel context.CancelCauseFunc) (stop func()) {
	if o.opts.Exclusive {
		return func() {}
	}
	renewing, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		renewed := o.now()
		for sleep(renewing, o.beat()) == nil {
			err := o.renew(renewing, id)
			var held *heldError
			switch {
			case err == nil:
				renewed = o.now()
				continue
			case errors.Is(err, ErrCancelled), errors.As(err, &held):
				cancel(err)
			case renewing.Err() == nil && o.now().Sub(renewed) > o.opts.Timing.Lease*2/3:
				// The store does not answer: another process may take it soon.
				cancel(&heldError{until: o.now().Add(o.opts.Timing.Lease)})
			default:
				continue
			}
			return
		}
	}()
	return func() {
		end()
		<-ended
	}
}

// renew makes the claim on a running task longer when half of it is over.
func (o *Orchestrator) renew(ctx context.Context, id string) error {
	task, err := o.opts.Store.Task(ctx, id)
	switch {
	case err != nil:
		return err
	case task.Cancel != nil:
		return ErrCancelled
	case task.State != TaskRunning || task.Claim == nil:
		return nil // not begun yet, or over
	case task.Claim.Life == o.life && task.Claim.Until.Sub(o.now()) > o.opts.Timing.Lease/2:
		return nil
	}
	_, err = o.updateOurs(ctx, id, func(t *Task, _ *Commit) error {
		if t.State != TaskRunning || t.Claim == nil || t.Claim.Life != o.life {
			return errUnchanged
		}
		t.Claim = o.claim(o.opts.Timing.Lease)
		return nil
	})
	return err
}

// release gives back the claim on a task that this process leaves to others.
func (o *Orchestrator) release(ctx context.Context, id string) {
	if o.opts.Exclusive {
		return
	}
	_, err := o.updateOurs(context.WithoutCancel(ctx), id, func(t *Task, _ *Commit) error {
		if t.Claim == nil || t.Claim.Life != o.life {
			return errUnchanged
		}
		t.Claim.Until = o.now()
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		o.log.Warn("claim is left to expire", "task", id, "error", err)
	}
}

// share looks again and again for what other processes over the store have
// accepted and, it may be, not lived to do.
func (o *Orchestrator) share(ctx context.Context) {
	for sleep(ctx, o.opts.Timing.Lease/3) == nil {
		if err := o.adopt(ctx); err != nil && ctx.Err() == nil {
			o.log.Error("other processes' work is not looked for", "error", err)
		}
		o.hub.ringAll() // for those who wait here for what is done elsewhere
	}
}

// adopt takes up all that is open in the store; claims say who does it.
func (o *Orchestrator) adopt(ctx context.Context) error {
	tasks, err := o.opts.Store.Open(ctx)
	if err != nil {
		return err
	}
	for i := range tasks {
		o.take(&tasks[i])
	}
	deliveries, err := o.opts.Store.Pending(ctx)
	if err != nil {
		return err
	}
	o.outbox.add(deliveries...)
	o.rouse()
	return nil
}

// take puts an open task into this process's queue, unless it is there.
func (o *Orchestrator) take(t *Task) {
	switch {
	case o.opts.Channels[t.Event.Origin.Adapter] == nil, t.State.Final():
	case t.State == TaskWaiting:
		o.mu.Lock()
		o.asking[askedBy(t)] = t.ID
		o.mu.Unlock()
	case t.Event.Kind != EventCommand:
		o.queue.add(itemOf(t))
	case o.held(t.Claim) == nil && o.now().Sub(t.Created) > o.opts.Timing.Lease && !o.isLive(t.ID):
		o.performSoon(t.ID)
	}
}

// itemOf is a task's place in the queue.
func itemOf(t *Task) *item {
	return &item{
		id: t.ID, conversation: t.Event.Origin.Conversation, actor: t.Event.Actor.ID,
		scheduled: t.Event.Scheduled, resumed: t.State == TaskRunning,
	}
}

func (o *Orchestrator) isLive(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live[id] != nil
}

// asked finds the task that waits for this person's answer here: in memory, or
// where another process may have asked, in the store.
func (o *Orchestrator) asked(ctx context.Context, event Event) (string, error) {
	o.mu.Lock()
	id := o.asking[askKey{event.Origin.Conversation, event.Actor.ID}]
	o.mu.Unlock()
	if id != "" || o.opts.Exclusive {
		return id, nil
	}
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{
		State: TaskWaiting, Conversation: event.Origin.Conversation, Actor: event.Actor.ID, Limit: 1,
	})
	if err != nil || len(tasks) == 0 {
		return "", err
	}
	return tasks[0].ID, nil
}

// before returns what is owed to the same place by earlier tasks of the
// delivery's conversation, which other processes may have done just now.
func (b *outbox) before(ctx context.Context, d *Delivery) ([]Delivery, error) {
	if b.o.opts.Exclusive || d.Task == "" || d.Kind == DeliverProgress {
		return nil, nil
	}
	const near = 5 // tasks of one conversation whose answers can be under way together
	tasks, err := b.o.opts.Store.Tasks(ctx, TaskQuery{Conversation: d.Origin.Conversation, Before: d.Task, Limit: near})
	if err != nil {
		return nil, err
	}
	var owed []Delivery
	for i := range tasks {
		all, err := b.o.opts.Store.Deliveries(ctx, tasks[i].ID)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if !other.Status.Final() && laneKey(&other) == laneKey(d) && strings.Compare(other.ID, d.ID) < 0 {
				owed = append(owed, other)
			}
		}
	}
	return owed, nil
}
