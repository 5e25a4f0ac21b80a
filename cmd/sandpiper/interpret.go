package main

import (
	"context"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// interpretMost bounds the model's answer about a schedule, in tokens.
const interpretMost = 400

// interpreter has the model read words about time that the rules could not; nil
// without a model. What it costs is reserved for whoever asks.
func (a *app) interpreter() schedules.Interpreter {
	if a.model == nil {
		return nil
	}
	return schedules.Interpreted(func(ctx context.Context, actor, system, text string) (string, error) {
		reply, err := a.askModel(ctx, actor, agent.Request{
			Messages:  []agent.Message{{Role: agent.RoleSystem, Content: system}, {Role: agent.RoleUser, Content: text}},
			MaxOutput: interpretMost,
		})
		if err != nil && ctx.Err() == nil {
			// The person is asked by the rules then, and need not know of it.
			a.part("model").Warn("words about time are not read by the model", "error", err)
		}
		return reply.Text, err
	})
}
