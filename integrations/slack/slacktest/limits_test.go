package slacktest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

func start(t *testing.T, o slacktest.Options) (*slacktest.Workspace, *slack.Client) {
	t.Helper()
	ws, err := slacktest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws, client(ws)
}

func client(ws *slacktest.Workspace) *slack.Client {
	return slack.New(ws.BotToken(), slack.OptionAppLevelToken(ws.AppToken()), slack.OptionAPIURL(ws.APIURL()), slack.OptionHTTPClient(ws.HTTPClient()))
}

// plain and mrkdwn are text objects.
func plain(s string) map[string]any {
	return map[string]any{"type": "plain_text", "text": s}
}

func mrkdwn(s string) map[string]any { return map[string]any{"type": "mrkdwn", "text": s} }

func button(label, value, action string) map[string]any {
	return map[string]any{"type": "button", "text": plain(label), "value": value, "action_id": action}
}

func repeat(n int, one func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = one(i)
	}
	return out
}

// TestLimits holds each limit at its last allowed value and at one more.
func TestLimits(t *testing.T) {
	section := func(i int) any { return map[string]any{"type": "section", "text": mrkdwn(fmt.Sprint(i))} }
	x := func(n int) string { return strings.Repeat("ж", n) }
	actions := func(e ...any) []any { return []any{map[string]any{"type": "actions", "elements": e}} }
	cases := []struct {
		name   string
		limit  int
		blocks func(n int) any
		text   func(n int) string
		code   string
	}{
		{name: "text", limit: slacktest.MaxText, text: x, code: "msg_too_long"},
		{name: "blocks", limit: slacktest.MaxBlocks, blocks: func(n int) any { return repeat(n, section) }, code: "invalid_blocks"},
		{name: "section", limit: slacktest.MaxSection, blocks: func(n int) any {
			return []any{map[string]any{"type": "section", "text": mrkdwn(x(n))}}
		}, code: "invalid_blocks"},
		{name: "field", limit: slacktest.MaxField, blocks: func(n int) any {
			return []any{map[string]any{"type": "section", "fields": []any{mrkdwn(x(n))}}}
		}, code: "invalid_blocks"},
		{name: "fields", limit: slacktest.MaxFields, blocks: func(n int) any {
			return []any{map[string]any{"type": "section", "fields": repeat(n, func(int) any { return mrkdwn("f") })}}
		}, code: "invalid_blocks"},
		{name: "header", limit: slacktest.MaxHeader, blocks: func(n int) any {
			return []any{map[string]any{"type": "header", "text": plain(x(n))}}
		}, code: "invalid_blocks"},
		{name: "markdown", limit: slacktest.MaxMarkdown, blocks: func(n int) any {
			half := n / 2
			return []any{map[string]any{"type": "markdown", "text": x(half)}, map[string]any{"type": "markdown", "text": x(n - half)}}
		}, code: "invalid_blocks"},
		{name: "all text", limit: slacktest.MaxBlockText, blocks: func(n int) any {
			return []any{map[string]any{"type": "markdown", "text": x(11_000)}, map[string]any{"type": "section", "text": mrkdwn(x(n - 11_000))}}
		}, code: "msg_blocks_too_long"},
		{name: "context", limit: slacktest.MaxContext, blocks: func(n int) any {
			return []any{map[string]any{"type": "context", "elements": repeat(n, func(int) any { return mrkdwn("c") })}}
		}, code: "invalid_blocks"},
		{name: "text in a context", limit: slacktest.MaxSection, blocks: func(n int) any {
			return []any{map[string]any{"type": "context", "elements": []any{mrkdwn(x(n))}}}
		}, code: "invalid_blocks"},
		{name: "actions", limit: slacktest.MaxActions, blocks: func(n int) any {
			return actions(repeat(n, func(i int) any { return button("b", "v", fmt.Sprint(i)) })...)
		}, code: "invalid_blocks"},
		{name: "button label", limit: slacktest.MaxButton, blocks: func(n int) any { return actions(button(x(n), "v", "a")) }, code: "invalid_blocks"},
		{name: "button value", limit: slacktest.MaxValue, blocks: func(n int) any { return actions(button("b", x(n), "a")) }, code: "invalid_blocks"},
		{name: "action id", limit: slacktest.MaxID, blocks: func(n int) any { return actions(button("b", "v", x(n))) }, code: "invalid_blocks"},
		{name: "block id", limit: slacktest.MaxID, blocks: func(n int) any {
			return []any{map[string]any{"type": "divider", "block_id": x(n)}}
		}, code: "invalid_blocks"},
		{name: "alternative text", limit: slacktest.MaxAlt, blocks: func(n int) any {
			return []any{map[string]any{"type": "image", "image_url": "x", "alt_text": x(n)}}
		}, code: "invalid_blocks"},
	}
	ws, api := start(t, slacktest.Options{Unlimited: true})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	ts := ws.Say(slacktest.Post{Channel: channel, User: ws.AddUser(slacktest.User{Name: "Ada"}), Text: "root"})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			post := func(n int) error {
				text := "fallback"
				var options []slack.MsgOption
				if c.text != nil {
					text = c.text(n)
				}
				options = append(options, slack.MsgOptionText(text, false), slack.MsgOptionTS(ts))
				if c.blocks != nil {
					raw, err := json.Marshal(c.blocks(n))
					if err != nil {
						t.Fatal(err)
					}
					var blocks slack.Blocks
					if err := json.Unmarshal(raw, &blocks); err != nil {
						t.Fatal(err)
					}
					options = append(options, slack.MsgOptionBlocks(blocks.BlockSet...))
				}
				_, _, err := api.PostMessageContext(t.Context(), channel, options...)
				return err
			}
			if err := post(c.limit); err != nil {
				t.Errorf("at the limit of %d: %v", c.limit, err)
			}
			wantCode(t, post(c.limit+1), c.code)
		})
	}
}

// TestUpdateLimit holds chat.update at its own limit.
func TestUpdateLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	_, ts, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("one", false))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := api.UpdateMessageContext(t.Context(), channel, ts, slack.MsgOptionText(strings.Repeat("x", slacktest.MaxText), false)); err != nil {
		t.Error(err)
	}
	_, _, _, err = api.UpdateMessageContext(t.Context(), channel, ts, slack.MsgOptionText(strings.Repeat("x", slacktest.MaxText+1), false))
	wantCode(t, err, "msg_too_long")
}

// TestMetadataLimit shows that metadata one byte too large is dropped silently.
func TestMetadataLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	frame := len(`{"d":""}`)
	for n, kept := range map[int]bool{slacktest.MaxMetadata: true, slacktest.MaxMetadata + 1: false} {
		_, ts, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false),
			slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "e", EventPayload: map[string]any{"d": strings.Repeat("x", n-frame)}}))
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := ws.Message(channel, ts); (m.Metadata != nil) != kept {
			t.Errorf("%d bytes: metadata kept = %v, want %v", n, m.Metadata != nil, kept)
		}
	}
}

// TestViewLimits holds the limits of modals and App Homes.
func TestViewLimits(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	user := ws.AddUser(slacktest.User{Name: "Ada"})
	home := func(n int) error {
		var set []slack.Block
		for range n {
			set = append(set, slack.NewDividerBlock())
		}
		_, err := api.PublishViewContext(t.Context(), slack.PublishViewContextRequest{
			UserID: user,
			View:   slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: set}},
		})
		return err
	}
	if err := home(slacktest.MaxViewBlocks); err != nil {
		t.Error(err)
	}
	wantCode(t, home(slacktest.MaxViewBlocks+1), "invalid_arguments")
	private := func(n int) error {
		_, err := api.PublishViewContext(t.Context(), slack.PublishViewContextRequest{
			UserID: user,
			View: slack.HomeTabViewRequest{
				Type: slack.VTHomeTab, PrivateMetadata: strings.Repeat("ж", n), Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
			},
		})
		return err
	}
	if err := private(slacktest.MaxPrivate); err != nil {
		t.Error(err)
	}
	wantCode(t, private(slacktest.MaxPrivate+1), "invalid_arguments")
}

// TestFileNameLimit holds names and alternative texts of uploads.
func TestFileNameLimit(t *testing.T) {
	_, api := start(t, slacktest.Options{})
	ask := func(name, alt int) error {
		_, err := api.GetUploadURLExternalContext(t.Context(), slack.GetUploadURLExternalParameters{
			FileName: strings.Repeat("n", name), FileSize: 1, AltTxt: strings.Repeat("a", alt),
		})
		return err
	}
	if err := ask(slacktest.MaxFileName, slacktest.MaxAlt); err != nil {
		t.Error(err)
	}
	wantCode(t, ask(slacktest.MaxFileName+1, 1), "invalid_arguments")
	wantCode(t, ask(1, slacktest.MaxAlt+1), "invalid_arguments")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) || e.Err != code {
		t.Errorf("error %v, want %s", err, code)
	}
}
