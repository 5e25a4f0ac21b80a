package bot

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// Update is what Watch tells.
type Update struct {
	Task     Task
	Progress *Progress // the newest while the task runs; nil before and after
	// Settled is true once the task has ended, or asks back, and each of its
	// deliveries has ended: nothing follows.
	Settled bool
}

// Watch yields how a task stands now and after each change, the newest state
// when changes come faster than they are taken. It ends after an Update that is
// Settled, with an error, or when ctx does.
func (o *Orchestrator) Watch(ctx context.Context, task string) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		leave := o.hub.join(task)
		defer leave()
		for {
			changed, progress := o.hub.watch(task)
			update, err := o.look(ctx, task, progress)
			if err != nil {
				yield(Update{}, fmt.Errorf("watch task: %w", err))
				return
			}
			if !yield(update, nil) || update.Settled {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(Update{}, fmt.Errorf("watch task: %w", context.Cause(ctx)))
				return
			}
		}
	}
}

// look reads how a task stands.
func (o *Orchestrator) look(ctx context.Context, id string, progress *Progress) (Update, error) {
	task, err := o.opts.Store.Task(ctx, id)
	if err != nil {
		return Update{}, err
	}
	u := Update{Task: task}
	if !task.State.Final() && task.State != TaskWaiting {
		u.Progress = progress
		return u, nil
	}
	deliveries, err := o.opts.Store.Deliveries(ctx, id)
	if err != nil {
		return Update{}, err
	}
	u.Settled = true
	for i := range deliveries {
		u.Settled = u.Settled && deliveries[i].Status.Final()
	}
	return u, nil
}

// Viewed records in the audit that an admin looked at somebody's private task.
func (o *Orchestrator) Viewed(ctx context.Context, viewer Actor, task string) error {
	t, err := o.opts.Store.Task(ctx, task)
	if err != nil {
		return fmt.Errorf("record a look at task: %w", err)
	}
	entry := o.entry(AuditViewed, &t, map[string]any{"viewer": viewer.ID})
	if _, err := o.commit(ctx, Commit{Audit: []AuditEntry{entry}}); err != nil {
		return fmt.Errorf("record a look at task: %w", err)
	}
	return nil
}

// Changed returns a channel that is closed at the next change of any task or
// delivery.
func (o *Orchestrator) Changed() <-chan struct{} { return o.hub.any() }

// Idle waits until everything that this process can finish is finished: no task
// waits or runs, no delivery is owed. Questions that wait for a person and what
// belongs to adapters that are not configured here do not count.
func (o *Orchestrator) Idle(ctx context.Context) error {
	if err := o.await(ctx); err != nil {
		return err
	}
	for {
		changed := o.hub.any()
		if o.idle() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until idle: %w", context.Cause(ctx))
		}
	}
}

func (o *Orchestrator) idle() bool {
	o.mu.Lock()
	working := len(o.live)
	o.mu.Unlock()
	return working == 0 && o.queue.idle() && o.outbox.idle()
}

// hub tells those who watch that something changed.
type hub struct {
	// mu guards what follows.
	mu       sync.Mutex
	topics   map[string]*topic
	progress map[string]*Progress // of running tasks
	bell     chan struct{}        // closed at the next change of anything
}

// topic is one watched task.
type topic struct {
	watchers int
	bell     chan struct{} // closed at the next change
}

func newHub() *hub {
	return &hub{topics: map[string]*topic{}, progress: map[string]*Progress{}, bell: make(chan struct{})}
}

func (h *hub) join(task string) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[task]
	if t == nil {
		t = &topic{bell: make(chan struct{})}
		h.topics[task] = t
	}
	t.watchers++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.watchers--; t.watchers == 0 {
			delete(h.topics, task)
		}
	}
}

// watch returns a channel that closes at the task's next change, and its newest
// progress. The caller has joined.
func (h *hub) watch(task string) (<-chan struct{}, *Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.topics[task].bell, h.progress[task]
}

// changed tells those who watch this task, and those who wait for anything.
func (h *hub) changed(task string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[task]; t != nil {
		close(t.bell)
		t.bell = make(chan struct{})
	}
	close(h.bell)
	h.bell = make(chan struct{})
}

// ringAll tells everybody.
func (h *hub) ringAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		close(t.bell)
		t.bell = make(chan struct{})
	}
	close(h.bell)
	h.bell = make(chan struct{})
}

// ring tells those who wait for anything.
func (h *hub) ring() { h.changed("") }

func (h *hub) any() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bell
}

func (h *hub) report(p Progress) {
	h.mu.Lock()
	h.progress[p.Task] = &p
	h.mu.Unlock()
	h.changed(p.Task)
}

// latest returns the newest progress of a running task.
func (h *hub) latest(task string) *Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.progress[task]
}

func (h *hub) end(task string) {
	h.mu.Lock()
	delete(h.progress, task)
	h.mu.Unlock()
	h.changed(task)
}
