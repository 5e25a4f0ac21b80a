package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
)

// platformPatience is how long a command waits for what only a platform on
// the network holds up; the next start goes on with it.
const platformPatience = 30 * time.Second

// settle waits until nothing is left that this process can bring to an end,
// and says what it waits for. When ctx ends, the rest is left to the next
// start.
func (a *app) settle(ctx context.Context, to io.Writer) error {
	wait, cancel := context.WithCancel(ctx)
	idle := make(chan error, 1)
	go func() { idle <- a.orchestrator.Idle(wait) }()
	err := a.settled(ctx, idle, to)
	cancel()
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// errLeft ends settled while something is left, on purpose.
var errLeft = errors.New("left to the next start")

func (a *app) settled(ctx context.Context, idle <-chan error, to io.Writer) error {
	began, told := time.Now(), false
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-idle:
			return err
		case err := <-a.life.Ended():
			return err
		case <-tick.C:
		}
		here, there, err := a.left(ctx)
		switch {
		case err != nil:
			return err
		case here == nil && time.Since(began) > platformPatience:
			fmt.Fprintf(to, "sandpiper: %s of Slack or GitHub left to the next start\n", count(there, "piece"))
			return errLeft
		case told:
		case here != nil:
			told = true
			fmt.Fprintf(to, "sandpiper: finishing task %s (%s), begun %s; Ctrl-C leaves it to the next start\n",
				here.ID, term.Line(here.Title), localTime(here.Created))
		}
	}
}

// left looks for a task that this machine alone can finish, and counts what
// waits for a platform on the network.
func (a *app) left(ctx context.Context) (here *bot.Task, there int, err error) {
	open, err := a.store.Open(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("look for open tasks: %w", err)
	}
	for i := range open {
		switch t := &open[i]; {
		case t.State == bot.TaskWaiting || a.channels[t.Event.Origin.Adapter] == nil:
		case remote(t.Event.Origin):
			there++
		case here == nil:
			here = t
		}
	}
	pending, err := a.store.Pending(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("look for deliveries: %w", err)
	}
	for i := range pending {
		d := &pending[i]
		switch {
		case a.channels[d.Origin.Adapter] == nil:
		case remote(d.Origin):
			there++
		case here == nil:
			here = &bot.Task{ID: d.Task, Title: "its files", Created: d.Created}
		}
	}
	return here, there, nil
}

// remote reports whether an origin is reached over the network.
func remote(origin bot.Origin) bool {
	return origin.Adapter == slack.Name || origin.Adapter == github.Name
}
