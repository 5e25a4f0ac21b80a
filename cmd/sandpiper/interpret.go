package main

import (
	"context"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/schedules"
	"github.com/sandpiper-bot/sandpiper/skills"
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
		price := a.model.Info().Price
		tokens := skills.EstimateTokens(system) + skills.EstimateTokens(text)
		most := agent.TokenUsage{Input: int64(tokens), Output: interpretMost}
		reserved, err := a.orchestrator.Meter(actor).Reserve(ctx, int64(tokens+interpretMost), price.Cost(most))
		if err != nil {
			return "", err
		}
		reply, err := a.model.Complete(ctx, agent.Request{
			Messages:  []agent.Message{{Role: agent.RoleSystem, Content: system}, {Role: agent.RoleUser, Content: text}},
			MaxOutput: interpretMost,
		})
		used := reply.Usage
		if err != nil {
			used = agent.TokenUsage{} // what failed was not answered
		} else if used.Input+used.Output < int64(tokens) {
			used = agent.TokenUsage{Input: int64(tokens), Output: int64(skills.EstimateTokens(reply.Text))}
		}
		if settle := reserved.Settle(context.WithoutCancel(ctx), used.Input+used.Output, price.Cost(used)); err == nil {
			err = settle
		}
		return reply.Text, err
	})
}
