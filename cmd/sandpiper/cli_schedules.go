package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
)

type schedulesCmd struct {
	Add    schedulesAddCmd    `cmd:"" help:"Add a schedule; prints what was understood and the next three times."`
	List   schedulesListCmd   `cmd:"" help:"List schedules."`
	Remove schedulesRemoveCmd `cmd:"" help:"Remove a schedule."`
	Pause  schedulesPauseCmd  `cmd:"" help:"Stop a schedule until it is resumed."`
	Resume schedulesResumeCmd `cmd:"" help:"Let a paused schedule run again."`
	Run    schedulesRunCmd    `cmd:"" help:"Run a schedule now, beside its clock."`
	Next   schedulesNextCmd   `cmd:"" help:"Print the next three times of a schedule."`
}

type schedulesAddCmd struct {
	Name    string   `arg:"" help:"Its name: lower-case letters, digits and dashes."`
	When    string   `arg:"" help:"A cron line (\"0 9 * * MON\") or words (\"every Monday at 9\")."`
	Request string   `arg:"" help:"What to do."`
	Files   []string `arg:"" optional:"" name:"file" help:"Files below schedules.root, where a pattern means the newest that it matches; or slack:CHANNEL/PATTERN, github:OWNER/NAME:PATH@REF, https://…, previous:NAME."`
	TZ      string   `name:"tz" placeholder:"ZONE" help:"Time zone, as Europe/Berlin (default: yours in users, else schedules.zone)."`
	To      []string `placeholder:"DEST" sep:"none" help:"Where the answer goes (default: the folder out); may be given several times."`
	Title   string   `placeholder:"TITLE" help:"With --to github:OWNER/NAME: open an issue of this title each time, as \"Weekly sales, {{date}}\"."`
	Skill   string   `placeholder:"NAME" help:"Run this skill."`
	DryRun  bool     `help:"Only print what was understood."`
	JSON    bool     `name:"json" help:"Print one JSON value."`
}

// Run adds a schedule and prints what was understood.
func (c *schedulesAddCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	in := newSchedule{Name: c.Name, When: c.When, Zone: c.TZ, Request: c.Request, Skill: c.Skill, User: login(), Title: c.Title, DryRun: c.DryRun}
	if in.Zone == "" {
		in.Zone = loaded.ZoneOf(console.Name + ":" + login())
	}
	if in.Inputs, err = belowRoot(loaded, c.Files); err != nil {
		return err
	}
	if in.To, err = placesOf(c.To); err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		got, err := control.Call[understood](ctx, client, "schedules/add", in)
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(got)
		}
		if err := e.print("%s", got.Description); err != nil {
			return err
		}
		switch {
		case c.DryRun:
			fmt.Fprintln(e.err, "sandpiper: nothing was stored (--dry-run)")
		case !got.Serving:
			fmt.Fprintln(e.err, "sandpiper: it runs while `sandpiper serve` does")
		}
		return nil
	})
}

// placesOf are the destinations as the server reads them: folders are seen from
// the shell's own. Without any it is the folder out.
func placesOf(texts []string) ([]string, error) {
	if len(texts) == 0 {
		texts = []string{defaultOut}
	}
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		if !strings.Contains(text, ":") {
			if err := aFolder(text); err != nil {
				return nil, fault.New(fault.Usage, "", "--to: %v", err)
			}
			abs, err := filepath.Abs(text)
			if err != nil {
				return nil, fault.New(fault.Usage, "", "--to %s: %v", term.Line(text), err)
			}
			text = abs
		}
		out = append(out, text)
	}
	return out, nil
}

// elsewhere reports whether an input is none of the shell's files. What its kind
// means, and whether there is one, the server says.
func elsewhere(input string) bool {
	kind, _, named := strings.Cut(input, ":")
	return named && inputKind.MatchString(kind)
}

// belowRoot turns files as the shell names them into paths below
// schedules.root, the only folder that schedules may read.
func belowRoot(loaded *config.Loaded, files []string) ([]string, error) {
	if !slices.ContainsFunc(files, func(f string) bool { return !elsewhere(f) }) {
		return files, nil
	}
	root := loaded.Schedules.Root
	if root == "" {
		return nil, fault.New(fault.Usage, "set schedules.root in the configuration to the folder that schedules may read", "schedules may read no local files")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, file := range files {
		if elsewhere(file) {
			out = append(out, file)
			continue
		}
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		below, err := filepath.Rel(root, abs)
		if err != nil || !filepath.IsLocal(below) {
			below = file // as seen from the root
		}
		if !filepath.IsLocal(below) {
			return nil, fault.New(fault.Usage, "move the file there, or change schedules.root", "%s does not lie below schedules.root (%s)", term.Line(file), root)
		}
		out = append(out, filepath.ToSlash(below))
	}
	return out, nil
}

type schedulesListCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run lists schedules.
func (c *schedulesListCmd) Run(e *env) error {
	return e.listed(func(list []listedSchedule) error {
		if c.JSON {
			return e.printJSON(list)
		}
		table := term.Table{Header: []string{"NAME", "CRON", "ZONE", "STATE", "OWNER", "NEXT", "LAST", "7 DAYS"}}
		for _, s := range list {
			next, last := "", ""
			if len(s.Next) > 0 {
				next = inZone(s.Next[0], s.Zone)
			}
			if s.Last != nil {
				last = inZone(*s.Last, s.Zone)
			}
			table.Add(s.Name, s.Cron, s.Zone, s.State, s.Owner, next, last, s.week())
		}
		return table.Write(e.out)
	})
}

// week tells what it cost within seven days: "2 tasks, $0.120".
func (s *listedSchedule) week() string {
	if s.WeekTasks == 0 {
		return ""
	}
	return fmt.Sprintf("%s, $%.3f", count(s.WeekTasks, "task"), s.WeekCostUSD)
}

// inZone shows a time as it is in a zone.
func inZone(at time.Time, zone string) string {
	if location, err := time.LoadLocation(zone); err == nil {
		at = at.In(location)
	}
	return at.Format("Mon 2 Jan 2006 15:04 MST")
}

// listed hands the list of schedules to use.
func (e *env) listed(use func([]listedSchedule) error) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		list, err := control.Call[[]listedSchedule](ctx, client, "schedules/list", struct{}{})
		if err != nil {
			return err
		}
		return use(list)
	})
}

type schedulesNextCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run prints a schedule's next times.
func (c *schedulesNextCmd) Run(e *env) error {
	return e.listed(func(list []listedSchedule) error {
		for _, s := range list {
			if s.Name != c.Name {
				continue
			}
			if c.JSON {
				return e.printJSON(s.Next)
			}
			for _, at := range s.Next {
				if err := e.print("%s\n", inZone(at, s.Zone)); err != nil {
					return err
				}
			}
			if len(s.Next) == 0 {
				fmt.Fprintf(e.err, "sandpiper: %s is %s\n", s.Name, s.State)
			}
			return nil
		}
		return fault.New(fault.Usage, "sandpiper schedules list shows those that are there", "there is no schedule %s", term.Line(c.Name))
	})
}

// changeSchedule makes a call about one schedule and says what became of it.
func (e *env) changeSchedule(call, name, became string) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		if _, err := control.Call[struct{}](ctx, client, "schedules/"+call, named{Name: name, User: login()}); err != nil {
			return err
		}
		return e.print("schedule %s %s\n", name, became)
	})
}

type schedulesRemoveCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

// Run removes a schedule.
func (c *schedulesRemoveCmd) Run(e *env) error {
	return e.changeSchedule("remove", c.Name, "is removed")
}

type schedulesPauseCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

// Run pauses a schedule.
func (c *schedulesPauseCmd) Run(e *env) error { return e.changeSchedule("pause", c.Name, "is paused") }

type schedulesResumeCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

// Run resumes a schedule.
func (c *schedulesResumeCmd) Run(e *env) error {
	return e.changeSchedule("resume", c.Name, "runs again")
}

type schedulesRunCmd struct {
	Name   string `arg:"" help:"The schedule's name."`
	DryRun bool   `help:"Post nowhere: print the answer, and put its files into --out. It counts for nothing."`
	Out    string `placeholder:"DIR" help:"With --dry-run: the folder of the answer's files (default: out)."`
	JSON   bool   `name:"json" help:"Print one JSON value."`
}

// Run runs a schedule now and prints its answer.
func (c *schedulesRunCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	in := scheduleRun{Name: c.Name, DryRun: c.DryRun}
	switch {
	case c.DryRun:
		out := c.Out
		if out == "" {
			out = defaultOut
		}
		if in.Out, err = checkOut(out, c.Out != ""); err != nil {
			return err
		}
	case c.Out != "":
		return fault.New(fault.Usage, "without --dry-run the answer goes where the schedule posts", "--out is for --dry-run")
	}
	f := newFollower(e.err, login())
	defer f.close()
	task := ""
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		if task == "" {
			ran, err := control.Call[taskRef](ctx, client, "schedules/run", in)
			if err != nil {
				return err
			}
			task = ran.Task
		}
		got, err := f.follow(ctx, client, task)
		if err != nil {
			return err
		}
		return e.showAnswer(got, c.JSON, interrupted(ctx))
	})
}
