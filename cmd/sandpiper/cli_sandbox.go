package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

type sandboxCmd struct {
	Build  sandboxBuildCmd  `cmd:"" help:"Make the sandbox's image where it is absent."`
	Import sandboxImportCmd `cmd:"" help:"Take in an image that was saved on another machine."`
	Probe  sandboxProbeCmd  `cmd:"" help:"Try thirty attacks on the running engine."`
	Exec   sandboxExecCmd   `cmd:"" help:"Run one program in the sandbox."`
	Status sandboxStatusCmd `cmd:"" help:"Show engine, image, ready sessions and containers."`
}

// sandboxFault gives errors of the sandbox their status and hint.
func sandboxFault(err error) error {
	var e *sandbox.Error
	if errors.As(err, &e) {
		return &fault.Error{Status: fault.Missing, Message: e.Error(), Hint: e.Hint, Kind: string(e.Verdict), Err: err}
	}
	return err
}

// adopt records the image that is ready now, so that a changed one is noticed.
func (e *env) adopt(loaded *config.Loaded, built sandbox.Built, asJSON bool) error {
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		if _, err := control.Call[struct{}](ctx, client, "sandbox/replace", imageRef{Image: built.Image, ID: built.ID, Found: built.Existed}); err != nil {
			return err
		}
		if asJSON {
			return e.printJSON(built)
		}
		names, err := control.Call[[]string](ctx, client, "reports/names", struct{}{})
		if err != nil {
			return err
		}
		if len(names) > 0 && !built.Existed {
			e.progressLine(count(len(names), "saved report") + " will be compared with the next run of each; sandpiper reports check does it now")
		}
		return e.print("%s %s\n", built.Image, built.ID)
	})
}

// progressLine tells a line of a long work on stderr.
func (e *env) progressLine(line string) { fmt.Fprintln(e.err, "sandpiper: "+term.Line(line)) }

type sandboxBuildCmd struct {
	Refresh bool `help:"Make it anew, with the security updates of today."`
	JSON    bool `name:"json" help:"Print one JSON value."`
}

// Run builds the image.
func (c *sandboxBuildCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	built, err := sandbox.Build(e.ctx(), sandbox.BuildOptions{Refresh: c.Refresh, Progress: e.progressLine})
	if err != nil {
		return sandboxFault(err)
	}
	return e.adopt(loaded, built, c.JSON)
}

type sandboxImportCmd struct {
	Tar  string `arg:"" help:"The file that docker save wrote; - for stdin."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run imports the image.
func (c *sandboxImportCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	var from io.Reader = e.in
	if c.Tar != "-" {
		file, err := os.Open(c.Tar)
		if err != nil {
			return fault.New(fault.Usage, "name a file that docker save wrote", "%s: %v", term.Line(c.Tar), pathReason(err))
		}
		defer file.Close()
		from = file
	}
	built, err := sandbox.Import(e.ctx(), sandbox.ImportOptions{Tar: from, Progress: e.progressLine})
	if err != nil {
		return sandboxFault(err)
	}
	return e.adopt(loaded, built, c.JSON)
}

type sandboxProbeCmd struct {
	Runtime string `placeholder:"NAME" help:"Probe this runtime instead of sandbox.runtime."`
	JSON    bool   `name:"json" help:"Print one JSON value."`
}

// Run tries the probes; status 1 when one falls.
func (c *sandboxProbeCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	options := sandboxOptions(loaded)
	if c.Runtime != "" {
		options.Runtime = c.Runtime
	}
	options.Owner = "probe"
	report, err := sandbox.Probe(e.ctx(), options)
	if err != nil {
		return sandboxFault(err)
	}
	fallen := report.Fallen()
	if c.JSON {
		err = e.printJSON(report)
	} else {
		err = c.table(e, report)
	}
	if err == nil && fallen > 0 {
		return fault.Exit(fault.Failed)
	}
	return err
}

func (c *sandboxProbeCmd) table(e *env, report sandbox.ProbeReport) error {
	table := term.Table{Header: []string{"#", "OK", "PROBE", "EXPECTED", "SEEN"}}
	for _, p := range report.Probes {
		ok := "yes"
		if !p.OK {
			ok = "NO"
		}
		table.Add(fmt.Sprint(p.ID), ok, p.Name, p.Expect, p.Seen)
	}
	if err := table.Write(e.out); err != nil {
		return err
	}
	return e.print("%d of %d as expected (runtime %s, engine %s, image %.19s)\n",
		len(report.Probes)-report.Fallen(), len(report.Probes), report.Runtime, report.Engine, report.Image)
}

type sandboxExecCmd struct {
	File string `arg:"" help:"A program: .py, .js, .sh or .sql."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// longestProgram bounds a program that is sent to the sandbox.
const longestProgram = 1 << 20

// Run runs a program; status 1 unless its verdict is ok. With --json what went
// wrong before it could run is one JSON value too.
func (c *sandboxExecCmd) Run(e *env) error {
	err := c.run(e)
	var f *fault.Error
	if err == nil || !c.JSON || (errors.As(err, &f) && f.Told) {
		return err
	}
	return errors.Join(err, e.printJSON(failedExec(err)))
}

func (c *sandboxExecCmd) run(e *env) error {
	language, err := languageOf(c.File)
	if err != nil {
		return err
	}
	if err := checkInput(c.File, longestProgram); err != nil {
		return err
	}
	code, err := os.ReadFile(c.File)
	if err != nil {
		return fault.New(fault.Usage, "", "%s: %v", term.Line(c.File), pathReason(err))
	}
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		result, err := execute(ctx, client, execution{ID: ulid.Make().String(), Language: language, Code: string(code)})
		if err != nil {
			return err
		}
		return c.show(e, result, interrupted(ctx))
	})
}

// execute runs a program. A first Ctrl-C cancels it, and its verdict is still
// waited for: the output until then is in it.
func execute(ctx context.Context, client *control.Client, order execution) (*execResult, error) {
	call, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	asked := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(asked)
		if _, err := control.Call[struct{}](call, client, "sandbox/cancel", order); err != nil {
			giveUp()
		}
	})
	result, err := control.Call[*execResult](call, client, "sandbox/exec", order)
	if !stop() {
		<-asked
	}
	return result, err
}

func (c *sandboxExecCmd) show(e *env, result *execResult, interrupted bool) error {
	if c.JSON {
		if err := e.printJSON(result); err != nil {
			return err
		}
	} else {
		if err := e.print("%s", result.Stdout); err != nil {
			return err
		}
		fmt.Fprint(e.err, term.Clean(result.Stderr))
		for _, file := range result.Files {
			fmt.Fprintf(e.err, "sandpiper: made %s (%s)\n", term.Line(file.Name), term.Bytes(file.Size))
		}
		for _, file := range result.Skipped {
			fmt.Fprintf(e.err, "sandpiper: left %s behind: %s\n", term.Line(file.Name), term.Line(file.Reason))
		}
		if result.Verdict != sandbox.OK {
			fmt.Fprintf(e.err, "sandpiper: verdict %s after %.2f s; %s\n", result.Verdict, result.Seconds, term.Line(result.Hint))
		}
	}
	switch {
	case interrupted:
		return fault.Exit(fault.Interrupt)
	case result.Verdict != sandbox.OK:
		return fault.Exit(fault.Failed)
	}
	return nil
}

// languageOf tells a program's language by its file's extension.
func languageOf(path string) (sandbox.Language, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".py":
		return sandbox.Python, nil
	case ".js", ".mjs", ".cjs":
		return sandbox.JavaScript, nil
	case ".sh", ".bash":
		return sandbox.Bash, nil
	case ".sql":
		return sandbox.SQL, nil
	}
	return "", fault.New(fault.Usage, "name a file that ends in .py, .js, .sh or .sql", "%s: its extension tells no language", term.Line(path))
}

type sandboxStatusCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run shows the sandbox's state.
func (c *sandboxStatusCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		s, err := control.Call[sandbox.Status](ctx, client, "sandbox/status", struct{}{})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(s)
		}
		err = e.print("engine   %s, runtime %s\nimage    %s %.19s, built %s\nsessions %d ready of %d, %d starting, %d in use, %d waiting; memory holds %d\n",
			s.Engine, s.Runtime, s.Image, s.ImageID, localTime(s.Built), s.Ready, s.Target, s.Starting, s.Leased, s.Waiting, s.Room)
		if err != nil || len(s.Containers) == 0 {
			return err
		}
		table := term.Table{Header: []string{"CONTAINER", "NAME", "STATE", "DEADLINE"}}
		for _, one := range s.Containers {
			table.Add(one.ID, one.Name, one.State, localTime(one.Deadline))
		}
		return table.Write(e.out)
	})
}
