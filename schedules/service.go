package schedules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Limits bound what people may schedule from chat.
type Limits struct {
	MinInterval time.Duration // least time between two fires
	PerOwner    int           // schedules an owner may have
}

// Service makes and changes schedules for people; Clock fires them.
type Service struct {
	book   *Book
	policy bot.Policy
	clock  *Clock
	limits Limits
}

// NewService returns a Service over the clock's book and policy.
func NewService(clock *Clock, limits Limits) *Service {
	return &Service{book: clock.Book, policy: clock.Policy, clock: clock, limits: limits}
}

// DeniedError says that someone may not do what they asked.
type DeniedError struct{ Reason string }

// Error implements error.
func (e *DeniedError) Error() string { return e.Reason }

// Check normalizes s and applies every rule for making it, without storing it.
func (v *Service) Check(ctx context.Context, s *Schedule) (Line, error) {
	line, err := s.Normalize()
	if err != nil {
		return Line{}, err
	}
	now := v.clock.Time.Now()
	if d := v.policy.Decide(ctx, v.clock.event(*s, now), bot.MaySchedule); !d.Allowed {
		return Line{}, &DeniedError{Reason: d.Reason}
	}
	if s.From != FromChat {
		return line, nil
	}
	if least := line.LeastInterval(now); least < v.limits.MinInterval {
		return Line{}, &DeniedError{Reason: fmt.Sprintf(
			"%q fires every %s; from chat the least interval is %s", line, shortDuration(least), shortDuration(v.limits.MinInterval))}
	}
	list, err := v.book.List(ctx)
	if err != nil {
		return Line{}, err
	}
	n := 0
	for _, other := range list {
		if other.Owner.ID == s.Owner.ID && other.Name != s.Name {
			n++
		}
	}
	if n >= v.limits.PerOwner {
		return Line{}, &DeniedError{Reason: fmt.Sprintf("you have %d schedules, which is the most one may have: remove one first", n)}
	}
	return line, nil
}

// Add stores a new schedule; it is on at once.
func (v *Service) Add(ctx context.Context, s Schedule) (Schedule, error) {
	line, err := v.Check(ctx, &s)
	if err != nil {
		return Schedule{}, err
	}
	now := v.clock.Time.Now()
	s.Created, s.Next = now, line.Next(now)
	if _, err := v.book.Put(ctx, s, 0); err != nil {
		if errors.Is(err, bot.ErrConflict) {
			return Schedule{}, &DeniedError{Reason: fmt.Sprintf("there is a schedule named %s already: choose another name, or remove it first", s.Name)}
		}
		return Schedule{}, err
	}
	v.clock.Wake()
	return s, nil
}

// List returns all schedules by name.
func (v *Service) List(ctx context.Context) ([]Schedule, error) { return v.book.List(ctx) }

// Get returns one schedule, or bot.ErrNotFound.
func (v *Service) Get(ctx context.Context, name string) (Schedule, error) {
	s, _, err := v.book.Get(ctx, name)
	return s, err
}

// Fires returns what became of a schedule's due times, oldest first.
func (v *Service) Fires(ctx context.Context, name string) ([]Fire, error) {
	return v.book.Fires(ctx, name)
}

// Remove deletes a schedule and its history.
func (v *Service) Remove(ctx context.Context, name string) error {
	s, err := v.Get(ctx, name)
	if err != nil {
		return err
	}
	if s.From == FromConfig {
		return &DeniedError{Reason: fmt.Sprintf("%s stands in the configuration: remove it there, or pause it", name)}
	}
	return v.book.Delete(ctx, name)
}

// Pause stops a schedule until Resume.
func (v *Service) Pause(ctx context.Context, name, why string) (Schedule, error) {
	return v.book.Change(ctx, name, func(s *Schedule) error {
		s.State, s.Why = Paused, why
		return nil
	})
}

// Confirm turns a proposed schedule on.
func (v *Service) Confirm(ctx context.Context, name string) (Schedule, error) {
	now := v.clock.Time.Now()
	s, err := v.book.Change(ctx, name, func(s *Schedule) error {
		line, err := ParseLine(s.Cron, s.Zone)
		if err != nil {
			return err
		}
		if s.State == Proposed {
			s.State, s.Next = Active, line.Next(now)
		}
		return nil
	})
	v.clock.Wake()
	return s, err
}

// Resume starts a paused schedule again; what was due meanwhile is gone.
func (v *Service) Resume(ctx context.Context, name string) (Schedule, error) {
	now := v.clock.Time.Now()
	s, err := v.book.Change(ctx, name, func(s *Schedule) error {
		line, err := ParseLine(s.Cron, s.Zone)
		if err != nil {
			return err
		}
		if s.State == Paused {
			s.State, s.Why, s.Failures, s.Failure = Active, "", 0, ""
			s.Reviewed, s.Next = s.LastTask, line.Next(now)
		}
		return nil
	})
	v.clock.Wake()
	return s, err
}

// RunNow runs a schedule at once, beside its clock, and returns the task. With
// dry it is tried out: it runs as it would, with its owner's rights in its own
// places, the answer goes to dry alone, and it counts for nothing.
func (v *Service) RunNow(ctx context.Context, intake bot.Intake, name string, dry *bot.Origin) (string, error) {
	s, err := v.Get(ctx, name)
	if err != nil {
		return "", err
	}
	now := v.clock.Time.Now()
	event := v.clock.event(s, now)
	event.Key = "schedule-now:" + name + ":" + now.UTC().Format(time.RFC3339Nano)
	event.Scheduled = false // somebody waits for it
	event.Options.KnownFailure = ""
	event.Inline = true // who asked is told of a refusal, not the schedule's places
	for i := range event.Inputs {
		event.Inputs[i].Fresh = false // the last file will do
	}
	if dry != nil {
		event.Also, event.Options.DryRun = []bot.Origin{*dry}, true
	}
	ticket, err := intake.Submit(ctx, event)
	if err != nil {
		return "", fmt.Errorf("run schedule %s: %w", name, err)
	}
	if ticket.Refused != nil {
		return "", &DeniedError{Reason: ticket.Refused.Message}
	}
	f := Fire{Due: now, At: now, Result: Ran, Why: "run by hand", Task: ticket.Task}
	if dry != nil {
		f.Result, f.Why = Tried, "tried out by hand"
	}
	if _, _, err := v.book.claim(ctx, name, f); err != nil {
		return "", err
	}
	return ticket.Task, nil
}

// Sync makes the schedules of the configuration be exactly those in defs.
// What the clock remembers of unchanged lines stays.
func (v *Service) Sync(ctx context.Context, defs []Schedule) error {
	wanted := map[string]bool{}
	now := v.clock.Time.Now()
	for _, def := range defs {
		def.From = FromConfig
		line, err := v.Check(ctx, &def)
		if err != nil {
			return fmt.Errorf("the configuration's schedule %s: %w", def.Name, err)
		}
		wanted[def.Name] = true
		old, revision, err := v.book.Get(ctx, def.Name)
		switch {
		case errors.Is(err, bot.ErrNotFound):
			def.Created, def.Next = now, line.Next(now)
		case err != nil:
			return err
		case old.From != FromConfig:
			return fmt.Errorf("the configuration's schedule %s: %s made one of this name %s: call yours otherwise, or remove theirs with `sandpiper schedules remove %s`", def.Name, old.Owner.ID, old.From.where(), def.Name)
		default:
			def = merge(def, old)
			if old.Cron != def.Cron || old.Zone != def.Zone {
				def.Next = line.Next(now)
			}
		}
		if _, err := v.book.Put(ctx, def, revision); err != nil {
			return err
		}
	}
	list, err := v.book.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.From == FromConfig && !wanted[s.Name] {
			if err := v.book.Delete(ctx, s.Name); err != nil {
				return err
			}
		}
	}
	v.clock.Wake()
	return nil
}

// merge keeps what the clock remembers and takes the rest from def.
func merge(def, old Schedule) Schedule {
	def.Created, def.State, def.Why = old.Created, old.State, old.Why
	def.Untold, def.UntoldKey = old.Untold, old.UntoldKey
	def.Next, def.Last, def.LastTask = old.Next, old.Last, old.LastTask
	def.Reviewed, def.Failures, def.Failure = old.Reviewed, old.Failures, old.Failure
	return def
}

// Now is the time of the clock.
func (v *Service) Now() time.Time { return v.clock.Time.Now() }
