package schedules

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Form is a schedule as somebody filled it in, field by field.
type Form struct {
	What  string // a request, or a saved report's name
	When  string // a cron line or words
	Zone  string
	Files string // pattern of the newest file of a channel; empty for none
	From  string // that channel as Resolver.Newest takes it; empty is the event's own
	To    string // a channel as Resolver.Destination takes it; empty is the event's own place
}

// FormError is what is wrong with one field: "what", "when", "zone", "files" or
// "to".
type FormError struct{ Field, Message string }

// Error implements error.
func (e *FormError) Error() string { return e.Message }

// Understood makes the schedule that a form asks for, checked by every rule and
// not stored.
func (c Commands) Understood(ctx context.Context, event bot.Event, form Form) (Schedule, Line, error) {
	s := Schedule{Owner: event.Actor, Zone: form.Zone, From: FromChat, Home: event.Origin, State: Active, Request: form.What, Made: event.Key}
	if s.Zone == "" {
		s.Zone = c.zone(ctx, event, Phrase{})
	}
	if _, err := loadZone(s.Zone); err != nil {
		return s, Line{}, &FormError{"zone", fmt.Sprintf("%q is no time zone: write it like Europe/Berlin.", s.Zone)}
	}
	if strings.TrimSpace(form.What) == "" {
		return s, Line{}, &FormError{"what", "What should it do?"}
	}
	if err := c.when(ctx, form.When, &s); err != nil {
		return s, Line{}, &FormError{"when", err.Error()}
	}
	s.Skill = c.Resolver.Report(ctx, event, form.What)
	var err error
	if form.Files != "" {
		in, err := c.Resolver.Newest(ctx, event, form.From, form.Files)
		if err != nil && form.From != "" {
			return s, Line{}, inField("from", err)
		}
		if err != nil {
			return s, Line{}, inField("files", err)
		}
		s.Inputs = []bot.InputRef{in}
	}
	to, err := c.Resolver.Destination(ctx, event, form.To, "")
	if err != nil {
		return s, Line{}, inField("to", err)
	}
	s.To = []bot.Origin{to}
	s.Name = c.freeName(ctx, event, form.What)
	line, err := c.Service.Check(ctx, &s)
	return s, line, inField("when", err)
}

// inField puts an error that is meant for people beside a field.
func inField(name string, err error) error {
	var denied *DeniedError
	var task *bot.TaskError
	switch {
	case errors.As(err, &denied):
		return &FormError{name, denied.Reason}
	case errors.As(err, &task):
		return &FormError{name, task.Told()}
	}
	return err
}

// when reads a cron line, or words that say when and nothing else.
func (c Commands) when(ctx context.Context, text string, s *Schedule) error {
	text = strings.TrimSpace(text)
	_, err := ParseLine(text, s.Zone)
	if err == nil {
		s.Cron = text
		return nil
	}
	if errors.Is(err, ErrNever) || MeansLine(text) {
		return err
	}
	phrase, err := c.understand(ctx, s.Owner.ID, text)
	var ask *AskBackError
	switch {
	case errors.As(err, &ask):
		return errors.New(ask.Question)
	case err != nil:
		return err
	case strings.TrimSpace(phrase.Rest) != "":
		return askBack("I do not understand “%s” as a time: leave it out, or say it under what is to be done.", strings.TrimSpace(phrase.Rest))
	}
	s.Cron, s.Words = phrase.Cron, text
	if phrase.Zone != "" {
		s.Zone = phrase.Zone
	}
	return nil
}

// understand reads words about time by the rules, and by the model where the
// rules have to ask back and there is one.
func (c Commands) understand(ctx context.Context, actor, text string) (Phrase, error) {
	phrase, err := Understand(text)
	var ask *AskBackError
	if errors.As(err, &ask) && c.Interpret != nil {
		if by, mErr := c.Interpret(ctx, actor, text); mErr == nil {
			return by, nil
		}
	}
	return phrase, err
}

// AddForm stores what a confirmed form asks for; it is on at once. The same
// event adds it once.
func (c Commands) AddForm(ctx context.Context, event bot.Event, form Form) (string, error) {
	list, err := c.Service.List(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		if s.Made != "" && s.Made == event.Key {
			return c.isOn(s), nil
		}
	}
	s, _, err := c.Understood(ctx, event, form)
	var wrong *FormError
	if errors.As(err, &wrong) {
		return "", user("", "%s", wrong.Message)
	}
	if err != nil {
		return "", err
	}
	if s, err = c.Service.Add(ctx, s); err != nil {
		return "", shown(err)
	}
	return c.isOn(s), nil
}

func (c Commands) isOn(s Schedule) string {
	return fmt.Sprintf("**%s** is on; next on %s.", s.Name, c.shownTime(s, s.Next))
}

// Mine lists an actor's schedules, one line each, as Markdown.
func (c Commands) Mine(ctx context.Context, actor bot.Actor) ([]string, error) {
	all, err := c.Service.List(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, s := range all {
		if s.Owner.ID == actor.ID {
			lines = append(lines, c.line(s))
		}
	}
	return lines, nil
}

// line tells of a schedule in a list.
func (c Commands) line(s Schedule) string {
	state := string(s.State)
	switch {
	case s.State == Active:
		state = "next on " + c.shownTime(s, s.Next)
	case s.State == Proposed:
		state = fmt.Sprintf("not on yet: `schedules confirm %s` starts it", s.Name)
	case s.Why != "":
		state += ": " + s.Why
	}
	return fmt.Sprintf("**%s** `%s` (%s), %s", s.Name, s.Cron, s.Zone, state)
}
