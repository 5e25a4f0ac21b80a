package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

type configCmd struct {
	Show  configShowCmd  `cmd:"" help:"Print what is in force and where each value came from; secrets are struck out."`
	Check configCheckCmd `cmd:"" help:"Say whether the configuration is right."`
}

type configShowCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run prints what is in force.
func (c *configShowCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	if c.JSON {
		return e.printJSON(struct {
			File    string         `json:"file"`
			Entries []config.Entry `json:"entries"`
		}{loaded.File, loaded.Entries()})
	}
	return loaded.Show(e.out)
}

type configCheckCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run tells every problem and every doubt; only problems fail it.
func (c *configCheckCmd) Run(e *env) error {
	loaded, err := e.config()
	var bad *config.Error
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	var warnings []config.Problem
	if bad == nil {
		warnings = loaded.Warnings()
		if problems := scheduleProblems(loaded); len(problems) > 0 {
			bad = &config.Error{Problems: problems}
		}
	}
	if c.JSON {
		report := configReport{File: loaded.File, OK: bad == nil, Problems: []config.Problem{}, Warnings: append([]config.Problem{}, warnings...)}
		if bad != nil {
			report.Problems = bad.Problems
		}
		if err := e.printJSON(report); err != nil {
			return err
		}
		if bad != nil {
			return fault.Exit(fault.Usage)
		}
		return nil
	}
	if bad != nil {
		return &fault.Error{Status: fault.Usage, Message: bad.Error(), Err: bad}
	}
	for _, w := range warnings {
		fmt.Fprintln(e.err, "sandpiper: warning: "+w.String())
	}
	if loaded.File == "" {
		return e.print("ok: no configuration file; defaults and variables are in force\n")
	}
	return e.print("ok: %s\n", loaded.File)
}

type configReport struct {
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Problems []config.Problem `json:"problems"`
	Warnings []config.Problem `json:"warnings"`
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run prints the version and what it was built from.
func (c *versionCmd) Run(e *env) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if c.JSON {
		return e.printJSON(map[string]string{"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	return e.print("sandpiper %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
