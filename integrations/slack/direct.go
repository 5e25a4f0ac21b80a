package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Direct returns an origin that leads to the direct message with a person, which
// is opened when something is sent there. Where Slack opens none (the account is
// deactivated, or the app may not), it leads to otherwise, another place in
// Slack; the zero Origin is none.
func Direct(actor bot.Actor, otherwise bot.Origin) bot.Origin {
	user, _ := userOf(actor)
	at := address{Direct: user}
	if other, err := addressOf(otherwise, bot.Actor{}); err == nil && other.Direct == "" {
		at.Otherwise = other.Channel
	}
	raw, _ := json.Marshal(at) // strings only
	return bot.Origin{
		Adapter: Name, Conversation: actor.ID + "/direct", Place: Name + ":@" + user, Address: string(raw), Private: true,
	}
}

// ErrNoDirect says that Slack opens no direct message with somebody.
var ErrNoDirect = errors.New("slack opens no direct message with them")

// Reachable says whether a person can be written to alone: nil, or the reason.
func (a *Adapter) Reachable(ctx context.Context, actor bot.Actor) error {
	if err := a.know(ctx); err != nil {
		return err
	}
	user, _ := userOf(actor)
	_, err := a.openDirect(ctx, user)
	return err
}

// reach resolves an address that names a person.
func (a *Adapter) reach(ctx context.Context, at address) (address, error) {
	if at.Direct == "" {
		return at, nil
	}
	channel, err := a.openDirect(ctx, at.Direct)
	if errors.Is(err, ErrNoDirect) && at.Otherwise != "" {
		a.log.Warn("somebody is told in a channel, for no direct message can be opened", "channel", at.Otherwise, "error", err)
		channel, err = at.Otherwise, nil
	}
	at.Channel = channel
	return at, err
}

// openDirect returns the channel of the direct message with a person. Opening
// one that is open does nothing more.
func (a *Adapter) openDirect(ctx context.Context, user string) (string, error) {
	opened, err := look(a.cache, "direct/"+user, func() (*slack.Channel, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		channel, _, _, err := a.api().OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{user}})
		return channel, err
	})
	switch code(err) {
	case "":
	case "user_not_found", "user_not_visible", "user_disabled", "users_not_found", "cannot_dm_bot", "missing_scope", "no_permission", "access_denied", "restricted_action":
		return "", fmt.Errorf("%w: %w", ErrNoDirect, explain(err))
	}
	if err != nil {
		return "", fmt.Errorf("open direct message: %w", explain(err))
	}
	return opened.ID, nil
}

// unreached classes the failure of reach: nothing was posted.
func unreached(err error) error {
	failed := &bot.SendError{Class: bot.Retryable, After: retryAfter(err), Err: err}
	if errors.Is(err, ErrNoDirect) {
		failed.Class = bot.Permanent
	}
	return failed
}
