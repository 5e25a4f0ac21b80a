package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
)

// The chat commands of rooms other than the core. noticeCommand posts what a
// schedule has to tell its people; clockActor asks for it, and no platform
// gives out such an id.
const (
	saveCommand      = "save"
	reportsCommand   = "reports"
	scheduleCommand  = "schedule"
	schedulesCommand = "schedules"
	noticeCommand    = "schedule-notice"
	clockActor       = "schedule:clock"
)

// commandIn finds a command at the beginning of a message.
func commandIn(text string) (bot.Command, bool) {
	word, args, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch word = strings.ToLower(strings.TrimPrefix(word, "/")); word {
	case saveCommand, scheduleCommand, schedulesCommand:
		return bot.Command{Name: word, Args: strings.TrimSpace(args)}, true
	case reportsCommand:
		// "reports of last week by region" is a request.
		verb, _, _ := strings.Cut(strings.TrimSpace(args), " ")
		known := []string{"", "accept", "versions", "rollback", "trust", "share", "publish", "remove"}
		return bot.Command{Name: word, Args: strings.TrimSpace(args)}, slices.Contains(known, strings.ToLower(verb))
	}
	return bot.Command{}, false
}

// commands are those that chat may give beside the core's own.
func (a *app) commands() map[string]bot.CommandSpec {
	late := func(name string) bot.CommandFunc {
		return func(ctx context.Context, event bot.Event) (string, error) {
			return a.scheduleCommands[name](ctx, event)
		}
	}
	return map[string]bot.CommandSpec{
		noticeCommand:             {Run: func(_ context.Context, event bot.Event) (string, error) { return event.Command.Args, nil }},
		saveCommand:               {Run: a.saveInChat, Right: bot.MaySave, Help: "save NAME: keep the last answer's report, to run it again on new files"},
		reportsCommand:            {Run: a.reportsInChat, Help: "reports: those that you may run; accept, versions, rollback, trust, share, publish or remove one"},
		scheduleCommand:           {Run: late(scheduleCommand), Right: bot.MaySchedule, Help: "schedule WHEN WHAT: for instance every Monday at 9 the weekly report"},
		slack.ScheduleFormCommand: {Run: late(slack.ScheduleFormCommand), Right: bot.MaySchedule},
		schedulesCommand:          {Run: late(schedulesCommand), Help: "schedules: list, pause, resume, run or remove them"},
	}
}

// saveInChat saves the conversation's last finished task for its asker.
func (a *app) saveInChat(ctx context.Context, event bot.Event) (string, error) {
	name, rest, _ := strings.Cut(event.Command.Args, " ")
	if name == "" {
		return "", &bot.TaskError{Kind: "input", Message: "Under which name?", Hint: "for instance `save weekly-sales`"}
	}
	task, err := a.toSave(ctx, event)
	if err != nil {
		return "", err
	}
	got, err := a.save(ctx, task, name, event.Actor.ID, strings.TrimSpace(rest) == "accept")
	var constants *agent.ConstantsError
	switch {
	case errors.As(err, &constants):
		return "", &bot.TaskError{Kind: "input", Message: "Not saved: " + constants.Error() + ".", Hint: fmt.Sprintf("if that is right: `save %s accept`", name)}
	case errors.Is(err, agent.ErrNotSavable), errors.Is(err, saved.ErrTaken):
		return "", &bot.TaskError{Kind: "input", Message: "Not saved: " + err.Error() + "."}
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("Saved as `%s`, version %d. Run it on new files with `%s` and the files.", got.Name, got.Version, got.Name), nil
}

// toSave is the task that a save is about: the one that a button stands under,
// or the conversation's last finished one.
func (a *app) toSave(ctx context.Context, event bot.Event) (bot.Task, error) {
	none := &bot.TaskError{Kind: "input", Message: "There is no finished answer in this conversation to save."}
	if id := event.Command.Task; id != "" {
		task, err := a.orchestrator.Task(ctx, id)
		if errors.Is(err, bot.ErrNotFound) || err == nil && task.Event.Origin.Conversation != event.Origin.Conversation {
			return task, none
		}
		return task, err
	}
	tasks, err := a.orchestrator.Tasks(ctx, bot.TaskQuery{Conversation: event.Origin.Conversation, State: bot.TaskDone, Limit: 1})
	if err == nil && len(tasks) == 0 {
		err = none
	}
	if err != nil {
		return bot.Task{}, err
	}
	return tasks[0], nil
}

// save makes a finished task a report and lets it be found at once.
func (a *app) save(ctx context.Context, task bot.Task, name, owner string, accept bool) (agent.Saved, error) {
	steps, err := a.orchestrator.Steps(ctx, task.ID)
	if err != nil {
		return agent.Saved{}, err
	}
	got, err := a.runner.Save(ctx, agent.SaveRequest{
		Name: name, Owner: owner, Task: task, Steps: steps, Blobs: a.blobs, Into: a.reports, Accept: accept,
	})
	if err != nil {
		return got, err
	}
	return got, a.catalogue.Reload()
}

// purged forgets the reports that were made from purged tasks.
func (a *app) purged(_ context.Context, _ bot.PurgeScope, tasks []string) error {
	if err := a.reports.Forget(tasks); err != nil {
		return err
	}
	return a.catalogue.Reload()
}
