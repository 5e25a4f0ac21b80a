package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// allowed decides, without the network, whether a request may be accepted: its
// channel is listed and, where users or groups are listed, its actor may be
// among them (groups are looked up by Authorize). A direct message needs its
// actor listed, or its channel. Nothing listed means nobody.
func (a *Adapter) allowed(team, channel, user string, direct, external bool) (bool, string) {
	allow := a.opts.Allow
	listed := slices.ContainsFunc(allow.Channels, func(c string) bool {
		return c == channel || c == a.teamOf(team)+"/"+channel
	})
	people := len(allow.Users) > 0 || len(allow.Groups) > 0
	may := slices.Contains(allow.Users, user) || len(allow.Groups) > 0
	switch {
	case external && !a.opts.External:
		return false, "I do not take requests in channels that are shared with other organizations. Whoever runs me can allow it (`slack.external`)."
	case direct && (listed || people && may):
		return true, ""
	case direct:
		return false, "I do not take requests from you here. Whoever runs me can allow it: add " + user + " to `slack.allow.users`."
	case !listed:
		return false, "I do not take requests in this channel. Whoever runs me can allow it: add " + channel + " to `slack.allow.channels`."
	case people && !may:
		return false, "I do not take requests from you here. Whoever runs me can allow it: add " + user + " to `slack.allow.users`."
	}
	return true, ""
}

// Authorize implements bot.Channel: it asks Slack who the actor is (and who
// wrote the text, where that is somebody else), what the channel is and, where
// groups are listed, whether the actor is in one. An error means that Slack did
// not answer.
func (a *Adapter) Authorize(ctx context.Context, event bot.Event) (bot.Decision, error) {
	if err := a.know(ctx); err != nil {
		return bot.Decision{}, err
	}
	at, err := addressOf(event.Origin, event.Actor)
	if err != nil {
		return refused("address", "I cannot tell where this was asked."), nil
	}
	ok, reason := a.allowed(at.Team, at.Channel, at.User, event.Origin.Private, at.External)
	if !ok {
		return refused("slack.allow", reason), nil
	}
	for _, user := range people(at) {
		if d, err := a.person(ctx, user); err != nil || !d.Allowed {
			return d, err
		}
		if d, err := a.member(ctx, at.Channel, user, event.Origin.Private); err != nil || !d.Allowed {
			return d, err
		}
	}
	scheduled := event.Options.Schedule != "" // nobody spoke there just now
	if event.Origin.Private || a.opts.External && !scheduled {
		return bot.Decision{Allowed: true, Rule: "slack.allow"}, nil
	}
	channel, err := a.channel(ctx, at.Channel)
	switch {
	case err != nil:
		return unanswered(err)
	case scheduled && channel.IsArchived:
		return refused("slack.archived", "The channel is archived."), nil
	case scheduled && !channel.IsMember && !channel.IsIM && !channel.IsMpIM:
		return refused("slack.absent", "I am not in the channel any more."), nil
	case channel.IsExtShared && !a.opts.External:
		return refused("slack.external", "I do not take requests in channels that are shared with other organizations. Whoever runs me can allow it (`slack.external`)."), nil
	}
	return bot.Decision{Allowed: true, Rule: "slack.allow"}, nil
}

// people are all whose rights a request needs.
func people(at address) []string {
	if at.Author != "" && at.Author != at.User {
		return []string{at.User, at.Author}
	}
	return []string{at.User}
}

// person decides by what kind of account somebody has.
func (a *Adapter) person(ctx context.Context, user string) (bot.Decision, error) {
	u, err := a.user(ctx, user)
	if err != nil {
		return unanswered(err)
	}
	named := slices.Contains(a.opts.Allow.Users, user)
	self := a.whoami()
	foreign := u.IsStranger || u.TeamID != "" && u.TeamID != self.team && !strings.HasPrefix(self.team, "E") && self.enterprise == ""
	switch {
	case u.Deleted:
		return refused("slack.deleted", "This account is deactivated."), nil
	case u.IsBot:
		return refused("slack.bot", "I do not take requests from other bots."), nil
	case foreign && !a.opts.External && !named:
		return refused("slack.external", "I do not take requests from people of other organizations. Whoever runs me can allow it (`slack.external`)."), nil
	case (u.IsRestricted || u.IsUltraRestricted) && !a.opts.Guests && !named:
		return refused("slack.guests", "I do not take requests from guests. Whoever runs me can allow it (`slack.guests`)."), nil
	}
	return bot.Decision{Allowed: true, Rule: "slack.allow"}, nil
}

// member decides by the lists of users and groups.
func (a *Adapter) member(ctx context.Context, channel, user string, direct bool) (bot.Decision, error) {
	allow := a.opts.Allow
	yes := bot.Decision{Allowed: true, Rule: "slack.allow"}
	listedDM := direct && slices.Contains(allow.Channels, channel)
	if slices.Contains(allow.Users, user) || listedDM || len(allow.Users)+len(allow.Groups) == 0 {
		return yes, nil
	}
	for _, group := range allow.Groups {
		members, err := a.group(ctx, group)
		if err != nil {
			return unanswered(err)
		}
		if slices.Contains(members, user) {
			return yes, nil
		}
	}
	return refused("slack.allow", "I do not take requests from you here. Whoever runs me can allow it: add "+user+" to `slack.allow.users` or to one of the groups in `slack.allow.groups`."), nil
}

func refused(rule, reason string) bot.Decision { return bot.Decision{Rule: rule, Reason: reason} }

// unanswered is the decision when a look-up failed: no answer is neither yes
// nor no, but an answer that says we may not look is no.
func unanswered(err error) (bot.Decision, error) {
	switch code(err) {
	case "missing_scope":
		return refused("slack.scope", "I cannot check your rights: "+explain(err).Error()+"."), nil
	case "user_not_found", "user_not_visible", "channel_not_found", "no_such_subteam":
		return refused("slack.unknown", "Slack does not let me see you or this channel ("+code(err)+"), so I cannot check your rights."), nil
	}
	return bot.Decision{}, fmt.Errorf("ask Slack for rights: %w", explain(err))
}

func (a *Adapter) user(ctx context.Context, id string) (*slack.User, error) {
	return look(a.cache, "user/"+id, func() (*slack.User, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return a.api().GetUserInfoContext(ctx, id)
	})
}

func (a *Adapter) channel(ctx context.Context, id string) (*slack.Channel, error) {
	return look(a.cache, "channel/"+id, func() (*slack.Channel, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return a.api().GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	})
}

func (a *Adapter) group(ctx context.Context, id string) ([]string, error) {
	return look(a.cache, "group/"+id, func() ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return a.api().GetUserGroupMembersContext(ctx, id)
	})
}

// cacheFor is how long a look-up counts; a right that was taken away lives on
// at most that long.
const cacheFor = 2 * time.Minute

// cache keeps answers of Slack, one look-up at a time per key.
type cache struct {
	clock bot.Clock
	mu    sync.Mutex // guards entries
	// entries hold what was looked up; failures are not kept.
	entries map[string]*entry
}

type entry struct {
	mu    sync.Mutex // guards value and at, and lets one look-up run
	value any
	at    time.Time
}

func newCache(clock bot.Clock) *cache { return &cache{clock: clock, entries: map[string]*entry{}} }

// look returns the cached value of key or looks it up.
func look[T any](c *cache, key string, f func() (T, error)) (T, error) {
	const most = 10_000
	c.mu.Lock()
	e, ok := c.entries[key]
	if !ok {
		if len(c.entries) >= most {
			clear(c.entries)
		}
		e = &entry{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	now := c.clock.Now()
	if value, ok := e.value.(T); ok && now.Sub(e.at) < cacheFor {
		return value, nil
	}
	value, err := f()
	if err != nil {
		return value, err
	}
	e.value, e.at = value, now
	return value, nil
}
