package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/docker/go-units"
)

var _ Intake = (*Orchestrator)(nil)

// Submit implements Intake.
func (o *Orchestrator) Submit(ctx context.Context, event Event) (Ticket, error) {
	if err := o.await(ctx); err != nil {
		return Ticket{}, err
	}
	if event.Kind == "" {
		event.Kind = EventRequest
	}
	if event.Received.IsZero() {
		event.Received = o.now()
	}
	if event.Key == "" || event.Origin.Adapter == "" || event.Origin.Conversation == "" || event.Actor.ID == "" {
		return Ticket{}, errors.New("submit event: key, adapter, conversation and actor must be given")
	}
	if o.opts.Channels[event.Origin.Adapter] == nil {
		return Ticket{}, fmt.Errorf("submit event: no channel leads back to %q", event.Origin.Adapter)
	}
	switch event.Kind {
	case EventRequest:
		return o.request(ctx, event)
	case EventCommand:
		return o.command(ctx, event)
	case EventEdit:
		return o.edited(ctx, event)
	case EventDelete:
		return o.deleted(ctx, event)
	}
	return Ticket{}, fmt.Errorf("submit event: unknown kind %q", event.Kind)
}

// request accepts a piece of work or the answer to a question.
func (o *Orchestrator) request(ctx context.Context, event Event) (Ticket, error) {
	decision, refused := o.permitted(ctx, event, needed(event))
	if refused != nil {
		return o.refuse(ctx, event, *refused)
	}
	if ticket, ok, err := o.answered(ctx, event); ok || err != nil {
		return ticket, err
	}
	return o.newTask(ctx, event, decision)
}

// newTask accepts a permitted event as a task of its own. It claims the keys
// given beside the event's: where one of them is claimed already, that task is
// the ticket's.
func (o *Orchestrator) newTask(ctx context.Context, event Event, decision Decision, keys ...string) (Ticket, error) {
	if !event.Scheduled { // the owner's schedules are bounded where they are made
		actor, conversation := event.Actor.ID, event.Origin.Conversation
		if !o.queue.reserve(actor, conversation) {
			return o.refuseNew(ctx, event, Refusal{
				Kind:    "waiting",
				Message: "Too many of your requests are waiting already. Please ask again when one of them is done.",
			}, keys...)
		}
		defer o.queue.release(actor, conversation)
	}
	task, err := o.accept(ctx, event, decision, keys...)
	if full := (*CountError)(nil); errors.As(err, &full) {
		return o.refuseNew(ctx, event, o.overDay(full.Count), keys...)
	}
	if claimed := (*ClaimedError)(nil); errors.As(err, &claimed) {
		return o.twin(ctx, event, claimed)
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("submit event: %w", err)
	}
	o.opts.Point("committed")
	return Ticket{Task: task.ID, Position: o.enqueue(&task)}, nil
}

// refuseNew refuses what a limit has no room for, unless it is known already.
func (o *Orchestrator) refuseNew(ctx context.Context, event Event, r Refusal, keys ...string) (Ticket, error) {
	for _, key := range append([]string{event.Key}, keys...) {
		task, err := o.opts.Store.Claimed(ctx, key)
		if err == nil {
			return o.twin(ctx, event, &ClaimedError{Key: key, Task: task})
		}
		if !errors.Is(err, ErrNotFound) {
			return Ticket{}, fmt.Errorf("submit event: %w", err)
		}
	}
	return o.refuse(ctx, event, r)
}

// needed is the right that a request asks for.
func needed(event Event) Right {
	if event.Scheduled {
		return MaySchedule
	}
	return MayAsk
}

// accept commits event, keys and task together.
func (o *Orchestrator) accept(ctx context.Context, event Event, decision Decision, keys ...string) (Task, error) {
	o.limitInputs(&event)
	now := o.now()
	task := Task{
		ID:      o.opts.Store.NewID(now),
		Title:   title(event),
		Event:   event,
		Allowed: decision,
		Budgets: decision.Budgets.over(o.opts.Budgets),
		Created: now,
	}
	if err := task.move(TaskQueued, now, ""); err != nil {
		return task, err
	}
	counts := task.dayCounts()
	if err := o.room(ctx, counts); err != nil {
		return task, err
	}
	done, err := o.commit(ctx, Commit{
		Keys:   append([]string{event.Key}, keys...),
		Counts: counts,
		Task:   &task,
		Audit: []AuditEntry{
			o.entry(AuditEvent, &task, map[string]any{"key": event.Key, "place": event.Origin.Place, "adapter": event.Origin.Adapter}),
			o.entry(AuditPolicy, &task, map[string]any{"right": needed(event), "rule": decision.Rule, "allowed": true}),
		},
	})
	if err != nil {
		return task, err
	}
	return *done.Task, nil
}

// limitInputs marks the inputs that will not be read, so that the asker is told.
func (o *Orchestrator) limitInputs(event *Event) {
	event.Inputs = slices.Clone(event.Inputs)
	for i := range event.Inputs {
		in := &event.Inputs[i]
		switch {
		case in.Problem != "":
		case i >= o.opts.Limits.Inputs:
			in.Problem = fmt.Sprintf("a request may bring at most %d files", o.opts.Limits.Inputs)
		case in.Size > o.opts.Limits.Input:
			in.Problem = "it is larger than " + sizeText(o.opts.Limits.Input)
		}
	}
}

// enqueue hands an accepted task to the dispatcher and returns its place.
func (o *Orchestrator) enqueue(task *Task) int {
	if o.opts.Channels[task.Event.Origin.Adapter] == nil {
		return 0
	}
	o.queue.add(itemOf(task))
	position := o.queue.position(task.Event.Origin.Conversation, task.ID)
	o.rouse()
	if position > 0 && !task.Event.Scheduled {
		o.announce(*task)
	}
	return position
}

// rouse makes the dispatcher look again.
func (o *Orchestrator) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
	o.outbox.rouse() // it waits for running tasks at shutdown
}

// twin adds what a second event of the same happening carries, until the task
// has started.
func (o *Orchestrator) twin(ctx context.Context, event Event, claimed *ClaimedError) (Ticket, error) {
	ticket := Ticket{Task: claimed.Task, Duplicate: true}
	if claimed.Task == "" {
		return ticket, nil
	}
	task, err := o.update(ctx, claimed.Task, func(t *Task, _ *Commit) error {
		if t.State != TaskQueued || t.Attempts > 0 || t.Event.Key != event.Key || !t.Event.merge(event) {
			return errUnchanged
		}
		o.limitInputs(&t.Event)
		t.Title = title(t.Event)
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return ticket, nil // retention took it meanwhile
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("merge twin events: %w", err)
	}
	ticket.Position = o.queue.position(task.Event.Origin.Conversation, task.ID)
	return ticket, nil
}

// merge takes over what the twin has and e lacks; it reports whether there was
// anything.
func (e *Event) merge(twin Event) bool {
	changed := false
	fill := func(have *string, other string) {
		if *have == "" && other != "" {
			*have, changed = other, true
		}
	}
	fill(&e.Text, twin.Text)
	fill(&e.Source, twin.Source)
	fill(&e.Origin.Link, twin.Origin.Link)
	fill(&e.Actor.Name, twin.Actor.Name)
	for _, in := range twin.Inputs {
		same := func(have InputRef) bool { return have.Ref == in.Ref && have.Blob == in.Blob && have.Name == in.Name }
		if !slices.ContainsFunc(e.Inputs, same) {
			e.Inputs = append(slices.Clip(e.Inputs), in)
			changed = true
		}
	}
	if twin.NeedsRight && !e.NeedsRight {
		e.NeedsRight, changed = true, true
	}
	return changed
}

// answered takes the event as the reply to a question that the bot asked this
// person in this conversation; it reports false when there is none.
func (o *Orchestrator) answered(ctx context.Context, event Event) (Ticket, bool, error) {
	if event.Scheduled {
		return Ticket{}, false, nil
	}
	asked, err := o.asked(ctx, event)
	if err != nil {
		return Ticket{}, false, fmt.Errorf("submit answer: %w", err)
	}
	if asked == "" {
		return Ticket{}, false, nil
	}
	o.limitInputs(&event)
	task, err := o.update(ctx, asked, func(t *Task, c *Commit) error {
		if t.State != TaskWaiting {
			return &TransitionError{What: "task " + t.ID, From: string(t.State), To: string(TaskQueued)}
		}
		if err := t.move(TaskQueued, o.now(), "answered"); err != nil {
			return err
		}
		t.Answers = append(slices.Clip(t.Answers), Answer{Text: event.Text, Actor: event.Actor, At: o.now(), Source: event.Source})
		t.Event.Inputs = append(slices.Clip(t.Event.Inputs), event.Inputs...)
		t.Expanded = false
		c.Keys = []string{event.Key}
		c.Audit = []AuditEntry{o.entry(AuditEvent, t, map[string]any{"key": event.Key, "answer": len(t.Answers)})}
		return nil
	})
	var moved *TransitionError
	var claimed *ClaimedError
	switch {
	case errors.As(err, &moved), errors.Is(err, ErrNotFound):
		return Ticket{}, false, nil // no longer waiting: a request like any other
	case errors.As(err, &claimed):
		return Ticket{Task: claimed.Task, Duplicate: true}, true, nil
	case err != nil:
		return Ticket{}, false, fmt.Errorf("submit answer: %w", err)
	}
	o.forgetQuestion(&task)
	o.opts.Point("committed")
	return Ticket{Task: task.ID, Position: o.enqueue(&task)}, true, nil
}

// forgetQuestion stops waiting for an answer to this task.
func (o *Orchestrator) forgetQuestion(task *Task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asking[askedBy(task)] == task.ID {
		delete(o.asking, askedBy(task))
	}
}

// entry makes an audit entry for a task (nil: none); data holds ids, hashes and
// numbers, never text.
func (o *Orchestrator) entry(kind AuditKind, task *Task, data map[string]any) AuditEntry {
	e := AuditEntry{At: o.now(), Kind: kind}
	if task != nil {
		e.Task, e.Actor = task.ID, task.Event.Actor.ID
	}
	if len(data) > 0 {
		body, err := json.Marshal(data)
		if err != nil {
			// Only strings and numbers go in here; say so instead of losing it.
			body = []byte(`{"unreadable":true}`)
		}
		e.Data = body
	}
	return e
}

// title is the first line of the request, cut to what fits a list.
func title(event Event) string {
	const longest = 80
	text := strings.TrimSpace(event.Text)
	if text == "" && event.Options.Skill != "" {
		text = event.Options.Skill
	}
	if text == "" && len(event.Inputs) > 0 {
		text = event.Inputs[0].Name
	}
	text, _, _ = strings.Cut(text, "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

// sizeText shows bytes as people read them.
func sizeText(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}
