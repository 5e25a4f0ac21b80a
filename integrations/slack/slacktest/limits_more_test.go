package slacktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestAckLimit answers a slash command with one byte less than MaxAck, which
// counts, and with MaxAck bytes, which is as no answer.
func TestAckLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{AckTimeout: 100 * time.Millisecond})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	conn := connect(t, api)
	for _, size := range []int{slacktest.MaxAck - 1, slacktest.MaxAck} {
		ws.Slash(ada, ws.DM(ada), "/sandpiper", "help")
		frame := slashed(t, conn)
		answer := `{"envelope_id":"` + frame.ID + `","payload":{"text":"`
		answer += strings.Repeat("x", size-len(answer)-len(`"}}`)) + `"}}`
		if len(answer) != size {
			t.Fatalf("an answer of %d bytes", len(answer))
		}
		if err := conn.WriteMessage(1, []byte(answer)); err != nil {
			t.Fatal(err)
		}
	}
	await(t, ws, func() bool { a := ws.Acks(); return a.Acked == 1 && a.Oversized == 1 && a.GivenUp == 1 })
}

// TestResponseLimit posts to a response URL as often as it serves, and once more.
func TestResponseLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	conn := connect(t, api)
	ws.Slash(ada, ws.DM(ada), "/sandpiper", "help")
	frame := slashed(t, conn)
	for i := range slacktest.MaxResponses + 1 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, frame.Payload.ResponseURL, strings.NewReader(`{"text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if ok := res.StatusCode == http.StatusOK; ok != (i < slacktest.MaxResponses) {
			t.Errorf("response %d: status %d", i+1, res.StatusCode)
		}
	}
}

// TestViewTitleLimit opens modals with the longest title and one longer.
func TestViewTitleLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	conn := connect(t, api)
	open := func(n int) error {
		ws.Slash(ada, ws.DM(ada), "/sandpiper", "help")
		frame := slashed(t, conn)
		_, err := api.OpenViewContext(t.Context(), frame.Payload.Trigger, slack.ModalViewRequest{
			Type: slack.VTModal, Title: slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("t", n), false, false),
			Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
		})
		return err
	}
	if err := open(slacktest.MaxViewTitle); err != nil {
		t.Error(err)
	}
	wantCode(t, open(slacktest.MaxViewTitle+1), "invalid_arguments")
}

// TestSocketLimit opens as many sockets as an app may have, and one more.
func TestSocketLimit(t *testing.T) {
	ws, api := start(t, slacktest.Options{Unlimited: true})
	for range 10 {
		connect(t, api)
	}
	await(t, ws, func() bool { return ws.Sockets() == 10 })
	_, _, err := api.StartSocketModeContext(t.Context())
	wantCode(t, err, "too_many_websockets")
}

// TestRates counts how many calls of each tier pass at once, and how long the
// next one has to wait.
func TestRates(t *testing.T) {
	cases := []struct {
		method string
		calls  int
		wait   time.Duration
	}{
		{"apps.connections.open", 10, time.Minute},
		{"usergroups.users.list", 20, 3 * time.Second},
		{"chat.update", 50, 2 * time.Second},
		{"users.info", 100, time.Second},
		{"auth.test", 600, time.Second},
	}
	for _, c := range cases {
		t.Run(c.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ws, err := slacktest.New(slacktest.Options{InMemory: true})
				if err != nil {
					t.Fatal(err)
				}
				call := func() error { return post(t.Context(), ws, c.method) }
				for i := range c.calls {
					if err := call(); err != nil {
						t.Fatalf("call %d: %v", i+1, err)
					}
				}
				var limited *slack.RateLimitedError
				if err := call(); !errors.As(err, &limited) || limited.RetryAfter != c.wait {
					t.Errorf("one call more: %v, want a wait of %v", err, c.wait)
				}
				time.Sleep(c.wait)
				if err := call(); err != nil {
					t.Errorf("after the wait: %v", err)
				}
				if err := ws.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// post calls a method without arguments; only 429 is an error.
func post(ctx context.Context, ws *slacktest.Workspace, method string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ws.APIURL()+method, bytes.NewReader(nil))
	if err != nil {
		return err
	}
	res, err := ws.HTTPClient().Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests {
		wait, err := time.ParseDuration(res.Header.Get("Retry-After") + "s")
		if err != nil {
			return err
		}
		return &slack.RateLimitedError{RetryAfter: wait}
	}
	return json.NewDecoder(res.Body).Decode(&struct{}{})
}
