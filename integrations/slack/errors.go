package slack

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// code is the error that Slack answered with ok: false, or "".
func code(err error) string {
	var e slack.SlackErrorResponse
	if errors.As(err, &e) {
		return e.Err
	}
	return ""
}

// The variables that hold the tokens, for whoever has to change one.
const (
	appVariable = "SLACK_APP_TOKEN"
	botVariable = "SLACK_BOT_TOKEN"
)

// explain adds to an error of a call with the bot token what its reader can do
// about it.
func explain(err error) error { return explainToken(err, botVariable) }

func explainToken(err error, variable string) error {
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) {
		return withoutURL(err)
	}
	switch e.Err {
	case "missing_scope":
		if variable == appVariable {
			return fmt.Errorf("%w: the token in %s needs the scope %s; generate one that has it under Basic Information, App-Level Tokens", err, variable, e.Needed)
		}
		return fmt.Errorf("%w: the app needs the scope %s and has %s; add it under OAuth & Permissions and install the app again", err, e.Needed, e.Provided)
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired":
		return fmt.Errorf("%w: the token in %s does not work any more; %s, and set the new one", err, variable, whence(variable))
	case "not_allowed_token_type":
		return fmt.Errorf("%w: %s holds a token of another kind; %s, and set that one", err, variable, whence(variable))
	}
	return err
}

// whence says where Slack gives the token of a variable.
func whence(variable string) string {
	if variable == appVariable {
		return "generate one (xapp-…) under Basic Information, App-Level Tokens"
	}
	return "install the app again and take its Bot User OAuth Token (xoxb-…) from OAuth & Permissions"
}

// withoutURL takes the address out of an HTTP client's error: a socket's
// address carries its ticket.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// classify turns the error of a call that posts something into a SendError.
func classify(verb string, err error) error {
	if err == nil {
		return nil
	}
	out := &bot.SendError{Class: bot.Ambiguous, Err: fmt.Errorf("%s: %w", verb, explain(err))}
	var status slack.StatusCodeError
	var dial *net.OpError
	switch {
	case retryAfter(err) > 0:
		out.Class, out.After = bot.Retryable, retryAfter(err)
	case code(err) != "":
		out.Class = classOf(code(err))
	case errors.As(err, &status) && status.Code < 500:
		out.Class = bot.Retryable
	case errors.As(err, &dial) && dial.Op == "dial":
		out.Class = bot.Retryable
	}
	return out
}

// classOf classes Slack's own errors. All but a few say that nothing was
// posted; those that another attempt cannot mend are permanent.
func classOf(code string) bot.FailureClass {
	permanent := []string{
		"channel_not_found", "not_in_channel", "is_archived", "restricted_action", "restricted_action_thread_only_channel",
		"restricted_action_read_only_channel", "cannot_reply_to_message", "thread_locked", "user_not_found", "user_not_in_channel",
		"no_permission", "access_denied", "team_access_not_granted", "cant_update_message", "edit_window_closed",
		"invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long", "no_text", "invalid_arguments",
	}
	switch {
	case code == "internal_error" || code == "fatal_error":
		return bot.Ambiguous
	case slices.Contains(permanent, code):
		return bot.Permanent
	}
	return bot.Retryable
}
