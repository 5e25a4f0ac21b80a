package main

import (
	"context"
	"errors"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// upcoming is how many next times are shown.
const upcoming = 3

// newSchedule is a schedule as the command line asks for it.
type newSchedule struct {
	Name, When, Zone, Request, Skill, User string
	Inputs                                 []string // below schedules.root
	To                                     []string
	Title                                  string // of a new issue each time
	DryRun                                 bool
}

// understood is what a schedule was understood to be.
type understood struct {
	listedSchedule
	Description string `json:"description"`
	Serving     bool   `json:"serving"` // a server runs that will fire it
}

// listedSchedule is one line of `schedules list --json`; its fields are the
// outer contract.
type listedSchedule struct {
	Name  string      `json:"name"`
	Cron  string      `json:"cron"`
	Zone  string      `json:"zone"`
	Next  []time.Time `json:"next"`
	State string      `json:"state"`
	Owner string      `json:"owner"`
	Last  *time.Time  `json:"last"`

	Request  string `json:"request,omitempty"`
	Skill    string `json:"skill,omitempty"`
	Why      string `json:"why,omitempty"`
	From     string `json:"from"`
	LastTask string `json:"last_task,omitempty"`
	// What it ran and cost within the last seven days.
	WeekTasks   int     `json:"week_tasks"`
	WeekCostUSD float64 `json:"week_cost_usd"`

	readable []string // Next as people read them, in the schedule's zone
}

// named is a call about one schedule.
type named struct {
	Name string `json:"name"`
	User string `json:"user,omitempty"`
}

func (a *app) registerSchedules(s *control.Server) {
	control.Handle(s, "schedules/add", a.addSchedule)
	control.Handle(s, "schedules/list", a.listSchedules)
	control.Handle(s, "schedules/run", a.runSchedule)
	for name, change := range map[string]func(context.Context, string) error{
		"schedules/remove": a.schedules.Remove,
		"schedules/pause": func(ctx context.Context, name string) error {
			_, err := a.schedules.Pause(ctx, name, "paused on the command line")
			return err
		},
		"schedules/resume": func(ctx context.Context, name string) error {
			_, err := a.schedules.Resume(ctx, name)
			return err
		},
	} {
		control.Handle(s, name, func(ctx context.Context, in named) (struct{}, error) {
			return struct{}{}, scheduleFault(change(ctx, in.Name), in.Name)
		})
	}
}

// scheduleRun is a call to run a schedule now.
type scheduleRun struct {
	Name string `json:"name"`
	// DryRun answers into the folder Out alone.
	DryRun bool   `json:"dry_run,omitempty"`
	Out    string `json:"out,omitempty"`
}

func (a *app) runSchedule(ctx context.Context, in scheduleRun) (taskRef, error) {
	if err := a.boxes.Ready(ctx); err != nil {
		return taskRef{}, err
	}
	var dry *bot.Origin
	if in.DryRun {
		folder, err := console.Folder(in.Out)
		if err != nil {
			return taskRef{}, &fault.Error{Status: fault.Usage, Message: err.Error(), Err: err}
		}
		dry = &folder
	}
	task, err := a.schedules.RunNow(ctx, a.orchestrator, in.Name, dry)
	return taskRef{Task: task}, scheduleFault(err, in.Name)
}

// scheduleFault tells of a schedule that is not there, or may not be changed.
func scheduleFault(err error, name string) error {
	var denied *schedules.DeniedError
	switch {
	case errors.Is(err, bot.ErrNotFound):
		return fault.New(fault.Usage, "sandpiper schedules list shows those that are there", "there is no schedule %s", term.Line(name))
	case errors.As(err, &denied):
		return &fault.Error{Status: fault.Usage, Message: denied.Reason, Err: err}
	}
	return err
}

func (a *app) addSchedule(ctx context.Context, in newSchedule) (understood, error) {
	s := schedules.Schedule{
		Name: in.Name, Owner: bot.Actor{ID: console.Name + ":" + in.User, Name: in.User},
		Request: in.Request, Skill: in.Skill, From: schedules.FromCommand,
	}
	usage := func(err error) error { return &fault.Error{Status: fault.Usage, Message: err.Error(), Err: err} }
	if err := understand(&s, in.When, in.Zone); err != nil {
		return understood{}, usage(err)
	}
	if in.Skill != "" {
		if _, err := skillNamed(a.catalogue, in.Skill); err != nil {
			return understood{}, err
		}
	}
	var err error
	if s.Inputs, err = a.inputsOf(in.Inputs); err != nil {
		return understood{}, usage(err)
	}
	if s.To, err = a.destinations(in.To, in.Title); err != nil {
		return understood{}, usage(err)
	}
	line, err := a.schedules.Check(ctx, &s)
	if err != nil {
		return understood{}, usage(err)
	}
	if !in.DryRun {
		if s, err = a.schedules.Add(ctx, s); err != nil {
			return understood{}, scheduleFault(err, in.Name)
		}
	}
	shown, err := listed(s)
	return understood{listedSchedule: shown, Description: s.Describe(line, a.time.Now()), Serving: a.serves}, err
}

func (a *app) listSchedules(ctx context.Context, _ struct{}) ([]listedSchedule, error) {
	list, err := a.schedules.List(ctx)
	if err != nil {
		return nil, err
	}
	spent := map[string]costRow{}
	if len(list) > 0 {
		week, err := a.costs(ctx, costsQuery{Since: a.time.Now().Add(-7 * 24 * time.Hour), By: "schedule"})
		if err != nil {
			return nil, err
		}
		for _, row := range week.Rows {
			spent[row.Key] = row
		}
	}
	out := make([]listedSchedule, 0, len(list))
	for _, s := range list {
		shown, err := listed(s)
		if err != nil {
			return nil, err
		}
		shown.WeekTasks, shown.WeekCostUSD = spent[s.Name].Tasks, spent[s.Name].CostUSD
		out = append(out, shown)
	}
	return out, nil
}

func listed(s schedules.Schedule) (listedSchedule, error) {
	out := listedSchedule{
		Name: s.Name, Cron: s.Cron, Zone: s.Zone, State: string(s.State), Owner: s.Owner.ID, Next: []time.Time{},
		Request: s.Request, Skill: s.Skill, Why: s.Why, From: string(s.From), LastTask: s.LastTask,
	}
	if !s.Last.IsZero() {
		out.Last = &s.Last
	}
	line, err := schedules.ParseLine(s.Cron, s.Zone)
	if err != nil {
		return out, err
	}
	if s.State == schedules.Paused {
		return out, nil
	}
	for _, at := range line.Upcoming(time.Now(), upcoming) {
		at = at.In(line.Zone())
		out.Next = append(out.Next, at)
		out.readable = append(out.readable, at.Format("Mon 2 Jan 2006 15:04 MST"))
	}
	return out, nil
}
