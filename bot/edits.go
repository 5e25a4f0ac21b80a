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
		if t.Event.Source == event.Source && !t.State.Final() {
			err := o.Cancel(ctx, t.ID, CancelRequest{By: event.Actor, Why: "its message was deleted"})
			if err != nil {
				return Ticket{}, err
			}
		}
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
		if updated.State.Final() {
			if err := o.forget(ctx, t.ID); err != nil {
				return Ticket{}, fmt.Errorf("submit deletion: %w", err)
			}
		}
	}
	return ticket, nil
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
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget deleted content: %w", err)
	}
	if err := o.opts.Store.Erase(ctx, Erasure{Steps: task.ID}); err != nil {
		return fmt.Errorf("forget deleted content: %w", err)
	}
	return o.dropBlobs(ctx, gone)
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
	if len(hashes) == 0 {
		return nil
	}
	used := map[string]bool{}
	for hash, err := range o.opts.Store.References(ctx, time.Time{}) {
		if err != nil {
			return fmt.Errorf("find references: %w", err)
		}
		used[hash] = true
	}
	for _, hash := range hashes {
		if used[hash] {
			continue
		}
		if err := o.opts.Blobs.Remove(ctx, hash, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}
