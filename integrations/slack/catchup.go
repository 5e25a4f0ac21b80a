package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

const (
	// bucket holds the watermarks: "connected" for all channels, and one per
	// channel whose catching up ended later than that.
	bucket    = "slack.watermarks"
	connected = "connected"
	// overlap is read again before a watermark: envelopes that were not
	// acknowledged, clocks that differ. The core knows what it has.
	overlap = 10 * time.Minute
	// threads is how far before a watermark a thread may begin for its new
	// replies to be found.
	threads = 24 * time.Hour
	// beat is how often "connected" is written.
	beat = 10 * time.Second
)

// marks keep how far everything is in hand.
type marks struct {
	a *Adapter

	mu    sync.Mutex // guards what follows
	round int        // connections so far
	whole bool       // all channels are caught up since the last of them
}

// mark is a watermark's record.
type mark struct {
	At time.Time `json:"at"`
}

// get reads a watermark; the zero time where there is none.
func (k *marks) get(ctx context.Context, key string) (time.Time, uint64, error) {
	r, err := k.a.opts.Records.Get(ctx, bucket, key)
	if errors.Is(err, bot.ErrNotFound) {
		return time.Time{}, 0, nil
	}
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("read watermark: %w", err)
	}
	var m mark
	if err := json.Unmarshal(r.Value, &m); err != nil {
		return time.Time{}, 0, fmt.Errorf("read watermark: %w", err)
	}
	return m.At, r.Revision, nil
}

// set raises a watermark.
func (k *marks) set(ctx context.Context, key string, at time.Time) error {
	for {
		have, revision, err := k.get(ctx, key)
		if err != nil || !at.After(have) {
			return err
		}
		raw, err := json.Marshal(mark{At: at.UTC()})
		if err != nil {
			return fmt.Errorf("write watermark: %w", err)
		}
		_, err = k.a.opts.Records.Put(ctx, bucket, key, raw, revision)
		if errors.Is(err, bot.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write watermark: %w", err)
		}
		return nil
	}
}

// begin says that a new connection leaves a gap to be caught up.
func (k *marks) begin() (round int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.round++
	k.whole = false
	return k.round
}

// latest reports whether no later connection was made than that of round.
func (k *marks) latest(round int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return round == k.round
}

// end says that the gap before a round is caught up. An older round than the
// last does not count: there is a gap behind it.
func (k *marks) end(round int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.whole = k.whole || round == k.round
}

// keep writes "connected" while a socket is up and all channels are caught up.
func (k *marks) keep(ctx context.Context) {
	for {
		ended := sleep(ctx, beat) != nil
		k.mu.Lock()
		whole := k.whole && k.a.Ready() == nil
		k.mu.Unlock()
		if whole {
			if err := k.set(context.WithoutCancel(ctx), connected, k.a.clock.Now()); err != nil {
				k.a.log.Warn("the time of the last connection was not stored", "error", err)
			}
		}
		if ended {
			return
		}
	}
}

// tryAgain is the wait before catching up is tried again.
const tryAgain = 30 * time.Second

// catchUp reads what was said while no socket was up, in each channel where
// somebody may ask, and hands it on as if it came now. It tries until that has
// worked, or a later connection does it.
func (in *inbox) catchUp(ctx context.Context, round int, began time.Time) {
	in.catching.Lock()
	defer in.catching.Unlock()
	for in.marks.latest(round) {
		err := in.catchUpAll(ctx, began)
		if err == nil {
			in.marks.end(round)
			return
		}
		if ctx.Err() != nil {
			return
		}
		in.a.log.Error("what was missed could not all be read; it is tried again", "in", tryAgain, "error", err)
		if sleep(ctx, tryAgain) != nil {
			return
		}
	}
}

// catchUpAll catches up once, for a connection that began then.
func (in *inbox) catchUpAll(ctx context.Context, began time.Time) error {
	since, _, err := in.marks.get(ctx, connected)
	if err != nil {
		return err
	}
	if since.IsZero() { // the first connection ever: nothing was missed
		return in.marks.set(ctx, connected, began)
	}
	channels, err := in.a.conversations(ctx)
	if err != nil {
		return err
	}
	read := readings{}
	var refused error // one channel that Slack does not show must not cost the others
	for _, c := range channels {
		if !in.a.asks(c) {
			continue
		}
		at, _, err := in.marks.get(ctx, c.ID)
		if err != nil {
			return err
		}
		if since.After(at) {
			at = since
		}
		switch err := in.catchUpChannel(ctx, c, at, read); {
		case code(err) != "":
			refused = errors.Join(refused, fmt.Errorf("catch up channel %s: %w", c.ID, err))
			continue
		case err != nil:
			return fmt.Errorf("catch up channel %s: %w", c.ID, err)
		}
		if err := in.marks.set(ctx, c.ID, began); err != nil {
			return err
		}
	}
	if err := in.revisit(ctx, since, read); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	return in.marks.set(ctx, connected, began)
}

// asks reports whether anybody may ask in c.
func (a *Adapter) asks(c slack.Channel) bool {
	allow := a.opts.Allow
	if c.IsIM && len(allow.Users)+len(allow.Groups) > 0 {
		return true
	}
	return slices.ContainsFunc(allow.Channels, func(name string) bool { return name[strings.LastIndexByte(name, '/')+1:] == c.ID })
}

// conversations lists where we are a member.
func (a *Adapter) conversations(ctx context.Context) ([]slack.Channel, error) {
	var all []slack.Channel
	cursor := ""
	for {
		var page []slack.Channel
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			page, cursor, err = a.api().GetConversationsForUserContext(ctx, &slack.GetConversationsForUserParameters{
				Cursor: cursor, Types: []string{"public_channel", "private_channel", "mpim", "im"}, Limit: 200, ExcludeArchived: true,
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", explain(err))
		}
		if all = append(all, page...); cursor == "" {
			return all, nil
		}
	}
}

// catchUpChannel hands on what was said or changed in c after since, oldest
// first, and notes what it read.
func (in *inbox) catchUpChannel(ctx context.Context, c slack.Channel, since time.Time, read readings) error {
	oldest, first := tsOf(since.Add(-overlap)), tsOf(since.Add(-threads))
	roots, err := in.a.history(ctx, c.ID, first)
	if err != nil {
		return err
	}
	read.add(c.ID, first, roots)
	var found []message
	for _, m := range roots {
		if m.TS > oldest || m.Edited != nil && m.Edited.TS > oldest {
			found = append(found, m)
		}
		if m.LatestReply > oldest {
			replies, err := in.a.replies(ctx, c.ID, m.TS, oldest)
			if err != nil {
				return err
			}
			found = append(found, replies...)
		}
	}
	slices.SortFunc(found, func(a, b message) int { return strings.Compare(a.TS, b.TS) })
	for _, m := range found {
		m.team, m.external, m.replayed = c.ContextTeamID, c.IsExtShared, true
		m.enterprise = in.a.whoami().enterprise
		if c.IsIM {
			m.ChannelType = "im"
		}
		if in.a.classify(m).kind != isRequest {
			continue
		}
		if err := in.replay(ctx, m, since); err != nil {
			return err
		}
		if m.Edited != nil {
			if err := in.changed(ctx, m, m.Edited.TS > tsOf(since)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay submits a request that was missed, or offers it when it is old.
func (in *inbox) replay(ctx context.Context, m message, since time.Time) error {
	at := timeOf(m.TS, in.a.clock.Now())
	if in.a.clock.Now().Sub(at) <= in.a.opts.Catchup {
		ctx, cancel := context.WithTimeout(ctx, handleTimeout)
		defer cancel()
		return in.request(ctx, m)
	}
	if at.Before(since) {
		return nil // in hand before we were away
	}
	return in.offer(ctx, m, at)
}

// history reads the roots and single messages of a channel after oldest.
func (a *Adapter) history(ctx context.Context, channel, oldest string) ([]message, error) {
	var out []message
	cursor := ""
	for {
		var page *slack.GetConversationHistoryResponse
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			page, err = a.api().GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: channel, Oldest: oldest, Cursor: cursor, Limit: 200})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read history: %w", explain(err))
		}
		for _, one := range page.Messages {
			out = append(out, fromAPI(one, channel))
		}
		if cursor = page.ResponseMetaData.NextCursor; cursor == "" {
			return out, nil
		}
	}
}

// replies reads the replies of a thread after oldest.
func (a *Adapter) replies(ctx context.Context, channel, root, oldest string) ([]message, error) {
	var out []message
	err := a.eachReply(ctx, channel, root, oldest, func(one slack.Message) bool {
		if one.Timestamp != root {
			out = append(out, fromAPI(one, channel))
		}
		return true
	})
	return out, err
}

// eachReply calls f with the messages of a thread, with their metadata, until
// it returns false.
func (a *Adapter) eachReply(ctx context.Context, channel, root, oldest string, f func(slack.Message) bool) error {
	cursor := ""
	for {
		var page []slack.Message
		next := ""
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			page, _, next, err = a.api().GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: root, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("read thread: %w", explain(err))
		}
		for _, one := range page {
			if !f(one) {
				return nil
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// patiently repeats a call that shows nothing to anybody while Slack asks to
// wait, as long as ctx lets.
func (a *Adapter) patiently(ctx context.Context, call func(context.Context) error) error {
	return a.patientlyFor(ctx, callTimeout, call)
}

// patientlyFor is patiently with another limit on each call.
func (a *Adapter) patientlyFor(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	for {
		calling, cancel := context.WithTimeout(ctx, limit)
		err := call(calling)
		cancel()
		wait := retryAfter(err)
		if wait == 0 {
			return err
		}
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// transferTimeout bounds one transfer of a file's bytes.
const transferTimeout = 15 * time.Minute
