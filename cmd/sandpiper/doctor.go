package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
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
	JSON  bool `name:"json" help:"Print one JSON value."`
	Probe bool `negatable:"" default:"true" help:"Also try thirty attacks on the engine, which takes half a minute."`
}

// Run checks everything; status 3 where a check fails.
func (c *doctorCmd) Run(e *env) error {
	loaded, err := e.config()
	checks := configChecks(loaded, err)
	checks = append(checks, secretChecks(loaded)...)
	if err == nil {
		checks = append(checks, folderChecks(loaded)...)
		checks = append(checks, e.servedChecks(loaded)...)
	}
	if err := c.show(e, checks); err != nil {
		return err
	}
	if err == nil && c.Probe && !slices.ContainsFunc(checks, needsEngine) {
		// What is known already stands there while this takes its time.
		e.progressLine("trying thirty attacks on the engine; this takes half a minute (--no-probe leaves them out)")
		probed := []check{probeCheck(e.ctx(), loaded)}
		if err := c.show(e, probed); err != nil {
			return err
		}
		checks = append(checks, probed...)
	}
	if c.JSON {
		if err := e.printJSON(map[string]any{"checks": checks}); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(checks, func(one check) bool { return one.Status == checkFailed }) {
		return fault.Exit(fault.Missing)
	}
	return nil
}

// needsEngine reports whether a check failed that leaves no engine to try
// attacks on.
func needsEngine(c check) bool {
	return c.Status == checkFailed && slices.Contains([]string{"process", "database", "engine", "image", "program"}, c.Name)
}

// show prints checks as they are known; JSON is one value, printed at the end.
func (c *doctorCmd) show(e *env, checks []check) error {
	if c.JSON {
		return nil
	}
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

// servedChecks are made by the process that holds the data folder.
func (e *env) servedChecks(loaded *config.Loaded) []check {
	var got []check
	err := e.with(loaded, func(ctx context.Context, client *control.Client) error {
		var err error
		got, err = control.Call[[]check](ctx, client, "doctor", struct{}{})
		return err
	})
	if err != nil {
		got = append(got, unserved(err))
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
		checks = append(checks, a.checkPlatforms(ctx)...)
		if clock, asked := a.clockCheck(ctx); asked {
			checks = append(checks, clock)
		}
		return checks, nil
	})
}
