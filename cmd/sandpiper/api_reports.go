package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// reportRef names a saved report; empty means all where a call takes several.
type reportRef struct {
	Name string `json:"name,omitempty"`
}

// The states of a report in the sandbox of today.
const (
	reportSame      = "same"      // it gives what it gave
	reportMoved     = "moved"     // other figures or files
	reportFailed    = "failed"    // nothing any more
	reportUnchecked = "unchecked" // nothing was kept to run it on
)

// checkedReport is one of `reports check --json`.
type checkedReport struct {
	Name    string       `json:"name"`
	Version int          `json:"version"`
	Owner   string       `json:"owner"`
	Image   string       `json:"image"`
	State   string       `json:"state"`
	Trials  int          `json:"trials"`
	Moved   []saved.Move `json:"moved"`
}

func (a *app) registerReports(s *control.Server) {
	control.Handle(s, "reports/names", func(context.Context, struct{}) ([]string, error) { return a.reports.Names() })
	control.Handle(s, "reports/check", a.checkReport)
	control.Handle(s, "reports/trust", a.trustReport)
}

// savedReport finds a saved report for who administers the bot.
func (a *app) savedReport(name string) (saved.Kept, error) {
	k, err := a.reports.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	hint := "sandpiper skills list shows those that are there"
	if names, err := a.reports.Names(); err == nil {
		if near := skills.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return k, fault.New(fault.Usage, hint, "there is no saved report %q", term.Line(name))
}

// checkReport runs one report again on what it was checked on, and records
// whether it may be believed in the sandbox of today.
func (a *app) checkReport(ctx context.Context, in reportRef) (checkedReport, error) {
	k, err := a.savedReport(in.Name)
	if err != nil {
		return checkedReport{}, err
	}
	if err := a.boxes.Ready(ctx); err != nil {
		return checkedReport{}, err
	}
	opened, err := a.boxes.open(ctx)
	if err != nil {
		return checkedReport{}, sandboxFault(err)
	}
	place := saved.Place{Image: opened.ImageID(), Guest: opened.Guest()}
	got, err := a.runner.Recheck(ctx, k, a.blobs, sandbox.LeaseOptions{Task: "check-" + k.Name})
	if err != nil {
		return checkedReport{}, sandboxFault(err)
	}
	out := checkedReport{Name: k.Name, Version: k.Version, Owner: k.Owner, Image: place.Image, State: reportSame, Trials: got.Ran, Moved: []saved.Move{}}
	if got.Moved == nil {
		return out, a.reports.Trust(k.Name, k.Version, place)
	}
	got.Moved.Place = place
	switch {
	case got.Moved.Unchecked():
		out.State = reportUnchecked
		if k.Trusts(place) {
			return out, nil // somebody looked, or it was made here
		}
	case got.Moved.Failed():
		out.State, out.Moved = reportFailed, got.Moved.Moves
	default:
		out.State, out.Moved = reportMoved, got.Moved.Moves
	}
	return out, a.reports.Move(k.Name, k.Version, *got.Moved)
}

// trustReport accepts what a report gives in the sandbox of today.
func (a *app) trustReport(ctx context.Context, in reportRef) (struct{}, error) {
	if _, err := a.savedReport(in.Name); err != nil {
		return struct{}{}, err
	}
	_, err := a.reports.AcceptMoved(in.Name)
	if errors.Is(err, saved.ErrNothingMoved) {
		return struct{}{}, fault.New(fault.Usage, "sandpiper reports check "+in.Name+" looks", "nothing of %s waits to be accepted", in.Name)
	}
	return struct{}{}, err
}

// toldMoves words moves for a terminal.
func toldMoves(moves []saved.Move) []string { return agent.Told(moves) }
