package schedules

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Resolver turns what people write into what adapters understand, in the
// place the words were written.
type Resolver interface {
	// Destination resolves "#reports", "owner/name#12" and the like; "" is the
	// place of the event itself. With a title each answer opens an issue of its
	// own in the repository "owner/name" or, for "", in the event's.
	Destination(ctx context.Context, event bot.Event, text, title string) (bot.Origin, error)
	// Input resolves a repository path, a file pattern of a channel or a URL.
	Input(ctx context.Context, event bot.Event, text string) (bot.InputRef, error)
	// Newest is the newest file of a channel ("" is the event's own) whose name
	// matches pattern, at each run.
	Newest(ctx context.Context, event bot.Event, channel, pattern string) (bot.InputRef, error)
	// Report is the saved report that the words ask for, by its name, and that
	// the actor may run; "" where they name none.
	Report(ctx context.Context, event bot.Event, text string) string
	// Zone returns the actor's own time zone, "" where nobody knows one.
	Zone(ctx context.Context, event bot.Event) string
}

// Interpreter reads words about time that the rules could not, by a model that
// is paid for the actor.
type Interpreter func(ctx context.Context, actor, text string) (Phrase, error)

// CommandsOptions are what Commands need.
type CommandsOptions struct {
	Service   *Service
	Resolver  Resolver
	Intake    bot.Intake
	Interpret Interpreter // nil without a model
	Zone      string      // where no zone of the actor is known
	// Aside is where an asker alone reads an answer; private is false where
	// there is no such place, and it is the event's own. nil: there is none.
	Aside func(ctx context.Context, event bot.Event) (place bot.Origin, private bool, err error)
}

// Commands answers what people say about schedules in chat.
type Commands struct{ CommandsOptions }

// NewCommands returns the chat commands "schedule" and "schedules" by name,
// for bot.Options.
func NewCommands(options CommandsOptions) map[string]bot.CommandFunc {
	c := Commands{options}
	return map[string]bot.CommandFunc{"schedule": c.schedule, "schedules": c.schedules}
}

// user makes an error that is final and shown to the asker.
func user(hint, format string, args ...any) error {
	return &bot.TaskError{Kind: "schedule", Message: fmt.Sprintf(format, args...), Hint: hint}
}

// shown turns the errors that are meant for people into final ones.
func shown(err error) error {
	var denied *DeniedError
	var ask *AskBackError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &denied):
		return user("", "%s", denied.Reason)
	case errors.As(err, &ask):
		return user("", "%s", ask.Question)
	case errors.Is(err, bot.ErrNotFound):
		return user("`schedules` lists them", "There is no such schedule.")
	}
	return err
}

// schedule understands a request with words about time and proposes it; it is
// on only once it is confirmed.
func (c Commands) schedule(ctx context.Context, event bot.Event) (string, error) {
	s, err := c.Propose(ctx, event)
	if err != nil {
		return "", shown(err)
	}
	line, err := ParseLine(s.Cron, s.Zone)
	if err != nil {
		return "", user("", "%s", err)
	}
	return fmt.Sprintf("%s\nIt is not on yet: reply `schedules confirm %s` to start it, or `schedules remove %s`.",
		s.Told(line, c.Service.clock.Time.Now()), s.Name, s.Name), nil
}

// Propose stores what event's text asks for as a schedule that waits for its
// confirmation. The same event proposes the same schedule again.
func (c Commands) Propose(ctx context.Context, event bot.Event) (Schedule, error) {
	text := strings.TrimSpace(event.Command.Args)
	if text == "" {
		return Schedule{}, user("for instance `schedule every Monday at 9 weekly sales report from data/sales.csv to #reports`",
			"What should be scheduled, and when?")
	}
	issue, words, err := newIssueIn(text)
	if err != nil {
		return Schedule{}, err
	}
	phrase, err := c.understand(ctx, event.Actor.ID, words)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{
		Owner: event.Actor, Cron: phrase.Cron, Zone: c.zone(ctx, event, phrase), Words: text,
		From: FromChat, Home: event.Origin, State: Proposed, Skill: event.Options.Skill,
	}
	if issue != nil {
		to, err := c.Resolver.Destination(ctx, event, issue.repository, issue.title)
		if err != nil {
			return Schedule{}, err
		}
		s.To = []bot.Origin{to}
	}
	if err := c.split(ctx, event, phrase.Rest, &s); err != nil {
		return Schedule{}, err
	}
	s.Name = c.freeName(ctx, event, s.Request)
	return c.Service.Add(ctx, s)
}

func (c Commands) zone(ctx context.Context, event bot.Event, phrase Phrase) string {
	if phrase.Zone != "" {
		return phrase.Zone
	}
	if zone := c.Resolver.Zone(ctx, event); zone != "" {
		if _, err := loadZone(zone); err == nil {
			return zone
		}
	}
	return c.Zone
}

var (
	placeForm = regexp.MustCompile(`(?:#|<#)[^\s,;]+|[\w.-]+/[\w.-]+#\d+`)
	toForm    = regexp.MustCompile(`(?i)(?:^|\s)(?:to|into|в|во)\s+((?:` + placeForm.String() + `)(?:(?:\s*,\s*|\s+and\s+|\s+и\s+)(?:` + placeForm.String() + `))*)[.,;]?(?:\s|$)`)
	// newestForm finds "from the newest *.csv in #reports".
	newestForm = regexp.MustCompile(`(?i)(?:^|\s)(?:(?:from|of|on|using|из|по)\s+)?(?:the\s+|сам\pL*\s+)?(?:newest|latest|most recent|нов\pL+|последн\pL+|свеж\pL+)\s+([\pL\pN_.*?\[\]-]*[*.][\pL\pN_.*?\[\]-]+)(?:\s+(?:(?:in|from|of|из|в|во)\s+)?((?:#|<#)[^\s,;]+|here|this channel|этого канала|этом канале))?(?:[,;]?\s|$)`)
	fromForm   = regexp.MustCompile(`(?i)(?:^|\s)(?:from|of|on|using|из|по)\s+(https://[^\s,;]+|<https://[^\s>]+>|[\pL\pN_.*?\[\]/-]+\.[\pL\pN]{1,8})(?:[,;]?\s|$)`)
)

// split takes destination and inputs out of the request's words.
func (c Commands) split(ctx context.Context, event bot.Event, rest string, s *Schedule) error {
	if m := newestForm.FindStringSubmatch(rest); m != nil {
		channel := m[2]
		if !strings.Contains(channel, "#") {
			channel = ""
		}
		in, err := c.Resolver.Newest(ctx, event, channel, strings.TrimRight(m[1], ".,;"))
		if err != nil {
			return err
		}
		s.Inputs = append(s.Inputs, in)
		rest = strings.TrimSpace(strings.Replace(rest, m[0], " ", 1))
	}
	var places []string
	if len(s.To) == 0 {
		places = []string{""}
	}
	if m := toForm.FindStringSubmatchIndex(rest); m != nil {
		places = placeForm.FindAllString(rest[m[2]:m[3]], -1)
		rest = strings.TrimSpace(rest[:m[0]] + " " + rest[m[1]:])
	}
	for _, place := range places {
		to, err := c.Resolver.Destination(ctx, event, strings.TrimRight(place, "."), "")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.To, func(have bot.Origin) bool { return have == to }) {
			s.To = append(s.To, to)
		}
	}
	for _, m := range fromForm.FindAllStringSubmatch(rest, -1) {
		in, err := c.Resolver.Input(ctx, event, strings.Trim(m[1], "<>"))
		if err != nil {
			return err
		}
		s.Inputs = append(s.Inputs, in)
	}
	if len(s.Inputs) == 0 {
		s.Inputs = event.Inputs
	}
	s.Request = rest
	if s.Skill == "" {
		s.Skill = c.Resolver.Report(ctx, event, rest)
	}
	if s.Request == "" && s.Skill == "" {
		return user("", "That says when, but not what: which report should it be?")
	}
	return nil
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// freeName makes a name of the request's first words that no other schedule
// has. The event's own earlier proposal keeps its name.
func (c Commands) freeName(ctx context.Context, event bot.Event, request string) string {
	base := strings.Trim(notName.ReplaceAllString(strings.ToLower(request), "-"), "-")
	if len(base) > 32 {
		base = strings.Trim(base[:32], "-")
	}
	if base == "" {
		base = "report"
	}
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		old, err := c.Service.Get(ctx, name)
		if err != nil {
			return name // free, or the store says so when it is written
		}
		if old.State == Proposed && old.Owner.ID == event.Actor.ID && old.Words == strings.TrimSpace(event.Command.Args) {
			if c.Service.book.Delete(ctx, name) == nil {
				return name
			}
		}
	}
}

// schedules answers "schedules", "schedules pause NAME" and their like.
func (c Commands) schedules(ctx context.Context, event bot.Event) (string, error) {
	words := strings.Fields(event.Command.Args)
	if len(words) == 0 || words[0] == "list" {
		return c.list(ctx, event)
	}
	if len(words) != 2 {
		return "", user("`schedules`, `schedules next|pause|resume|run|try|remove|confirm NAME`", "I did not understand %q.", event.Command.Args)
	}
	s, err := c.mine(ctx, event, words[1])
	if err != nil {
		return "", shown(err)
	}
	reply, err := c.act(ctx, event, words[0], s)
	return reply, shown(err)
}

func (c Commands) act(ctx context.Context, event bot.Event, verb string, s Schedule) (string, error) {
	switch verb {
	case "confirm":
		s, err := c.Service.Confirm(ctx, s.Name)
		if err != nil {
			return "", err
		}
		return c.isOn(s), nil
	case "next":
		line, err := ParseLine(s.Cron, s.Zone)
		if err != nil {
			return "", err
		}
		return s.Told(line, c.Service.clock.Time.Now()), nil
	case "pause":
		_, err := c.Service.Pause(ctx, s.Name, "paused by "+event.Actor.ID)
		return fmt.Sprintf("**%s** is paused.", s.Name), err
	case "resume":
		s, err := c.Service.Resume(ctx, s.Name)
		return fmt.Sprintf("**%s** goes on; next on %s.", s.Name, c.shownTime(s, s.Next)), err
	case "remove":
		return fmt.Sprintf("**%s** is removed.", s.Name), c.Service.Remove(ctx, s.Name)
	case "run":
		_, err := c.Service.RunNow(ctx, c.Intake, s.Name, nil)
		return fmt.Sprintf("**%s** runs now.", s.Name), err
	case "try":
		return c.try(ctx, event, s)
	}
	return "", user("`schedules next|pause|resume|run|try|remove|confirm NAME`", "I did not understand %q.", verb)
}

// try runs a schedule for its asker alone, or says that here it cannot be alone.
func (c Commands) try(ctx context.Context, event bot.Event, s Schedule) (string, error) {
	place, private := event.Origin, false
	if c.Aside != nil {
		var err error
		if place, private, err = c.Aside(ctx, event); err != nil {
			return "", err
		}
	}
	if _, err := c.Service.RunNow(ctx, c.Intake, s.Name, &place); err != nil {
		return "", err
	}
	if private {
		return fmt.Sprintf("**%s** runs now, and answers you alone, in our direct messages. It counts for nothing.", s.Name), nil
	}
	return fmt.Sprintf("**%s** runs now. There is no place here that you alone can see: the answer comes to this conversation, where everybody in it reads it, and to none of the schedule's places. It counts for nothing.", s.Name), nil
}

// mine returns a schedule that the actor may change: their own, or any for
// someone who may administer.
func (c Commands) mine(ctx context.Context, event bot.Event, name string) (Schedule, error) {
	s, err := c.Service.Get(ctx, name)
	if err != nil {
		return Schedule{}, err
	}
	if s.Owner.ID != event.Actor.ID && !c.Service.policy.Decide(ctx, event, bot.MayAdmin).Allowed {
		return Schedule{}, &DeniedError{Reason: fmt.Sprintf("%s belongs to somebody else: only its owner or an admin may change it", name)}
	}
	return s, nil
}

// list shows the schedules whose answers go to this place, and the actor's own.
func (c Commands) list(ctx context.Context, event bot.Event) (string, error) {
	all, err := c.Service.List(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range all {
		if s.Owner.ID != event.Actor.ID && (len(s.To) == 0 || s.To[0].Place != event.Origin.Place) {
			continue
		}
		fmt.Fprintf(&b, "- %s\n", c.line(s))
	}
	if b.Len() == 0 {
		return "No schedules here yet. For instance: `schedule every Monday at 9 weekly sales report from data/sales.csv`", nil
	}
	return b.String(), nil
}

func (c Commands) shownTime(s Schedule, at time.Time) string {
	loc, err := loadZone(s.Zone)
	if err != nil {
		loc = time.UTC
	}
	return at.In(loc).Format("Mon 2 Jan 2006 15:04 MST")
}
