package slack_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestBrokenEnvelopes sends what is no JSON, no known kind and no event, and
// asserts that it is acknowledged where it can be, and that life goes on.
func TestBrokenEnvelopes(t *testing.T) {
	w := build(t, setup{workspace: slacktest.Options{AckTimeout: time.Second}})
	for _, raw := range []string{"", "{", "null", "[]", `"text"`, "17", `{"type":"hello"}`, `{"type":"events_api"}`, strings.Repeat("[", 5000)} {
		w.Send(raw)
	}
	broken := []any{
		nil, "text", 17,
		[]any{},
		map[string]any{},
		map[string]any{"event": nil},
		map[string]any{"event": []any{}},
		map[string]any{"event": map[string]any{"type": 17}},
		map[string]any{"event": map[string]any{"type": "message", "files": "no"}},
	}
	for _, payload := range broken {
		for _, kind := range []string{"events_api", "interactive", "slash_commands", "invented"} {
			w.SendEnvelope(kind, payload)
		}
	}
	w.wait(t, "acknowledgements", func() bool { return w.Acks().Acked == 4*len(broken) })
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go"})
	w.wait(t, "the event", func() bool { return len(w.core.of(bot.EventRequest)) == 1 })
}

// TestReconnects shows that each way to lose a socket ends in a new one, and
// that nothing said around it is lost or doubled.
func TestReconnects(t *testing.T) {
	for name, cut := range map[string]func(*world){
		"warning":             func(w *world) { w.Disconnect("warning") },
		"refresh_requested":   func(w *world) { w.Disconnect("refresh_requested") },
		"a dropped socket":    func(w *world) { w.DropSockets() },
		"Slack down a moment": func(w *world) { w.SetDown(true); time.Sleep(50 * time.Millisecond); w.SetDown(false) },
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, setup{workspace: slacktest.Options{AckTimeout: 200 * time.Millisecond}})
			opened := len(w.Calls("apps.connections.open"))
			say := func(text string) {
				w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " " + text})
			}
			say("before")
			w.wait(t, "the first", func() bool { return len(w.core.all()) == 1 })
			cut(w)
			say("meanwhile")
			w.wait(t, "a new socket", func() bool {
				return len(w.Calls("apps.connections.open")) > opened && w.Sockets() > 0 && w.adapter.Ready() == nil
			})
			say("after")
			w.wait(t, "all three", func() bool { return len(w.core.all()) == 3 })
			var got []string
			for _, e := range w.core.all() {
				got = append(got, e.Text)
			}
			slices.Sort(got)
			if !slices.Equal(got, []string{"after", "before", "meanwhile"}) {
				t.Errorf("events %q", got)
			}
		})
	}
}

// TestTheEnd shows what stops the adapter for good, with a reason that says
// what to do, while Run keeps the process up.
func TestTheEnd(t *testing.T) {
	cases := map[string]struct {
		change func(*slack.Options, *world)
		after  func(*world)
		reason string
	}{
		"socket mode is switched off": {after: func(w *world) { w.Disconnect("link_disabled") }, reason: "Socket Mode"},
		"a wrong bot token": {change: func(o *slack.Options, w *world) {
			o.Tokens = func() slack.Tokens { return slack.Tokens{App: w.AppToken(), Bot: "xoxb-wrong"} }
		}, reason: "the token in SLACK_BOT_TOKEN does not work any more; install the app again"},
		"a wrong app token": {change: func(o *slack.Options, w *world) {
			o.Tokens = func() slack.Tokens { return slack.Tokens{App: "xapp-wrong", Bot: w.BotToken()} }
		}, reason: "the token in SLACK_APP_TOKEN does not work any more; generate one (xapp-…)"},
		"an app token of another kind": {change: func(_ *slack.Options, w *world) {
			w.Inject(slacktest.Fault{Method: "apps.connections.open", Kind: slacktest.Fail, Error: "not_allowed_token_type"})
		}, reason: "SLACK_APP_TOKEN holds a token of another kind"},
		"a bot token of another kind": {change: func(_ *slack.Options, w *world) {
			w.Inject(slacktest.Fault{Method: "auth.test", Kind: slacktest.Fail, Error: "not_allowed_token_type"})
		}, reason: "SLACK_BOT_TOKEN holds a token of another kind"},
		"a revoked token": {change: func(_ *slack.Options, w *world) {
			w.Inject(slacktest.Fault{Method: "auth.test", Kind: slacktest.Fail, Error: "token_revoked"})
		}, reason: "token_revoked"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := prepare(t, setup{options: c.change})
			w.start(t)
			if c.after != nil {
				w.wait(t, "a connection", func() bool { return w.Sockets() > 0 && w.adapter.Ready() == nil })
				c.after(w)
			}
			w.wait(t, "the end", func() bool {
				err := w.adapter.Ready()
				return err != nil && strings.Contains(err.Error(), c.reason)
			})
			if !strings.Contains(w.logs.String(), "Slack stopped for good") {
				w.wait(t, "the log", func() bool { return strings.Contains(w.logs.String(), "Slack stopped for good") })
			}
		})
	}
}

// TestRotation revokes the tokens. With new ones the adapter goes on where it
// stopped: it hears, posts and reads files with them; what cannot be a token is
// not used.
func TestRotation(t *testing.T) {
	var mu sync.Mutex // guards given
	var given slack.Tokens
	give := func(tokens slack.Tokens) {
		mu.Lock()
		defer mu.Unlock()
		given = tokens
	}
	w := build(t, setup{options: func(o *slack.Options, w *world) {
		give(o.Tokens())
		o.Tokens = func() slack.Tokens {
			mu.Lock()
			defer mu.Unlock()
			return given
		}
	}})
	w.RotateTokens()
	w.wait(t, "the end", func() bool { return strings.Contains(w.logs.String(), "Slack stopped for good") })
	give(slack.Tokens{App: w.BotToken(), Bot: w.AppToken()}) // a slip of the hand
	_ = w.adapter.Check(t.Context())
	w.wait(t, "the remark", func() bool { return strings.Contains(w.logs.String(), "the new tokens are not used") })
	give(slack.Tokens{App: w.AppToken(), Bot: w.BotToken()})
	w.wait(t, "a connection", func() bool { return w.Sockets() > 0 && w.adapter.Ready() == nil })
	file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n1\n")})
	ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go", Files: []string{file}})
	w.wait(t, "the event and its sign", func() bool {
		m, _ := w.Message(w.sales, ts)
		return len(w.core.all()) == 1 && len(m.Reactions["eyes"]) == 1
	})
	e := w.core.all()[0]
	var content bytes.Buffer
	if _, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], &content); err != nil || content.String() != "a\n1\n" {
		t.Errorf("fetched %q: %v", content.String(), err)
	}
}

// TestMissingScopes shows that what the app lacks is named, in the log and for
// doctor.
func TestMissingScopes(t *testing.T) {
	scopes := slices.DeleteFunc(slack.Scopes(), func(s string) bool { return s == "files:read" || s == "usergroups:read" })
	w := build(t, setup{workspace: slacktest.Options{Scopes: scopes}})
	if !strings.Contains(w.logs.String(), "files:read") {
		t.Errorf("log: %s", w.logs)
	}
	got := strings.Join(w.adapter.Check(t.Context()), "\n")
	if !strings.Contains(got, "files:read") || !strings.Contains(got, "usergroups:read") || strings.Contains(got, "chat:write") {
		t.Errorf("problems: %s", got)
	}
}

// TestOptions shows that what is missing is said before anything starts.
func TestOptions(t *testing.T) {
	w := prepare(t, setup{})
	for name, change := range map[string]func(*slack.Options){
		"exchanged tokens": func(o *slack.Options) {
			o.Tokens = func() slack.Tokens { return slack.Tokens{App: w.BotToken(), Bot: w.AppToken()} }
		},
		"no bot token":   func(o *slack.Options) { o.Tokens = func() slack.Tokens { return slack.Tokens{App: w.AppToken()} } },
		"no tokens":      func(o *slack.Options) { o.Tokens = nil },
		"no records":     func(o *slack.Options) { o.Records = nil },
		"a short secret": func(o *slack.Options) { o.Secret = []byte("short") },
	} {
		o := slack.Options{Tokens: w.tokens, Records: w.records, Blobs: w.blobs, Secret: make([]byte, 32), Logger: nil}
		change(&o)
		if _, err := slack.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
