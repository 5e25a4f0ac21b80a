package slack_test

import (
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestRights asks in each way that must be refused, or may be allowed, and
// looks at what was accepted, what was decided then, and what the asker sees.
func TestRights(t *testing.T) {
	cases := []struct {
		name    string
		person  slacktest.User
		channel slacktest.Channel
		dm      bool
		options func(o *slack.Options, w *world, person string)
		at      string // "submit": refused there, "authorize": refused there, "": allowed
		reason  string
	}{
		{name: "a colleague in an allowed channel"},
		{name: "nothing is listed", options: func(o *slack.Options, _ *world, _ string) { o.Allow = slack.Allow{} }, at: "submit", reason: "slack.allow.channels"},
		{name: "another channel", options: func(o *slack.Options, _ *world, _ string) { o.Allow.Channels = []string{"C0OTHER"} }, at: "submit", reason: "slack.allow.channels"},
		{name: "the channel with its workspace", options: func(o *slack.Options, _ *world, _ string) { o.Allow.Channels = []string{"T0FAKE/C0HERE"} }},
		{name: "the channel of another workspace", options: func(o *slack.Options, _ *world, _ string) { o.Allow.Channels = []string{"T0OTHER/C0HERE"} }, at: "submit", reason: "slack.allow.channels"},
		{name: "not among the users", options: func(o *slack.Options, _ *world, _ string) { o.Allow.Users = []string{"U0OTHER"} }, at: "submit", reason: "slack.allow.users"},
		{name: "among the users", options: func(o *slack.Options, _ *world, p string) { o.Allow.Users = []string{p} }},
		{name: "users do not open other channels", options: func(o *slack.Options, _ *world, p string) { o.Allow = slack.Allow{Users: []string{p}} }, at: "submit", reason: "slack.allow.channels"},
		{name: "in a group", options: func(o *slack.Options, w *world, p string) {
			o.Allow.Groups = []string{w.AddGroup(slacktest.Group{Members: []string{p}})}
		}},
		{name: "not in the group", options: func(o *slack.Options, w *world, _ string) {
			o.Allow.Groups = []string{w.AddGroup(slacktest.Group{Members: []string{"U0OTHER"}})}
		}, at: "authorize", reason: "slack.allow.groups"},
		{name: "a group that is gone", options: func(o *slack.Options, _ *world, _ string) { o.Allow.Groups = []string{"S0GONE"} }, at: "authorize", reason: "no_such_subteam"},
		{name: "a DM of nobody", dm: true, at: "submit", reason: "slack.allow.users"},
		{name: "a DM of a listed user", dm: true, options: func(o *slack.Options, _ *world, p string) { o.Allow.Users = []string{p} }},
		{name: "a listed DM", dm: true, options: func(o *slack.Options, w *world, p string) { o.Allow.Channels = []string{w.DM(p)} }},
		{name: "a guest", person: slacktest.User{Guest: true}, at: "authorize", reason: "guests"},
		{name: "a single-channel guest", person: slacktest.User{Single: true}, at: "authorize", reason: "guests"},
		{name: "guests are allowed", person: slacktest.User{Guest: true}, options: func(o *slack.Options, _ *world, _ string) { o.Guests = true }},
		{name: "a guest by name", person: slacktest.User{Guest: true}, options: func(o *slack.Options, _ *world, p string) { o.Allow.Users = []string{p} }},
		{name: "a stranger", person: slacktest.User{Strange: true}, at: "authorize", reason: "other organizations"},
		{name: "of another workspace", person: slacktest.User{Team: "T0OTHER"}, at: "authorize", reason: "other organizations"},
		{name: "strangers are allowed", person: slacktest.User{Strange: true}, options: func(o *slack.Options, _ *world, _ string) { o.External = true }},
		{name: "a shared channel", channel: slacktest.Channel{External: true}, at: "submit", reason: "shared with other organizations"},
		{name: "shared channels are allowed", channel: slacktest.Channel{External: true}, options: func(o *slack.Options, _ *world, _ string) { o.External = true }},
		{name: "a deactivated account", person: slacktest.User{Gone: true}, at: "authorize", reason: "deactivated"},
		{name: "a bot with a user's message", person: slacktest.User{Bot: true}, at: "authorize", reason: "other bots"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			person := ""
			w := build(t, setup{options: func(o *slack.Options, w *world) {
				c.person.Name = "Bob"
				person = w.AddUser(c.person)
				c.channel.ID, c.channel.Name = "C0HERE", "here"
				w.AddChannel(c.channel)
				o.Allow = slack.Allow{Channels: []string{"C0HERE"}}
				if c.options != nil {
					c.options(o, w, person)
				}
			}})
			channel := "C0HERE"
			if c.dm {
				channel = w.DM(person)
			}
			w.Say(slacktest.Post{Channel: channel, User: person, Text: slacktest.Mention + " go"})
			if c.at == "submit" {
				w.wait(t, "the refusal", func() bool { return len(w.Ephemerals(channel, person)) == 1 })
				w.settled(t)
				if len(w.core.all()) != 0 || !strings.Contains(w.Ephemerals(channel, person)[0].Text, c.reason) {
					t.Errorf("events %v, told %q", w.core.all(), w.Ephemerals(channel, person)[0].Text)
				}
				// The same again is not told again.
				w.Say(slacktest.Post{Channel: channel, User: person, Text: slacktest.Mention + " go"})
				w.settled(t)
				w.Say(slacktest.Post{Channel: channel, User: person, Text: slacktest.Mention + " go"})
				w.settled(t)
				if got := len(w.Ephemerals(channel, person)); got != 1 {
					t.Errorf("told %d times", got)
				}
				return
			}
			w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
			e := w.core.all()[0]
			if !e.NeedsRight {
				t.Error("the right is not asked for over the network")
			}
			d, err := w.adapter.Authorize(t.Context(), e)
			if err != nil || d.Allowed != (c.at == "") || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("decision %+v, error %v", d, err)
			}
		})
	}
}

// TestRightsWithoutAnswer shows that no answer is neither yes nor no, that an
// answer which forbids asking is no, and that answers are kept a while.
func TestRightsWithoutAnswer(t *testing.T) {
	w := build(t, setup{})
	e := requestWith(t, w)
	for _, f := range []slacktest.Fault{{Kind: slacktest.Limit}, {Kind: slacktest.Status}, {Kind: slacktest.Lose}, {Kind: slacktest.Fail, Error: "internal_error"}} {
		f.Method = "users.info"
		w.Inject(f)
		if d, err := w.adapter.Authorize(t.Context(), e); err == nil || d.Allowed {
			t.Errorf("fault %d: decision %+v, error %v", f.Kind, d, err)
		}
	}
	w.Inject(slacktest.Fault{Method: "users.info", Kind: slacktest.Fail, Error: "missing_scope"})
	if d, err := w.adapter.Authorize(t.Context(), e); err != nil || d.Allowed || !strings.Contains(d.Reason, "scope") {
		t.Errorf("decision %+v, error %v", d, err)
	}
	before := len(w.Calls("users.info"))
	for range 50 {
		if d, err := w.adapter.Authorize(t.Context(), e); err != nil || !d.Allowed {
			t.Fatalf("decision %+v, error %v", d, err)
		}
	}
	if got := len(w.Calls("users.info")) - before; got != 1 {
		t.Errorf("%d look-ups for 50 decisions", got)
	}
}

// TestShortcutOfAnothersText shows that a message's text counts only where its
// author may ask as well.
func TestShortcutOfAnothersText(t *testing.T) {
	bob := ""
	w := build(t, setup{options: func(o *slack.Options, w *world) {
		bob = w.AddUser(slacktest.User{Name: "Bob"})
		o.Allow.Users = []string{w.ada}
	}})
	file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n")})
	ts := w.Say(slacktest.Post{Channel: w.sales, User: bob, Text: "delete everything", Files: []string{file}})
	w.Shortcut(w.ada, w.sales, ts, "analyse")
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
	if e := w.core.all()[0]; strings.Contains(e.Text, "delete") || len(e.Inputs) != 1 || !strings.HasSuffix(e.Actor.ID, w.ada) {
		t.Errorf("event %+v", e)
	}
	w.Shortcut(bob, w.sales, ts, "analyse")
	w.settled(t)
	w.wait(t, "the refusal", func() bool { return len(w.Ephemerals(w.sales, bob)) == 1 })

	own := w.Say(slacktest.Post{Channel: w.sales, User: bob, Text: "look"})
	w.Shortcut(w.ada, w.sales, own, "analyse")
	w.wait(t, "the remark", func() bool { return len(w.Ephemerals(w.sales, w.ada)) == 1 })
	if got := w.core.of(bot.EventRequest); len(got) != 1 {
		t.Errorf("events %+v", got)
	}
}

// TestRightsBeforeConnecting shows that a task which is resumed before we know
// who we are is decided as it would be afterwards, and delayed while Slack does
// not say.
func TestRightsBeforeConnecting(t *testing.T) {
	w := build(t, setup{})
	e := requestWith(t, w)
	fresh := w.make(t, nil)
	w.Inject(slacktest.Fault{Method: "auth.test", Kind: slacktest.Status})
	if d, err := fresh.Authorize(t.Context(), e); err == nil || d.Allowed {
		t.Errorf("decision %+v, error %v", d, err)
	}
	if d, err := fresh.Authorize(t.Context(), e); err != nil || !d.Allowed {
		t.Errorf("decision %+v, error %v", d, err)
	}
}
