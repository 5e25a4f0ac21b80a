package slack_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestNewest reads a channel's newest file for people who may have it, and for
// nobody else.
func TestNewest(t *testing.T) {
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		pattern string
		actor   string // "" is Ada, "bob" is not in the channel
		private bool
		to      []string // further places
		options func(*slack.Options)
		want    string // content
		no      string
	}{
		"the newest of a pattern":           {pattern: "sales-*.csv", want: "second"},
		"whatever its case":                 {pattern: "SALES-*.csv", want: "second"},
		"by its name":                       {pattern: "sales-1.csv", want: "first"},
		"never the bot's own":               {pattern: "*.csv", want: "second"},
		"none":                              {pattern: "*.xlsx", no: "no file of this name"},
		"a deleted one is none":             {pattern: "gone-*.csv", no: "no file of this name"},
		"not a member":                      {pattern: "*.csv", actor: "bob", no: "not a member"},
		"a guest":                           {pattern: "*.csv", actor: "guest", no: "guests"},
		"a channel that is not listed":      {pattern: "*.csv", options: func(o *slack.Options) { o.Allow.Channels = []string{"C0OTHER"} }, no: "take no requests in that channel"},
		"who runs the bot":                  {pattern: "*.csv", actor: "console:root", want: "second"},
		"a private channel, answered there": {pattern: "*.csv", private: true, want: "second"},
		"a private channel, to a public one": {
			pattern: "*.csv", private: true, to: []string{"slack:C0PUBLIC"}, no: "private channel",
		},
		"a private channel, to another platform": {
			pattern: "*.csv", private: true, to: []string{"github:octo/sales"}, no: "private channel",
		},
		"a public channel, to another": {pattern: "*.csv", to: []string{"slack:C0PUBLIC"}, want: "second"},
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, setup{options: func(o *slack.Options, w *world) {
				if c.options != nil {
					c.options(o)
				}
			}})
			guest := w.AddUser(slacktest.User{Name: "Gus", Guest: true})
			bob := w.AddUser(slacktest.User{Name: "Bob"})
			w.AddChannel(slacktest.Channel{ID: "C0PUBLIC", Name: "all"})
			w.ChangeChannel(w.sales, func(ch *slacktest.Channel) {
				ch.Private = c.private
				ch.Members = append(ch.Members, guest)
			})
			put := func(name, content, user string, days int) string {
				id := w.AddFile(slacktest.File{Name: name, Data: []byte(content), User: user, Created: day.AddDate(0, 0, days)})
				w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Files: []string{id}, Delivery: slacktest.Delivery{Silent: true}})
				return id
			}
			put("sales-1.csv", "first", w.ada, 1)
			put("sales-2.csv", "second", w.ada, 8)
			put("report.csv", "an answer", slacktest.BotUser, 9)
			gone := put("gone-1.csv", "gone", w.ada, 10)
			w.ChangeFile(gone, func(f *slacktest.File) { f.Tombstone = true })
			other := w.AddFile(slacktest.File{Name: "sales-9.csv", Data: []byte("elsewhere"), User: w.ada, Created: day.AddDate(0, 0, 20)})
			w.Say(slacktest.Post{Channel: "C0PUBLIC", User: w.ada, Files: []string{other}, Delivery: slacktest.Delivery{Silent: true}})

			ref, err := slack.Newest(w.sales, c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			actor := map[string]string{"": "slack:T0FAKE/" + w.ada, "bob": "slack:T0FAKE/" + bob, "guest": "slack:T0FAKE/" + guest}[c.actor]
			if actor == "" {
				actor = c.actor
			}
			event := bot.Event{Actor: bot.Actor{ID: actor}, Origin: bot.Origin{Adapter: "slack", Place: "slack:" + w.sales}}
			for _, to := range c.to {
				adapter, _, _ := strings.Cut(to, ":")
				event.Also = append(event.Also, bot.Origin{Adapter: adapter, Place: to})
			}
			var got bytes.Buffer
			fetched, err := w.adapter.Fetch(t.Context(), event, ref, &got)
			var final *bot.InputError
			switch {
			case c.no != "":
				if !errors.As(err, &final) || !strings.Contains(final.Reason, c.no) {
					t.Errorf("read %q, %v; want a refusal with %q", got.String(), err, c.no)
				}
			case err != nil || got.String() != c.want || !strings.HasPrefix(fetched.Name, "sales-") || !strings.Contains(fetched.Source, "/file/"):
				t.Errorf("read %q as %+v, %v; want %q", got.String(), fetched, err, c.want)
			}
		})
	}
}

func TestNewestIsWellFormed(t *testing.T) {
	for _, bad := range [][2]string{{"C0123", "[.csv"}, {"C0123", ""}, {"C0123", "data/x.csv"}, {"sales", "*.csv"}, {"../C0", "*.csv"}} {
		if ref, err := slack.Newest(bad[0], bad[1]); err == nil {
			t.Errorf("%q made %+v", bad, ref)
		}
	}
}

// TestZone asks for people's own time zones.
func TestZone(t *testing.T) {
	w := build(t, setup{})
	cy := w.AddUser(slacktest.User{Name: "Cy", TZ: "America/St_Johns"})
	for actor, want := range map[string]string{"slack:T0FAKE/" + cy: "America/St_Johns", "slack:" + cy: "America/St_Johns", "slack:T0FAKE/" + w.ada: "", "github:cy": "", "slack:T0FAKE/U0NOBODY": ""} {
		if got := w.adapter.Zone(t.Context(), bot.Actor{ID: actor}); got != want {
			t.Errorf("zone of %s is %q, want %q", actor, got, want)
		}
	}
}
