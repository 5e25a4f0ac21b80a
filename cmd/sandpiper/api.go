package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

// hello is what a serving process says of itself.
type hello struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Serves  bool      `json:"serves"` // a `sandpiper serve`
}

// register adds every call that commands make to the serving process.
func (a *app) register(s *control.Server) {
	control.Handle(s, "hello", func(context.Context, struct{}) (hello, error) {
		return hello{Version: version, PID: os.Getpid(), Since: a.since, Serves: a.serves}, nil
	})
	control.HandleUpload(s, "blobs/put", a.putBlob)
	a.registerRun(s)
	a.registerTasks(s)
	a.registerSchedules(s)
	a.registerReports(s)
	a.registerAudit(s)
	a.registerSandbox(s)
	a.registerDoctor(s)
}

func (a *app) putBlob(ctx context.Context, content io.Reader) (bot.Blob, error) {
	blob, err := a.blobs.Put(ctx, content, int64(a.loaded.Limits.Input))
	switch {
	case errors.Is(err, bot.ErrTooLarge):
		return blob, fault.New(fault.Usage, "raise limits.input, or cut the file", "a file is larger than limits.input allows (%s)", a.loaded.Limits.Input)
	case err != nil:
		return blob, explain(fmt.Errorf("store file: %w", err), a.loaded)
	}
	return blob, nil
}

// taskOf finds a task by its id.
func (a *app) taskOf(ctx context.Context, id string) (bot.Task, error) {
	task, err := a.orchestrator.Task(ctx, id)
	if errors.Is(err, bot.ErrNotFound) {
		return task, fault.New(fault.Usage, "sandpiper tasks list shows those that are there", "there is no task %s", term.Line(id))
	}
	return task, err
}
