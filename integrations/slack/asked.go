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
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

const (
	// askedBucket holds requests made by slash command, by their trigger's id.
	// Slack makes no message of them: they are committed here, acknowledged,
	// and get a message of ours as the root of their thread.
	askedBucket = "slack.asked"
	// keepAsked is how long one that is in the core's hands is remembered, for
	// Slack may send it again.
	keepAsked = 24 * time.Hour
	// mostAsked is how many of one person may wait for their message.
	mostAsked = 20
)

// asked is a request on its way to its thread.
type asked struct {
	// Event lacks its thread. It is empty once the core has it.
	Event *bot.Event `json:"event,omitempty"`
	At    time.Time  `json:"at"`
}

// pending counts the requests of each person that wait for their message.
type pending struct {
	mu sync.Mutex // guards n
	n  map[string]int
}

// add counts one more, and reports whether it may wait.
func (p *pending) add(actor string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n[actor]++
	return p.n[actor] <= mostAsked
}

func (p *pending) drop(actor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n[actor]--; p.n[actor] <= 0 {
		delete(p.n, actor)
	}
}

// ask commits a request made by slash command. What it returns is shown to the
// asker; the thread and the task follow.
func (in *inbox) ask(ctx context.Context, id string, event bot.Event, url string) string {
	actor := event.Actor.ID
	if !in.pending.add(actor) {
		in.pending.drop(actor)
		return "Too many of your requests are waiting already. Please ask again when one of them is done."
	}
	one := asked{Event: &event, At: in.a.clock.Now()}
	revision, err := in.putAsked(ctx, id, one, 0)
	if err != nil {
		in.pending.drop(actor)
		if errors.Is(err, bot.ErrConflict) {
			return "" // Slack sent it again
		}
		in.a.log.Warn("a slash command was not accepted", "error", err)
		return "Something went wrong on my side. Please try again in a moment."
	}
	in.begin(ctx, id, one, revision, false, func(text string) { in.respond(ctx, url, text, false) })
	return ""
}

// resumeAsked goes on with requests that an earlier life took, and forgets those
// of long ago.
func (in *inbox) resumeAsked(ctx context.Context) {
	records, err := in.a.opts.Records.List(ctx, askedBucket, "")
	if err != nil {
		in.a.log.Error("requests made by slash command are not looked through", "error", err)
		return
	}
	for _, r := range records {
		var one asked
		switch err := json.Unmarshal(r.Value, &one); {
		case err != nil:
			in.a.log.Error("a request made by slash command cannot be read", "error", err)
		case one.Event != nil:
			in.pending.add(one.Event.Actor.ID)
			at, err := addressOf(one.Event.Origin, one.Event.Actor)
			if err != nil {
				in.a.log.Error("a request made by slash command cannot be read", "error", err)
				continue
			}
			in.begin(ctx, r.Key, one, r.Revision, true, func(text string) { in.a.whisper(ctx, at.Channel, "", at.User, text) })
		case in.a.clock.Now().Sub(one.At) > keepAsked:
			if err := in.a.opts.Records.Delete(ctx, askedBucket, r.Key); err != nil {
				in.a.log.Info("an old request made by slash command stays", "error", err)
			}
		}
	}
}

// begin gives a request its thread and hands it to the core, in the order in
// which its asker made them. It tries until that has worked or cannot.
func (in *inbox) begin(ctx context.Context, id string, one asked, revision uint64, tried bool, tell func(string)) {
	in.asks.add(one.Event.Actor.ID, func() {
		defer in.pending.drop(one.Event.Actor.ID)
		wait := backoff.NewExponentialBackOff()
		wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, time.Minute
		for {
			no, err := in.place(ctx, id, one, tried)
			if err == nil {
				if no != "" {
					tell(no)
				}
				if _, err := in.putAsked(context.WithoutCancel(ctx), id, asked{At: one.At}, revision); err != nil {
					in.a.log.Warn("a request made by slash command may be handed on again; the core knows it", "error", err)
				}
				return
			}
			tried = true
			pause := max(wait.NextBackOff(), retryAfter(err))
			in.a.log.Warn("a request made by slash command waits for its thread", "error", err, "next_try", pause)
			if sleep(ctx, pause) != nil {
				return // the next life goes on
			}
		}
	})
}

// place posts the message that stands for a request, unless an earlier try did,
// and submits the request from there. It returns what its asker is to be told
// when nothing comes of it.
func (in *inbox) place(ctx context.Context, id string, one asked, tried bool) (no string, err error) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	if err := in.a.know(ctx); err != nil {
		return "", err
	}
	event := *one.Event
	at, err := addressOf(event.Origin, event.Actor)
	if err != nil {
		return "I cannot tell where this was asked.", nil
	}
	ts, err := in.root(ctx, id, one, at, tried)
	if permanent := (*bot.SendError)(nil); errors.As(err, &permanent) && permanent.Class == bot.Permanent {
		return noRoom(err), nil
	}
	if err != nil {
		return "", err
	}
	at.Thread, at.Message = ts, ts
	event.Origin = in.a.origin(at, event.Origin.Private)
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return "", err
	}
	if ticket.Refused != nil {
		in.takeBack(ctx, at.Channel, ts)
	}
	return replyOf(ticket), nil
}

// root returns the ts of the message that stands for a request.
func (in *inbox) root(ctx context.Context, id string, one asked, at address, tried bool) (string, error) {
	p := post{at: at, text: askedText(one.Event.Actor.Name, one.Event.Text), delivery: "asked:" + id}
	if tried {
		have, err := in.a.parts(ctx, at, bot.Delivery{ID: p.delivery, Created: one.At})
		if err != nil || have[0] != "" {
			return have[0], err
		}
	}
	return in.a.post(ctx, p)
}

func (in *inbox) putAsked(ctx context.Context, id string, one asked, revision uint64) (uint64, error) {
	raw, err := json.Marshal(one)
	if err != nil {
		return 0, fmt.Errorf("store request: %w", err)
	}
	revision, err = in.a.opts.Records.Put(ctx, askedBucket, id, raw, revision)
	if err != nil {
		return 0, fmt.Errorf("store request: %w", err)
	}
	return revision, nil
}

// askedText is the message that stands for a slash command.
func askedText(name, text string) string {
	return render.Inert(fmt.Sprintf("%s asked: %s", orElse(name, "Somebody"), text), maxText)
}
