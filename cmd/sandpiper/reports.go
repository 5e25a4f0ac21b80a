package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// mayRun reports whether a skill is one that who asks may run: a built-in or
// configured one, or a report of their own, of their place, or published.
func mayRun(s skills.Skill, event bot.Event) bool {
	owner := s.Metadata["owner"]
	return s.Source != skills.SourceSaved || owner == agent.Published || owner == event.Actor.ID || owner != "" && owner == event.Origin.Place
}

// reportFor is the saved report of a name that who asks may run. For anybody
// else it does not exist.
func (a *app) reportFor(event bot.Event, name string) (skills.Skill, error) {
	name = strings.Trim(name, "`")
	s, err := a.catalogue.Get(name)
	if err == nil && s.Source == skills.SourceSaved && mayRun(s, event) {
		return s, nil
	}
	var names []string
	for _, s := range a.catalogue.List() {
		if s.Source == skills.SourceSaved && mayRun(s, event) {
			names = append(names, s.Name)
		}
	}
	hint := "`reports` lists those that you may run"
	if near := skills.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("Did you mean `%s`? %s", near, hint)
	}
	return skills.Skill{}, asked(hint, "There is no report `%s`.", strings.ReplaceAll(name, "`", ""))
}

// mayChange says whether who asks may change a report: its maker, the people of
// the place that it belongs to, or an admin.
func (a *app) mayChange(ctx context.Context, event bot.Event, s skills.Skill) error {
	owner := s.Metadata["owner"]
	if owner == event.Actor.ID || owner == event.Origin.Place || a.policy.Decide(ctx, event, bot.MayAdmin).Allowed {
		return nil
	}
	return asked("", "`%s` belongs to somebody else: only its owner or an admin may change it.", s.Name)
}

// reportsInChat lists what the asker may run without a model, or changes a
// saved report.
func (a *app) reportsInChat(ctx context.Context, event bot.Event) (string, error) {
	words := strings.Fields(event.Command.Args)
	if len(words) == 0 {
		return a.reportList(event)
	}
	const usage = "`reports`, `reports accept|versions|trust|share|publish|remove NAME`, `reports rollback NAME VERSION`"
	if len(words) < 2 {
		return "", asked(usage, "I did not understand %q.", event.Command.Args)
	}
	s, err := a.reportFor(event, words[1])
	if err != nil {
		return "", err
	}
	if words[0] == "versions" {
		return a.reportVersions(s)
	}
	if err := a.mayChange(ctx, event, s); err != nil {
		return "", err
	}
	reply, err := a.changeReport(ctx, event, words, s)
	if errors.Is(err, saved.ErrNothingProposed) {
		return "", asked("", "No new version of `%s` waits to be taken.", s.Name)
	}
	if err != nil {
		return "", err
	}
	if reply == "" {
		return "", asked(usage, "I did not understand %q.", event.Command.Args)
	}
	return reply, a.catalogue.Reload()
}

func (a *app) changeReport(ctx context.Context, event bot.Event, words []string, s skills.Skill) (string, error) {
	switch words[0] {
	case "accept":
		version, err := a.reports.Accept(s.Name)
		return fmt.Sprintf("`%s` is at version %d now. `reports rollback %s %d` goes back.", s.Name, version, s.Name, version-1), err
	case "trust":
		_, err := a.reports.AcceptMoved(s.Name)
		if errors.Is(err, saved.ErrNothingMoved) {
			return "", asked("", "Nothing of `%s` waits to be accepted: it gives what it gave, or has not run since the sandbox changed.", s.Name)
		}
		return fmt.Sprintf("`%s` is trusted as it is in today's sandbox: what it gives there counts from now on.", s.Name), err
	case "rollback":
		if len(words) < 3 {
			return "", asked("`reports versions "+s.Name+"` lists them", "To which version?")
		}
		to, err := strconv.Atoi(words[2])
		if err != nil {
			return "", asked("`reports versions "+s.Name+"` lists them", "%q is no version.", words[2])
		}
		version, err := a.reports.RollBack(s.Name, to)
		if err != nil {
			return "", asked("`reports versions "+s.Name+"` lists them", "%s.", err)
		}
		return fmt.Sprintf("`%s` is what version %d was, as version %d.", s.Name, to, version), nil
	case "share":
		_, err := a.reports.Share(s.Name, event.Origin.Place)
		return fmt.Sprintf("`%s` belongs to this place now: everybody who may ask here may run and change it.", s.Name), err
	case "publish":
		if d := a.policy.Decide(ctx, event, bot.MayPublish); !d.Allowed {
			return "", asked("", "%s", d.Reason)
		}
		_, err := a.reports.Share(s.Name, agent.Published)
		return fmt.Sprintf("`%s` is published: everybody may run it.", s.Name), err
	case "remove":
		return fmt.Sprintf("`%s` is removed, with its versions.", s.Name), a.reports.Remove(s.Name)
	}
	return "", nil
}

func (a *app) reportList(event bot.Event) (string, error) {
	var lines []string
	for _, s := range a.catalogue.List() {
		if s.Runnable() && mayRun(s, event) {
			lines = append(lines, fmt.Sprintf("- `%s`: %s", s.Name, s.Description))
		}
	}
	if len(lines) == 0 {
		return "There are no reports yet.", nil
	}
	return strings.Join(lines, "\n") + "\n\n`run NAME` with files runs one; `save NAME` keeps the last answer as one.", nil
}

func (a *app) reportVersions(s skills.Skill) (string, error) {
	old, err := a.reports.Versions(s.Name)
	if err != nil {
		return "", err
	}
	now, _, err := a.reports.Version(s.Name)
	if err != nil {
		return "", err
	}
	old = append(old, now)
	slices.Reverse(old)
	text := make([]string, len(old))
	for i, v := range old {
		text[i] = strconv.Itoa(v)
	}
	return fmt.Sprintf("`%s` is at version %d; kept are %s.", s.Name, now, strings.Join(text, ", ")), nil
}
