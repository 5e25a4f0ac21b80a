package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// sourced bounds how many tasks one message or file is looked for in.
const sourced = 50

// edited takes over a changed text until its task has started. Who edits must
// be who asked: a text runs with its author's rights.
func (o *Orchestrator) edited(ctx context.Context, event Event) (Ticket, error) {
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Source: event.Source, Limit: sourced})
	if err != nil {
		return Ticket{}, fmt.Errorf("submit edit: %w", err)
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Event.Source != event.Source || t.Event.Actor.ID != event.Actor.ID {
			continue
		}
		_, err := o.update(ctx, t.ID, func(t *Task, _ *Commit) error {
			if t.State != TaskQueued || t.Attempts > 0 || t.Event.Text == event.Text {
				return errUnchanged
			}
			t.Event.Text = event.Text
			if len(event.Inputs) > 0 {
				// The text brings its files with it (fenced blocks, links).
				t.Event.Inputs = event.Inputs
				o.limitInputs(&t.Event)
			}
			t.Expanded = false // its words may name other files now
			t.Title = title(t.Event)
			return nil
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Ticket{}, fmt.Errorf("submit edit: %w", err)
		}
		return Ticket{Task: t.ID}, nil
	}
	return Ticket{}, nil
}

// deleted ends the tasks that a message made and forgets what came from it, or
// from a file.
func (o *Orchestrator) deleted(ctx context.Context, event Event) (Ticket, error) {
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Source: event.Source, Limit: sourced})
	if err != nil {
		return Ticket{}, fmt.Errorf("submit deletion: %w", err)
	}
	var ticket Ticket
	for i := range tasks {
		t := &tasks[i]
		ticket.Task = t.ID
		if err := o.owe(ctx, t.ID); err != nil {
			return Ticket{}, fmt.Errorf("submit deletion: %w", err)
		}
		// Before it is cancelled: whoever tells of the end knows why then.
		updated, err := o.update(ctx, t.ID, func(t *Task, _ *Commit) error {
			if slices.Contains(t.Deleted, event.Source) {
				return errUnchanged
			}
			t.Deleted = append(slices.Clip(t.Deleted), event.Source)
			return nil
		})
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return Ticket{}, fmt.Errorf("submit deletion: %w", err)
		}
		if updated.Event.Source == event.Source && !updated.State.Final() {
			if err := o.Cancel(ctx, t.ID, CancelRequest{By: event.Actor, Why: "its message was deleted"}); err != nil {
				return Ticket{}, err
			}
			if updated, err = o.opts.Store.Task(ctx, t.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return Ticket{}, fmt.Errorf("submit deletion: %w", err)
			}
		}
		if updated.State.Final() {
			if err := o.forget(ctx, t.ID); err != nil {
				return Ticket{}, fmt.Errorf("submit deletion: %w", err)
			}
		}
	}
	return ticket, nil
}

// forgetBucket holds the ids of tasks of which something is still to be
// forgotten, so that a crash does not keep it.
const forgetBucket = "forget"

// owe remembers that something of this task is to be forgotten.
func (o *Orchestrator) owe(ctx context.Context, id string) error {
	_, err := o.opts.Store.Put(ctx, forgetBucket, id, []byte("true"), 0)
	if errors.Is(err, ErrConflict) {
		return nil // remembered already
	}
	return err
}

// forgetRest goes on with what an earlier life did not come to forget.
func (o *Orchestrator) forgetRest(ctx context.Context) error {
	records, err := o.opts.Store.List(ctx, forgetBucket, "")
	if err != nil {
		return err
	}
	for _, r := range records {
		task, err := o.opts.Store.Task(ctx, r.Key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err != nil || task.State.Final() {
			if err := o.forget(ctx, r.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget removes what came from a task's deleted sources: the content of files,
// the text of a message, and the steps, which may quote either.
func (o *Orchestrator) forget(ctx context.Context, id string) error {
	var gone []string
	task, err := o.update(ctx, id, func(t *Task, c *Commit) error {
		if gone = t.strip(); len(gone) == 0 && t.Event.Text == "" {
			return errUnchanged
		}
		if slices.Contains(t.Deleted, t.Event.Source) {
			t.Event.Text, t.Title = "", "(deleted)"
		}
		c.Audit = []AuditEntry{o.entry(AuditErase, t, map[string]any{"sha256": gone})}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return o.opts.Store.Delete(ctx, forgetBucket, id)
	}
	if err != nil {
		return fmt.Errorf("forget deleted content: %w", err)
	}
	if err := o.opts.Store.Erase(ctx, Erasure{Steps: task.ID}); err != nil {
		return fmt.Errorf("forget deleted content: %w", err)
	}
	if o.opts.Forgotten != nil {
		if err := o.opts.Forgotten(ctx, task.ID); err != nil {
			return fmt.Errorf("forget copies of deleted content: %w", err)
		}
	}
	if err := o.dropBlobs(ctx, gone); err != nil {
		return err
	}
	return o.opts.Store.Delete(ctx, forgetBucket, id)
}

// strip takes the content that came from deleted sources off the task and
// returns its hashes.
func (t *Task) strip() (gone []string) {
	whole := slices.Contains(t.Deleted, t.Event.Source)
	const why = "it was deleted where it came from"
	t.Event.Inputs, t.Inputs = slices.Clone(t.Event.Inputs), slices.Clone(t.Inputs)
	for i := range t.Event.Inputs {
		ref := &t.Event.Inputs[i]
		if !whole && !slices.Contains(t.Deleted, ref.Ref) {
			continue
		}
		if ref.Blob != "" {
			gone = append(gone, ref.Blob)
		}
		ref.Blob, ref.Problem = "", why
		if i < len(t.Inputs) {
			if t.Inputs[i].Blob != "" {
				gone = append(gone, t.Inputs[i].Blob)
			}
			t.Inputs[i].Blob, t.Inputs[i].Problem = "", why
		}
	}
	return gone
}

// dropBlobs removes content that nothing refers to any more.
func (o *Orchestrator) dropBlobs(ctx context.Context, hashes []string) error {
	garbage := map[string]bool{}
	for _, hash := range hashes {
		garbage[hash] = true
	}
	return o.collect(ctx, garbage, time.Time{}, time.Time{})
}
