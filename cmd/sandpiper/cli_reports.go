package main

import (
	"context"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

type reportsCmd struct {
	Check reportsCheckCmd `cmd:"" help:"Run saved reports again on what they were checked on, and compare what they give."`
	Trust reportsTrustCmd `cmd:"" help:"Accept what a saved report gives in the sandbox of today."`
}

type reportsCheckCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"The reports' names (default: all)."`
	JSON  bool     `name:"json" help:"Print one JSON value."`
}

// Run checks saved reports; status 1 when one cannot be believed.
func (c *reportsCheckCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		names := c.Names
		if len(names) == 0 {
			if names, err = control.Call[[]string](ctx, client, "reports/names", struct{}{}); err != nil {
				return err
			}
		}
		list := []checkedReport{}
		doubt := false
		for _, name := range names {
			got, err := control.Call[checkedReport](ctx, client, "reports/check", reportRef{Name: name})
			if err != nil {
				return err
			}
			doubt = doubt || got.State != reportSame
			list = append(list, got)
			if c.JSON {
				continue
			}
			if err := got.print(e); err != nil {
				return err
			}
		}
		if c.JSON {
			if err := e.printJSON(list); err != nil {
				return err
			}
		} else if len(list) == 0 {
			if err := e.print("There are no saved reports.\n"); err != nil {
				return err
			}
		}
		if doubt {
			return fault.Exit(fault.Failed)
		}
		return nil
	})
}

// print tells of one report.
func (r checkedReport) print(e *env) error {
	what := map[string]string{
		reportSame: "gives what it gave", reportMoved: "gives something else:", reportFailed: "gives nothing any more:",
		reportUnchecked: "cannot be compared: nothing that it could be run on is kept",
	}[r.State]
	if err := e.print("%s, version %d: %s\n", r.Name, r.Version, what); err != nil {
		return err
	}
	for _, row := range toldMoves(r.Moved) {
		if err := e.print("  %s\n", term.Line(row)); err != nil {
			return err
		}
	}
	if r.State == reportSame {
		return nil
	}
	return e.print("  where that is right: sandpiper reports trust %s\n", r.Name)
}

type reportsTrustCmd struct {
	Name string `arg:"" help:"The report's name."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run accepts what a report gives now.
func (c *reportsTrustCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		if _, err := control.Call[struct{}](ctx, client, "reports/trust", reportRef{Name: c.Name}); err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(map[string]any{"name": c.Name, "trusted": true})
		}
		return e.print("%s is trusted in the sandbox of today\n", c.Name)
	})
}
