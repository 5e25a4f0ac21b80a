package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

type serveCmd struct{}

// Run serves every configured adapter, the schedules and the pages until a
// signal ends it.
func (c *serveCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	log, err := e.logger(loaded, slog.LevelInfo)
	if err != nil {
		return err
	}
	// Whoever reads the log may end, or be started anew: that must not end us in
	// the middle of something, as a write to a closed stderr does otherwise.
	signal.Ignore(syscall.SIGPIPE)
	ctx := e.ctx()
	a, err := e.first(ctx, loaded, log)
	if err != nil {
		return err
	}
	err = a.serve(ctx)
	notify(log, daemon.SdNotifyStopping)
	log.Info("stopping")
	err = errors.Join(err, a.stop(ctx))
	if err == nil && errors.Is(context.Cause(ctx), errInterrupted) {
		return fault.Exit(fault.Interrupt)
	}
	return err
}

// first becomes the process that holds the data folder. A command that has it
// is waited for; another serve is an error.
func (e *env) first(ctx context.Context, loaded *config.Loaded, log *slog.Logger) (*app, error) {
	for told := false; ; {
		a, err := start(ctx, loaded, log, startOptions{serve: true, struck: e.struck})
		if !errors.Is(err, boltstore.ErrInUse) {
			return a, explain(err, loaded)
		}
		client, err := greet(ctx, loaded.DataDir)
		switch {
		case isDeadline(err):
			return nil, held(loaded)
		case err == nil:
			other, err := control.Call[hello](ctx, client, "hello", struct{}{})
			client.Close()
			if err == nil && other.Serves {
				return nil, fault.New(fault.Usage, "stop it first, or set SANDPIPER_DATA_DIR to another folder",
					"process %d serves the data folder %s already", other.PID, loaded.DataDir)
			}
		}
		if !told {
			log.Info("waiting for a command that works in the data folder", "data_dir", loaded.DataDir)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serve starts what only a server has, and waits for the end.
func (a *app) serve(ctx context.Context) error {
	for _, w := range a.loaded.Warnings() {
		a.log.Warn(w.Message, "setting", w.Where, "hint", w.Hint)
	}
	if problem := a.loaded.ModelProblem(); problem != "" {
		a.log.Info(problem)
	}
	listener, err := a.listen(ctx)
	if err != nil {
		return err
	}
	if err := a.syncSchedules(ctx); err != nil {
		listener.Close()
		return err
	}
	costs, err := a.openCosts()
	if err != nil {
		listener.Close()
		return err
	}
	if costs != nil {
		a.life.Go(ctx, "costs", costs)
	}
	a.life.Go(ctx, "listener", func(ctx context.Context) error { return a.serveHTTP(ctx, listener) })
	a.life.Go(ctx, "sandbox keeper", a.keepSandbox)
	for _, source := range a.sources {
		a.life.Go(ctx, source.Name(), func(ctx context.Context) error {
			return source.Run(ctx, measuredIntake{a.orchestrator, a.gauges, source.Name()})
		})
	}
	a.life.Go(ctx, "signals", a.signals)
	a.life.Go(ctx, "watchdog", a.watchdog)
	a.log.Info("serving", "listen", listener.Addr().String(), "data_dir", a.loaded.DataDir, "version", version, "took", time.Since(a.since).Round(time.Millisecond))
	notify(a.log, daemon.SdNotifyReady)
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.life.Ended():
		return err
	}
}

// keepSandbox connects to the engine and keeps sessions ready, as soon as
// there is an engine and an image; until then it says what is missing.
func (a *app) keepSandbox(ctx context.Context) error {
	const again = 30 * time.Second
	missing := ""
	for {
		switch err := a.boxes.Ready(ctx); {
		case err == nil && missing != "":
			a.log.Info("the sandbox is ready")
			missing = ""
		case err != nil && ctx.Err() == nil && err.Error() != missing:
			missing = err.Error()
			a.log.Error("no sandbox: tasks that need one fail", "error", err, "hint", hintOf(err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

func hintOf(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Hint
	}
	return ""
}

// signals reloads on SIGHUP, and pauses the intake of new work, or takes it
// again, on SIGUSR1.
func (a *app) signals(ctx context.Context) error {
	got := make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(got)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s := <-got:
			if s == syscall.SIGHUP {
				a.reload()
			} else {
				a.pause(!a.orchestrator.Paused())
			}
		}
	}
}

// pause refuses new requests, or takes them again.
func (a *app) pause(on bool) {
	if on {
		a.orchestrator.Pause()
		a.log.Info("paused: new requests are refused, accepted ones go on; SIGUSR1 again or the page of health resumes")
		return
	}
	a.orchestrator.Resume()
	a.log.Info("taking new requests again")
}

// reload reads again what can be, and says what took effect and what did not.
// The audit file is opened anew.
func (a *app) reload() {
	notify(a.log, daemon.SdNotifyReloading)
	defer notify(a.log, daemon.SdNotifyReady)
	a.reopenAudit()
	if err := a.catalogue.Reload(); err != nil {
		a.log.Error("skills are not reloaded; the earlier ones stay", "error", err)
	} else {
		a.log.Info("skills are reloaded", "skills", len(a.catalogue.List()))
	}
	secrets, err := a.loaded.ReloadSecrets()
	if err != nil {
		a.log.Error("secrets are not reloaded; the earlier ones stay", "error", err)
		return
	}
	// Before anything can say the new ones; and an old one that was ever in use
	// may still be good somewhere.
	for _, value := range append(a.secrets.Load().Values(), secrets.Values()...) {
		if !slices.Contains(a.everSecret, value) {
			a.everSecret = append(a.everSecret, value)
		}
	}
	if a.struck != nil {
		a.struck.Set(a.everSecret)
	}
	a.redactor.Know(a.everSecret)
	changed := a.secrets.Load().Changed(secrets)
	a.secrets.Store(&secrets)
	// Every secret is asked for where it is used, so that all take effect.
	a.log.Info("secrets are reloaded", "changed", strings.Join(changed, " "))
	if later := a.pending(); len(later) > 0 {
		a.log.Warn("these have changed and take effect at the next start", "settings", strings.Join(later, " "))
	}
}

// pending names the settings of the file that are not those in force.
func (a *app) pending() []string {
	fresh, err := a.loaded.Again()
	if err != nil {
		a.log.Error("the configuration as it is now could not be started with", "error", err)
		return nil
	}
	before := map[string]string{}
	for _, entry := range a.loaded.Entries() {
		before[entry.Key] = fmt.Sprint(entry.Value)
	}
	var changed []string
	for _, entry := range fresh.Entries() {
		if before[entry.Key] != fmt.Sprint(entry.Value) {
			changed = append(changed, entry.Key)
		}
	}
	return changed
}

// watchdog tells the service manager that the process is alive, for as long as
// its store answers. One that hangs is restarted; one that cannot commit is
// not, for that would mend nothing.
func (a *app) watchdog(ctx context.Context) error {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read watchdog: %w", err)
	}
	if every == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	tick := time.NewTicker(every / 3)
	defer tick.Stop()
	for {
		if err := a.orchestrator.Healthy(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("unhealthy: the store cannot commit", "error", err)
		}
		notify(a.log, daemon.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// notify tells the service manager, where there is one.
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("cannot notify the service manager", "error", fmt.Sprint(err))
	}
}
