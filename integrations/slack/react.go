package slack

import (
	"context"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// reaction is a sign on a message that we took it.
type reaction struct {
	channel, ts string
	at          time.Time
}

// seen is the emoji that says so.
const seen = "eyes"

// unreact takes the reaction off the message of a request that is refused. It is
// best effort: what is not set yet is not set any more.
func (a *Adapter) unreact(ctx context.Context, d bot.Delivery) {
	tasks := a.shown()
	if tasks == nil {
		return
	}
	t, err := tasks.Task(ctx, d.Task)
	if err != nil {
		return
	}
	// Source is adapter:team/channel/ts.
	parts := strings.Split(t.Event.Source, "/")
	if len(parts) != 3 {
		return
	}
	channel, ts := parts[1], parts[2]
	a.unwanted.first(channel+"/"+ts, a.clock.Now())
	err = a.patiently(ctx, func(ctx context.Context) error {
		return a.api().RemoveReactionContext(ctx, seen, slack.NewRefToMessage(channel, ts))
	})
	if err != nil && code(err) != "no_reaction" && code(err) != "message_not_found" {
		a.log.Info("a reaction was not taken back", "error", explain(err))
	}
}

// reactTo puts a reaction on a message soon. When many are waiting it is left
// out: the progress message says the same.
func (in *inbox) reactTo(channel, ts string) {
	select {
	case in.react <- reaction{channel, ts, in.a.clock.Now()}:
	default:
	}
}

// reactions sets reactions until ctx ends, one at a time and no faster than
// Slack allows. One that comes late is left out.
func (in *inbox) reactions(ctx context.Context) {
	const late = 30 * time.Second
	for {
		var r reaction
		select {
		case <-ctx.Done():
			return
		case r = <-in.react:
		}
		if in.a.clock.Now().Sub(r.at) > late || in.a.unwanted.has(r.channel+"/"+r.ts) {
			continue
		}
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		err := in.a.api().AddReactionContext(calling, seen, slack.NewRefToMessage(r.channel, r.ts))
		cancel()
		if err == nil && in.a.unwanted.has(r.channel+"/"+r.ts) { // refused meanwhile
			calling, cancel := context.WithTimeout(ctx, callTimeout)
			err = in.a.api().RemoveReactionContext(calling, seen, slack.NewRefToMessage(r.channel, r.ts))
			cancel()
		}
		if wait := retryAfter(err); wait > 0 && sleep(ctx, wait) != nil {
			return
		}
		if err != nil && code(err) != "already_reacted" && code(err) != "no_reaction" {
			in.a.log.Info("a reaction was not set", "error", explain(err))
		}
	}
}
