package slack

import (
	"context"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

const (
	// twinWait is how long a mention without files waits for its twin, which
	// has them.
	twinWait = 400 * time.Millisecond
	// lookTimeout bounds a look at the thread before the acknowledgement.
	lookTimeout = 1500 * time.Millisecond
)

// request submits a message that addresses us.
func (in *inbox) request(ctx context.Context, m message) error {
	allowed, reason := in.a.allowed(m.team, m.Channel, m.User, m.direct(), m.external)
	if !allowed {
		in.refuse(ctx, m, reason)
		return nil
	}
	m.Files = in.a.resolve(ctx, m.Files)
	event := in.a.event(m)
	if event.Kind == bot.EventRequest && m.ThreadTS != "" && m.ThreadTS != m.TS {
		in.threadFiles(ctx, m, &event)
	}
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return err
	}
	in.twins.store(event.Key)
	in.answer(ctx, m, event, ticket)
	return nil
}

// answer does what follows from a ticket: a reaction at once, or a refusal.
func (in *inbox) answer(ctx context.Context, m message, event bot.Event, ticket bot.Ticket) {
	switch {
	case ticket.Refused != nil && !ticket.Refused.Told:
		in.refuse(ctx, m, ticket.Refused.Message)
	case ticket.Refused == nil && !ticket.Duplicate && event.Kind == bot.EventRequest:
		in.reactTo(m.Channel, m.TS)
	}
}

// refuse tells somebody alone that the answer is no; not the same twice an hour.
func (in *inbox) refuse(ctx context.Context, m message, reason string) {
	if m.replayed || !in.a.told.first(m.Channel+"/"+m.User+"/"+reason, in.a.clock.Now()) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	in.work.Go(func() { in.a.whisper(ctx, m.Channel, m.ThreadTS, m.User, reason) })
}

// awaitTwin holds a mention without files until its twin, the message event, is
// stored; where none comes it asks Slack for the message itself.
func (in *inbox) awaitTwin(ctx context.Context, m message, done func(error)) {
	stored := in.twins.wait(in.a.key(m))
	in.work.Go(func() {
		defer in.twins.leave(in.a.key(m))
		timer := time.NewTimer(twinWait)
		defer timer.Stop()
		select {
		case <-stored:
			done(nil)
			return
		case <-timer.C:
		case <-ctx.Done():
		}
		full := m
		if found, err := in.a.lookUp(ctx, m.Channel, m.root(), m.TS); err == nil {
			full.Files = found.Files
		} else {
			in.a.log.Info("a mention's files could not be looked up", "error", err)
		}
		in.lanes.add(m.lane(), func() {
			if in.twins.stored(in.a.key(m)) {
				done(nil)
				return
			}
			done(in.request(ctx, full))
		})
	})
}

// lookUp reads one message.
func (a *Adapter) lookUp(ctx context.Context, channel, root, ts string) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return a.lookUpNow(ctx, channel, root, ts)
}

// lookUpNow is lookUp for callers that have their own patience.
func (a *Adapter) lookUpNow(ctx context.Context, channel, root, ts string) (message, error) {
	list, _, _, err := a.api().GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: channel, Timestamp: root, Oldest: ts, Latest: ts, Inclusive: true, Limit: 5,
	})
	if err != nil {
		return message{}, explain(err)
	}
	for _, one := range list {
		if one.Timestamp == ts {
			return fromAPI(one, channel), nil
		}
	}
	return message{}, bot.ErrNotFound
}

// fromAPI is a message as the Web API gives it.
func fromAPI(one slack.Message, channel string) message {
	m := message{
		Type: "message", Subtype: one.SubType, Channel: channel, User: one.User, BotID: one.BotID, Text: one.Text,
		TS: one.Timestamp, ThreadTS: one.ThreadTimestamp, Files: one.Files, LatestReply: one.LatestReply, Hidden: one.Hidden,
	}
	if one.Edited != nil {
		m.Edited = &edited{User: one.Edited.User, TS: one.Edited.Timestamp}
	}
	return m
}

// edit submits the new text of a request. A message that addresses us only
// since its edit is a request of its own.
func (in *inbox) edit(ctx context.Context, m message) error {
	now := *m.Message
	now.Type, now.Channel, now.ChannelType = "message", m.Channel, m.ChannelType
	now.team, now.enterprise, now.external = m.team, m.enterprise, m.external
	if self := in.a.whoami().user; !m.direct() && (m.Previous == nil || !mentions(m.Previous.Text, self)) {
		return in.request(ctx, now)
	}
	return in.changed(ctx, now, true)
}

// changed submits the text that a request has now. With offer its author is
// asked, once it has begun, whether the new text is to be run.
func (in *inbox) changed(ctx context.Context, now message, offer bool) error {
	if allowed, _ := in.a.allowed(now.team, now.Channel, now.User, now.direct(), now.external); !allowed {
		return nil
	}
	event := in.a.event(now)
	event.Kind, event.Command = bot.EventEdit, bot.Command{}
	event.Key += "#edit:" + now.Edited.TS
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return err
	}
	if offer {
		in.offerEdited(ctx, now, ticket)
	}
	return nil
}

// deleted tells the core that a message or file is gone.
func (in *inbox) deleted(ctx context.Context, m message) error {
	team := in.a.teamOf(m.team)
	gone := m.DeletedTS
	switch {
	case m.Message != nil:
		gone = m.Message.TS
	case gone == "" && m.Previous != nil:
		gone = m.Previous.TS
	}
	root, user := gone, ""
	if m.Previous != nil {
		root, user = m.Previous.root(), m.Previous.User
	}
	event := bot.Event{Kind: bot.EventDelete, Received: in.a.clock.Now()}
	if m.FileID != "" {
		event.Source = sourceOf(team, "", m.FileID)
		event.Origin = bot.Origin{Adapter: Name, Conversation: event.Source, Place: Name}
	} else {
		event.Source = sourceOf(team, m.Channel, gone)
		event.Origin = in.a.origin(address{Enterprise: m.enterprise, Team: team, Channel: m.Channel, Thread: root, Message: gone, User: user}, m.direct())
	}
	if user == "" {
		user = "unknown" // Slack does not say who deleted a file
	}
	event.Actor = in.a.actor(team, user)
	event.Key = event.Source + "#deleted"
	_, err := in.submit(ctx, event)
	return err
}

// twins remembers which mentions are stored, and who waits for one.
type twins struct {
	clock bot.Clock

	mu      sync.Mutex // guards what follows
	seen    map[string]time.Time
	waiting map[string]chan struct{}
}

func newTwins(clock bot.Clock) *twins {
	return &twins{clock: clock, seen: map[string]time.Time{}, waiting: map[string]chan struct{}{}}
}

// stored reports whether the event of key was committed lately.
func (t *twins) stored(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.seen[key]
	return ok
}

// store notes that the event of key is committed, and wakes who waits for it.
// Only now may its twin be taken for done.
func (t *twins) store(key string) {
	const keep, most = 15 * time.Minute, 5_000
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if len(t.seen) >= most {
		for k, at := range t.seen {
			if now.Sub(at) > keep || len(t.seen) >= most {
				delete(t.seen, k)
			}
		}
	}
	t.seen[key] = now
	if c, ok := t.waiting[key]; ok {
		close(c)
		delete(t.waiting, key)
	}
}

// wait returns a channel that is closed once key is stored.
func (t *twins) wait(key string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.waiting[key]
	if !ok {
		c = make(chan struct{})
		t.waiting[key] = c
	}
	return c
}

func (t *twins) leave(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, key)
}

// told remembers who was told what, so that nobody is told the same again
// within an hour.
type told struct {
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

func newTold() *told { return &told{last: map[string]time.Time{}} }

// has reports whether what was told lately.
func (t *told) has(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.last[what]
	return ok
}

// first notes what is told now, and reports whether it was not within an hour.
func (t *told) first(what string, now time.Time) bool {
	const most = 10_000
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.last[what]; ok && now.Sub(at) < time.Hour {
		return false
	}
	if len(t.last) >= most {
		clear(t.last)
	}
	t.last[what] = now
	return true
}
