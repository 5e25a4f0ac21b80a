// Package lifecycle starts and stops the parts of a process: what is started
// registers a named stop at once, stops run last-in first-out, each bounded,
// all once; a long-running part that returns takes the process down with its
// error.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Lifecycle owns the started parts of a process.
type Lifecycle struct {
	log   *slog.Logger
	ended chan error // the first part that returned by itself

	mu    sync.Mutex // guards stops
	stops []stop
}

type stop struct {
	name string
	run  func(context.Context) error
}

// New returns an empty Lifecycle.
func New(log *slog.Logger) *Lifecycle {
	return &Lifecycle{log: log, ended: make(chan error, 1)}
}

// Defer registers how to stop a part that has just started.
func (l *Lifecycle) Defer(name string, run func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = append(l.stops, stop{name, run})
}

// DeferFunc is Defer for a stop that neither waits nor fails.
func (l *Lifecycle) DeferFunc(name string, run func()) {
	l.Defer(name, func(context.Context) error {
		run()
		return nil
	})
}

// Go starts a long-running part. Its context keeps the values of ctx and ends
// only when its turn to stop has come, whatever happens to ctx.
func (l *Lifecycle) Go(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				l.log.Warn("part stopped with an error", "part", name, "error", err)
			}
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		select {
		case l.ended <- fmt.Errorf("run %s: %w", name, err):
		default:
		}
	}()
	l.Defer(name, func(bound context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-bound.Done():
			return fmt.Errorf("stop %s: it did not end in time", name)
		}
	})
}

// Ended yields the error of the first part that returned by itself.
func (l *Lifecycle) Ended() <-chan error { return l.ended }

// Stop stops everything, last started first, each part within bound. A second
// call does nothing.
func (l *Lifecycle) Stop(ctx context.Context, bound time.Duration) error {
	l.mu.Lock()
	stops := l.stops
	l.stops = nil
	l.mu.Unlock()
	var errs []error
	for i := len(stops) - 1; i >= 0; i-- {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
		started := time.Now()
		if err := stops[i].run(limited); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", stops[i].name, err))
		}
		cancel()
		l.log.Debug("stopped", "part", stops[i].name, "took", time.Since(started).Round(time.Millisecond))
	}
	return errors.Join(errs...)
}
