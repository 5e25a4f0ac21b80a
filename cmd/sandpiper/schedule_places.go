package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/fetch"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// inputsOf reads the inputs of a schedule that the operator makes, in the
// configuration or on the command line.
func (a *app) inputsOf(names []string) ([]bot.InputRef, error) {
	var out []bot.InputRef
	for _, name := range names {
		in, err := a.inputOf(name)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

// inputOf reads one: slack:CHANNEL/PATTERN, github:OWNER/NAME:PATH@REF, a link,
// previous:NAME, or a path below schedules.root.
func (a *app) inputOf(text string) (bot.InputRef, error) {
	adapter, rest, named := strings.Cut(text, ":")
	if named && (adapter == slack.Name || adapter == github.Name) && a.channels[adapter] == nil {
		return bot.InputRef{}, fmt.Errorf("input %q: that adapter is not configured", text)
	}
	switch {
	case strings.HasPrefix(text, "https://"):
		return a.linkInput(text)
	case !named:
	case adapter == slack.Name:
		channel, pattern, _ := strings.Cut(rest, "/")
		return slack.Newest(channel, pattern)
	case adapter == github.Name:
		return github.Named(rest, "", true)
	case adapter == schedules.PreviousAdapter:
		return schedules.PreviousInput(rest)
	case adapter != schedules.LocalAdapter && inputKind.MatchString(adapter):
		return bot.InputRef{}, fmt.Errorf("input %q: write slack:CHANNEL/PATTERN, github:OWNER/NAME:PATH@REF, https://…, previous:NAME, or a path below schedules.root (local:PATH where it has a colon)", text)
	}
	in, err := schedules.LocalInput(strings.TrimPrefix(text, schedules.LocalAdapter+":"))
	in.Fresh = strings.ContainsAny(in.Ref, "*?[")
	return in, err
}

// inputKind is what stands before the colon of an input that is no plain path:
// http://… or slak:… is a mistake, and not a local file of that name.
var inputKind = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

func (a *app) linkInput(link string) (bot.InputRef, error) {
	if a.channels[fetch.Name] == nil {
		return bot.InputRef{}, &bot.TaskError{Kind: "input", Message: "I may fetch no links.", Hint: "whoever runs this bot can list the host under `fetch.allow_hosts`"}
	}
	return bot.InputRef{Name: path.Base(strings.SplitN(link, "?", 2)[0]), Adapter: fetch.Name, Ref: link}, nil
}

// scheduleFromChat makes the commands about schedules.
func (a *app) scheduleFromChat() map[string]bot.CommandFunc {
	c := schedules.Commands{CommandsOptions: schedules.CommandsOptions{
		Service: a.schedules, Resolver: resolver{a}, Intake: a.orchestrator, Interpret: a.interpreter(), Zone: a.loaded.Schedules.Zone,
		Aside: resolver{a}.aside,
	}}
	commands := schedules.NewCommands(c.CommandsOptions)
	commands[slack.ScheduleFormCommand] = func(ctx context.Context, event bot.Event) (string, error) {
		var form slack.ScheduleForm
		if err := json.Unmarshal([]byte(event.Command.Args), &form); err != nil {
			return "", asked("", "That window's content cannot be read any more: please fill it in again.")
		}
		return c.AddForm(ctx, event, formOf(form))
	}
	if a.slack != nil {
		a.slack.Schedule(scheduling{c})
	}
	return commands
}

// scheduling offers schedules to Slack's windows.
type scheduling struct{ schedules.Commands }

func formOf(form slack.ScheduleForm) schedules.Form {
	to := form.To
	if to != "" {
		to = "#" + to
	}
	from := form.From
	if from != "" {
		from = "#" + from
	}
	return schedules.Form{What: form.What, When: form.When, Zone: form.Zone, Files: form.Files, From: from, To: to}
}

// Preview implements slack.Scheduling.
func (s scheduling) Preview(ctx context.Context, event bot.Event, form slack.ScheduleForm) (string, error) {
	got, line, err := s.Understood(ctx, event, formOf(form))
	var wrong *schedules.FormError
	if errors.As(err, &wrong) {
		return "", &slack.FieldError{Field: wrong.Field, Message: wrong.Message}
	}
	if err != nil {
		return "", err
	}
	return got.Told(line, s.Service.Now()), nil
}

// resolver turns what people write about schedules into places and files that
// they may use.
type resolver struct{ a *app }

// asked is an error for the person who asked.
func asked(hint, format string, args ...any) error {
	return &bot.TaskError{Kind: "input", Message: fmt.Sprintf(format, args...), Hint: hint}
}

// channel finds a channel by the name that a person wrote.
func (r resolver) channel(ctx context.Context, name string) (string, error) {
	found, err := r.a.slack.ChannelNamed(ctx, name)
	if err != nil {
		return "", err
	}
	if found == "" {
		return "", asked("invite me there (`/invite @sandpiper`), or check its name", "I am in no channel called %s.", placeText(name))
	}
	return found, nil
}

// channelID is what a window says for a channel.
var channelID = regexp.MustCompile(`^#[CDGU][A-Z0-9]+$`)

// placeText is a channel as a person reads it: windows name them by their ids.
func placeText(name string) string {
	if channelID.MatchString(name) {
		return "that channel"
	}
	return name
}

// Destination implements schedules.Resolver. Where it is another place than the
// one it was asked in, its people must have the right to ask there.
func (r resolver) Destination(ctx context.Context, event bot.Event, text, title string) (bot.Origin, error) {
	switch {
	case title != "":
		return r.newIssue(ctx, event, text, title)
	case text == "":
		return event.Origin, nil
	case event.Origin.Adapter == slack.Name && strings.Contains(text, "#") && !strings.Contains(text, "/"):
		channel, err := r.channel(ctx, text)
		if err != nil {
			return bot.Origin{}, err
		}
		to, err := r.a.destination(slack.Name+":"+channel, "")
		if err != nil {
			return to, err
		}
		return to, r.mayPost(ctx, event, to, text)
	case event.Origin.Adapter == github.Name && strings.Contains(text, "/"):
		to, err := r.a.destination(github.Name+":"+text, "")
		if err != nil {
			return to, asked("write owner/name#12", "%s", err)
		}
		return to, r.mayPost(ctx, event, to, text)
	}
	return bot.Origin{}, asked("name a channel in Slack, or owner/name#12 in GitHub", "I do not know the place %s from here.", text)
}

// aside is where the asker of a dry run reads its answer: in Slack in the direct
// messages, for files cannot be shown to one person in a channel.
func (r resolver) aside(ctx context.Context, event bot.Event) (bot.Origin, bool, error) {
	switch {
	case event.Origin.Private:
		return event.Origin, true, nil
	case event.Origin.Adapter != slack.Name:
		return event.Origin, false, nil
	}
	if err := r.a.slack.Reachable(ctx, event.Actor); err != nil {
		if errors.Is(err, slack.ErrNoDirect) {
			return bot.Origin{}, false, asked("", "I cannot write to you alone, so I try nothing: %s.", err)
		}
		return bot.Origin{}, false, err
	}
	return slack.Direct(event.Actor, bot.Origin{}), true, nil
}

// newIssue is a repository where each answer opens an issue.
func (r resolver) newIssue(ctx context.Context, event bot.Event, repository, title string) (bot.Origin, error) {
	if event.Origin.Adapter != github.Name {
		return bot.Origin{}, asked("ask for it in an issue of that repository, or have whoever runs this bot put it into the configuration",
			"I open issues for people whom GitHub shows me, and cannot tell who you are there.")
	}
	if repository == "" {
		repository = r.repository(event)
	}
	to, err := r.a.destination(github.Name+":"+repository, title)
	if err != nil {
		return to, asked("write `as a new issue titled \"Weekly sales, {{date}}\" in owner/name`", "%s", err)
	}
	return to, r.mayPost(ctx, event, to, repository)
}

// mayPost asks whether the person may ask in the place that answers go to.
func (r resolver) mayPost(ctx context.Context, event bot.Event, to bot.Origin, text string) error {
	there := bot.Event{Origin: to, Actor: event.Actor}
	if d := r.a.policy.Decide(ctx, there, bot.MaySchedule); !d.Allowed {
		return asked("", "You may not schedule into %s. %s", text, d.Reason)
	}
	d, err := r.a.channels[to.Adapter].Authorize(ctx, there)
	if err == nil && d.Allowed && to.Adapter == slack.Name {
		d.Reason, err = r.a.slack.Reads(ctx, event.Actor, strings.TrimPrefix(to.Place, slack.Name+":"))
		d.Allowed = d.Reason == ""
	}
	if err != nil {
		return err
	}
	if !d.Allowed {
		return asked("", "You may not schedule into %s: %s.", text, strings.TrimSuffix(d.Reason, "."))
	}
	return nil
}

// Newest implements schedules.Resolver.
func (r resolver) Newest(ctx context.Context, event bot.Event, channel, pattern string) (bot.InputRef, error) {
	if event.Origin.Adapter != slack.Name {
		return bot.InputRef{}, asked("name a path of the repository", "I know channels from Slack alone.")
	}
	id := strings.TrimPrefix(event.Origin.Place, slack.Name+":")
	if channel != "" {
		var err error
		if id, err = r.channel(ctx, channel); err != nil {
			return bot.InputRef{}, err
		}
	}
	no, err := r.a.slack.Reads(ctx, event.Actor, id)
	if err != nil {
		return bot.InputRef{}, err
	}
	if no != "" {
		return bot.InputRef{}, asked("", "I cannot read files of %s for you: %s.", orText(placeText(channel), "this channel"), strings.TrimSuffix(no, "."))
	}
	in, err := slack.Newest(id, pattern)
	if err != nil {
		return in, asked("", "%s", err)
	}
	return in, nil
}

// Input implements schedules.Resolver. Local paths are none: people in a chat
// reach what their platform gives them.
func (r resolver) Input(ctx context.Context, event bot.Event, text string) (bot.InputRef, error) {
	switch {
	case strings.HasPrefix(text, "https://"):
		return r.a.linkInput(text)
	case event.Origin.Adapter == slack.Name && !strings.Contains(text, "/"):
		return r.Newest(ctx, event, "", text)
	case r.a.github != nil:
		in, err := github.Named(text, r.repository(event), false)
		if err != nil {
			return in, asked("", "%s", err)
		}
		return in, nil
	}
	return bot.InputRef{}, asked("attach the file, name one of a channel (`the newest *.csv in #reports`), or an https link", "I cannot fetch %s by itself.", text)
}

// repository is the one that a path means which names none: the issue's own, or
// the only one that the bot serves.
func (r resolver) repository(event bot.Event) string {
	if name, ok := strings.CutPrefix(event.Origin.Place, github.Name+":"); ok {
		return name
	}
	if all := r.a.loaded.GitHub.Repositories; len(all) == 1 && !strings.ContainsAny(all[0], "*?[") {
		return all[0]
	}
	return ""
}

// Zone implements schedules.Resolver.
func (r resolver) Zone(ctx context.Context, event bot.Event) string {
	if event.Origin.Adapter == slack.Name && r.a.slack != nil {
		if zone := r.a.slack.Zone(ctx, event.Actor); zone != "" {
			return zone
		}
	}
	return r.a.loaded.UserOf(event.Actor.ID).Zone
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// Report implements schedules.Resolver: a report is meant where its name stands
// as a word of its own.
func (r resolver) Report(_ context.Context, event bot.Event, text string) string {
	words := strings.FieldsFunc(text, func(c rune) bool {
		return c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	for _, word := range words {
		if s, err := r.a.reportFor(event, word); err == nil && s.Runnable() {
			return s.Name
		}
	}
	return ""
}
