package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

type tasksCmd struct {
	List      tasksListCmd      `cmd:"" help:"List tasks, newest first."`
	Show      tasksShowCmd      `cmd:"" help:"Show one task: its request, steps, programs, files and receipts."`
	Cancel    tasksCancelCmd    `cmd:"" help:"Cancel a task."`
	Retry     tasksRetryCmd     `cmd:"" help:"Do an ended task again as a new one."`
	Reproduce tasksReproduceCmd `cmd:"" help:"Run a task's programs again on the same inputs and image, and compare the files."`
	Save      tasksSaveCmd      `cmd:"" help:"Keep a task as a report that runs without a model."`
}

type tasksListCmd struct {
	State string `placeholder:"STATE" help:"Only tasks in this state."`
	Limit int    `default:"50" help:"At most this many."`
	Cost  bool   `help:"Add up what they cost instead."`
	By    string `enum:",actor,channel,skill,schedule,day" default:"" placeholder:"WHAT" help:"With --cost: a total for each actor, channel, skill, schedule or day."`
	Since string `placeholder:"TIME" help:"With --cost: only tasks since then: 2026-11-01, or an age as 30d."`
	JSON  bool   `name:"json" help:"Print one JSON value."`
}

// Run lists tasks.
func (c *tasksListCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	if c.Cost || c.By != "" {
		return c.costs(e, loaded)
	}
	return e.withSettled(loaded, func(ctx context.Context, client *control.Client) error {
		list, err := control.Call[[]listedTask](ctx, client, "tasks/list", tasksQuery{State: bot.TaskState(c.State), Limit: c.Limit})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(list)
		}
		table := term.Table{Header: []string{"TASK", "STATE", "ORIGIN", "ACTOR", "CREATED", "COST", "TITLE"}}
		for _, t := range list {
			table.Add(t.Task, string(t.State), t.Origin, t.Actor, localTime(t.Created), fmt.Sprintf("$%.3f", t.CostUSD), t.Title)
		}
		return table.Write(e.out)
	})
}

// costs adds up what tasks cost.
func (c *tasksListCmd) costs(e *env, loaded *config.Loaded) error {
	since, err := sinceTime(c.Since, time.Now())
	if err != nil {
		return err
	}
	return e.withSettled(loaded, func(ctx context.Context, client *control.Client) error {
		report, err := control.Call[costReport](ctx, client, "tasks/costs", costsQuery{Since: since, By: c.By})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(report)
		}
		table := term.Table{Header: []string{strings.ToUpper(orElse(c.By, "all")), "TASKS", "TURNS", "TOKENS IN", "OUT", "SANDBOX", "COST"}}
		for _, row := range append(report.Rows, report.Total) {
			table.Add(row.Key, fmt.Sprint(row.Tasks), fmt.Sprint(row.Turns), fmt.Sprint(row.InputTokens), fmt.Sprint(row.OutputTokens),
				fmt.Sprintf("%.0f s", row.SandboxSeconds), fmt.Sprintf("$%.3f", row.CostUSD))
		}
		return table.Write(e.out)
	})
}

func localTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04 MST")
}

type tasksShowCmd struct {
	ID    string `arg:"" help:"The task's id."`
	Audit bool   `help:"Add the task's audit entries."`
	JSON  bool   `name:"json" help:"Print one JSON value."`
}

// Run shows one task with its provenance.
func (c *tasksShowCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.withSettled(loaded, func(ctx context.Context, client *control.Client) error {
		shown, err := control.Call[shownTask](ctx, client, "tasks/show", showQuery{Task: c.ID, Audit: c.Audit})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(shown)
		}
		return e.print("%s", shown.text())
	})
}

// text tells a task as a person reads it.
func (s *shownTask) text() string {
	var out strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&out, "%-12s %s\n", label, fmt.Sprintf(format, args...))
	}
	t := &s.Task
	line("task", "%s", t.ID)
	line("state", "%s", t.State)
	line("request", "%s", strings.ReplaceAll(t.Event.Text, "\n", "\n             "))
	line("origin", "%s", t.Event.Origin.Place)
	line("actor", "%s", t.Event.Actor.ID)
	for _, tr := range t.Transitions {
		why := ""
		if tr.Why != "" {
			why = " (" + tr.Why + ")"
		}
		line("", "%s %s%s", tr.At.Local().Format("2006-01-02 15:04:05.000 MST"), tr.To, why)
	}
	for _, in := range t.Inputs {
		if in.Problem != "" {
			line("input", "%s: %s", in.Name, in.Problem)
		} else {
			line("input", "%s  %s  sha256 %s", in.Name, term.Bytes(in.Size), in.Blob)
		}
	}
	s.outcome(line)
	for _, step := range s.Steps {
		line("step", "%d %s", step.Seq, strings.ReplaceAll(agent.Describe(step), "\n", "\n             "))
	}
	for _, d := range s.Deliveries {
		line("delivery", "%s %s %s %s", d.ID, d.Kind, d.Status, receiptText(d))
	}
	for _, entry := range s.Audit {
		line("audit", "%d %s %s %.12s", entry.Seq, entry.At.Local().Format("2006-01-02 15:04:05 MST"), entry.Kind, entry.Hash)
	}
	if t.Outcome != nil && t.Outcome.Message != "" {
		fmt.Fprintf(&out, "\n%s\n", t.Outcome.Message)
	}
	return out.String()
}

func (s *shownTask) outcome(line func(label, format string, args ...any)) {
	o := s.Task.Outcome
	if o == nil {
		return
	}
	if o.Error != nil {
		line("error", "%s: %s", o.Error.Kind, o.Error.Message)
	}
	for _, file := range o.Files {
		line("file", "%s  %s  %s  sha256 %s", file.Name, file.MediaType, term.Bytes(file.Size), file.Blob)
	}
	undelivered := o.Undelivered
	for _, d := range s.Deliveries {
		if d.Receipt != nil {
			undelivered = append(slices.Clip(undelivered), d.Receipt.Undelivered...)
		}
	}
	for _, file := range undelivered {
		line("undelivered", "%s: %s", file.Name, file.Reason)
	}
	p := o.Provenance
	if p.ImageID != "" {
		line("image", "%s, runtime %s", p.ImageID, p.Runtime)
	}
	if p.Model != "" {
		line("model", "%s, saw values: %s", p.Model, p.Values)
	}
	for name, v := range p.Skills {
		line("skill", "%s %.12s", name, v)
	}
	for _, program := range p.Programs {
		line("program", "%s: %s in %.2f s", program.Language, program.Verdict, program.Seconds)
	}
	line("usage", "%d turns, %d+%d tokens, $%.4f, %.1f s in the sandbox", o.Usage.Turns, o.Usage.InputTokens, o.Usage.OutputTokens, o.Usage.CostUSD, o.Usage.SandboxSeconds)
}

func receiptText(d bot.Delivery) string {
	switch {
	case d.Receipt != nil:
		return d.Receipt.ID
	case d.Failure != "":
		return d.Failure
	}
	return ""
}

type tasksCancelCmd struct {
	ID   string `arg:"" help:"The task's id."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run cancels a task.
func (c *tasksCancelCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		state, err := control.Call[bot.TaskState](ctx, client, "task/cancel", taskRef{Task: c.ID, User: login()})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(map[string]any{"task": c.ID, "state": state})
		}
		return e.print("task %s is %s\n", c.ID, state)
	})
}

type tasksRetryCmd struct {
	ID   string `arg:"" help:"The task's id."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run makes a new task of an ended one.
func (c *tasksRetryCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	retried := ""
	f := newFollower(e.err, login())
	defer f.close()
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		if retried == "" {
			ticket, err := control.Call[bot.Ticket](ctx, client, "task/retry", taskRef{Task: c.ID, User: login()})
			if err != nil {
				return err
			}
			retried = ticket.Task
		}
		got, err := f.follow(ctx, client, retried)
		if err != nil {
			return err
		}
		return e.showAnswer(got, c.JSON, interrupted(ctx))
	})
}

type tasksReproduceCmd struct {
	ID   string `arg:"" help:"The task's id."`
	Out  string `placeholder:"DIR" help:"Put the files into this folder (default: out)."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run reproduces a task.
func (c *tasksReproduceCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" {
		out = defaultOut
	}
	if out, err = checkOut(out, c.Out != ""); err != nil {
		return err
	}
	return e.ask(loaded, submission{Out: out, Seed: c.ID}, nil, c.JSON)
}

type tasksSaveCmd struct {
	ID     string `arg:"" help:"The task's id."`
	Name   string `arg:"" help:"The report's name: lower-case letters, digits and dashes."`
	Accept bool   `help:"Accept figures that stay the same on other data."`
	JSON   bool   `name:"json" help:"Print one JSON value."`
}

// Run saves a task as a report.
func (c *tasksSaveCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		got, err := control.Call[agent.Saved](ctx, client, "task/save", saveQuery{Task: c.ID, Name: c.Name, User: login(), Accept: c.Accept})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(got)
		}
		return e.print("saved %s, version %d; run it with: sandpiper run --skill %s \"…\" FILE\n", got.Name, got.Version, got.Name)
	})
}
