package web

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Tasks is what the pages read of the core; bot.Orchestrator has it.
type Tasks interface {
	Task(ctx context.Context, id string) (bot.Task, error)
	Tasks(ctx context.Context, query bot.TaskQuery) ([]bot.Task, error)
	Steps(ctx context.Context, task string) ([]bot.Step, error)
	Deliveries(ctx context.Context, task string) ([]bot.Delivery, error)
}

// Options are what New needs.
type Options struct {
	Tasks  Tasks
	Intake bot.Intake
	Blobs  bot.Blobs
	Policy bot.Policy
	Log    *slog.Logger
	// Changed returns a channel that is closed at the next change of any task.
	Changed func() <-chan struct{}
	// Describe turns a step into words: a headline and a body. The shape of
	// steps belongs to the runner.
	Describe func(step bot.Step) (headline, body string)
	// Plan reads the todo list as it last stood from a task's steps; nil leaves
	// it out.
	Plan func(steps []bot.Step) []bot.TodoItem
	// Audit returns a task's links of the audit chain and whether the whole
	// chain holds, in words; nil leaves the page out.
	Audit func(ctx context.Context, task string) (AuditView, error)
	// Viewed records in the audit that somebody looked at another's private
	// task; where it cannot, the task is not shown.
	Viewed func(ctx context.Context, viewer bot.Actor, task string) error
	// Schedules and Skills fill their pages; nil leaves a page out.
	Schedules func(ctx context.Context) ([]ScheduleRow, error)
	Skills    func() []SkillRow
	// Health tells how each part of the process is.
	Health func(ctx context.Context) []HealthRow
	// Paused tells whether new requests are refused, and Pause makes it so or
	// not; nil leaves the button out. The operator and admins have it.
	Paused func() bool
	Pause  func(on bool)

	// Token opens the pages to whoever presents it. It is asked for at each use:
	// a token that changes ends every session that the old one began. nil, or one
	// that is empty at New: there is none.
	Token func() string
	// ProxyHeader names the header in which a trusted proxy puts the viewer's
	// identity; it counts only from TrustedProxies.
	ProxyHeader    string
	TrustedProxies []netip.Prefix
	// OpenOnLoopback lets everybody in without a token. Set it only where the
	// listener is a loopback address and no webhook comes through it: a tunnel
	// for webhooks makes the whole world look like loopback.
	OpenOnLoopback bool

	MaxInput  int64 // bytes of one input
	MaxInputs int
}

// AuditView is a task's part of the audit chain.
type AuditView struct {
	Entries []bot.AuditEntry
	Holds   bool
	Verdict string // about the whole chain, in words
}

// ScheduleRow is one line of the page of schedules.
type ScheduleRow struct {
	Name, Cron, Zone, State, Owner string
	Next                           []string // as people read them, with their zone
	Last                           string
	Week                           string // what it cost within seven days
}

// SkillRow is one line of the page of skills.
type SkillRow struct {
	Name, Description, Source string
	Runnable                  bool
}

// HealthRow is one line of the health page.
type HealthRow struct {
	Name, Status, Detail string // status: "ok", "warning" or "failed"
}

func (o *Options) check() error {
	switch {
	case o.Tasks == nil, o.Intake == nil, o.Blobs == nil, o.Policy == nil, o.Log == nil, o.Changed == nil:
		return errors.New("new web: tasks, intake, blobs, policy, log and changed must be given")
	case o.ProxyHeader != "" && len(o.TrustedProxies) == 0:
		return errors.New("web.proxy_header is set without web.trusted_proxies: anybody could name themselves")
	}
	if o.Describe == nil {
		o.Describe = func(step bot.Step) (string, string) { return string(step.Kind), string(step.Data) }
	}
	if o.Viewed == nil {
		o.Viewed = func(context.Context, bot.Actor, string) error {
			return errors.New("looks at private tasks cannot be recorded here")
		}
	}
	if o.MaxInput <= 0 {
		o.MaxInput = 256 << 20
	}
	if o.MaxInputs <= 0 {
		o.MaxInputs = 20
	}
	return nil
}
