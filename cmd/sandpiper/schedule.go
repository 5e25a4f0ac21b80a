package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
	"github.com/sandpiper-bot/sandpiper/integrations/fetch"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// notifier brings words of the clock to a place through the core's outbox: the
// event's key makes repeats harmless.
type notifier struct{ intake bot.Intake }

// Notify implements schedules.Notifier.
func (n notifier) Notify(ctx context.Context, key string, to bot.Origin, message string) error {
	_, err := n.intake.Submit(ctx, bot.Event{
		Key: "schedule-notice:" + key, Kind: bot.EventCommand, Origin: to, Actor: bot.Actor{ID: clockActor},
		Command: bot.Command{Name: noticeCommand, Args: message},
	})
	return err
}

// Tell implements schedules.Notifier: in Slack the owner alone; in GitHub, which
// has no such place, where the schedule was made; otherwise where it posts.
func (n notifier) Tell(ctx context.Context, key string, s schedules.Schedule, message string) error {
	return n.Notify(ctx, key, placeOfOwner(s), message)
}

func placeOfOwner(s schedules.Schedule) bot.Origin {
	in := func(adapter string) (place bot.Origin) {
		for _, to := range append([]bot.Origin{s.Home}, s.To...) {
			if to.Adapter == adapter && to.Title == "" {
				return to
			}
		}
		return place
	}
	switch {
	case strings.HasPrefix(s.Owner.ID, slack.Name+":"):
		return slack.Direct(s.Owner, in(slack.Name))
	case s.Home.Adapter != "":
		return s.Home
	}
	if adapter, _, _ := strings.Cut(s.Owner.ID, ":"); in(adapter).Adapter != "" {
		return in(adapter)
	}
	to := s.To[0]
	if to.Title != "" {
		to.Title = "The schedule " + s.Name + " needs you" // there is no other place
	}
	return to
}

// openSchedules makes the clock, which only serve lets run, and the service
// that changes schedules.
func (a *app) openSchedules() error {
	clock, err := schedules.NewClock(schedules.ClockOptions{
		Book: schedules.NewBook(a.store), Tasks: a.orchestrator, Policy: a.policy,
		Notify: notifier{a.orchestrator}, Time: a.time, Log: a.part("schedules"),
	})
	if err != nil {
		return err
	}
	a.clock = clock
	a.schedules = schedules.NewService(clock, schedules.Limits{
		MinInterval: a.loaded.Schedules.MinInterval.Std(), PerOwner: a.loaded.Schedules.PerOwner,
	})
	a.scheduleCommands = a.scheduleFromChat()
	a.sources = append(a.sources, clock)
	return nil
}

// syncSchedules makes the configuration's schedules be those of the list.
func (a *app) syncSchedules(ctx context.Context) error {
	defs := make([]schedules.Schedule, 0, len(a.loaded.Schedules.List))
	for i, entry := range a.loaded.Schedules.List {
		def, err := a.scheduleOf(entry)
		if err != nil {
			return fault.New(fault.Usage, "correct it there; sandpiper config check tells whether it is right", "%s: %v", a.loaded.ScheduleAt(i), err)
		}
		defs = append(defs, def)
	}
	return a.schedules.Sync(ctx, defs)
}

// scheduleProblems reads the configuration's schedules as serve does, so that
// what would keep it from starting is told before. Which adapters will be there
// depends on secrets, which a check may be without.
func scheduleProblems(loaded *config.Loaded) (problems []config.Problem) {
	a := &app{loaded: loaded, channels: map[string]bot.Channel{slack.Name: nowhere{}, github.Name: nowhere{}, fetch.Name: nowhere{}}}
	for i, entry := range loaded.Schedules.List {
		if _, err := a.scheduleOf(entry); err != nil {
			problems = append(problems, config.Problem{Where: loaded.ScheduleAt(i), Message: err.Error()})
		}
	}
	return problems
}

// scheduleOf turns an entry of the configuration into a schedule.
func (a *app) scheduleOf(entry config.Schedule) (schedules.Schedule, error) {
	s := schedules.Schedule{
		Name: entry.Name, Owner: bot.Actor{ID: entry.Owner}, Zone: entry.Zone,
		Request: entry.Request, Skill: entry.Skill, From: schedules.FromConfig,
		Misfire: schedules.Misfire(entry.Misfire), Grace: entry.Grace.Std(), Overlap: schedules.Overlap(entry.Overlap),
	}
	zone := entry.Zone
	if zone == "" {
		zone = a.loaded.Schedules.Zone
	}
	if err := understand(&s, entry.When, zone); err != nil {
		return s, err
	}
	var err error
	if s.Inputs, err = a.inputsOf(entry.Inputs); err != nil {
		return s, err
	}
	if s.To, err = a.destinations(entry.To, entry.Title); err != nil {
		return s, err
	}
	_, err = s.Normalize()
	return s, err
}

// understand reads WHEN: a cron line, or words.
func understand(s *schedules.Schedule, when, zone string) error {
	s.Zone = zone
	if _, err := schedules.ParseLine(when, zone); err == nil {
		s.Cron = when
		return nil
	} else if errors.Is(err, schedules.ErrNever) || schedules.MeansLine(when) {
		return err
	}
	phrase, err := schedules.Understand(when)
	var ask *schedules.AskBackError
	switch {
	case errors.As(err, &ask):
		return errors.New(ask.Question)
	case err != nil:
		return err
	case strings.TrimSpace(phrase.Rest) != "":
		return fmt.Errorf("%q says more than when: %q", when, strings.TrimSpace(phrase.Rest))
	}
	s.Cron, s.Words = phrase.Cron, when
	if phrase.Zone != "" {
		s.Zone = phrase.Zone
	}
	return nil
}

// destinations reads several; title is for those that are a repository.
func (a *app) destinations(texts []string, title string) (to []bot.Origin, err error) {
	used := false
	for _, text := range texts {
		origin, err := a.destination(text, title)
		if err != nil {
			return nil, err
		}
		used = used || origin.Title != ""
		to = append(to, origin)
	}
	if title != "" && !used {
		return nil, fmt.Errorf("title %q: it is for new issues, and no destination is github:owner/name", title)
	}
	return to, nil
}

// destination reads DEST: slack:C0123, github:owner/name#12, github:owner/name
// with the title of a new issue each time, or a folder, absolute or below
// schedules.root.
func (a *app) destination(text, title string) (bot.Origin, error) {
	adapter, place, named := strings.Cut(text, ":")
	if named && adapter != "folder" && a.channels[adapter] == nil {
		return bot.Origin{}, fmt.Errorf("destination %q: that adapter is not configured", text)
	}
	switch {
	case !named:
		return a.folder(text)
	case adapter == "folder":
		return a.folder(place)
	case adapter == slack.Name && place != "":
		return bot.Origin{Adapter: slack.Name, Conversation: text, Place: text}, nil
	case adapter == github.Name:
		repository, number, numbered := strings.Cut(place, "#")
		if !numbered && github.IsRepository(repository) {
			if title == "" {
				return bot.Origin{}, fmt.Errorf("destination %q: say which issue, github:%s#12, or the title of a new one each time", text, repository)
			}
			return github.NewIssue(repository, title), nil
		}
		if n, err := strconv.Atoi(number); err == nil && n > 0 && strings.Count(repository, "/") == 1 {
			return github.Address(repository, n), nil
		}
	}
	return bot.Origin{}, fmt.Errorf("destination %q: write slack:C0123, github:owner/name#12, github:owner/name with a title, or a folder", text)
}

// aFolder refuses what no folder was meant by: a channel's name, which would get
// a folder where nobody looks, and words to be filled in.
func aFolder(text string) error {
	switch {
	case strings.HasPrefix(text, "#"):
		return fmt.Errorf("destination %q: a Slack channel is written by its id, slack:C0123 (the last line of its details); for a folder of this name write ./%s", text, text)
	case strings.Contains(text, "{{"):
		return fmt.Errorf("destination %q: only the title of a new issue has words that are filled in", text)
	}
	return nil
}

func (a *app) folder(path string) (bot.Origin, error) {
	if err := aFolder(path); err != nil {
		return bot.Origin{}, err
	}
	if filepath.IsAbs(path) {
		return console.Destination(path)
	}
	root := a.loaded.Schedules.Root
	if root == "" {
		return bot.Origin{}, fmt.Errorf("destination %q: name an absolute folder, or set schedules.root", path)
	}
	if !filepath.IsLocal(path) {
		return bot.Origin{}, fmt.Errorf("destination %q leads out of schedules.root", path)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return bot.Origin{}, err
	}
	return console.Destination(filepath.Join(root, path))
}
