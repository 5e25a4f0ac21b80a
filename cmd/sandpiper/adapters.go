package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/integrations/fetch"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
)

// openGitHub adds GitHub, where its webhook's secret is set. It talks to
// nobody before serve lets it run. Without the secret nothing is taken, which
// webhooks are told, and so is whoever meant to have GitHub.
func (a *app) openGitHub() error {
	const hook = "POST /webhooks/github"
	secrets := &a.loaded.Secrets
	if !secrets.GitHubWebhook.Set() {
		a.webhooks[hook] = github.NoSecret()
		if secrets.GitHubToken.Set() || a.loaded.Addresses.GitHubAppID != "" || len(a.loaded.GitHub.Repositories) > 0 {
			a.connections = append(a.connections, connection(github.Name, github.ErrNoSecret))
		}
		return nil
	}
	id := int64(0)
	if text := a.loaded.Addresses.GitHubAppID; text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fault.New(fault.Usage, "write the number that GitHub shows on the App's page", "GITHUB_APP_ID: %q is no number", text)
		}
		id = n
	}
	set := a.loaded.GitHub
	adapter, err := github.New(github.Options{
		Secrets: a.githubSecrets, AppID: id, APIURL: a.loaded.Addresses.GitHubAPI,
		Handle: set.Handle, Repositories: set.Repositories, MinPermission: set.MinPermission, Outsiders: set.Outsiders,
		Label: set.Label, Catchup: set.Catchup.Std(),
		Artifacts:  github.Artifacts{Branch: set.Artifacts.Branch, Repository: set.Artifacts.Repository, Keep: a.loaded.Retention.Tasks.Std()},
		Limits:     github.Limits{Input: int64(a.loaded.Limits.Input)},
		AllowHosts: a.loaded.Fetch.AllowHosts, MarkerKey: a.identity.marker,
		Records: a.store, Blobs: a.blobs, History: a.store, Logger: a.part(github.Name), Clock: a.time,
	})
	if err != nil {
		return &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "see the set-up page for GitHub in deploy/docs", Kind: github.Name, Err: err}
	}
	a.github = adapter
	a.channels[github.Name] = adapter
	a.sources = append(a.sources, adapter)
	a.webhooks[hook] = a.gauges.measured(github.Name, adapter.Webhook())
	a.connections = append(a.connections, connection(github.Name, adapter.Ready))
	return nil
}

// openSlack adds Slack, where its tokens are set. It talks to nobody before
// serve lets it run.
func (a *app) openSlack() error {
	secrets := &a.loaded.Secrets
	if !secrets.SlackBot.Set() {
		return nil
	}
	set := a.loaded.Slack
	adapter, err := slack.New(slack.Options{
		Tokens: a.slackTokens, APIURL: a.loaded.Addresses.SlackAPI,
		Allow:  slack.Allow{Channels: set.Allow.Channels, Users: set.Allow.Users, Groups: set.Allow.Groups},
		Guests: set.Guests, External: set.External, Catchup: set.Catchup.Std(), MaxInput: int64(a.loaded.Limits.Input),
		Secret: a.identity.marker, Records: a.store, Blobs: a.blobs, Command: commandIn, TaskURL: a.taskURL,
		Seen:     func() { a.gauges.saw(slack.Name) },
		DailyUSD: a.loaded.Budgets.ActorDailyUSD, DailyTokens: a.loaded.Budgets.ActorDailyTokens, Logger: a.part(slack.Name),
	})
	if err != nil {
		return &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "see the set-up page for Slack in deploy/docs", Kind: slack.Name, Err: err}
	}
	a.slack = adapter
	a.channels[slack.Name] = adapter
	a.sources = append(a.sources, adapter)
	a.connections = append(a.connections, connection(slack.Name, adapter.Ready))
	return nil
}

// githubSecrets are read at each use: SIGHUP reads their files again.
func (a *app) githubSecrets() github.Secrets {
	s := a.secrets.Load()
	return github.Secrets{
		Webhook: s.GitHubWebhook.Reveal(), Previous: s.GitHubWebhookPrevious.Reveal(), Token: s.GitHubToken.Reveal(),
		AppKey: s.GitHubAppKey.Reveal(),
	}
}

// taskURL is where people find a task's page; "" where web.url names no place.
func (a *app) taskURL(task string) string {
	if a.loaded.Web.URL == "" {
		return ""
	}
	return strings.TrimSuffix(a.loaded.Web.URL, "/") + "/tasks/" + task
}

// slackTokens are read at each use, as githubSecrets are.
func (a *app) slackTokens() slack.Tokens {
	s := a.secrets.Load()
	return slack.Tokens{App: s.SlackApp.Reveal(), Bot: s.SlackBot.Reveal()}
}

// openFetch adds the fetcher of links, where hosts are listed.
func (a *app) openFetch() error {
	if len(a.loaded.Fetch.AllowHosts) == 0 {
		return nil
	}
	fetcher := fetch.New(fetch.Options{Hosts: a.loaded.Fetch.AllowHosts, Limit: int64(a.loaded.Limits.Input)})
	a.life.DeferFunc("fetcher", fetcher.Close)
	a.channels[fetch.Name] = fetcher
	return nil
}

// connection makes the part that tells of an adapter's connection, and of what
// comes through it: a connection alone brings nothing where events are not
// subscribed to.
func connection(name string, ready func() error) func(*app) part {
	return func(a *app) part {
		p := part{Name: name, Status: "ok", Detail: "connected; no event yet", Needed: true}
		if at, seen := a.gauges.last(name); seen {
			p.Detail = "connected; the last event came " + time.Since(at).Round(time.Second).String() + " ago"
			p.LastEvent = &at
		}
		if err := ready(); err != nil {
			p.Status, p.Detail = "failed", err.Error()
		}
		return p
	}
}
