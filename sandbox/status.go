package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Status is what the sandbox does now.
type Status struct {
	Engine  string    `json:"engine"` // its version
	Runtime string    `json:"runtime"`
	Image   string    `json:"image"`
	ImageID string    `json:"image_id"`
	Built   time.Time `json:"built"`

	Ready    int `json:"ready"`  // sessions that wait for a task
	Loaded   int `json:"loaded"` // of these, with all their libraries imported
	Starting int `json:"starting"`
	Leased   int `json:"leased"`
	Waiting  int `json:"waiting"` // leases that wait for a session
	Target   int `json:"target"`  // sessions to keep ready
	Room     int `json:"room"`    // sessions that the memory holds in all

	Containers []ContainerStatus `json:"containers"` // of this owner, as the engine tells
}

// ContainerStatus is one of this owner's containers.
type ContainerStatus struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Deadline time.Time `json:"deadline"`
	Own      bool      `json:"own"` // of this process
}

// Status tells the state of the pool and asks the engine for the containers.
func (s *Sandbox) Status(ctx context.Context) (Status, error) {
	s.mu.Lock()
	status := Status{
		Engine: s.info.ServerVersion, Runtime: s.options.Runtime, Image: s.image.name, ImageID: s.image.id, Built: s.image.created,
		Room: cap(s.memory), Leased: len(s.sessions), Containers: []ContainerStatus{},
	}
	s.mu.Unlock()
	s.pool.mu.Lock()
	status.Ready, status.Starting, status.Waiting, status.Target = len(s.pool.ready), s.pool.starting, len(s.pool.waiting), s.pool.target
	for _, session := range s.pool.ready {
		if session.quiet == nil && session.step >= len(s.options.Preload) {
			status.Loaded++
		}
	}
	s.pool.mu.Unlock()
	status.Leased = max(0, status.Leased-status.Ready-status.Starting)
	found, err := s.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner+"="+s.options.Owner)),
	})
	if err != nil {
		return status, fmt.Errorf("list containers: %w", unreachable(err))
	}
	for _, one := range found {
		deadline, _ := time.Parse(time.RFC3339, one.Labels[labelDeadline]) // zero where it is unreadable
		status.Containers = append(status.Containers, ContainerStatus{
			ID: short(one.ID), Name: strings.TrimPrefix(strings.Join(one.Names, " "), "/"), State: one.State, Deadline: deadline,
			Own: one.Labels[labelLife] == s.life,
		})
	}
	return status, nil
}

// Ping asks the engine whether it answers; the failure is an *Error.
func (s *Sandbox) Ping(ctx context.Context) error {
	if _, err := s.engine.Info(ctx); err != nil {
		return unreachable(err)
	}
	return nil
}
