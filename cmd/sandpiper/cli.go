package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/logs"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

// Why the process's context ended: a first Ctrl-C, or a SIGTERM.
var (
	errInterrupted = errors.New("interrupted")
	errTerminated  = errors.New("terminated")
)

// interrupted reports whether a signal asked the process to end.
func interrupted(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errInterrupted) || errors.Is(cause, errTerminated)
}

// cli is the command line as kong reads it; each command is one field with a
// Run method in cli_*.go.
type cli struct {
	Config string `help:"Read this configuration instead of the user's own." placeholder:"FILE" type:"path"`

	Run       runCmd       `cmd:"" help:"Do one task: the answer on stdout, its files in a folder."`
	Serve     serveCmd     `cmd:"" help:"Serve every configured adapter, the schedules and the pages."`
	Tasks     tasksCmd     `cmd:"" help:"List, show, cancel and repeat tasks."`
	Schedules schedulesCmd `cmd:"" help:"Add, list, pause and run schedules."`
	Skills    skillsCmd    `cmd:"" help:"List, show, check, test and start skills."`
	Reports   reportsCmd   `cmd:"" help:"Check saved reports after the sandbox has changed."`
	Sandbox   sandboxCmd   `cmd:"" help:"Build, probe and use the sandbox."`
	Audit     auditCmd     `cmd:"" help:"Verify or export the audit chain."`
	Purge     purgeCmd     `cmd:"" help:"Forget what belongs to an actor, a conversation or a task."`
	Backup    backupCmd    `cmd:"" help:"Write a consistent copy of the data folder, also while it is in use."`
	Restore   restoreCmd   `cmd:"" help:"Put a backup into an empty data folder."`
	Doctor    doctorCmd    `cmd:"" help:"Check everything that sandpiper needs, and say what to do."`
	Conf      configCmd    `cmd:"" name:"config" help:"Show or check the configuration in force."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// streams are the process's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// env is what every command gets.
type env struct {
	streams
	args *cli
	ctx  func() context.Context // ends at the first Ctrl-C
	// struck is what the log strikes out; SIGHUP may change it.
	struck *logs.Secrets
}

// run parses args, runs the command and tells its error; it returns the exit
// status of the contract.
func run(ctx context.Context, args []string, std streams) fault.Status {
	var c cli
	exited := false
	parser, err := kong.New(&c,
		kong.Name("sandpiper"),
		kong.Description("A ChatOps bot that answers with code: it writes programs, runs them in a hardened container without network, and hands back the answer and the files."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: false}),
	)
	if err != nil {
		return tell(std.err, fmt.Errorf("build command line: %w", err))
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	selected, err := parser.Parse(args)
	if exited {
		return fault.Done // --help
	}
	if err != nil {
		return tell(std.err, fault.New(fault.Usage, "see sandpiper --help", "%v", err))
	}
	e := &env{streams: std, args: &c, ctx: func() context.Context { return ctx }}
	err = selected.Run(e)
	if err == nil {
		return fault.Done
	}
	if interrupted(ctx) {
		var f *fault.Error
		if !errors.As(err, &f) || f.Status != fault.Interrupt {
			err = fault.Exit(fault.Interrupt)
		}
	}
	return tell(std.err, err)
}

// tell prints an error with what to do next and returns its exit status.
func tell(to io.Writer, err error) fault.Status {
	var f *fault.Error
	told, hint := false, ""
	if errors.As(err, &f) {
		told, hint = f.Told, f.Hint
	}
	if !told {
		for i, line := range strings.Split(term.Clean(err.Error()), "\n") {
			prefix := "sandpiper: "
			if i > 0 {
				prefix = "           "
			}
			fmt.Fprintln(to, prefix+line)
		}
		if hint != "" {
			fmt.Fprintln(to, "           "+term.Clean(hint))
		}
	}
	return fault.StatusOf(err)
}

// config loads the configuration, and says what lies there unread.
func (e *env) config() (*config.Loaded, error) {
	loaded, err := config.Load(config.Options{Path: e.args.Config})
	if loaded != nil {
		for _, notice := range loaded.Notices {
			fmt.Fprintln(e.err, "sandpiper: note: "+term.Line(notice))
		}
	}
	if err != nil {
		return loaded, &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "sandpiper config check tells whether it is right", Err: err}
	}
	return loaded, nil
}

// logger logs to stderr. Beside progress and answers only what needs
// attention is worth a line, unless the configuration asks for more.
func (e *env) logger(loaded *config.Loaded, least slog.Level) (*slog.Logger, error) {
	level := loaded.Log.Level
	if loaded.Origin("log.level") == "default" {
		level = least.String()
	}
	e.struck = logs.NewSecrets(loaded.Secrets.Values())
	return logs.New(logs.Options{Level: level, Levels: loaded.Log.Levels, Format: loaded.Log.Format, To: e.err, Secrets: e.struck})
}

// printJSON writes one JSON value.
func (e *env) printJSON(v any) error {
	to := json.NewEncoder(e.out)
	to.SetIndent("", "  ")
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// print writes text that may be untrusted.
func (e *env) print(format string, args ...any) error {
	_, err := io.WriteString(e.out, term.Clean(fmt.Sprintf(format, args...)))
	return err
}

// login is the name of whoever runs the command.
func login() string {
	for _, name := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	if current, err := user.Current(); err == nil && current.Username != "" {
		return current.Username
	}
	return fmt.Sprint(os.Getuid())
}
