package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

const reapInterval = time.Minute

// Reap removes containers that this owner's earlier or other processes left:
// those that have stopped, and those whose deadline has passed. Containers of
// other owners are never touched, whatever their state.
func (s *Sandbox) Reap(ctx context.Context) error { return s.reap(ctx, false) }

// reap removes; all takes running containers of other lives too, which is
// right only for the owner's sole process.
func (s *Sandbox) reap(ctx context.Context, all bool) error {
	found, err := s.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner+"="+s.options.Owner)),
	})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var first error
	for _, one := range found {
		if !s.reapable(one, all, time.Now()) {
			continue
		}
		s.log.Info("removing a container that was left behind", "container", short(one.ID), "state", one.State)
		if err := s.remove(ctx, one.ID); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *Sandbox) reapable(one container.Summary, all bool, now time.Time) bool {
	if one.Labels[labelOwner] != s.options.Owner {
		return false // a filter that the engine did not apply
	}
	s.mu.Lock()
	_, ours := s.sessions[one.ID]
	s.mu.Unlock()
	if ours {
		return false
	}
	young := now.Sub(time.Unix(one.Created, 0)) < 2*time.Minute
	if one.Labels[labelLife] == s.life {
		// Not held, and yet ours: a creation whose answer was lost, or a removal
		// that failed; unless its creation is still under way.
		return !young
	}
	deadline, err := time.Parse(time.RFC3339, one.Labels[labelDeadline])
	late := err != nil || now.After(deadline)
	// One of another life that was only just created may be about to start.
	stopped := one.State != "running" && one.State != "paused" && (one.State != "created" || !young)
	return all || late || stopped
}

// sweep removes whatever this process made and still stands, at its end.
func (s *Sandbox) sweep(ctx context.Context) error {
	found, err := s.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelLife+"="+s.life)),
	})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, one := range found {
		if one.Labels[labelLife] == s.life {
			err = errors.Join(err, s.remove(ctx, one.ID))
		}
	}
	return err
}

func (s *Sandbox) reapEvery(ctx context.Context) {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.checkImage(ctx)
			if err := s.Reap(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("containers not reaped", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// checkImage follows the image's name: without a recorded id, an image that
// was built anew drains the pool; with one, the difference is told and the
// recorded image stays in use.
func (s *Sandbox) checkImage(ctx context.Context) {
	state, err := inspectImage(ctx, s.engine, s.options.Image, "")
	if err != nil {
		return // an engine that is away, or an image being replaced: looked at again later
	}
	s.mu.Lock()
	changed := state.id != s.image.id
	adopted := changed && s.options.ImageID == ""
	if adopted {
		s.image = state
	}
	s.mu.Unlock()
	switch {
	case adopted:
		s.log.Info("the sandbox's image was built anew", "image", state.id)
		s.pool.drain()
	case changed:
		s.log.Warn("the sandbox's image has changed; the recorded one stays in use", "recorded", s.options.ImageID, "found", state.id)
	}
}

// watch follows the engine's events about our containers: memory kills are
// evidence, and a ready session that died is no longer ready.
func (s *Sandbox) watch(ctx context.Context) {
	wait := time.Second
	for ctx.Err() == nil {
		messages, failed := s.engine.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
			filters.Arg("type", "container"), filters.Arg("label", labelLife+"="+s.life),
			filters.Arg("event", "oom"), filters.Arg("event", "die"),
		)})
		for open := true; open; {
			select {
			case message := <-messages:
				s.event(message)
				wait = time.Second
			case err := <-failed:
				open = false
				if ctx.Err() == nil {
					s.log.Warn("the engine's events are interrupted", "error", err)
				}
			}
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 30*time.Second)
		case <-ctx.Done():
		}
	}
}

func (s *Sandbox) event(message events.Message) {
	s.mu.Lock()
	session := s.sessions[message.Actor.ID]
	s.mu.Unlock()
	if session == nil {
		return
	}
	switch message.Action {
	case events.ActionOOM:
		select {
		case session.oom <- struct{}{}:
		default:
		}
	case events.ActionDie:
		s.pool.lost(session)
	}
}
