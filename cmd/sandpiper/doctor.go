package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// The statuses of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkFailed  = "failed"
)

// check is one line of `doctor --json`; its fields are the outer contract.
type check struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

type doctorCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run checks everything; status 3 where a check fails.
func (c *doctorCmd) Run(e *env) error {
	loaded, err := e.config()
	checks := configChecks(loaded, err)
	if err == nil {
		checks = append(checks, folderChecks(loaded)...)
		checks = append(checks, e.servedChecks(loaded)...)
	}
	failed := false
	for _, one := range checks {
		failed = failed || one.Status == checkFailed
	}
	if c.JSON {
		err = e.printJSON(map[string]any{"checks": checks})
	} else {
		err = showChecks(e, checks)
	}
	if err == nil && failed {
		return fault.Exit(fault.Missing)
	}
	return err
}

func showChecks(e *env, checks []check) error {
	for _, one := range checks {
		if err := e.print("%-8s %-14s %s\n", one.Status, one.Name, term.Line(one.Message)); err != nil {
			return err
		}
		if one.Hint != "" && one.Status != checkOK {
			if err := e.print("%-8s %-14s → %s\n", "", "", term.Line(one.Hint)); err != nil {
				return err
			}
		}
	}
	return nil
}

func configChecks(loaded *config.Loaded, err error) []check {
	var bad *config.Error
	if errors.As(err, &bad) {
		var out []check
		for _, p := range bad.Problems {
			out = append(out, check{"configuration", checkFailed, p.Where + " " + p.Message, p.Hint})
		}
		return out
	}
	file := loaded.File
	if file == "" {
		file = "no file; defaults and variables"
	}
	out := []check{{"configuration", checkOK, file, ""}}
	for _, w := range loaded.Warnings() {
		out = append(out, check{"configuration", checkWarning, w.Message, w.Hint})
	}
	return out
}

// folderChecks look at the data folder from outside.
func folderChecks(loaded *config.Loaded) []check {
	const least = 1 << 30
	info, err := os.Stat(loaded.DataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the next check makes it
	}
	if err != nil {
		return []check{{"data folder", checkFailed, err.Error(), "make it readable to the user that runs sandpiper"}}
	}
	out := check{"data folder", checkOK, loaded.DataDir, ""}
	var disk unix.Statfs_t
	if err := unix.Statfs(loaded.DataDir, &disk); err == nil {
		free := int64(disk.Bavail) * disk.Bsize
		out.Message += ", " + term.Bytes(free) + " free"
		if free < least {
			out.Status, out.Hint = checkWarning, "free some space: below it nothing new is accepted"
		}
	}
	if info.Mode().Perm()&0o077 != 0 {
		out.Status, out.Message = checkWarning, out.Message+", readable to other users"
		out.Hint = "chmod 700 " + loaded.DataDir
	}
	return []check{out}
}

// servedChecks are made by the process that holds the data folder.
func (e *env) servedChecks(loaded *config.Loaded) []check {
	var got []check
	err := e.with(loaded, func(ctx context.Context, client *control.Client) error {
		var err error
		got, err = control.Call[[]check](ctx, client, "doctor", struct{}{})
		return err
	})
	if err != nil {
		f := &fault.Error{}
		errors.As(err, &f)
		got = append(got, check{"process", checkFailed, err.Error(), f.Hint})
	}
	return got
}

func (a *app) registerDoctor(s *control.Server) {
	control.Handle(s, "doctor", func(ctx context.Context, _ struct{}) ([]check, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		checks := append([]check{a.checkStore(ctx)}, a.checkAuditSink()...)
		checks = append(checks, a.checkEngine(ctx)...)
		checks = append(checks, a.checkModel(ctx))
		checks = append(checks, a.checkSkills()...)
		return append(checks, a.checkPlatforms(ctx)...), nil
	})
}

func (a *app) checkStore(ctx context.Context) check {
	if err := a.store.Check(ctx); err != nil {
		return check{"database", checkFailed, err.Error(), "free disk space; if it is damaged: sandpiper restore BACKUP"}
	}
	return check{"database", checkOK, "it commits", ""}
}

// checkEngine looks at engine and image, and runs a program.
func (a *app) checkEngine(ctx context.Context) []check {
	if err := a.boxes.Ready(ctx); err != nil {
		return []check{{"engine", checkFailed, err.Error(), hintOf(err)}}
	}
	opened, err := a.boxes.open(ctx)
	if err != nil {
		return []check{{"engine", checkFailed, err.Error(), hintOf(err)}}
	}
	status, err := opened.Status(ctx)
	if err != nil {
		return []check{{"engine", checkFailed, err.Error(), hintOf(sandboxFault(err))}}
	}
	image := check{"image", checkOK, fmt.Sprintf("%s, built %s", status.Image, localTime(status.Built)), ""}
	if !status.Built.IsZero() && time.Since(status.Built) > 30*24*time.Hour {
		image.Status, image.Hint = checkWarning, "take the security updates since then: sandpiper sandbox build --refresh"
	}
	program := check{"program", checkOK, "", ""}
	result, err := a.exec(ctx, execution{Language: sandbox.Python, Code: "import pandas\nprint('pandas', pandas.__version__)"})
	switch {
	case err != nil:
		program.Status, program.Message, program.Hint = checkFailed, err.Error(), hintOf(sandboxFault(err))
	case result.Verdict != sandbox.OK:
		program.Status, program.Message, program.Hint = checkFailed, "a program ended with "+string(result.Verdict)+": "+result.Detail, result.Hint
	default:
		program.Message = fmt.Sprintf("ran in %.2f s: %s", result.Seconds, result.Stdout)
	}
	return []check{{"engine", checkOK, fmt.Sprintf("%s, runtime %s, %s", status.Engine, status.Runtime, runtime.GOARCH), ""}, image, program}
}

// checkModel asks the model one tiny question.
func (a *app) checkModel(ctx context.Context) check {
	if problem := a.loaded.ModelProblem(); problem != "" {
		return check{"model", checkWarning, problem, "set them, or use runnable skills alone"}
	}
	model, err := openModel(a.loaded, a.log)
	if err != nil {
		return check{"model", checkFailed, err.Error(), hintOf(err)}
	}
	reply, err := model.Complete(ctx, agent.Request{
		Messages:  []agent.Message{{Role: agent.RoleUser, Content: "Call the tool ready."}},
		Tools:     []agent.ToolSpec{{Name: "ready", Description: "Says that you are ready.", Schema: []byte(`{"type":"object","properties":{},"additionalProperties":false}`)}},
		Force:     "ready",
		MaxOutput: 64,
	})
	var failed *agent.ModelError
	switch {
	case errors.As(err, &failed):
		return check{"model", checkFailed, failed.Message, failed.Hint}
	case err != nil:
		return check{"model", checkFailed, err.Error(), ""}
	case len(reply.Calls) == 0:
		return check{"model", checkWarning, reply.Model + " answers and does not call tools", "choose a model that can call tools"}
	}
	return check{"model", checkOK, fmt.Sprintf("%s answers and calls tools; this check cost $%.5f", reply.Model, reply.Price.Cost(reply.Usage)), ""}
}

func (a *app) checkSkills() []check {
	problems := a.catalogue.Problems()
	if len(problems) == 0 {
		return []check{{"skills", checkOK, count(len(a.catalogue.List()), "skill"), ""}}
	}
	var out []check
	for _, p := range problems {
		out = append(out, check{"skills", checkWarning, p.String(), "sandpiper skills lint tells more"})
	}
	return out
}

// checkPlatforms asks Slack and GitHub who we are.
func (a *app) checkPlatforms(ctx context.Context) []check {
	var out []check
	if a.slack != nil {
		problems := a.slack.Check(ctx)
		for _, problem := range problems {
			out = append(out, check{"slack", checkFailed, problem, "see the set-up page for Slack in deploy/docs"})
		}
		if len(problems) == 0 {
			out = append(out, check{"slack", checkOK, "tokens and scopes are right", ""})
		}
	}
	if a.github != nil {
		self, err := a.github.Check(ctx)
		var identity *github.IdentityError
		switch {
		case errors.As(err, &identity):
			out = append(out, check{"github", checkFailed, identity.Problem, identity.Hint})
		case err != nil:
			out = append(out, check{"github", checkFailed, err.Error(), "check the token and GITHUB_API_URL"})
		default:
			out = append(out, check{"github", checkOK, "GitHub knows us as " + self, ""})
		}
	}
	return out
}
