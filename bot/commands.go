package bot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// command answers an EventCommand. What the core knows is answered here and
// now; what other rooms bring becomes a small task of its own, which does not
// wait for its conversation and survives a crash.
func (o *Orchestrator) command(ctx context.Context, event Event) (Ticket, error) {
	if _, refused := o.permitted(ctx, event, o.rightOf(event)); refused != nil && refused.Kind != "paused" {
		return o.refuse(ctx, event, *refused)
	}
	// Obeyed before, it must not meet what has begun since.
	switch task, err := o.opts.Store.Claimed(ctx, event.Key); {
	case err == nil:
		return Ticket{Task: task, Duplicate: true}, nil
	case !errors.Is(err, ErrNotFound):
		return Ticket{}, fmt.Errorf("submit command: %w", err)
	}
	switch event.Command.Name {
	case "cancel", "stop":
		return o.cancelCommand(ctx, event)
	case "status":
		text, err := o.statusText(ctx, event)
		if err != nil {
			return Ticket{}, err
		}
		return o.reply(ctx, event, "", text)
	case "help", "":
		return o.reply(ctx, event, "", o.helpText(event))
	case "retry":
		return o.retryCommand(ctx, event)
	}
	if _, ok := o.opts.Commands[event.Command.Name]; !ok {
		return o.reply(ctx, event, "", fmt.Sprintf("I do not know the command `%s`.\n\n%s", event.Command.Name, o.helpText(event)))
	}
	return o.foreign(ctx, event)
}

// reply answers a command: in the ticket, or as a notice that is committed with
// the event's key.
func (o *Orchestrator) reply(ctx context.Context, event Event, task, text string) (Ticket, error) {
	ticket := Ticket{Task: task}
	c := Commit{Keys: []string{event.Key}}
	if event.Inline {
		ticket.Reply = o.opts.Redactor.Text(text)
	} else if text != "" {
		c.Deliveries = []Delivery{o.notice(event, "", text)}
	}
	done, err := o.commit(ctx, c)
	var claimed *ClaimedError
	if errors.As(err, &claimed) {
		return Ticket{Task: task, Duplicate: true, Reply: ticket.Reply}, nil
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("answer command: %w", err)
	}
	o.outbox.add(done.Deliveries...)
	return ticket, nil
}

// helpText tells what can be asked and commanded, written as it is where the
// event came from.
func (o *Orchestrator) helpText(event Event) string {
	spell := func(command string) string { return command }
	if speller, ok := o.opts.Channels[event.Origin.Adapter].(Speller); ok {
		spell = speller.Spell
	}
	helps := []string{
		"status: what I am doing in this conversation", "cancel: end it", "retry: do the last one again", "help: this",
	}
	for _, name := range slices.Sorted(maps.Keys(o.opts.Commands)) {
		if help := o.opts.Commands[name].Help; help != "" {
			helps = append(helps, help)
		}
	}
	lines := []string{"Ask me in your own words and attach the files; I write a program, run it, and answer here.", ""}
	for _, help := range helps {
		command, what, _ := strings.Cut(help, ":")
		lines = append(lines, "- `"+spell(command)+"`:"+what)
	}
	return strings.Join(lines, "\n")
}

// statusText tells how the conversation's tasks stand.
func (o *Orchestrator) statusText(ctx context.Context, event Event) (string, error) {
	const most = 20
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Conversation: event.Origin.Conversation, Limit: most})
	if err != nil {
		return "", fmt.Errorf("answer status: %w", err)
	}
	var lines []string
	for i := range slices.Backward(tasks) {
		if t := &tasks[i]; !t.State.Final() {
			lines = append(lines, o.statusLine(t))
		}
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines, "\n"), nil
	case len(tasks) > 0:
		t := &tasks[0]
		return fmt.Sprintf("Nothing is running here. The last task, `%s`, ended %s ago: %s.", t.ID, ago(o.now().Sub(t.Ended)), t.State), nil
	}
	return "Nothing is running here.", nil
}

func (o *Orchestrator) statusLine(t *Task) string {
	line := fmt.Sprintf("- `%s` is %s", t.ID, t.State)
	switch t.State {
	case TaskQueued:
		if at := o.queue.position(t.Event.Origin.Conversation, t.ID); at > 0 {
			line += fmt.Sprintf(", %d before it", at)
		}
	case TaskRunning:
		line += " for " + ago(o.now().Sub(t.Started))
		if p := o.hub.latest(t.ID); p != nil {
			done := 0
			for _, item := range p.Todo {
				if item.Done {
					done++
				}
			}
			if len(p.Todo) > 0 {
				line += fmt.Sprintf(", %d of %d steps done", done, len(p.Todo))
			}
			if p.Now != "" {
				line += ": " + p.Now
			}
		}
	case TaskWaiting:
		line += ": it needs your answer to go on"
	}
	return line
}

// ago shows a duration as people read it.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// idLength is that of a ULID.
const idLength = 26

// about finds the task that a command is about: the one it names, or the
// conversation's newest that is open (or, with ended, that has ended).
func (o *Orchestrator) about(ctx context.Context, event Event, ended bool) (*Task, error) {
	name := event.Command.Task
	if word := strings.Trim(strings.TrimSpace(event.Command.Args), "`"); name == "" && len(word) == idLength && !strings.Contains(word, " ") {
		name = word // anything else is a person's way to say "this": "cancel that, please"
	}
	if name != "" {
		t, err := o.opts.Store.Task(ctx, name)
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return &t, err
	}
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Conversation: event.Origin.Conversation})
	if err != nil {
		return nil, err
	}
	// A running task is meant before those that wait behind it.
	for _, want := range []TaskState{TaskRunning, ""} {
		for i := range tasks {
			if tasks[i].State.Final() == ended && (want == "" || tasks[i].State == want || ended) {
				return &tasks[i], nil
			}
		}
	}
	return nil, nil
}

// mayTouch reports whether the actor may act on the task: it is theirs, or the
// policy lets them cancel others' — and it belongs to this conversation or they
// administer the bot.
func (o *Orchestrator) mayTouch(ctx context.Context, event Event, t *Task) (bool, string) {
	if t.Event.Actor.ID == event.Actor.ID {
		return true, ""
	}
	right := MayCancelOthers
	if t.Event.Origin.Conversation != event.Origin.Conversation {
		right = MayAdmin
	}
	d := o.opts.Policy.Decide(ctx, event, right)
	return d.Allowed, d.Reason
}

func (o *Orchestrator) cancelCommand(ctx context.Context, event Event) (Ticket, error) {
	task, err := o.about(ctx, event, false)
	if err != nil {
		return Ticket{}, fmt.Errorf("answer cancel: %w", err)
	}
	if task == nil || task.State.Final() {
		return o.reply(ctx, event, "", "There is nothing to cancel here.")
	}
	if ok, why := o.mayTouch(ctx, event, task); !ok {
		return o.reply(ctx, event, "", "That task is somebody else's. "+why)
	}
	text := "Cancelled `" + task.ID + "`."
	if !event.Inline && task.Event.Origin.Conversation == event.Origin.Conversation {
		text = "" // the task's own ending says it
	}
	obeyed := false
	err = o.cancel(ctx, task.ID, CancelRequest{By: event.Actor}, func(c *Commit) {
		obeyed = true
		c.Keys = []string{event.Key}
		if text != "" && !event.Inline {
			c.Deliveries = append(c.Deliveries, o.notice(event, "", text))
		}
	})
	var claimed *ClaimedError
	switch {
	case errors.As(err, &claimed):
		return Ticket{Task: task.ID, Duplicate: true}, nil
	case err != nil:
		return Ticket{}, err
	case !obeyed: // it has ended, or somebody else cancelled it
		return o.reply(ctx, event, task.ID, text)
	}
	o.opts.Point("committed")
	ticket := Ticket{Task: task.ID}
	if event.Inline {
		ticket.Reply = o.opts.Redactor.Text(text)
	}
	return ticket, nil
}

// Cancel ends a task: at once when it waits, within Timing.Cancel when it runs.
// A task that has ended is left as it is.
func (o *Orchestrator) Cancel(ctx context.Context, id string, request CancelRequest) error {
	return o.cancel(ctx, id, request, func(*Commit) {})
}

// cancel commits what also adds together with the cancelling, so that a command
// is obeyed and known as obeyed, or neither. Where the task is left as it is,
// also is not called.
func (o *Orchestrator) cancel(ctx context.Context, id string, request CancelRequest, also func(*Commit)) error {
	if err := o.await(ctx); err != nil {
		return err
	}
	if request.At.IsZero() {
		request.At = o.now()
	}
	task, err := o.update(ctx, id, func(t *Task, c *Commit) error {
		if t.State.Final() || t.Cancel != nil {
			return errUnchanged
		}
		t.Cancel = &request
		entry := o.entry(AuditCancel, t, nil)
		entry.Actor = request.By.ID
		c.Audit = []AuditEntry{entry}
		if t.State == TaskRunning {
			also(c)
			return nil // the run ends it
		}
		if err := t.move(TaskCancelled, o.now(), request.Why); err != nil {
			return err
		}
		t.Outcome = &Outcome{State: TaskCancelled, Message: "Cancelled."}
		c.Audit = append(c.Audit, o.outcomeEntry(t))
		c.Deliveries = o.owed(t)
		also(c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cancel task: %w", err)
	}
	o.mu.Lock()
	cancel := o.live[id]
	o.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
	if task.State == TaskCancelled {
		o.queue.remove(task.Event.Origin.Conversation, id)
		o.ended(&task)
	}
	o.rouse()
	return nil
}

func (o *Orchestrator) retryCommand(ctx context.Context, event Event) (Ticket, error) {
	task, err := o.about(ctx, event, true)
	if err != nil {
		return Ticket{}, fmt.Errorf("answer retry: %w", err)
	}
	if task == nil || !task.State.Final() {
		return o.reply(ctx, event, "", "There is nothing to do again here.")
	}
	if ok, why := o.mayTouch(ctx, event, task); !ok {
		return o.reply(ctx, event, "", "That task is somebody else's. "+why)
	}
	if task.Forgotten() {
		return o.reply(ctx, event, "", goneRequest)
	}
	// Two people, or two clicks, are two events; what they want done again is one.
	ticket, err := o.again(ctx, task, event.Key, event.Actor, "retry:"+task.ID)
	if err != nil || !ticket.Duplicate || ticket.Task == "" {
		return ticket, err
	}
	before, err := o.opts.Store.Task(ctx, ticket.Task)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return Ticket{}, fmt.Errorf("answer retry: %w", err)
	case err == nil && before.Event.Key == event.Key:
		return ticket, nil // this event, once more
	case err == nil && !before.State.Final():
		return o.reply(ctx, event, before.ID, "This is being done again already, as `"+before.ID+"`.")
	case err == nil && event.Inline:
		return o.reply(ctx, event, before.ID, "This was done again already, as `"+before.ID+"`. To repeat that one, say `retry "+before.ID+"`.")
	}
	return o.again(ctx, task, event.Key, event.Actor) // somebody wrote it, and knows
}

// goneRequest answers who wants a request done again that was deleted.
const goneRequest = "The message of that request was deleted, and with it what it asked. Please ask anew."

// Forgotten reports whether the message that made the task is gone, and with it
// what it asked.
func (t *Task) Forgotten() bool {
	return t.Event.Source != "" && slices.Contains(t.Deleted, t.Event.Source)
}

// Retry makes a new task of an ended one: the same request and inputs, asked
// for by actor.
func (o *Orchestrator) Retry(ctx context.Context, id string, actor Actor) (Ticket, error) {
	if err := o.await(ctx); err != nil {
		return Ticket{}, err
	}
	task, err := o.opts.Store.Task(ctx, id)
	if err != nil {
		return Ticket{}, fmt.Errorf("retry task: %w", err)
	}
	if !task.State.Final() {
		return Ticket{}, fmt.Errorf("retry task: it is %s: %w", task.State, ErrConflict)
	}
	if task.Forgotten() {
		return Ticket{}, &TaskError{Kind: "input", Message: goneRequest}
	}
	return o.again(ctx, &task, "retry:"+o.opts.Store.NewID(o.now()), actor)
}

// again accepts an ended task's request once more under a new key; once claims
// further ones.
func (o *Orchestrator) again(ctx context.Context, task *Task, key string, actor Actor, once ...string) (Ticket, error) {
	event := task.Event
	event.Key, event.Received, event.Source = key, o.now(), ""
	event.Actor = actor
	event.Inputs = nil
	for i, in := range task.Event.Inputs {
		if i < len(task.Inputs) && task.Inputs[i].Blob != "" {
			in.Blob = task.Inputs[i].Blob
		}
		if in.Found && in.Blob == "" {
			continue // it is looked for again
		}
		event.Inputs = append(event.Inputs, in)
	}
	decision, refused := o.permitted(ctx, event, needed(event))
	if refused != nil {
		return o.refuse(ctx, event, *refused)
	}
	return o.newTask(ctx, event, decision, once...)
}

// foreign accepts a command of another room as a task and starts it at once.
func (o *Orchestrator) foreign(ctx context.Context, event Event) (Ticket, error) {
	now := o.now()
	task := Task{ID: o.opts.Store.NewID(now), Title: title(Event{Text: event.Command.Name + " " + event.Command.Args}), Event: event, Created: now}
	if err := task.move(TaskQueued, now, ""); err != nil {
		return Ticket{}, err
	}
	_, err := o.commit(ctx, Commit{
		Keys: []string{event.Key}, Task: &task,
		Audit: []AuditEntry{o.entry(AuditEvent, &task, map[string]any{"key": event.Key, "place": event.Origin.Place, "command": event.Command.Name})},
	})
	ticket := Ticket{Task: task.ID}
	var claimed *ClaimedError
	switch {
	case errors.As(err, &claimed):
		ticket = Ticket{Task: claimed.Task, Duplicate: true}
	case err != nil:
		return Ticket{}, fmt.Errorf("submit command: %w", err)
	default:
		o.opts.Point("committed")
		o.performSoon(task.ID)
	}
	if !event.Inline || ticket.Task == "" {
		return ticket, nil
	}
	for update, err := range o.Watch(ctx, ticket.Task) {
		if err != nil {
			return ticket, err
		}
		if update.Task.Outcome != nil {
			ticket.Reply = update.Task.Outcome.text()
			break
		}
	}
	return ticket, nil
}

// performSoon works on a command beside the queue, again and again until it has
// ended or the process does.
func (o *Orchestrator) performSoon(id string) {
	o.spawn(func(work context.Context) {
		ctx, cancel := context.WithCancelCause(work)
		defer cancel(nil)
		o.mu.Lock()
		o.live[id] = cancel
		o.mu.Unlock()
		defer o.keepClaim(ctx, id, cancel)()
		it := &item{id: id}
		for {
			wait, repeat := o.judge(ctx, it, o.drive(ctx, id))
			if !repeat || sleep(ctx, wait) != nil {
				break
			}
			it.tries++
		}
		o.mu.Lock()
		delete(o.live, id)
		o.mu.Unlock()
		o.rouse()
	})
}

// perform runs a command and ends its task with the reply.
func (o *Orchestrator) perform(ctx context.Context, task *Task) error {
	spec, ok := o.opts.Commands[task.Event.Command.Name]
	if !ok {
		return o.finish(ctx, task.ID, failure(&TaskError{Kind: "input", Message: "I do not know this command any more."}))
	}
	reply, err := spec.Run(ctx, task.Event)
	var mine *TaskError
	switch {
	case errors.As(err, &mine):
		return o.finish(ctx, task.ID, failure(mine))
	case err != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return o.failed(ctx, task, err)
	}
	return o.finish(ctx, task.ID, Outcome{State: TaskDone, Message: reply})
}
