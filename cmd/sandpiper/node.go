package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// patience is how long a process waits for one that ends to let go of the
// data folder.
const patience = 2 * time.Minute

// node is a process's way to whoever serves the data folder: another process,
// or itself.
type node struct {
	client *control.Client
	app    *app // nil where another process serves
}

// caller is what a command does with the serving process. It must be safe to
// repeat.
type caller func(context.Context, *control.Client) error

// with runs use against the serving process. When that process ends before it
// has answered, another one, likely this one, takes its place, recovers what
// was under way, and use runs again.
func (e *env) with(loaded *config.Loaded, use caller) error {
	return e.joined(loaded, use, false)
}

// withSettled is with for commands that look at how things stand: what an
// earlier life left is finished before.
func (e *env) withSettled(loaded *config.Loaded, use caller) error {
	return e.joined(loaded, use, true)
}

func (e *env) joined(loaded *config.Loaded, use caller, settled bool) error {
	ctx := e.ctx()
	log, err := e.logger(loaded, slog.LevelWarn)
	if err != nil {
		return err
	}
	for {
		n, err := e.join(ctx, loaded, log)
		if err != nil {
			return err
		}
		if n.app != nil && settled {
			err = n.app.settle(ctx, e.err)
		}
		if err == nil {
			err = use(ctx, n.client)
		}
		if errors.Is(err, control.ErrLost) && n.app == nil {
			fmt.Fprintln(e.err, "sandpiper: the process that served the data folder has ended; going on here")
			n.client.Close()
			continue
		}
		return errors.Join(err, e.leave(ctx, n))
	}
}

// leave ends the node. The first process stays until everything that it can
// bring to an end has ended, so that other commands and earlier lives get
// theirs; a Ctrl-C leaves the rest to the next start.
func (e *env) leave(ctx context.Context, n *node) error {
	defer n.client.Close()
	if n.app == nil {
		return nil
	}
	settled := n.app.settle(ctx, e.err)
	return errors.Join(settled, n.app.stop(ctx))
}

// join finds the process that serves the data folder, or becomes it.
func (e *env) join(ctx context.Context, loaded *config.Loaded, log *slog.Logger) (*node, error) {
	given := time.Now().Add(patience)
	for told := false; ; {
		client, answered := greet(ctx, loaded.DataDir)
		if answered == nil {
			return &node{client: client}, nil
		}
		started, err := start(ctx, loaded, log, startOptions{})
		if err == nil {
			client, err := control.Dial(ctx, loaded.DataDir)
			if err != nil {
				return nil, errors.Join(err, started.stop(ctx))
			}
			return &node{client: client, app: started}, nil
		}
		if !errors.Is(err, boltstore.ErrInUse) {
			return nil, explain(err, loaded)
		}
		if time.Now().After(given) || isDeadline(answered) {
			return nil, held(loaded)
		}
		if !told {
			log.Debug("waiting for the process that holds the data folder", "answer", answered)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// greet asks whether a process answers on the socket. A process that took the
// connection and said nothing for seconds is stuck.
func greet(ctx context.Context, dataDir string) (*control.Client, error) {
	client, err := control.Dial(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	bound, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := control.Call[hello](bound, client, "hello", struct{}{}); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

func isDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// held tells of a process that has the data folder and does not answer.
func held(loaded *config.Loaded) error {
	database := filepath.Join(loaded.DataDir, "sandpiper.db")
	holder, hint := "another process", "wait until it has ended, or set SANDPIPER_DATA_DIR to another folder"
	if pid := holderOf(database); pid > 0 {
		holder = fmt.Sprintf("process %d", pid)
		hint = fmt.Sprintf("wait until it has ended, or end it with: kill %d", pid)
	}
	return fault.New(fault.Missing, hint, "%s holds the data folder %s and does not answer on its socket %s",
		holder, loaded.DataDir, control.SocketPath(loaded.DataDir))
}

// explain gives errors of starting their status and the next thing to do.
func explain(err error, loaded *config.Loaded) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	var newer *boltstore.NewerError
	var damaged *boltstore.DamagedError
	switch {
	case errors.As(err, &newer):
		return &fault.Error{Status: fault.Missing, Message: newer.Error(), Err: err, Hint: "use that version of sandpiper, or set SANDPIPER_DATA_DIR to another folder"}
	case errors.As(err, &damaged):
		return &fault.Error{Status: fault.Missing, Message: damaged.Error(), Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &fault.Error{Status: fault.Missing, Message: fmt.Sprintf("the disk of %s is full", loaded.DataDir), Err: err, Hint: "free some space: nothing that was accepted is lost"}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return &fault.Error{Status: fault.Usage, Message: err.Error(), Err: err, Hint: "make the folder writable to you, or set SANDPIPER_DATA_DIR to another one"}
	}
	return err
}
