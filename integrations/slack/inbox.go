package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// inbox is what lives as long as one Run: the way of envelopes to the core.
type inbox struct {
	a      *Adapter
	intake bot.Intake
	work   *sync.WaitGroup // everything that Run waits for
	over   chan struct{}   // closed when Run ends
	lanes  *lanes
	asks   *lanes // requests by slash command, by their asker
	// pending are those of asks.
	pending *pending
	twins   *twins
	marks   *marks
	// catching is held while a gap is caught up, one after the other.
	catching sync.Mutex
	react    chan reaction
}

// envelope is one frame of socket mode.
type envelope struct {
	Type       string          `json:"type"`
	EnvelopeID string          `json:"envelope_id"`
	Reason     string          `json:"reason"`
	Payload    json.RawMessage `json:"payload"`
	Attempt    int             `json:"retry_attempt"`
}

// Run implements bot.Source: it connects and reads until ctx ends. When Slack
// says that no connection will ever work (a revoked token, socket mode switched
// off), it logs why, leaves Ready with that reason and waits for other tokens
// or ctx: the other adapters go on.
func (a *Adapter) Run(ctx context.Context, intake bot.Intake) error {
	var work sync.WaitGroup
	in := &inbox{
		a: a, intake: intake, work: &work, over: make(chan struct{}),
		lanes: newLanes(&work), asks: newLanes(&work), pending: &pending{n: map[string]int{}}, twins: newTwins(a.clock), marks: &marks{a: a}, react: make(chan reaction, 256),
	}
	work.Go(func() { in.reactions(ctx) })
	work.Go(func() { in.marks.keep(ctx) })
	work.Go(func() { a.pruneUploads(ctx) })
	work.Go(func() { in.resumeAsked(ctx) })
	defer work.Wait()
	defer close(in.over)
	for {
		tokens := a.opts.Tokens()
		err := in.start(ctx)
		if err == nil {
			err = in.connections(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		a.setState(err)
		a.log.Error("Slack stopped for good", "reason", err)
		if !a.renewed(ctx, tokens) {
			return nil
		}
		a.log.Info("there are other tokens for Slack: connecting again")
	}
}

// renewed waits until there are other tokens than those; it reports false when
// ctx ended first.
func (a *Adapter) renewed(ctx context.Context, than Tokens) bool {
	for {
		if now := a.opts.Tokens(); now != than && now.check() == nil {
			return true
		}
		if sleep(ctx, time.Second) != nil {
			return false
		}
	}
}

// start asks who we are until Slack answers.
func (in *inbox) start(ctx context.Context) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, time.Minute
	for {
		err := in.a.identify(ctx)
		if err == nil || terminal(err) {
			return err
		}
		in.a.setState(err)
		pause := max(wait.NextBackOff(), retryAfter(err))
		in.a.log.Warn("Slack does not answer", "error", err, "next_try", pause)
		if sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// take handles one envelope in its lane and answers it once that is done. What
// could not be committed is not answered: Slack sends it again.
func (in *inbox) take(ctx context.Context, l *link, e envelope) {
	done := func(payload any, err error) {
		if err != nil {
			in.a.log.Warn("an envelope is left for Slack to send again", "type", e.Type, "attempt", e.Attempt, "error", err)
			return
		}
		if e.EnvelopeID == "" {
			return
		}
		if err := l.ack(e.EnvelopeID, payload); err != nil {
			in.a.log.Info("an acknowledgement was not sent", "error", err)
		}
	}
	switch e.Type {
	case "events_api":
		in.takeEvent(ctx, e, done)
	case "slash_commands":
		in.lanes.add(e.EnvelopeID, func() { done(in.slash(ctx, e.Payload)) })
	case "interactive":
		in.lanes.add(e.EnvelopeID, func() { done(in.interaction(ctx, e.Payload)) })
	default:
		in.a.log.Warn("Slack sent an unknown kind of envelope", "type", e.Type)
		done(nil, nil)
	}
}

// callback is the payload of events_api.
type callback struct {
	Team       string          `json:"team_id"`
	Enterprise string          `json:"enterprise_id"`
	Event      json.RawMessage `json:"event"`
	External   bool            `json:"is_ext_shared_channel"`
}

// takeEvent decodes an event and sends it down the lane of its thread, so that
// what belongs together stays in order.
func (in *inbox) takeEvent(ctx context.Context, e envelope, done func(any, error)) {
	var c callback
	var m message
	if err := errors.Join(json.Unmarshal(e.Payload, &c), json.Unmarshal(c.Event, &m)); err != nil {
		in.a.log.Warn("an event of Slack could not be read", "error", err)
		done(nil, nil)
		return
	}
	m.team, m.enterprise, m.external = c.Team, c.Enterprise, c.External
	in.lanes.add(m.lane(), func() {
		in.handle(ctx, m, func(err error) { done(nil, err) })
	})
}

// handle does what an event asks for and then calls done, at once or, for a
// mention that waits for its twin, later.
func (in *inbox) handle(ctx context.Context, m message, done func(error)) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	switch in.a.classify(m).kind {
	case isMention:
		if in.twins.stored(in.a.key(m)) {
			break
		}
		if len(m.Files) == 0 {
			in.awaitTwin(ctx, m, func(err error) { cancel(); done(err) })
			return
		}
		fallthrough
	case isRequest:
		err := in.request(ctx, m)
		cancel()
		done(err)
		return
	case isEdit:
		done(in.edit(ctx, m))
		cancel()
		return
	case isDelete, isFileDelete:
		done(in.deleted(ctx, m))
		cancel()
		return
	case isHome:
		cancel()
		done(nil)
		in.work.Go(func() { in.a.publishHome(context.WithoutCancel(ctx), m.User, m.team) })
		return
	}
	cancel()
	done(nil)
}

// handleTimeout bounds the handling of one envelope; Slack waits 3 s for the
// answer and then sends it again.
const handleTimeout = 15 * time.Second

// submit hands an event to the core.
func (in *inbox) submit(ctx context.Context, event bot.Event) (bot.Ticket, error) {
	ticket, err := in.intake.Submit(ctx, event)
	if err != nil {
		return ticket, fmt.Errorf("submit event: %w", err)
	}
	return ticket, nil
}

// lanes run functions one after the other per key, and at most maxLanes keys
// beside each other.
type lanes struct {
	work  *sync.WaitGroup
	slots chan struct{}
	mu    sync.Mutex // guards busy
	busy  map[string][]func()
}

const maxLanes = 128

func newLanes(work *sync.WaitGroup) *lanes {
	return &lanes{work: work, slots: make(chan struct{}, maxLanes), busy: map[string][]func(){}}
}

func (l *lanes) add(key string, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, running := l.busy[key]
	if running {
		l.busy[key] = append(waiting, f)
		return
	}
	l.busy[key] = nil
	l.work.Go(func() { l.drain(key, f) })
}

func (l *lanes) drain(key string, f func()) {
	for {
		l.slots <- struct{}{}
		f()
		<-l.slots
		l.mu.Lock()
		waiting := l.busy[key]
		if len(waiting) == 0 {
			delete(l.busy, key)
			l.mu.Unlock()
			return
		}
		f, l.busy[key] = waiting[0], waiting[1:]
		l.mu.Unlock()
	}
}
