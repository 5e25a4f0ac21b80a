package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
	"github.com/sandpiper-bot/sandpiper/skills/skilltest"
)

// skillsOwner names the containers of lint and test.
const skillsOwner = "skills-test"

// lessor connects to the sandbox for lint and test, with ready sessions kept
// for what comes next; closing ends them all.
func lessor(ctx context.Context, loaded *config.Loaded, ready int) (lease func(context.Context, string) (skilltest.Session, error), closing func() error, err error) {
	options := sandboxOptions(loaded)
	options.Owner, options.Pool = skillsOwner, sandbox.Pool{Size: ready}
	box, err := sandbox.New(ctx, options)
	if err != nil {
		return nil, nil, sandboxFault(err)
	}
	return func(ctx context.Context, task string) (skilltest.Session, error) {
		return box.Lease(ctx, sandbox.LeaseOptions{Task: task})
	}, box.Close, nil
}

type skillsNewCmd struct {
	Name        string `arg:"" help:"The skill's name: lower-case words with hyphens."`
	Dir         string `default:"." type:"existingdir" help:"Make it in this folder."`
	Description string `help:"What it does and when to use it, in one line."`
	Runnable    bool   `help:"Give it a program of its own, that needs no model, and an eval."`
}

// Run writes a skeleton that lints.
func (c *skillsNewCmd) Run(e *env) error {
	dir, err := skills.New(skills.NewOptions{Dir: c.Dir, Name: c.Name, Description: c.Description, Runnable: c.Runnable})
	if errors.Is(err, os.ErrExist) {
		return fault.New(fault.Usage, "take another name, or another --dir", "there is a %s already", term.Line(filepath.Join(c.Dir, c.Name)))
	}
	if err != nil {
		return &fault.Error{Status: fault.Usage, Message: err.Error(), Err: err}
	}
	return e.print("%s\nNext: write SKILL.md, then sandpiper skills lint %s\n", term.Line(dir), term.Line(dir))
}

type skillsLintCmd struct {
	Dir  string `arg:"" optional:"" type:"existingdir" help:"A skill's folder, or one that holds skills; without it every skill there is."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run lints; status 1 when something is broken.
func (c *skillsLintCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	catalogue, err := c.catalogue(loaded)
	if err != nil {
		return err
	}
	list := catalogue.List()
	found := catalogue.Problems()
	if c.Dir != "" {
		used, err := loadSkills(loaded)
		if err != nil {
			return err
		}
		found = append(found, used.Shadowed(list)...)
	}
	for _, s := range list {
		found = append(found, skills.Lint(s)...)
	}
	inScripts, err := lintScripts(e.ctx(), loaded, list)
	var f *fault.Error
	if errors.As(err, &f) && f.Status == fault.Missing {
		fmt.Fprintf(e.err, "sandpiper: note: the scripts are not looked at: %s\n", term.Line(err.Error()))
	} else if err != nil {
		return err
	}
	found = append(found, inScripts...)
	return c.show(e, list, found)
}

func (c *skillsLintCmd) catalogue(loaded *config.Loaded) (*skills.Catalogue, error) {
	if c.Dir == "" {
		return loadSkills(loaded)
	}
	return skillsIn(c.Dir)
}

// skillsIn loads the skill that a folder is, or the skills that it holds.
func skillsIn(dir string) (*skills.Catalogue, error) {
	catalogue, err := skills.Load(skills.Options{Folders: []string{dir}})
	if err != nil {
		return nil, &fault.Error{Status: fault.Usage, Message: err.Error(), Err: err}
	}
	if len(catalogue.List())+len(catalogue.Problems()) == 0 {
		return nil, fault.New(fault.Usage, "name a folder with a SKILL.md in it, or below it", "%s holds no skill", term.Line(dir))
	}
	return catalogue, nil
}

// lintScripts looks at the scripts of all skills in one session: none is run.
func lintScripts(ctx context.Context, loaded *config.Loaded, list []skills.Skill) (found []skills.Problem, err error) {
	lease, closing, err := lessor(ctx, loaded, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	session, err := lease(ctx, "lint")
	if err != nil {
		return nil, sandboxFault(err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for _, s := range list {
		one, err := skilltest.LintScripts(ctx, session, s)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	return found, nil
}

func (c *skillsLintCmd) show(e *env, list []skills.Skill, found []skills.Problem) error {
	broken := 0
	for _, p := range found {
		if p.Severity == skills.Broken {
			broken++
		}
	}
	if c.JSON {
		if found == nil {
			found = []skills.Problem{}
		}
		if err := e.printJSON(map[string]any{"skills": len(list), "problems": found}); err != nil {
			return err
		}
	} else {
		for _, p := range found {
			if err := e.print("%s\n", term.Line(p.String())); err != nil {
				return err
			}
		}
		if err := e.print("%s, %s, %s\n", count(len(list), "skill"), count(broken, "error"), count(len(found)-broken, "warning")); err != nil {
			return err
		}
	}
	if broken > 0 {
		return fault.Exit(fault.Failed)
	}
	return nil
}

type skillsTestCmd struct {
	Name  string `arg:"" optional:"" help:"Test this skill only; a folder that holds one that is not installed will do."`
	JUnit string `name:"junit" placeholder:"FILE" help:"Write the results as JUnit XML too."`
	Model bool   `default:"true" negatable:"" help:"Ask the configured model the evals of skills that need one; it costs."`
	JSON  bool   `name:"json" help:"Print one JSON value."`
}

// Run runs the evals; status 1 when one fails.
func (c *skillsTestCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	list, err := c.list(e, loaded)
	if err != nil {
		return err
	}
	lease, closing, err := lessor(e.ctx(), loaded, 1)
	if err != nil {
		return err
	}
	options := skilltest.Options{Skills: list, Lease: lease, Now: time.Now, Started: func(skill, eval string) {
		e.progressLine(skill + ": " + eval)
	}}
	var report skilltest.Report
	if c.Model && needModel(list) && (loaded.Model.BaseURL != "" || loaded.Secrets.OpenAI.Set()) {
		err = e.with(loaded, func(ctx context.Context, client *control.Client) (err error) {
			options.Asker = &modelAsker{env: e, loaded: loaded, client: client}
			report, err = skilltest.Run(ctx, options)
			return err
		})
	} else {
		report, err = skilltest.Run(e.ctx(), options)
	}
	if err = errors.Join(err, closing()); err != nil {
		return err
	}
	return c.show(e, report)
}

// list is what is tested: all, the one of that name, or those of a folder that
// somebody works on.
func (c *skillsTestCmd) list(e *env, loaded *config.Loaded) ([]skills.Skill, error) {
	catalogue, err := loadSkills(loaded)
	if err != nil {
		return nil, err
	}
	if c.Name == "" {
		return catalogue.List(), nil
	}
	one, err := skillNamed(catalogue, c.Name)
	if err == nil {
		return []skills.Skill{one}, nil
	}
	if info, statErr := os.Stat(c.Name); statErr != nil || !info.IsDir() {
		return nil, err
	}
	if catalogue, err = skillsIn(c.Name); err != nil {
		return nil, err
	}
	for _, problem := range catalogue.Problems() {
		if problem.Severity == skills.Broken {
			return nil, fault.New(fault.Usage, "mend it: sandpiper skills lint "+c.Name, "%s", term.Line(problem.String()))
		}
	}
	list := catalogue.List()
	if c.Model && needModel(list) {
		c.Model = false
		fmt.Fprintln(e.err, "sandpiper: note: a skill without a program of its own is asked of the model only once its folder lies under one of skills.folders")
	}
	return list, nil
}

// needModel reports whether any of the skills has no program of its own.
func needModel(list []skills.Skill) bool {
	return slices.ContainsFunc(list, func(s skills.Skill) bool { return !s.Runnable() })
}

func (c *skillsTestCmd) show(e *env, report skilltest.Report) error {
	if c.JUnit != "" {
		if err := writeFile(c.JUnit, report.JUnit); err != nil {
			return fault.New(fault.Usage, "name a file that can be written", "%s: %v", term.Line(c.JUnit), pathReason(err))
		}
	}
	var err error
	if c.JSON {
		err = e.printJSON(report)
	} else {
		err = report.Table(e.out)
	}
	if err == nil && report.Failed() > 0 {
		return fault.Exit(fault.Failed)
	}
	return err
}

// writeFile writes a file by a function, and tells its first failure.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// modelAsker puts evals to the configured model as console runs.
type modelAsker struct {
	env    *env
	loaded *config.Loaded
	client *control.Client
}

// Ask implements skilltest.Asker.
func (a *modelAsker) Ask(ctx context.Context, skill, request string, inputs map[string][]byte) (skilltest.Answered, error) {
	dir, err := os.MkdirTemp("", "sandpiper-eval-")
	if err != nil {
		return skilltest.Answered{}, fmt.Errorf("make folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder left in the temporary one is swept by the system
	var files []string
	for name, data := range inputs {
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return skilltest.Answered{}, fmt.Errorf("write input: %w", err)
		}
		files = append(files, path)
	}
	checked, err := checkInputs(files, a.loaded.Limits)
	if err != nil {
		return skilltest.Answered{}, err
	}
	refs, err := uploadInputs(ctx, a.client, checked, a.loaded.Limits.Input)
	if err != nil {
		return skilltest.Answered{}, err
	}
	user := login()
	sent := submission{ID: ulid.Make().String(), User: user, Out: filepath.Join(dir, "out"), Prompt: request, Skill: skill, Inputs: refs}
	ticket, err := control.Call[bot.Ticket](ctx, a.client, "run/submit", sent)
	if err != nil {
		return skilltest.Answered{}, err
	}
	if ticket.Refused != nil {
		return skilltest.Answered{Refused: ticket.Refused.Message}, nil
	}
	f := newFollower(a.env.err, user)
	defer f.close()
	got, err := f.follow(ctx, a.client, ticket.Task)
	if err != nil {
		return skilltest.Answered{}, err
	}
	answered := skilltest.Answered{Message: got.Message, CostUSD: got.Usage.CostUSD, Files: map[string][]byte{}}
	if got.Error != nil {
		answered.Refused = got.Error.Message
	}
	for _, file := range got.Files {
		if file.Path == "" {
			continue
		}
		data, err := os.ReadFile(file.Path)
		if err != nil {
			return answered, fmt.Errorf("read %s: %w", file.Name, err)
		}
		answered.Files[file.Name] = data
	}
	return answered, nil
}
