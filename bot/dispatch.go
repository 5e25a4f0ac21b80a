package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// dispatch starts tasks until ctx ends.
func (o *Orchestrator) dispatch(ctx context.Context) {
	for {
		it, again := o.queue.next(o.now())
		if it != nil {
			if !o.spawn(func(work context.Context) { o.attempt(work, it) }) {
				o.queue.done(it, true)
				return
			}
			continue
		}
		if !o.waitWake(ctx, again) {
			return
		}
	}
}

// waitWake waits for a change or the time; it reports false when ctx ended.
func (o *Orchestrator) waitWake(ctx context.Context, again time.Time) bool {
	var due <-chan time.Time
	if !again.IsZero() {
		timer := time.NewTimer(max(again.Sub(o.now()), time.Millisecond))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-o.wake:
	case <-due:
	}
	return true
}

// attempt works on one task as far as it goes and gives its place back.
func (o *Orchestrator) attempt(work context.Context, it *item) {
	ctx, cancel := context.WithCancelCause(work)
	defer cancel(nil)
	o.mu.Lock()
	o.live[it.id] = cancel
	o.mu.Unlock()
	unclaim := o.keepClaim(ctx, it.id, cancel)
	err := o.drive(ctx, it.id)
	unclaim()
	if errors.Is(context.Cause(ctx), errShutdown) {
		o.release(ctx, it.id)
	}
	o.mu.Lock()
	delete(o.live, it.id)
	o.mu.Unlock()

	wait, repeat := o.judge(ctx, it, err)
	if repeat {
		it.tries++
		it.ready = o.now().Add(wait)
	}
	o.queue.done(it, repeat)
	if !repeat {
		o.dropReporter(it.id)
	}
	o.rouse()
}

// judge says whether and when a task is tried again in this life.
func (o *Orchestrator) judge(ctx context.Context, it *item, err error) (time.Duration, bool) {
	switch {
	case err == nil:
		return 0, false
	case errors.Is(context.Cause(ctx), errShutdown):
		return 0, false // the next life goes on from here
	case errors.Is(err, ErrNotFound):
		return 0, false // purged meanwhile
	}
	var held *heldError
	if errors.As(err, &held) {
		return o.untilFree(held), true
	}
	wait := o.backoff(it.tries)
	var later *laterError
	if !errors.As(err, &later) {
		o.log.Error("task is tried again", "task", it.id, "in", wait, "error", err)
	} else {
		o.log.Info("task waits", "task", it.id, "in", wait, "why", later.Error())
	}
	return wait, true
}

// laterError says that a task cannot go on now, through no fault of its own.
type laterError struct{ err error }

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// drive takes a task from where it stands to its end, or to an error after
// which it is tried again.
func (o *Orchestrator) drive(ctx context.Context, id string) error {
	task, err := o.opts.Store.Task(ctx, id)
	if err != nil {
		return err
	}
	err = o.steps(ctx, &task)
	if err != nil && errors.Is(context.Cause(ctx), ErrCancelled) {
		return o.finish(context.WithoutCancel(ctx), id, Outcome{State: TaskCancelled})
	}
	return err
}

// steps is the way of one task.
func (o *Orchestrator) steps(ctx context.Context, task *Task) error {
	switch {
	case task.State.Final(), task.State == TaskWaiting:
		return nil
	}
	if err := o.free(ctx, task); err != nil {
		return err
	}
	if task.Cancel != nil {
		return o.finish(context.WithoutCancel(ctx), task.ID, Outcome{State: TaskCancelled})
	}
	if ended, err := o.permit(ctx, task); ended || err != nil {
		return err
	}
	if err := o.expand(ctx, task); err != nil {
		return err
	}
	if err := o.begin(ctx, task); err != nil || task.State.Final() {
		return err
	}
	if task.Event.Kind == EventCommand {
		return o.perform(ctx, task)
	}
	if err := o.fetch(ctx, task); err != nil {
		return err
	}
	return o.run(ctx, task)
}

// permit asks policy and platform again, each time a task starts or resumes.
// It reports true when the answer was no and the task has ended with it.
func (o *Orchestrator) permit(ctx context.Context, task *Task) (bool, error) {
	right := o.rightOf(task.Event)
	decision := o.opts.Policy.Decide(ctx, task.Event, right)
	if decision.Allowed && task.Event.NeedsRight {
		if err := o.authorize(ctx, task.Event, &decision); err != nil {
			return false, err
		}
	}
	for _, also := range alsoAsked(task.Event) {
		if !decision.Allowed {
			break
		}
		there := task.Event
		there.Origin = also
		d := o.opts.Policy.Decide(ctx, there, right)
		if d.Allowed {
			if err := o.authorize(ctx, there, &d); err != nil {
				return false, err
			}
		}
		if !d.Allowed {
			decision.Allowed, decision.Reason, decision.Rule = false, also.Place+": "+d.Reason, d.Rule
		}
	}
	if !decision.Allowed {
		return true, o.deny(ctx, task.ID, right, decision)
	}
	task.Allowed = decision
	task.Budgets = decision.Budgets.over(o.opts.Budgets)
	return false, nil
}

// authorize asks the platform for the right that event needs, and narrows the
// policy's decision to its answer.
func (o *Orchestrator) authorize(ctx context.Context, event Event, decision *Decision) error {
	channel := o.opts.Channels[event.Origin.Adapter]
	if channel == nil {
		decision.Allowed, decision.Reason = false, "I do not serve "+event.Origin.Place+"."
		return nil
	}
	call, cancel := context.WithTimeout(ctx, o.opts.Timing.Call)
	answer, err := channel.Authorize(call, event)
	cancel()
	if err != nil {
		return &laterError{fmt.Errorf("ask the platform for the right: %w", err)}
	}
	decision.Allowed, decision.Reason = answer.Allowed, answer.Reason
	if answer.Rule != "" {
		decision.Rule += ", " + answer.Rule
	}
	return nil
}

// alsoAsked are the further places of an event that its actor's own platform is
// asked about: a schedule posts where its owner may ask, in each of its places.
func alsoAsked(event Event) []Origin {
	if !event.NeedsRight || event.Options.DryRun {
		return nil // a dry run answers its asker, who asked there
	}
	adapter, _, _ := strings.Cut(event.Actor.ID, ":")
	return slices.DeleteFunc(slices.Clone(event.Also), func(o Origin) bool { return o.Adapter != adapter })
}

// rightOf is the right that an event asks for, commands included.
func (o *Orchestrator) rightOf(event Event) Right {
	if event.Kind != EventCommand {
		return needed(event)
	}
	if spec, ok := o.opts.Commands[event.Command.Name]; ok && spec.Right != "" {
		return spec.Right
	}
	return MayAsk
}

// deny ends a task whose right was refused, and tells its asker.
func (o *Orchestrator) deny(ctx context.Context, id string, right Right, d Decision) error {
	task, err := o.updateOurs(ctx, id, func(t *Task, c *Commit) error {
		if err := t.move(TaskRefused, o.now(), d.Rule); err != nil {
			return err
		}
		reason := d.Reason
		if reason == "" {
			reason = "You do not have the right to ask for this here."
		}
		t.Outcome = &Outcome{State: TaskRefused, Message: reason, Error: &TaskError{Kind: "policy", Message: reason}}
		c.Audit = []AuditEntry{o.entry(AuditPolicy, t, map[string]any{"right": right, "rule": d.Rule, "allowed": false})}
		c.Deliveries = o.owed(t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("refuse task: %w", err)
	}
	o.ended(&task)
	return nil
}

// begin marks the task as running in this life.
func (o *Orchestrator) begin(ctx context.Context, task *Task) error {
	steps, err := o.opts.Store.Steps(ctx, task.ID)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	updated, err := o.updateOurs(ctx, task.ID, func(t *Task, c *Commit) error {
		if t.Cancel != nil {
			return ErrCancelled
		}
		now := o.now()
		if t.State == TaskRunning {
			if err := t.move(TaskQueued, now, "interrupted"); err != nil {
				return err
			}
		}
		if len(steps) > 0 && steps[len(steps)-1].At.After(lastStart(t)) {
			t.Fruitless = 0
		}
		t.Allowed, t.Budgets = task.Allowed, task.Budgets
		t.Attempts++
		t.Fruitless++
		if err := t.move(TaskRunning, now, ""); err != nil {
			return err
		}
		t.Claim = o.claim(o.opts.Timing.Lease)
		c.Audit = []AuditEntry{
			o.entry(AuditPolicy, t, map[string]any{"right": o.rightOf(t.Event), "rule": t.Allowed.Rule, "allowed": true}),
			o.entry(AuditStart, t, map[string]any{"attempt": t.Attempts}),
		}
		return nil
	})
	if errors.Is(err, ErrCancelled) {
		return o.finish(context.WithoutCancel(ctx), task.ID, Outcome{State: TaskCancelled})
	}
	if err != nil {
		return fmt.Errorf("start task: %w", err)
	}
	*task = updated
	o.opts.Point("started")
	if task.Fruitless > o.opts.Limits.Attempts {
		task.State = TaskFailed
		return o.finish(ctx, task.ID, failure(&TaskError{
			Kind:    "internal",
			Message: fmt.Sprintf("I began this %d times and was interrupted each time before anything came of it, so I have given up.", o.opts.Limits.Attempts),
			Hint:    "The operator's log says what interrupted it. Ask again with a smaller file, or retry.",
		}))
	}
	return nil
}

// lastStart is when the task last began to run.
func lastStart(t *Task) (at time.Time) {
	for _, tr := range t.Transitions {
		if tr.To == TaskRunning {
			at = tr.At
		}
	}
	return at
}

// failure is the outcome of a task that failed for this reason.
func failure(e *TaskError) Outcome { return Outcome{State: TaskFailed, Error: e} }
