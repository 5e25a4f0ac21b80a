package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
)

// submission is a console run on its way to the serving process.
type submission struct {
	ID     string         `json:"id"`
	Out    string         `json:"out"`
	User   string         `json:"user"`
	Prompt string         `json:"prompt"`
	Skill  string         `json:"skill,omitempty"`
	After  string         `json:"after,omitempty"`
	Seed   string         `json:"seed,omitempty"` // reproduce this task
	Inputs []bot.InputRef `json:"inputs,omitempty"`
}

// taskRef names a task in a call.
type taskRef struct {
	Task string `json:"task"`
	User string `json:"user,omitempty"`
}

// update is how a task stands. Answer is set once nothing follows.
type update struct {
	State    bot.TaskState `json:"state"`
	Progress *bot.Progress `json:"progress,omitempty"`
	Answer   *answer       `json:"answer,omitempty"`
}

func (a *app) registerRun(s *control.Server) {
	control.Handle(s, "run/submit", a.submit)
	control.HandleStream(s, "task/watch", a.watch)
	control.Handle(s, "task/cancel", a.cancel)
}

// submit accepts a console run. Sent again with the same ID it finds the task
// that it made.
func (a *app) submit(ctx context.Context, in submission) (bot.Ticket, error) {
	request := console.Request{
		ID: in.ID, Out: in.Out, User: in.User, Prompt: in.Prompt, Skill: in.Skill, After: in.After,
		Inputs: in.Inputs, Received: time.Now(),
	}
	if in.Skill != "" {
		if _, err := skillNamed(a.catalogue, in.Skill); err != nil {
			return bot.Ticket{}, err
		}
	}
	if in.After != "" {
		earlier, err := a.taskOf(ctx, in.After)
		if err != nil {
			return bot.Ticket{}, err
		}
		if earlier.Event.Origin.Adapter == console.Name {
			request.Conversation = earlier.Event.Origin.Conversation
		}
	}
	if err := refuseEmpty(in.Inputs); err != nil {
		return bot.Ticket{}, err
	}
	// Without an engine the task could only fail: better not to begin.
	if err := a.boxes.Ready(ctx); err != nil {
		return bot.Ticket{}, err
	}
	event, err := request.Event()
	if err != nil {
		return bot.Ticket{}, fault.New(fault.Usage, "", "%v", err)
	}
	if in.Seed != "" {
		if err := a.reproduce(ctx, in.Seed, &event); err != nil {
			return bot.Ticket{}, err
		}
	}
	ticket, err := a.orchestrator.Submit(ctx, event)
	if errors.Is(err, bot.ErrReadOnly) {
		return ticket, &fault.Error{Status: fault.Missing, Message: "the data folder takes no more: " + err.Error(), Hint: "free some space: nothing that was accepted is lost", Err: err}
	}
	return ticket, err
}

// reproduce makes the event one that runs an earlier task's programs again, on
// the same inputs.
func (a *app) reproduce(ctx context.Context, id string, event *bot.Event) error {
	task, err := a.taskOf(ctx, id)
	if err != nil {
		return err
	}
	if !task.State.Final() {
		return fault.New(fault.Usage, "wait for its end", "task %s is %s and has not ended", id, task.State)
	}
	event.Text, event.Options = task.Event.Text, bot.Options{Seed: id}
	for _, in := range task.Inputs {
		event.Inputs = append(event.Inputs, bot.InputRef{Name: in.Name, MediaType: in.MediaType, Size: in.Size, Blob: in.Blob, Problem: in.Problem})
	}
	return nil
}

// refuseEmpty refuses a request whose files hold nothing at all.
func refuseEmpty(inputs []bot.InputRef) error {
	for _, in := range inputs {
		if in.Size > 0 {
			return nil
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	return &fault.Error{
		Status: fault.Failed, Kind: "input", Message: fmt.Sprintf("%s is empty (0 bytes)", term.Line(inputs[0].Name)),
		Hint: "export it again and send it once it has content",
	}
}

// watch streams how a task stands until it has ended, or asks back, and all
// that it owes is delivered.
func (a *app) watch(ctx context.Context, in taskRef, send func(update) error) error {
	if _, err := a.taskOf(ctx, in.Task); err != nil {
		return err
	}
	for seen, err := range a.orchestrator.Watch(ctx, in.Task) {
		if err != nil {
			return err
		}
		u := update{State: seen.Task.State, Progress: seen.Progress}
		if seen.Settled {
			deliveries, err := a.orchestrator.Deliveries(ctx, in.Task)
			if err != nil {
				return err
			}
			u.Answer = answerOf(&seen.Task, deliveries)
		}
		if err := send(u); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) cancel(ctx context.Context, in taskRef) (bot.TaskState, error) {
	task, err := a.taskOf(ctx, in.Task)
	if err != nil {
		return "", err
	}
	if task.State.Final() {
		return task.State, nil
	}
	actor := bot.Actor{ID: console.Name + ":" + in.User, Name: in.User}
	if err := a.orchestrator.Cancel(ctx, task.ID, bot.CancelRequest{By: actor}); err != nil {
		return "", err
	}
	return bot.TaskCancelled, nil
}
