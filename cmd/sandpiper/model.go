package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// openModel makes the model's client; nil, without an error, where none is
// configured: then only runnable skills work. key is asked for at each request:
// SIGHUP reads its file again.
func openModel(loaded *config.Loaded, key func() string, log *slog.Logger) (agent.Model, error) {
	if loaded.Model.BaseURL == "" && !loaded.Secrets.OpenAI.Set() {
		return nil, nil
	}
	if problem := loaded.ModelProblem(); problem != "" {
		return nil, &fault.Error{Status: fault.Usage, Message: problem, Hint: "set SANDPIPER_MODEL to a model that the server has, or unset OPENAI_BASE_URL and OPENAI_API_KEY", Kind: "model"}
	}
	prices := map[string]agent.Price{}
	for name, p := range loaded.Model.Prices {
		prices[name] = agent.Price{Input: p.Input, Cached: p.Cached, Output: p.Output}
	}
	return openai.New(openai.Options{
		BaseURL: loaded.Model.BaseURL, APIKey: key,
		Model: loaded.Model.Name, Fallbacks: loaded.Model.Fallbacks, Prices: prices,
		TurnTimeout: loaded.Model.TurnTimeout.Std(), Concurrency: loaded.Model.Concurrency, Log: log,
	})
}

// askModel asks the model outside of any task. It costs as a task's turn does:
// set aside before it is spent, charged by the greater of what the server says
// and the estimate, and measured. The reply's usage is what was charged.
func (a *app) askModel(ctx context.Context, actor string, r agent.Request) (agent.Reply, error) {
	input := 0
	for _, m := range r.Messages {
		input += skills.EstimateTokens(m.Content)
	}
	for _, t := range r.Tools {
		input += skills.EstimateTokens(t.Description) + skills.EstimateTokens(string(t.Schema))
	}
	most := agent.TokenUsage{Input: int64(input), Output: int64(r.MaxOutput)}
	reserved, err := a.orchestrator.Meter(actor).Reserve(ctx, most.Input+most.Output, a.model.Info().Price.Cost(most))
	if err != nil {
		return agent.Reply{}, err
	}
	reply, err := a.model.Complete(ctx, r)
	if err == nil {
		reply.Usage.Input = max(reply.Usage.Input, most.Input)
		reply.Usage.Output = max(reply.Usage.Output, int64(skills.EstimateTokens(reply.Text)))
	}
	// What failed was not answered, and costs nothing.
	settled := reserved.Settle(context.WithoutCancel(ctx), reply.Usage.Input+reply.Usage.Output, reply.Price.Cost(reply.Usage))
	return reply, errors.Join(err, settled)
}
