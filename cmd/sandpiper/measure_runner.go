package main

import (
	"context"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// measuredSandbox measures the wait for sessions and what is done in them.
type measuredSandbox struct {
	agent.Sandbox
	gauges *gauges
}

// Lease implements agent.Sandbox.
func (m measuredSandbox) Lease(ctx context.Context, o sandbox.LeaseOptions) (agent.Session, error) {
	began := time.Now()
	session, err := m.Sandbox.Lease(ctx, o)
	if err != nil {
		return nil, err
	}
	m.gauges.stage(stageSessionWait, time.Since(began))
	return measuredSession{session, m.gauges}, nil
}

type measuredSession struct {
	agent.Session
	gauges *gauges
}

// Run implements agent.Session.
func (m measuredSession) Run(ctx context.Context, p sandbox.Program) (sandbox.Result, error) {
	began := time.Now()
	result, err := m.Session.Run(ctx, p)
	if err != nil {
		return result, err
	}
	if agent.IsIntake(p) {
		m.gauges.stage(stageIntake, time.Since(began))
		return result, nil
	}
	m.gauges.stage(stageProgram, time.Since(began))
	m.gauges.programs.WithLabelValues(string(p.Language), string(result.Verdict)).Inc()
	return result, nil
}

// Collect implements agent.Session.
func (m measuredSession) Collect(ctx context.Context, o sandbox.CollectOptions) (sandbox.Collected, error) {
	began := time.Now()
	got, err := m.Session.Collect(ctx, o)
	if err == nil {
		m.gauges.stage(stageCollect, time.Since(began))
	}
	return got, err
}

// measuredModel measures turns, tokens and money.
type measuredModel struct {
	agent.Model
	gauges *gauges
}

// Complete implements agent.Model.
func (m measuredModel) Complete(ctx context.Context, r agent.Request) (agent.Reply, error) {
	began := time.Now()
	var first sync.Once
	r.OnFirst = func() {
		first.Do(func() { m.gauges.stage(stageFirstToken, time.Since(began)) })
	}
	reply, err := m.Model.Complete(ctx, r)
	name := orElse(reply.Model, orElse(r.Model, m.Info().Name))
	if err != nil {
		if ctx.Err() == nil {
			m.gauges.turns.WithLabelValues(name, "failed").Inc()
		}
		return reply, err
	}
	m.gauges.stage(stageTurn, time.Since(began))
	m.gauges.turns.WithLabelValues(name, "ok").Inc()
	m.gauges.modelRetries.WithLabelValues(name).Add(float64(reply.Retries))
	m.gauges.tokens.WithLabelValues(name, "input").Add(float64(reply.Usage.Input))
	m.gauges.tokens.WithLabelValues(name, "output").Add(float64(reply.Usage.Output))
	m.gauges.tokens.WithLabelValues(name, "cached").Add(float64(reply.Usage.Cached))
	m.gauges.cost.WithLabelValues(name).Add(max(reply.Price.Cost(reply.Usage), 0))
	return reply, nil
}
