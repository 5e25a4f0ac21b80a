package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
)

// doctorActor is whom doctor's question is put down to.
const doctorActor = "console:doctor"

// checkModel asks the model one tiny question.
func (a *app) checkModel(ctx context.Context) check {
	if problem := a.loaded.ModelProblem(); problem != "" {
		return check{"model", checkWarning, problem, "set them, or use runnable skills alone"}
	}
	reply, err := a.askModel(ctx, doctorActor, agent.Request{
		Messages:  []agent.Message{{Role: agent.RoleUser, Content: "Call the tool ready."}},
		Tools:     []agent.ToolSpec{{Name: "ready", Description: "Says that you are ready.", Schema: []byte(`{"type":"object","properties":{},"additionalProperties":false}`)}},
		Force:     "ready",
		MaxOutput: 64,
	})
	var failed *agent.ModelError
	var budget *bot.BudgetError
	switch {
	case errors.As(err, &budget):
		return check{"model", checkWarning, "it was not asked: the " + budget.Error(), "it is asked again tomorrow, or with a higher limit (budgets)"}
	case errors.As(err, &failed):
		return check{"model", checkFailed, failed.Message, failed.Hint}
	case err != nil:
		return check{"model", checkFailed, err.Error(), ""}
	case len(reply.Calls) == 0:
		return check{"model", checkWarning, reply.Model + " answers and does not call tools", "choose a model that can call tools"}
	}
	return check{"model", checkOK, fmt.Sprintf("%s answers and calls tools; this check cost $%.5f", reply.Model, reply.Price.Cost(reply.Usage)), ""}
}

func (a *app) checkSkills() []check {
	problems := a.catalogue.Problems()
	if len(problems) == 0 {
		return []check{{"skills", checkOK, count(len(a.catalogue.List()), "skill"), ""}}
	}
	var out []check
	for _, p := range problems {
		out = append(out, check{"skills", checkWarning, p.String(), "sandpiper skills lint tells more"})
	}
	return out
}

// checkPlatforms asks Slack and GitHub who we are and what we may do.
func (a *app) checkPlatforms(ctx context.Context) []check {
	var out []check
	if a.slack != nil {
		out = append(out, a.checkSlack(ctx)...)
	}
	if a.github != nil {
		out = append(out, a.checkGitHub(ctx)...)
	}
	if base := a.loaded.Web.URL; base != "" {
		out = append(out, checkPublic(ctx, base))
	}
	return out
}

func (a *app) checkSlack(ctx context.Context) []check {
	var out []check
	for _, problem := range a.slack.Check(ctx) {
		problem, hint, _ := strings.Cut(problem, "; ")
		if hint == "" {
			problem, hint, _ = strings.Cut(problem, ": add ")
			hint = strings.TrimSuffix("add "+hint, "add ")
		}
		out = append(out, check{"slack", checkFailed, problem, orElse(hint, "see the set-up page for Slack in deploy/docs")})
	}
	if len(out) > 0 {
		return out
	}
	for _, problem := range a.slack.CheckChannels(ctx) {
		out = append(out, check{"slack", checkWarning, problem.Problem, problem.Hint})
	}
	out = append(out, check{"slack", checkOK, "tokens and scopes are right", ""})
	return append(out, a.checkFlow(slack.Name, "mention the bot in an allowed channel; if this stays, add "+strings.Join(slack.Events(), ", ")+" under Event Subscriptions and install the app again")...)
}

func (a *app) checkGitHub(ctx context.Context) []check {
	self, err := a.github.Check(ctx)
	var identity *github.IdentityError
	switch {
	case errors.As(err, &identity):
		return []check{{"github", checkFailed, identity.Problem, identity.Hint}}
	case err != nil:
		return []check{{"github", checkFailed, err.Error(), "check GITHUB_API_URL and that it can be reached from here"}}
	}
	out := []check{{"github", checkOK, "GitHub knows us as " + self, ""}}
	for _, found := range a.github.CheckRepositories(ctx) {
		out = append(out, check{"github", checkFailed, found.Problem, found.Hint})
	}
	for _, found := range a.github.CheckHooks(ctx) {
		out = append(out, check{"github webhook", checkWarning, found.Problem, found.Hint})
	}
	return append(out, a.checkFlow(github.Name, "see Recent Deliveries of the webhook: its URL must be PUBLIC/webhooks/github, its secret GITHUB_WEBHOOK_SECRET, and it must send issue comments and issues")...)
}

// checkFlow warns where a serving process is connected and has heard nothing.
func (a *app) checkFlow(adapter, hint string) []check {
	if !a.serves {
		return nil // nothing could have come
	}
	last, ok := a.gauges.last(adapter)
	if !ok {
		return []check{{adapter + " events", checkWarning, fmt.Sprintf("none has come since this process began, %s ago", time.Since(a.since).Round(time.Second)), hint}}
	}
	return []check{{adapter + " events", checkOK, fmt.Sprintf("the last one came %s ago", time.Since(last).Round(time.Second)), ""}}
}

// checkPublic asks for the bot's own health at its public address.
func checkPublic(ctx context.Context, base string) check {
	const name = "public url"
	hint := "check the tunnel, reverse proxy or DNS name that leads to listen; web.url is the base that webhooks are sent to"
	response, err := ask(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/healthz")
	if err != nil {
		return check{name, checkFailed, hostOf(base) + " cannot be reached from here", hint}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != "ok" {
		return check{name, checkFailed, fmt.Sprintf("what answers at %s is not this bot (%d)", hostOf(base), response.StatusCode), hint}
	}
	return check{name, checkOK, base + " leads here", ""}
}

// hostOf is the host of an address, for messages.
func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Host
	}
	return "the address"
}
