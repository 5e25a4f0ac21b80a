package bot

import (
	"context"
	"sync"
	"time"
)

// reporter shows one task's progress at its origin: always the newest state,
// one call at a time. It is best effort.
type reporter struct {
	o       *Orchestrator
	id      string // of the task
	channel Channel
	wake    chan struct{} // holds at most one signal

	// mu guards what follows.
	mu     sync.Mutex
	latest Progress

	// calling is held during a call and guards what follows.
	calling sync.Mutex
	task    Task
	running bool // no place in the queue is shown any more
}

// reporterOf returns the task's reporter, the same one until the task is done
// in this life.
func (o *Orchestrator) reporterOf(task Task) *reporter {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.reporter[task.ID]
	if r == nil {
		r = &reporter{
			o: o, id: task.ID, channel: o.opts.Channels[task.Event.Origin.Adapter], task: task,
			wake: make(chan struct{}, 1),
		}
		o.reporter[task.ID] = r
	}
	return r
}

func (o *Orchestrator) dropReporter(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.reporter, task)
}

// report implements Run.Report: it never blocks on the platform.
func (r *reporter) report(p Progress) {
	redact := r.o.opts.Redactor
	p.Task, p.State, p.Now = r.id, TaskRunning, redact.Text(p.Now)
	todo := make([]TodoItem, 0, len(p.Todo))
	for _, item := range p.Todo {
		todo = append(todo, TodoItem{Text: redact.Text(item.Text), Done: item.Done})
	}
	p.Todo = todo
	r.mu.Lock()
	if p.Started.IsZero() {
		p.Started = r.latest.Started
	}
	r.latest = p
	r.mu.Unlock()
	r.o.hub.report(p)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loop shows the newest progress until ctx ends. A call that is under way then
// gets a little time, so that its receipt is not lost.
func (r *reporter) loop(ctx context.Context) {
	const lastCall = 3 * time.Second
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastCall, stop) })()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.mu.Lock()
		latest := r.latest
		r.mu.Unlock()
		r.show(calls, latest)
		if sleep(ctx, r.o.opts.Timing.Progress) != nil {
			return
		}
	}
}

// show makes one call and records a new receipt, so that a later life edits the
// same message.
func (r *reporter) show(ctx context.Context, p Progress) {
	r.calling.Lock()
	defer r.calling.Unlock()
	if p.State == TaskQueued && r.running || r.task.Event.Scheduled || r.task.Event.Options.DryRun {
		return
	}
	r.running = r.running || p.State == TaskRunning
	call, cancel := context.WithTimeout(ctx, r.o.opts.Timing.Call)
	defer cancel()
	receipt, err := r.channel.Progress(call, r.task, p, r.task.Progress)
	if err != nil {
		r.o.log.Warn("progress is not shown", "task", r.task.ID, "error", err)
		return
	}
	if receipt == nil || r.task.Progress != nil && r.task.Progress.ID == receipt.ID {
		return
	}
	updated, err := r.o.updateOurs(context.WithoutCancel(ctx), r.task.ID, func(t *Task, _ *Commit) error {
		if t.State.Final() {
			return errUnchanged
		}
		t.Progress = receipt
		return nil
	})
	if err != nil {
		r.o.log.Warn("progress receipt is not recorded", "task", r.task.ID, "error", err)
		return
	}
	r.task = updated
}

// announcer tells waiting tasks their place, one after the other.
type announcer struct {
	wake chan struct{} // holds at most one signal

	// mu guards what follows.
	mu   sync.Mutex
	wait []Task
}

// announce has the task's asker told its place in the queue.
func (o *Orchestrator) announce(task Task) {
	a := o.announcer
	a.mu.Lock()
	a.wait = append(a.wait, task)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// announcements runs until ctx ends.
func (o *Orchestrator) announcements(ctx context.Context) {
	a := o.announcer
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		for ctx.Err() == nil {
			a.mu.Lock()
			if len(a.wait) == 0 {
				a.mu.Unlock()
				break
			}
			task := a.wait[0]
			a.wait = a.wait[1:]
			a.mu.Unlock()
			if at := o.queue.position(task.Event.Origin.Conversation, task.ID); at > 0 {
				o.reporterOf(task).show(ctx, Progress{Task: task.ID, State: TaskQueued, Position: at})
			}
		}
	}
}
