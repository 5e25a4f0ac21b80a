package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/lifecycle"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/logs"
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
	struck       *logs.Secrets // what the log strikes out
	redactor     *bot.Redactor // strikes it out of what people get
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
	model        agent.Model            // nil where none is configured
	runner       *agent.Agent
	reports      *saved.Store
	policy       bot.Policy
	time         bot.Clock // of the schedules
	orchestrator *bot.Orchestrator
	clock        *schedules.Clock
	schedules    *schedules.Service
	auditFile    *auditFile // nil where none is configured
	// scheduleCommands are set before anything can ask for them: the core
	// needs them, and they need the core.
	scheduleCommands map[string]bot.CommandFunc
	webhooks         map[string]http.Handler // by pattern of the listener
	connections      []func(*app) part       // how each configured adapter is
	gauges           *gauges
	secrets          atomic.Pointer[config.Secrets]
	everSecret       []string // all that were in force in this life; of the signals' loop
	since            time.Time
	serves           bool
}

// startOptions say what kind of process this is.
type startOptions struct {
	serve bool // keeps sessions ready and runs the sources of events
	// clock is when schedules are due, and GitHub's time; nil takes the system's.
	clock  bot.Clock
	struck *logs.Secrets
}

// start opens the data folder and starts the parts that every first process
// has. It fails with boltstore.ErrInUse where another process has the folder.
// What was started is stopped again when a later part fails.
func start(ctx context.Context, loaded *config.Loaded, log *slog.Logger, options startOptions) (_ *app, err error) {
	a := &app{loaded: loaded, log: log, life: lifecycle.New(log), webhooks: map[string]http.Handler{}, since: time.Now(), serves: options.serve, struck: options.struck, gauges: newGauges(), time: options.clock}
	if a.time == nil {
		a.time = systemClock{}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.stop(ctx))
		}
	}()
	a.secrets.Store(&loaded.Secrets)
	a.redactor = bot.NewRedactor(loaded.Secrets.Values())
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

	if err := a.openRunner(ctx, point); err != nil {
		return nil, err
	}
	if err := a.openChannels(ctx); err != nil {
		return nil, err
	}
	if err := a.openCore(point); err != nil {
		return nil, err
	}
	a.life.Go(ctx, "orchestrator", a.orchestrator.Run)

	// The socket that every command goes through.
	listener, err := control.Listen(ctx, loaded.DataDir)
	if err != nil {
		return nil, err
	}
	server := control.NewServer(log)
	a.register(server)
	a.life.Go(ctx, "control socket", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	return a, nil
}

// openRunner makes what a task runs with: skills, sandbox, model, agent.
func (a *app) openRunner(ctx context.Context, point func(string)) (err error) {
	if a.catalogue, err = loadSkills(a.loaded); err != nil {
		return err
	}
	a.boxes = newBoxes(boxesOptions{
		loaded: a.loaded, owner: a.identity.owner, records: a.store, log: a.part("sandbox"), point: point, warm: a.serves,
	})
	a.life.Defer("sandbox", a.boxes.Close)
	if err := a.boxes.Sweep(ctx); err != nil {
		return err
	}
	if a.model, err = openModel(a.loaded, func() string { return a.secrets.Load().OpenAI.Reveal() }, a.part("model")); err != nil {
		return err
	}
	if a.model != nil {
		a.model = measuredModel{a.model, a.gauges}
	}
	if a.reports, err = saved.OpenStore(savedSkills(a.loaded)); err != nil {
		return err
	}
	a.life.Defer("saved reports", func(context.Context) error { return a.reports.Close() })
	if a.runner, err = agent.New(agent.Options{
		Sandbox: measuredSandbox{a.boxes, a.gauges}, Skills: a.catalogue, Reports: a.reports, Model: a.model, Values: agent.Values(a.loaded.Model.Values),
		Budgets: a.loaded.Budgets.Bot(),
		Limits:  agent.Limits{Artifacts: a.loaded.Limits.Artifacts, ArtifactSize: int64(a.loaded.Limits.Artifact)},
		Log:     a.part("agent"), Point: point,
	}); err != nil {
		return err
	}
	return nil
}

// openChannels makes the ways back to people, and who may use them.
func (a *app) openChannels(ctx context.Context) error {
	channel, err := console.New(console.Options{Blobs: a.blobs, Records: a.store, Clock: systemClock{}})
	if err != nil {
		return err
	}
	a.channels = map[string]bot.Channel{console.Name: channel, webAdapter: nowhere{}}
	for _, open := range []func() error{a.openLocal, a.openPrevious, a.openFetch, a.openSlack, a.openGitHub, a.openTestPlatform} {
		if err := open(); err != nil {
			return err
		}
	}
	if err := a.holdBack(ctx); err != nil {
		return err
	}
	a.policy, err = policyOf(a.loaded)
	return err
}

// holdBack leaves the console's tasks of an earlier life to a later one where
// this process is a passing one and no engine answers: begun now, they would
// only fail. A server waits for its engine instead.
func (a *app) holdBack(ctx context.Context) error {
	if a.serves {
		return nil
	}
	open, err := a.store.Open(ctx)
	if err != nil {
		return fmt.Errorf("look for tasks of an earlier life: %w", err)
	}
	open = slices.DeleteFunc(open, func(t bot.Task) bool {
		return t.State == bot.TaskWaiting || t.Event.Origin.Adapter != console.Name
	})
	if len(open) == 0 || a.boxes.Reachable(ctx) {
		return nil
	}
	a.log.Warn("tasks of an earlier life wait for the container engine: start it, then any command finishes them", "tasks", len(open))
	delete(a.channels, console.Name)
	return nil
}

// openCore makes what stands between them.
func (a *app) openCore(point func(string)) (err error) {
	if a.orchestrator, err = bot.New(bot.OrchestratorOptions{
		Store: measuredStore{a.store, a.gauges}, Blobs: a.blobs, Runner: a.runner, Policy: a.policy,
		Channels:  a.channels,
		Commands:  a.commands(),
		Redactor:  a.redactor,
		Key:       a.identity.key,
		Purged:    a.purged,
		Forgotten: func(_ context.Context, task string) error { return a.reports.DropCopies(task) },
		Exclusive: true, // boltstore.Open locks the file
		Sink:      a.openAuditSink(),
		Budgets:   a.loaded.Budgets.Bot(),
		Limits:    bot.Limits{WaitingPerActor: a.loaded.Limits.WaitingPerActor, Input: int64(a.loaded.Limits.Input), Inputs: a.loaded.Limits.Inputs},
		Retention: bot.Retention{Tasks: a.loaded.Retention.Tasks.Std(), Blobs: a.loaded.Retention.Blobs.Std(), Audit: a.loaded.Retention.Audit.Std()},
		Logger:    a.part("core"), Point: point,
	}); err != nil {
		return err
	}
	if a.slack != nil {
		a.slack.Show(a.orchestrator)
	}
	return a.openSchedules()
}

// part is the logger of one part of the process.
func (a *app) part(name string) *slog.Logger { return a.log.With(logs.PartKey, name) }

// stop ends everything in the reverse order of its start.
func (a *app) stop(ctx context.Context) error { return a.life.Stop(ctx, stopBound) }

// savedSkills is where saved reports lie.
func savedSkills(loaded *config.Loaded) string { return filepath.Join(loaded.DataDir, "skills") }

type systemClock struct{}

// Now implements bot.Clock.
func (systemClock) Now() time.Time { return time.Now() }
