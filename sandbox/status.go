package sandbox

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/system"
)

// Status is what the sandbox does now.
type Status struct {
	Engine  string    `json:"engine"`  // its version
	Cgroups string    `json:"cgroups"` // version and driver, as "v2, systemd"
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
	// Warnings are what an operator should know: known-bad versions, an image
	// without recent security updates.
	Warnings []string `json:"warnings,omitempty"`
}

// ContainerStatus is one of this owner's containers.
type ContainerStatus struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Deadline time.Time `json:"deadline"`
	Own      bool      `json:"own"` // of this process
}

// Load tells the state of the pool without asking the engine.
func (s *Sandbox) Load() Status {
	s.mu.Lock()
	groups := s.info.CgroupVersion
	if groups == "" {
		groups = "1" // older engines know no other
	}
	status := Status{
		Engine: s.info.ServerVersion, Cgroups: "v" + groups + ", " + s.info.CgroupDriver, Runtime: s.options.Runtime, Image: s.image.name, ImageID: s.image.id, Built: s.image.created,
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
	status.Warnings = warnings(s.info, status.Built, time.Now())
	status.Leased = max(0, status.Leased-status.Ready-status.Starting)
	return status
}

// Status tells the state of the pool and asks the engine for the containers.
func (s *Sandbox) Status(ctx context.Context) (Status, error) {
	status := s.Load()
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

// oldestEngine is the first series of the engine that this was proven on.
func oldestEngine() version { return version{20, 10, 0} }

// mendedRunc has the fix for CVE-2024-21626, a way out of the container.
func mendedRunc() version { return version{1, 1, 12} }

// warnings names what is known to be bad about an engine and an image.
func warnings(info system.Info, built, now time.Time) []string {
	var found []string
	if v, ok := parseVersion(info.ServerVersion); ok && v.before(oldestEngine()) {
		found = append(found, fmt.Sprintf("engine %s is older than 20.10: update it", info.ServerVersion))
	}
	if v, ok := parseVersion(info.RuncCommit.ID); ok && v.before(mendedRunc()) {
		found = append(found, fmt.Sprintf("runc %s: 1.1.12 mended a way out of the container (CVE-2024-21626); see that your distribution has patched it, or update", printable(info.RuncCommit.ID, 40)))
	}
	if age := now.Sub(built); !built.IsZero() && age > staleAfter {
		found = append(found, fmt.Sprintf("the image is %d days old and lacks recent security updates: sandpiper sandbox build --refresh", int(age.Hours()/24)))
	}
	return found
}

// version is the three numbers that a version begins with.
type version [3]int

func (v version) before(other version) bool { return slices.Compare(v[:], other[:]) < 0 }

var leadingVersion = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?`)

// parseVersion reads a version; a commit's hash is none.
func parseVersion(text string) (version, bool) {
	found := leadingVersion.FindStringSubmatch(text)
	if found == nil {
		return version{}, false
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(found[i+1]) // digits, or empty: 0
	}
	return v, true
}
