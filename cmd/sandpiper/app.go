package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/lifecycle"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/schedules"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Variables for tests of the binary: killVariable ends the process with
// SIGKILL at a named point ("1:delivered"), platformVariable is the address of
// a test platform, which is an adapter like any other then.
const (
	killVariable     = "SANDPIPER_TEST_KILL"
	platformVariable = "SANDPIPER_TEST_PLATFORM"
)

// stopBound is how long each part may take to stop.
const stopBound = 45 * time.Second

// app is the process that holds the data folder: everything started, in one
// straight line.
type app struct {
	loaded       *config.Loaded
	log          *slog.Logger
	life         *lifecycle.Lifecycle
	store        *boltstore.Store
	blobs        *boltstore.Blobs
	catalogue    *skills.Catalogue
	boxes        *boxes
	identity     identity
	channels     map[string]bot.Channel // by adapter
	sources      []bot.Source           // run by serve alone
	slack        *slack.Adapter         // nil where it is not configured
	github       *github.Adapter        // likewise
	runner       *agent.Agent
	reports      *saved.Store
	policy       bot.Policy
	orchestrator *bot.Orchestrator
	clock        *schedules.Clock
	schedules    *schedules.Service
	// scheduleCommands are set before anything can ask for them: the core
	// needs them, and they need the core.
	scheduleCommands map[string]bot.CommandFunc
	webhooks         map[string]http.Handler // by pattern of the listener
	connections      []func() part           // how each configured adapter is
	secrets          atomic.Pointer[config.Secrets]
	since            time.Time
	serves           bool
}

// startOptions say what kind of process this is.
type startOptions struct {
	serve bool // keeps sessions ready and runs the sources of events
}

// start opens the data folder and starts the parts that every first process
// has. It fails with boltstore.ErrInUse where another process has the folder.
// What was started is stopped again when a later part fails.
func start(ctx context.Context, loaded *config.Loaded, log *slog.Logger, options startOptions) (_ *app, err error) {
	a := &app{loaded: loaded, log: log, life: lifecycle.New(log), webhooks: map[string]http.Handler{}, since: time.Now(), serves: options.serve}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.stop(ctx))
		}
	}()
	a.secrets.Store(&loaded.Secrets)
	point, err := testadapter.KillAt(os.Getenv(killVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", killVariable, err)
	}

	// The store's lock makes this process the first one.
	if a.store, err = boltstore.Open(boltstore.Options{Dir: loaded.DataDir}); err != nil {
		return nil, err
	}
	a.life.Defer("store", func(context.Context) error { return a.store.Close() })
	if a.blobs, err = boltstore.OpenBlobs(boltstore.Options{Dir: loaded.DataDir}); err != nil {
		return nil, err
	}
	a.life.Defer("blobs", func(context.Context) error { return a.blobs.Close() })
	if a.identity, err = openIdentity(loaded.DataDir); err != nil {
		return nil, err
	}

	// What a task runs with.
	if a.catalogue, err = loadSkills(loaded); err != nil {
		return nil, err
	}
	a.boxes = newBoxes(boxesOptions{
		loaded: loaded, owner: a.identity.owner, records: a.store, log: log, point: point, warm: options.serve,
	})
	a.life.Defer("sandbox", a.boxes.Close)
	if err := a.boxes.Sweep(ctx); err != nil {
		return nil, err
	}
	model, err := openModel(loaded, log)
	if err != nil {
		return nil, err
	}
	if a.reports, err = saved.OpenStore(savedSkills(loaded)); err != nil {
		return nil, err
	}
	a.life.Defer("saved reports", func(context.Context) error { return a.reports.Close() })
	if a.runner, err = agent.New(agent.Options{
		Sandbox: a.boxes, Skills: a.catalogue, Model: model, Values: agent.Values(loaded.Model.Values),
		Budgets: loaded.Budgets.Bot(),
		Limits:  agent.Limits{Artifacts: loaded.Limits.Artifacts, ArtifactSize: int64(loaded.Limits.Artifact)},
		Log:     log, Point: point,
	}); err != nil {
		return nil, err
	}

	// The ways back to people.
	channel, err := console.New(console.Options{Blobs: a.blobs, Records: a.store, Clock: systemClock{}})
	if err != nil {
		return nil, err
	}
	a.channels = map[string]bot.Channel{console.Name: channel, webAdapter: nowhere{}}
	for _, open := range []func() error{a.openLocal, a.openFetch, a.openSlack, a.openGitHub, a.openTestPlatform} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	if a.policy, err = policyOf(loaded); err != nil {
		return nil, err
	}

	// The core between them.
	if a.orchestrator, err = bot.New(bot.OrchestratorOptions{
		Store: a.store, Blobs: a.blobs, Runner: a.runner, Policy: a.policy,
		Channels:  a.channels,
		Commands:  a.commands(),
		Redactor:  bot.NewRedactor(loaded.Secrets.Values()),
		Key:       a.identity.key,
		Budgets:   loaded.Budgets.Bot(),
		Limits:    bot.Limits{WaitingPerActor: loaded.Limits.WaitingPerActor, Input: int64(loaded.Limits.Input), Inputs: loaded.Limits.Inputs},
		Retention: bot.Retention{Tasks: loaded.Retention.Tasks.Std(), Blobs: loaded.Retention.Blobs.Std(), Audit: loaded.Retention.Audit.Std()},
		Logger:    log, Point: point,
	}); err != nil {
		return nil, err
	}
	if a.slack != nil {
		a.slack.Show(a.orchestrator)
	}
	if err := a.openSchedules(); err != nil {
		return nil, err
	}
	a.life.Go(ctx, "orchestrator", a.orchestrator.Run)

	// The socket that every command goes through.
	listener, err := control.Listen(loaded.DataDir)
	if err != nil {
		return nil, err
	}
	server := control.NewServer(log)
	a.register(server)
	a.life.Go(ctx, "control socket", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	return a, nil
}

// stop ends everything in the reverse order of its start.
func (a *app) stop(ctx context.Context) error { return a.life.Stop(ctx, stopBound) }

// settle waits until nothing is left that this process can bring to an end,
// and says what it waits for. When ctx ends, the rest is left to the next
// start.
func (a *app) settle(ctx context.Context, to io.Writer) error {
	idle := make(chan error, 1)
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { idle <- a.orchestrator.Idle(wait) }()
	select {
	case err := <-idle:
		return err
	case <-time.After(500 * time.Millisecond):
	case err := <-a.life.Ended():
		cancel()
		<-idle
		return err
	}
	open, err := a.store.Open(ctx)
	if err != nil {
		cancel()
		<-idle
		return fmt.Errorf("look for open tasks: %w", err)
	}
	for i := range open {
		if t := &open[i]; t.State != bot.TaskWaiting && t.Event.Origin.Adapter == console.Name {
			fmt.Fprintf(to, "sandpiper: finishing task %s (%s), begun %s; Ctrl-C leaves it to the next start\n",
				t.ID, term.Line(t.Title), t.Created.Local().Format("2006-01-02 15:04 MST"))
		}
	}
	select {
	case err = <-idle:
	case err = <-a.life.Ended():
		cancel()
		<-idle
	}
	return err
}

// savedSkills is where saved reports lie.
func savedSkills(loaded *config.Loaded) string { return filepath.Join(loaded.DataDir, "skills") }

type systemClock struct{}

// Now implements bot.Clock.
func (systemClock) Now() time.Time { return time.Now() }
