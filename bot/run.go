package bot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// maxRunFailures is how often a run may fail by itself in one life before the
// task does.
const maxRunFailures = 3

// returned is what a Runner gave back.
type returned struct {
	outcome Outcome
	err     error
}

// run has the Runner work on the task and commits what comes of it.
func (o *Orchestrator) run(ctx context.Context, task *Task) error {
	history, err := o.history(ctx, task)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	j, err := o.openJournal(ctx, task.ID)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	reporter := o.reporterOf(*task)
	reporter.report(Progress{Started: o.now()})
	showing, hide := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		reporter.loop(showing)
	}()
	result := make(chan returned, 1)
	go func() {
		outcome, err := o.call(ctx, Run{
			Task: *task, History: history, Journal: j, Blobs: o.opts.Blobs,
			Meter:  &taskMeter{meter: o.meter, actor: task.Event.Actor.ID, budgets: task.Budgets},
			Report: reporter.report,
		})
		result <- returned{outcome, err}
	}()
	got, heeded := o.result(ctx, result)
	j.close()
	hide()
	<-shown
	err = o.conclude(ctx, task, got)
	if !heeded {
		<-result // its conversation stays taken until it is really over
	}
	return err
}

// call runs the Runner and turns a panic into an error.
func (o *Orchestrator) call(ctx context.Context, run Run) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("a run panicked", "task", run.Task.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("run panicked: %v", p)
		}
	}()
	return o.opts.Runner.Run(ctx, run)
}

// result waits for the Runner; after a cancel not longer than Timing.Cancel. It
// reports whether the Runner has returned.
func (o *Orchestrator) result(ctx context.Context, result <-chan returned) (returned, bool) {
	select {
	case got := <-result:
		return got, true
	case <-ctx.Done():
	}
	if !errors.Is(context.Cause(ctx), ErrCancelled) {
		return <-result, true
	}
	timer := time.NewTimer(o.opts.Timing.Cancel)
	defer timer.Stop()
	select {
	case got := <-result:
		return got, true
	case <-timer.C:
		return returned{err: ErrCancelled}, false
	}
}

// conclude commits the outcome, or says that the run is to be tried again.
func (o *Orchestrator) conclude(ctx context.Context, task *Task, got returned) error {
	cause := context.Cause(ctx)
	keep := context.WithoutCancel(ctx)
	var mine *TaskError
	var budget *BudgetError
	switch {
	case errors.Is(cause, ErrCancelled):
		got.outcome.State = TaskCancelled
		return o.finish(keep, task.ID, got.outcome)
	case got.err == nil:
		return o.finish(keep, task.ID, got.outcome)
	case cause != nil:
		return cause
	case errors.As(got.err, &mine):
		got.outcome.State, got.outcome.Error = TaskFailed, mine
		return o.finish(keep, task.ID, got.outcome)
	case errors.As(got.err, &budget):
		got.outcome.State = TaskFailed
		got.outcome.Error = &TaskError{Kind: "budget", Message: "The " + budget.Error() + ".", Hint: "Ask again tomorrow, or have the limit raised (`budgets:`)."}
		return o.finish(keep, task.ID, got.outcome)
	}
	return o.failed(keep, task, got.err)
}

// failed counts failures of the run itself; the last one ends the task.
func (o *Orchestrator) failed(ctx context.Context, task *Task, cause error) error {
	if o.failures(task) < maxRunFailures-1 {
		_, err := o.updateOurs(ctx, task.ID, func(t *Task, _ *Commit) error {
			return t.move(TaskQueued, o.now(), runFailed)
		})
		return errors.Join(fmt.Errorf("run task: %w", cause), err)
	}
	o.log.Error("task failed", "task", task.ID, "error", cause)
	return o.finish(ctx, task.ID, failure(&TaskError{
		Kind: "internal", Message: "Something went wrong on my side, and trying again did not help.",
		Hint: "The operator's log names the cause under task " + task.ID + ".",
	}))
}

// runFailed is the reason on a transition back to queued.
const runFailed = "the run failed"

func (o *Orchestrator) failures(task *Task) (n int) {
	for _, tr := range task.Transitions {
		if tr.Why == runFailed {
			n++
		}
	}
	return n
}

// history returns the conversation's earlier tasks that ended, oldest first,
// and the one that the request goes on from.
func (o *Orchestrator) history(ctx context.Context, task *Task) ([]Task, error) {
	const longest = 20
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Conversation: task.Event.Origin.Conversation, Before: task.ID, Limit: longest})
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t Task) bool { return !t.State.Final() || t.State == TaskRefused })
	slices.Reverse(tasks)
	after := task.Event.Options.After
	if after == "" || slices.ContainsFunc(tasks, func(t Task) bool { return t.ID == after }) {
		return tasks, nil
	}
	earlier, err := o.opts.Store.Task(ctx, after)
	if errors.Is(err, ErrNotFound) {
		return tasks, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]Task{earlier}, tasks...), nil
}
