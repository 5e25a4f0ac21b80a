package main

import (
	"os"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// policyOf makes the policy in force: the operator's own lines first, then
// what the allow lists imply. Nothing else is allowed.
//
// The adapters check their allow lists in full (members, groups, guests,
// permissions) before they submit; the rules here keep an adapter's place
// closed when its list is empty.
func policyOf(loaded *config.Loaded) (bot.Policy, error) {
	var rules []bot.Rule
	for _, p := range loaded.Policies {
		rules = append(rules, bot.Rule{
			Origin: p.Origin, Actors: p.Actors, May: p.May, Budgets: p.Budgets.Bot(),
			Model: p.Model, Runtime: p.Runtime, Destinations: p.Destinations,
		})
	}
	asker := []bot.Right{bot.MayAsk, bot.MaySave, bot.MaySchedule}
	anyone := []string{"*"}
	// Whoever reaches the control socket is the bot's own user: a loop in their
	// shell may ask as often as it likes, at the cost that budgets allow.
	rules = append(rules, bot.Rule{
		Origin: "console", Actors: []string{"console:*"},
		May:     append([]bot.Right{bot.MayCancelOthers, bot.MayPublish, bot.MayAdmin}, asker...),
		Budgets: bot.Budgets{ActorDailyTasks: -1, DailyTasks: -1},
	})
	rules = append(rules, bot.Rule{Origin: "web", Actors: anyone, May: asker})
	// The clock's own words to a schedule's people.
	rules = append(rules, bot.Rule{Origin: "*", Actors: []string{clockActor}, May: []bot.Right{bot.MayAsk}})
	if os.Getenv(platformVariable) != "" {
		rules = append(rules, bot.Rule{Origin: "test:*", Actors: anyone, May: asker})
	}
	if !loaded.Slack.Allow.Empty() {
		rules = append(rules, bot.Rule{Origin: "slack:*", Actors: anyone, May: asker})
	}
	for _, repository := range loaded.GitHub.Repositories {
		rules = append(rules, bot.Rule{Origin: "github:" + repository, Actors: anyone, May: asker})
	}
	policy, err := bot.NewRules(rules)
	if err != nil {
		return nil, &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "correct policies in the configuration", Err: err}
	}
	return policy, nil
}
