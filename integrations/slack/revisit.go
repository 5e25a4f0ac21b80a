package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// revisit looks again at the messages of requests, for Slack does not say what
// was edited or deleted while no socket was up: at those of all open tasks, and
// at those of ended ones that the history, read just now, does not have any more.
func (in *inbox) revisit(ctx context.Context, since time.Time, read readings) error {
	const most = 500
	tasks := in.a.shown()
	if tasks == nil {
		return nil
	}
	for _, state := range []bot.TaskState{bot.TaskQueued, bot.TaskRunning, bot.TaskWaiting} {
		open, err := tasks.Tasks(ctx, bot.TaskQuery{Adapter: Name, State: state, Limit: most})
		if err != nil {
			return fmt.Errorf("list open tasks: %w", err)
		}
		for i := range open {
			if err := in.look(ctx, &open[i]); err != nil {
				return err
			}
		}
	}
	ended, err := tasks.Tasks(ctx, bot.TaskQuery{Adapter: Name, Since: since.Add(-threads), Limit: most})
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	for i := range ended {
		t := &ended[i]
		_, channel, ts, ok := partsOf(t.Event.Source)
		if !ok || !t.State.Final() || t.Forgotten() || !read.lacks(channel, ts) {
			continue
		}
		if at, err := addressOf(t.Event.Origin, t.Event.Actor); err != nil || at.Thread != ts {
			continue // a reply: the history has roots only
		}
		if err := in.look(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// look reads the message of a task's request and hands on what became of it.
func (in *inbox) look(ctx context.Context, t *bot.Task) error {
	team, channel, ts, ok := partsOf(t.Event.Source)
	at, err := addressOf(t.Event.Origin, t.Event.Actor)
	if !ok || err != nil {
		return nil
	}
	var m message
	err = in.a.patiently(ctx, func(ctx context.Context) (err error) {
		m, err = in.a.lookUpNow(ctx, channel, at.Thread, ts)
		return err
	})
	gone := errors.Is(err, bot.ErrNotFound) || code(err) == "thread_not_found" || code(err) == "message_not_found" || err == nil && m.Subtype == "tombstone"
	switch {
	case gone:
		in.a.log.Info("a request was deleted while no connection was up", "task", t.ID)
		_, err := in.submit(ctx, bot.Event{
			Key: t.Event.Source + "#deleted", Kind: bot.EventDelete, Source: t.Event.Source,
			Origin: t.Event.Origin, Actor: t.Event.Actor, Received: in.a.clock.Now(),
		})
		return err
	case code(err) != "":
		in.a.log.Info("the message of a task cannot be looked at", "task", t.ID, "error", explain(err))
		return nil
	case err != nil:
		return fmt.Errorf("look at the message of a task: %w", explain(err))
	case m.Edited == nil || m.User != at.User:
		return nil
	}
	m.team, m.enterprise, m.external = team, at.Enterprise, at.External
	if t.Event.Origin.Private {
		m.ChannelType = "im"
	}
	return in.changed(ctx, m, true)
}

// partsOf reads the source of a message.
func partsOf(source string) (team, channel, ts string, ok bool) {
	rest, ours := strings.CutPrefix(source, Name+":")
	parts := strings.Split(rest, "/")
	if !ours || len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// reading is what a channel's history holds after oldest.
type reading struct {
	oldest string
	roots  map[string]bool // by ts
}

// readings are those of the channels that were read.
type readings map[string]reading

func (r readings) add(channel, oldest string, roots []message) {
	one := reading{oldest: oldest, roots: map[string]bool{}}
	for _, m := range roots {
		one.roots[m.TS] = true
	}
	r[channel] = one
}

// lacks reports whether the message would have been read and was not there.
func (r readings) lacks(channel, ts string) bool {
	one, ok := r[channel]
	return ok && ts > one.oldest && !one.roots[ts]
}
