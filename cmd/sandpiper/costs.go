package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// costsQuery asks what tasks cost.
type costsQuery struct {
	Since time.Time `json:"since,omitzero"`
	By    string    `json:"by"` // actor, channel, skill, schedule, day; empty: in all
}

// costRow is what one actor, channel, skill or day cost.
type costRow struct {
	Key            string  `json:"key"`
	Tasks          int     `json:"tasks"`
	Turns          int     `json:"turns"`
	InputTokens    int64   `json:"input_tokens"`
	OutputTokens   int64   `json:"output_tokens"`
	SandboxSeconds float64 `json:"sandbox_seconds"`
	CostUSD        float64 `json:"cost_usd"`
}

// costReport is `tasks list --cost --json`.
type costReport struct {
	By    string     `json:"by,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Rows  []costRow  `json:"rows"`
	Total costRow    `json:"total"`
}

func (r *costRow) add(u bot.Usage) {
	r.Tasks++
	r.Turns += u.Turns
	r.InputTokens += u.InputTokens
	r.OutputTokens += u.OutputTokens
	r.SandboxSeconds += u.SandboxSeconds
	r.CostUSD += u.CostUSD
}

// costs adds up what tasks cost, the dearest first; days in their order. What
// retention has removed is not in it.
func (a *app) costs(ctx context.Context, in costsQuery) (costReport, error) {
	report := costReport{By: in.By, Rows: []costRow{}, Total: costRow{Key: "total"}}
	if !in.Since.IsZero() {
		report.Since = &in.Since
	}
	rows := map[string]*costRow{}
	const page = 500
	for before := ""; ; {
		tasks, err := a.orchestrator.Tasks(ctx, bot.TaskQuery{Since: in.Since, Before: before, Limit: page})
		if err != nil {
			return report, err
		}
		for i := range tasks {
			t := &tasks[i]
			before = t.ID
			if t.Outcome == nil {
				continue
			}
			report.Total.add(t.Outcome.Usage)
			key, err := costKey(t, in.By)
			if err != nil {
				return report, err
			}
			if key == "" {
				continue
			}
			if rows[key] == nil {
				rows[key] = &costRow{Key: key}
			}
			rows[key].add(t.Outcome.Usage)
		}
		if len(tasks) < page {
			break
		}
	}
	for _, row := range rows {
		report.Rows = append(report.Rows, *row)
	}
	slices.SortFunc(report.Rows, func(x, y costRow) int {
		switch {
		case in.By != "day" && x.CostUSD > y.CostUSD:
			return -1
		case in.By != "day" && x.CostUSD < y.CostUSD:
			return 1
		}
		return strings.Compare(x.Key, y.Key)
	})
	return report, nil
}

// costKey is whom a task's cost is put down to.
func costKey(t *bot.Task, by string) (string, error) {
	switch by {
	case "":
		return "", nil
	case "actor":
		return t.Event.Actor.ID, nil
	case "channel":
		return t.Event.Origin.Place, nil
	case "day":
		return t.Created.Local().Format(time.DateOnly), nil
	case "schedule":
		return orElse(t.Event.Options.Schedule, "(none)"), nil
	case "skill":
		if t.Event.Options.Skill != "" {
			return t.Event.Options.Skill, nil
		}
		var names []string
		for name := range t.Outcome.Provenance.Skills {
			names = append(names, name)
		}
		slices.Sort(names)
		return orElse(strings.Join(names, " + "), "(none)"), nil
	}
	return "", fault.New(fault.Usage, "one of actor, channel, skill, schedule, day", "--by %s: there is no such grouping", by)
}

// openCosts starts the weekly message about costs, where costs.to names
// somebody to tell.
func (a *app) openCosts() (func(context.Context) error, error) {
	set := a.loaded.Costs
	if len(set.To) == 0 {
		return nil, nil
	}
	line, err := schedules.ParseLine(set.When, set.Zone)
	if err != nil {
		return nil, fault.New(fault.Usage, "write costs.when as a cron line", "costs.when: %v", err)
	}
	var to []bot.Origin
	for _, text := range set.To {
		origin, err := a.destination(text, "")
		if err != nil {
			return nil, fault.New(fault.Usage, "correct costs.to in the configuration", "costs.to: %v", err)
		}
		to = append(to, origin)
	}
	return func(ctx context.Context) error { return a.tellCosts(ctx, line, to) }, nil
}

// costsLate is how late the message still goes out, where the process was down.
const costsLate = 24 * time.Hour

// tellCosts tells at each due time. The message's key holds that time, so that
// several lives and processes tell it once.
func (a *app) tellCosts(ctx context.Context, line schedules.Line, to []bot.Origin) error {
	due := line.Next(time.Now().Add(-costsLate))
	for !due.IsZero() {
		if next := line.Next(due); !next.IsZero() && next.Before(time.Now()) {
			due = next // only the last one that was missed
			continue
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		message, err := a.costMessage(ctx, due)
		for _, origin := range to {
			key := "costs:" + due.UTC().Format(time.RFC3339) + ":" + origin.Place
			if err == nil {
				err = (notifier{a.orchestrator}).Notify(ctx, key, origin, message)
			}
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			a.log.Error("costs are not told", "error", err)
		}
		due = line.Next(due)
	}
	<-ctx.Done()
	return ctx.Err()
}

// costMessage tells what the seven days before due cost.
func (a *app) costMessage(ctx context.Context, due time.Time) (string, error) {
	since := due.AddDate(0, 0, -7)
	var text strings.Builder
	for _, by := range []string{"actor", "channel"} {
		report, err := a.costs(ctx, costsQuery{Since: since, By: by})
		if err != nil {
			return "", err
		}
		if text.Len() == 0 {
			fmt.Fprintf(&text, "**Costs since %s: $%.2f** for %s\n", since.Format("2 January"), report.Total.CostUSD, count(report.Total.Tasks, "task"))
		}
		if len(report.Rows) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n| %s | tasks | tokens | cost |\n|---|---:|---:|---:|\n", by)
		const most = 10
		for _, row := range report.Rows[:min(most, len(report.Rows))] {
			fmt.Fprintf(&text, "| `%s` | %d | %d | $%.2f |\n", strings.ReplaceAll(row.Key, "|", "/"), row.Tasks, row.InputTokens+row.OutputTokens, row.CostUSD)
		}
	}
	return text.String(), nil
}
