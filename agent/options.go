package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Sandbox gives sessions: one for each agent of a task.
type Sandbox interface {
	Lease(ctx context.Context, o sandbox.LeaseOptions) (Session, error)
}

// Session is what the agent needs of a sandbox.Session.
type Session interface {
	Put(ctx context.Context, name string, size int64, r io.Reader) error
	Run(ctx context.Context, p sandbox.Program) (sandbox.Result, error)
	Collect(ctx context.Context, o sandbox.CollectOptions) (sandbox.Collected, error)
	Info() sandbox.Info
	Close() error
}

// Sessions makes a Sandbox of the real one.
func Sessions(s *sandbox.Sandbox) Sandbox { return leaser{s} }

type leaser struct{ s *sandbox.Sandbox }

func (l leaser) Lease(ctx context.Context, o sandbox.LeaseOptions) (Session, error) {
	session, err := l.s.Lease(ctx, o)
	if err != nil {
		return nil, err
	}
	return session, nil
}

// Skills is what the agent needs of a skills.Catalogue.
type Skills interface {
	List() []skills.Skill
	Get(name string) (skills.Skill, error)
	Choose(request string, inputs []skills.Input) skills.Choice
}

// Values says how much of the inputs' values the profile may show to a model.
type Values string

// The ways to show values.
const (
	ValuesFull   Values = "full"
	ValuesMasked Values = "masked"
	ValuesNone   Values = "none"
)

// Limits bound what a task may produce.
type Limits struct {
	Artifacts    int   // number of files (default 20)
	ArtifactSize int64 // bytes of each (default 50 MiB)
}

// Options configure an Agent.
type Options struct {
	Sandbox Sandbox // required
	Skills  Skills  // required
	// Model answers; nil leaves runnable skills alone.
	Model Model
	// Values is model.values; empty takes ValuesFull.
	Values Values
	// Reports takes proposed versions of saved reports that were mended; nil
	// leaves mended answers unsaved.
	Reports *saved.Store
	// Budgets fill in what a task's own budgets leave at 0.
	Budgets bot.Budgets
	Limits  Limits
	Clock   bot.Clock
	Log     *slog.Logger
	// Point, when set, is called at named points, for crash tests:
	// "step:KIND" after each committed step, "artifacts-stored".
	Point func(name string)
}

// Agent implements bot.Runner. It is safe for concurrent use.
type Agent struct {
	o     Options
	tools []*tool
}

var _ bot.Runner = (*Agent)(nil)

// New checks o and makes an Agent.
func New(o Options) (*Agent, error) {
	if o.Sandbox == nil || o.Skills == nil {
		return nil, errors.New("make agent: a sandbox and skills are needed")
	}
	switch o.Values {
	case "":
		o.Values = ValuesFull
	case ValuesFull, ValuesMasked, ValuesNone:
	default:
		return nil, fmt.Errorf("make agent: model.values is %q; it must be full, masked or none", o.Values)
	}
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Point == nil {
		o.Point = func(string) {}
	}
	if o.Limits.Artifacts == 0 {
		o.Limits.Artifacts = 20
	}
	if o.Limits.ArtifactSize == 0 {
		o.Limits.ArtifactSize = 50 << 20
	}
	tools, err := allTools()
	if err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	return &Agent{o: o, tools: tools}, nil
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// budgets fills what b leaves open: first from the options, then from what
// the configuration's documentation promises.
func (a *Agent) budgets(b bot.Budgets) bot.Budgets {
	for _, standard := range []bot.Budgets{a.o.Budgets, {Turns: 40, Tokens: 400_000, USD: 2, Wall: 20 * time.Minute, Sandbox: 10 * time.Minute}} {
		fill(&b.Turns, standard.Turns)
		fill(&b.Tokens, standard.Tokens)
		fill(&b.USD, standard.USD)
		fill(&b.Wall, standard.Wall)
		fill(&b.Sandbox, standard.Sandbox)
	}
	return b
}

// fill sets *value where it is zero.
func fill[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// schemaJSON is a tool's schema in bytes that never change.
func schemaJSON(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return raw, nil
}
