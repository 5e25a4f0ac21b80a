package main

import (
	"context"
	"errors"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// defaultOut is where the files of an answer go.
const defaultOut = "out"

type runCmd struct {
	Out    string   `placeholder:"DIR" help:"Put the answer's files into this folder (default: out)."`
	Skill  string   `placeholder:"NAME" help:"Run this skill."`
	After  string   `placeholder:"TASK" help:"Go on from this task: a follow-up, or the answer to its question."`
	JSON   bool     `name:"json" help:"Print one JSON value instead of text."`
	Prompt string   `arg:"" help:"What to do, in your own words."`
	Files  []string `arg:"" optional:"" name:"file" help:"Files to work on."`
}

// Run does one task on the console. With --json what went wrong before there
// was a task is one JSON value too.
func (c *runCmd) Run(e *env) error {
	err := c.run(e)
	var f *fault.Error
	if err == nil || !c.JSON || (errors.As(err, &f) && f.Told) {
		return err
	}
	failed := answerOf(&bot.Task{State: bot.TaskFailed}, nil)
	failed.Error = &bot.TaskError{Kind: fault.KindOf(err), Message: err.Error()}
	if f != nil {
		failed.Error.Hint = f.Hint
	}
	failed.Message = failed.Error.Message
	return errors.Join(err, e.printJSON(failed))
}

func (c *runCmd) run(e *env) error {
	if strings.TrimSpace(c.Prompt) == "" && c.Skill == "" {
		return fault.New(fault.Usage, "say in words what to do, as in: sandpiper run 'What is in this file?' sales.csv", "the request is empty")
	}
	loaded, err := e.config()
	if err != nil {
		return err
	}
	inputs, err := checkInputs(c.Files, loaded.Limits)
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" {
		out = defaultOut
	}
	out, err = checkOut(out, c.Out != "")
	if err != nil {
		return err
	}
	return e.ask(loaded, submission{Out: out, Prompt: c.Prompt, Skill: c.Skill, After: c.After}, inputs, c.JSON)
}

// ask submits a run, follows it to its answer and prints that.
func (e *env) ask(loaded *config.Loaded, sent submission, inputs []input, asJSON bool) error {
	sent.ID, sent.User = ulid.Make().String(), login()
	f := newFollower(e.err, sent.User)
	defer f.close()
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		refs, err := uploadInputs(ctx, client, inputs, loaded.Limits.Input)
		if err != nil {
			return err
		}
		sent.Inputs = refs
		ticket, err := control.Call[bot.Ticket](ctx, client, "run/submit", sent)
		if err != nil {
			return err
		}
		if ticket.Refused != nil {
			return &fault.Error{Status: fault.Failed, Kind: "policy", Message: ticket.Refused.Message}
		}
		got, err := f.follow(ctx, client, ticket.Task)
		if err != nil {
			return err
		}
		return e.showAnswer(got, asJSON, interrupted(ctx))
	})
}
