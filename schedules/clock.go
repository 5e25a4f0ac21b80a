package schedules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TickInterval is the longest time between two looks at what is due. A host
// that slept or whose clock jumped is noticed within it.
const TickInterval = 30 * time.Second

// rereadInterval is how long a change that another process made may go
// unnoticed; changes made in this one call Wake.
const rereadInterval = 10 * time.Minute

// atOnce is how many schedules are worked on at a time: each waits for the
// store several times, and writes that wait together are committed together.
const atOnce = 32

// keepFires bounds how many fires of a schedule are remembered.
const keepFires = 200

// Tasks is what the clock must know of earlier runs.
type Tasks interface {
	Task(ctx context.Context, id string) (bot.Task, error)
	// Deliveries returns what a task owed, in order.
	Deliveries(ctx context.Context, task string) ([]bot.Delivery, error)
}

// Notifier tells people something once: key makes repeats harmless.
type Notifier interface {
	Notify(ctx context.Context, key string, to bot.Origin, message string) error
	// Tell reaches the schedule's owner: the place it posts to may be gone.
	Tell(ctx context.Context, key string, s Schedule, message string) error
}

// ClockOptions are what a Clock needs.
type ClockOptions struct {
	Book   *Book
	Tasks  Tasks
	Policy bot.Policy
	Notify Notifier
	Time   bot.Clock
	Log    *slog.Logger
}

// Clock fires schedules; it is a bot.Source.
type Clock struct {
	ClockOptions
	wake chan struct{}
}

// NewClock checks options and returns a Clock.
func NewClock(options ClockOptions) (*Clock, error) {
	if options.Book == nil || options.Tasks == nil || options.Policy == nil || options.Notify == nil || options.Time == nil || options.Log == nil {
		return nil, errors.New("new clock: every option is needed")
	}
	return &Clock{ClockOptions: options, wake: make(chan struct{}, 1)}, nil
}

// Name implements bot.Source.
func (c *Clock) Name() string { return "schedules" }

// Wake makes the clock look again at once, after a schedule was changed.
func (c *Clock) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run fires what is due until ctx ends.
func (c *Clock) Run(ctx context.Context, intake bot.Intake) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var look time.Time // when to read the book again, at the latest
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
			look = time.Time{}
		case <-timer.C:
		}
		now := c.Time.Now()
		// A clock that was put back leaves look in the future: read then too.
		if !now.Before(look) || look.Sub(now) > rereadInterval {
			soonest := c.Tick(ctx, intake)
			look = c.Time.Now().Add(rereadInterval)
			if !soonest.IsZero() && soonest.Before(look) {
				look = soonest
			}
		}
		timer.Reset(min(TickInterval, max(look.Sub(c.Time.Now()), time.Millisecond)))
	}
}

// Tick handles everything that is due now and returns when the next schedule
// is. What goes wrong with one schedule is logged and leaves the others alone.
func (c *Clock) Tick(ctx context.Context, intake bot.Intake) (soonest time.Time) {
	list, err := c.Book.List(ctx)
	if err != nil {
		c.Log.ErrorContext(ctx, "read schedules", "error", err)
	}
	var mu sync.Mutex // guards soonest
	var working sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, s := range list {
		if ctx.Err() != nil {
			break
		}
		places <- struct{}{}
		working.Go(func() {
			defer func() { <-places }()
			next, err := c.handle(ctx, intake, s)
			if err != nil {
				if ctx.Err() == nil {
					c.Log.ErrorContext(ctx, "handle schedule", "schedule", s.Name, "error", err)
				}
				next = c.Time.Now().Add(TickInterval)
			}
			mu.Lock()
			defer mu.Unlock()
			if !next.IsZero() && (soonest.IsZero() || next.Before(soonest)) {
				soonest = next
			}
		})
	}
	working.Wait()
	return soonest
}

// handle counts how the last run ended, then does what is due.
func (c *Clock) handle(ctx context.Context, intake bot.Intake, s Schedule) (time.Time, error) {
	if err := c.tell(ctx, s); err != nil {
		return time.Time{}, err
	}
	s, err := c.review(ctx, s)
	if err != nil || s.State != Active {
		return time.Time{}, err
	}
	now := c.Time.Now()
	if start := s.Next.Add(jitter(s, s.Next)); !s.Next.IsZero() && start.After(now) {
		return start, nil
	}
	line, err := ParseLine(s.Cron, s.Zone)
	if err != nil {
		return time.Time{}, c.pause(ctx, s.Name, "its line can no longer be read: "+err.Error())
	}
	if s.Next.IsZero() {
		s, err = c.Book.Change(ctx, s.Name, func(s *Schedule) error {
			if s.Next.IsZero() {
				s.Next = line.Next(now)
			}
			return nil
		})
		if err != nil || s.Next.After(now) {
			return s.Next, err
		}
	}
	if d := c.Policy.Decide(ctx, c.event(s, s.Next), bot.MaySchedule); !d.Allowed {
		return time.Time{}, c.pause(ctx, s.Name, "its owner may no longer schedule: "+d.Reason)
	}
	if s, err = c.resume(ctx, intake, s); err != nil {
		return time.Time{}, err
	}
	p := decide(s, line, now)
	for _, f := range p.skipped {
		if _, _, err := c.Book.claim(ctx, s.Name, f); err != nil {
			return time.Time{}, err
		}
	}
	for i, due := range p.run {
		// Runs that are made up for together queue behind each other.
		if s, err = c.fire(ctx, intake, s, due, i > 0); err != nil {
			return time.Time{}, err
		}
	}
	// Past the due times only once each of them has its fire.
	s, err = c.Book.Change(ctx, s.Name, func(s *Schedule) error {
		if p.next.IsZero() || p.next.After(s.Next) {
			s.Next = p.next
		}
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	return s.Next, c.Book.prune(ctx, s.Name, keepFires)
}

// resume submits the runs that were decided and, for a crash or a core that did
// not answer, never became a task: what was decided to run is not decided anew.
func (c *Clock) resume(ctx context.Context, intake bot.Intake, s Schedule) (Schedule, error) {
	fires, err := c.Book.Fires(ctx, s.Name)
	if err != nil {
		return s, err
	}
	for _, f := range fires {
		if f.Result != Ran || f.Task != "" {
			continue
		}
		if s, err = c.fire(ctx, intake, s, f.Due, true); err != nil {
			return s, err
		}
	}
	return s, nil
}

// fire decides one due time for good, then submits it. The event's key is the
// due time, so that a crash between the two submits it once.
func (c *Clock) fire(ctx context.Context, intake bot.Intake, s Schedule, due time.Time, queue bool) (Schedule, error) {
	f := Fire{Due: due, At: c.Time.Now(), Result: Ran}
	if !queue && s.Overlap == OverlapSkip && s.LastTask != "" {
		going, err := c.goesOn(ctx, s.LastTask)
		if err != nil {
			return s, err
		}
		if going {
			f.Result, f.Why = Skipped, "the run before had not ended"
		}
	}
	f, _, err := c.Book.claim(ctx, s.Name, f)
	if err != nil {
		return s, err
	}
	if f.Result != Ran || f.Task != "" {
		return s, nil
	}
	ticket, err := intake.Submit(ctx, c.event(s, due))
	if err != nil {
		return s, fmt.Errorf("submit run of %s: %w", due.Format(time.RFC3339), err)
	}
	f.Task = ticket.Task
	if ticket.Refused != nil {
		f.Result, f.Why = Failed, ticket.Refused.Message
	}
	if err := c.Book.settle(ctx, s.Name, f); err != nil {
		return s, err
	}
	return c.Book.Change(ctx, s.Name, func(s *Schedule) error {
		if f.Task != "" && !due.Before(s.Last) {
			s.Last, s.LastTask = due, f.Task
		}
		return nil
	})
}

// goesOn reports whether a task has not ended. One that is forgotten has.
func (c *Clock) goesOn(ctx context.Context, task string) (bool, error) {
	t, err := c.Tasks.Task(ctx, task)
	if errors.Is(err, bot.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read run before: %w", err)
	}
	return !t.State.Final(), nil
}

// event is what a due time submits.
func (c *Clock) event(s Schedule, due time.Time) bot.Event {
	to := s.places(due)
	// Its rights are asked for where the owner is somebody.
	slices.SortStableFunc(to, func(a, b bot.Origin) int { return cmp.Compare(foreign(s.Owner, a), foreign(s.Owner, b)) })
	origin := to[0]
	// The runs of a schedule are one conversation wherever they are posted:
	// they follow each other and see each other's figures.
	origin.Conversation = "schedule:" + s.Name
	return bot.Event{
		Key:        "schedule:" + s.Name + ":" + due.UTC().Format(time.RFC3339),
		Kind:       bot.EventRequest,
		Origin:     origin,
		Actor:      s.Owner,
		Text:       s.Request,
		Inputs:     slices.Clone(s.Inputs),
		Also:       to[1:],
		Options:    bot.Options{Skill: s.Skill, Schedule: s.Name, KnownFailure: s.Failure},
		NeedsRight: s.From == FromChat || strings.HasPrefix(s.Owner.ID, origin.Adapter+":") && origin.Adapter != FolderAdapter,
		Scheduled:  true,
		Received:   c.Time.Now(),
	}
}

// foreign is 1 where a place is of another platform than an owner, otherwise 0.
func foreign(owner bot.Actor, place bot.Origin) int {
	if strings.HasPrefix(owner.ID, place.Adapter+":") {
		return 0
	}
	return 1
}

// pause stops a schedule; that its owner is to be told is stored with it.
func (c *Clock) pause(ctx context.Context, name, why string) error {
	s, err := c.Book.Change(ctx, name, func(s *Schedule) error {
		if s.State == Active {
			s.Untold = fmt.Sprintf("The schedule **%s** is paused: %s. `schedules resume %s` starts it again.", name, why, name)
			s.UntoldKey = fmt.Sprintf("schedule-paused:%s:%d", name, c.Time.Now().UnixNano())
		}
		s.State, s.Why = Paused, why
		return nil
	})
	if err != nil {
		return err
	}
	c.Log.WarnContext(ctx, "schedule is paused", "schedule", name, "owner", s.Owner.ID)
	return c.tell(ctx, s)
}

// tell tells a schedule's owner what is to be told, once: what a crash or a core
// that did not answer left untold is told with the next tick.
func (c *Clock) tell(ctx context.Context, s Schedule) error {
	if s.Untold == "" {
		return nil
	}
	if err := c.Notify.Tell(ctx, s.UntoldKey, s, s.Untold); err != nil {
		return fmt.Errorf("tell owner: %w", err)
	}
	_, err := c.Book.Change(ctx, s.Name, func(now *Schedule) error {
		if now.UntoldKey == s.UntoldKey {
			now.Untold, now.UntoldKey = "", ""
		}
		return nil
	})
	return err
}

// jitter spreads the starts of a schedule's fires, the same for the same due
// time in every process.
func jitter(s Schedule, due time.Time) time.Duration {
	if s.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.Name, due.Unix())
	return time.Duration(h.Sum64() % uint64(s.Jitter))
}
