package main

import (
	"log/slog"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// openModel makes the model's client; nil, without an error, where none is
// configured: then only runnable skills work.
func openModel(loaded *config.Loaded, log *slog.Logger) (agent.Model, error) {
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
		BaseURL: loaded.Model.BaseURL, APIKey: loaded.Secrets.OpenAI.Reveal(),
		Model: loaded.Model.Name, Fallbacks: loaded.Model.Fallbacks, Prices: prices,
		TurnTimeout: loaded.Model.TurnTimeout.Std(), Concurrency: loaded.Model.Concurrency, Log: log,
	})
}
