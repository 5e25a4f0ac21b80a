package main

import (
	"context"
	"errors"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
)

type tasksQuery struct {
	State bot.TaskState `json:"state,omitempty"`
	Limit int           `json:"limit,omitempty"`
}

// listedTask is one line of `tasks list --json`; its fields are the outer
// contract.
type listedTask struct {
	Task    string        `json:"task"`
	State   bot.TaskState `json:"state"`
	Origin  string        `json:"origin"`
	Actor   string        `json:"actor"`
	Title   string        `json:"title"`
	Created time.Time     `json:"created"`
	Ended   *time.Time    `json:"ended"`
	CostUSD float64       `json:"cost_usd"`
}

type showQuery struct {
	Task  string `json:"task"`
	Audit bool   `json:"audit,omitempty"`
}

// shownTask is `tasks show --json`.
type shownTask struct {
	bot.Task
	Steps      []bot.Step       `json:"steps"`
	Deliveries []bot.Delivery   `json:"deliveries"`
	Audit      []bot.AuditEntry `json:"audit,omitempty"`
}

func (a *app) registerTasks(s *control.Server) {
	control.Handle(s, "tasks/list", a.listTasks)
	control.Handle(s, "tasks/show", a.showTask)
	control.Handle(s, "tasks/costs", a.costs)
	control.Handle(s, "task/retry", a.retry)
	control.Handle(s, "task/save", a.saveTask)
}

// saveQuery names a task to save as a report.
type saveQuery struct {
	Task   string `json:"task"`
	Name   string `json:"name"`
	User   string `json:"user"`
	Accept bool   `json:"accept,omitempty"`
}

func (a *app) saveTask(ctx context.Context, in saveQuery) (agent.Saved, error) {
	task, err := a.taskOf(ctx, in.Task)
	if err != nil {
		return agent.Saved{}, err
	}
	if err := a.boxes.Ready(ctx); err != nil {
		return agent.Saved{}, err
	}
	got, err := a.save(ctx, task, in.Name, console.Name+":"+in.User, in.Accept)
	var constants *agent.ConstantsError
	switch {
	case errors.As(err, &constants):
		return got, &fault.Error{Status: fault.Failed, Message: constants.Error(), Hint: "if that is right, save it with --accept", Err: err}
	case errors.Is(err, saved.ErrTaken):
		return got, &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "choose another name", Err: err}
	case errors.Is(err, agent.ErrNotSavable):
		return got, &fault.Error{Status: fault.Failed, Message: err.Error(), Err: err}
	}
	return got, err
}

func (a *app) listTasks(ctx context.Context, in tasksQuery) ([]listedTask, error) {
	tasks, err := a.orchestrator.Tasks(ctx, bot.TaskQuery{State: in.State, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	list := make([]listedTask, 0, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		one := listedTask{Task: t.ID, State: t.State, Origin: t.Event.Origin.Place, Actor: t.Event.Actor.ID, Title: t.Title, Created: t.Created}
		if !t.Ended.IsZero() {
			one.Ended = &t.Ended
		}
		if t.Outcome != nil {
			one.CostUSD = t.Outcome.Usage.CostUSD
		}
		list = append(list, one)
	}
	return list, nil
}

func (a *app) showTask(ctx context.Context, in showQuery) (shownTask, error) {
	task, err := a.taskOf(ctx, in.Task)
	if err != nil {
		return shownTask{}, err
	}
	shown := shownTask{Task: task}
	if shown.Steps, err = a.orchestrator.Steps(ctx, task.ID); err != nil {
		return shown, err
	}
	if shown.Deliveries, err = a.orchestrator.Deliveries(ctx, task.ID); err != nil {
		return shown, err
	}
	if !in.Audit {
		return shown, nil
	}
	for entry, err := range a.store.Audit(ctx, 0) {
		if err != nil {
			return shown, err
		}
		if entry.Task == task.ID {
			shown.Audit = append(shown.Audit, entry)
		}
	}
	return shown, nil
}

func (a *app) retry(ctx context.Context, in taskRef) (bot.Ticket, error) {
	task, err := a.taskOf(ctx, in.Task)
	if err != nil {
		return bot.Ticket{}, err
	}
	ticket, err := a.orchestrator.Retry(ctx, task.ID, bot.Actor{ID: console.Name + ":" + in.User, Name: in.User})
	switch {
	case errors.Is(err, bot.ErrConflict):
		return ticket, fault.New(fault.Usage, "cancel it first, or wait for its end", "task %s is %s and has not ended", task.ID, task.State)
	case err != nil:
		return ticket, err
	case ticket.Refused != nil:
		return ticket, fault.New(fault.Failed, "", "%s", ticket.Refused.Message)
	}
	return ticket, nil
}
