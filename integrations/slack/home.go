package slack

import (
	"context"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

// homeTasks is how many tasks the App Home lists.
const homeTasks = 15

// publishHome shows a person their tasks, what they spent this month and how to
// begin.
func (a *Adapter) publishHome(ctx context.Context, user, team string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.api().PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: user, View: slack.HomeTabViewRequest{
		Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: a.homeBlocks(ctx, a.actor(team, user))},
	}})
	if err != nil {
		a.log.Info("the App Home was not shown", "error", explain(err))
	}
}

func (a *Adapter) homeBlocks(ctx context.Context, actor bot.Actor) []slack.Block {
	section := func(text string) slack.Block {
		return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil)
	}
	header := func(text string) slack.Block {
		return slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, text, false, false))
	}
	blocks := []slack.Block{
		header("How to begin"),
		section("Mention me in a channel or write to me here, with a file: “weekly report by region”, “which customers left, and when?”. " +
			"I write a program, run it in a sealed container, and answer in the thread. `status`, `cancel` and `help` work in every thread."),
	}
	tasks := a.shown()
	if tasks == nil {
		return blocks
	}
	now := a.clock.Now()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	all, err := tasks.Tasks(ctx, bot.TaskQuery{Actor: actor.ID, Adapter: Name, Since: month, Limit: 1_000})
	if err != nil {
		a.log.Warn("the App Home has no tasks", "error", err)
		return append(blocks, section("_Your tasks cannot be shown at the moment._"))
	}
	running, recent := homeLists(all, a.link, a.zoneOf(ctx, actor))
	if len(running) > 0 {
		blocks = append(blocks, header("In progress"))
		for _, line := range running {
			blocks = append(blocks, section(line))
		}
	}
	if lines := a.homeSchedules(ctx, actor); len(lines) > 0 {
		blocks = append(blocks, header("Schedules"))
		for _, line := range lines {
			blocks = append(blocks, section(line))
		}
	}
	blocks = append(blocks, header("This month"), section(a.budget(all)), header("Recent"))
	if len(recent) == 0 {
		recent = []string{"_Nothing yet._"}
	}
	for _, line := range recent {
		blocks = append(blocks, section(line))
	}
	return blocks
}

// zoneOf is the time zone in which a person reads times.
func (a *Adapter) zoneOf(ctx context.Context, actor bot.Actor) *time.Location {
	zone, err := time.LoadLocation(a.Zone(ctx, actor))
	if err != nil {
		return time.UTC
	}
	return zone
}

// homeStates are the states of open tasks in words.
func homeStates() map[bot.TaskState]string {
	return map[bot.TaskState]string{
		bot.TaskQueued: "⏳ %s · in the queue", bot.TaskRunning: "⏳ %s · running", bot.TaskWaiting: "💬 %s · waiting for your answer",
	}
}

// homeLists splits tasks into those that are open and those that ended.
func homeLists(all []bot.Task, link func(bot.Task) string, zone *time.Location) (running, recent []string) {
	for _, t := range all {
		title := render.Inert(render.Cut(orElse(t.Title, "(no text)"), 120), 200)
		if url := link(t); url != "" {
			title += " · <" + url + "|open>"
		}
		switch t.State {
		case bot.TaskQueued, bot.TaskRunning, bot.TaskWaiting:
			if len(running) < homeTasks {
				running = append(running, fmt.Sprintf(homeStates()[t.State], title))
			}
		default:
			if len(recent) < homeTasks {
				recent = append(recent, fmt.Sprintf("%s %s · %s", sign(t.State), title, t.Created.In(zone).Format("2 Jan 15:04 MST")))
			}
		}
	}
	return running, recent
}

// link leads to a task's thread.
func (a *Adapter) link(t bot.Task) string { return t.Event.Origin.Link }

func sign(s bot.TaskState) string {
	switch s {
	case bot.TaskDone:
		return "✅"
	case bot.TaskCancelled:
		return "🛑"
	case bot.TaskRefused:
		return "🚫"
	}
	return "⚠️"
}

// budget says what was spent, and what may be spent a day.
func (a *Adapter) budget(all []bot.Task) string {
	var usd float64
	var tokens int64
	for _, t := range all {
		if t.Outcome != nil {
			usd += t.Outcome.Usage.CostUSD
			tokens += t.Outcome.Usage.InputTokens + t.Outcome.Usage.OutputTokens
		}
	}
	line := fmt.Sprintf("%s · %s tokens · $%.2f", plural(len(all), "task"), thousands(tokens), usd)
	if a.opts.DailyUSD > 0 {
		line += fmt.Sprintf(" · at most $%.2f a day", a.opts.DailyUSD)
	}
	if a.opts.DailyTokens > 0 {
		line += " · at most " + thousands(a.opts.DailyTokens) + " tokens a day"
	}
	return line
}
