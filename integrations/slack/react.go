package slack

import (
	"context"
	"time"

	"github.com/slack-go/slack"
)

// reaction is a sign on a message that we took it.
type reaction struct {
	channel, ts string
	at          time.Time
}

// seen is the emoji that says so.
const seen = "eyes"

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
		if in.a.clock.Now().Sub(r.at) > late {
			continue
		}
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		err := in.a.api().AddReactionContext(calling, seen, slack.NewRefToMessage(r.channel, r.ts))
		cancel()
		if wait := retryAfter(err); wait > 0 && sleep(ctx, wait) != nil {
			return
		}
		if err != nil && code(err) != "already_reacted" {
			in.a.log.Info("a reaction was not set", "error", explain(err))
		}
	}
}
