package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// texts lists what was asked, in the order in which it was submitted.
func texts(events []bot.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Text)
	}
	return out
}

// TestTenMinutesDown has Slack away for ten minutes in which people ask in a
// channel, in threads old and new and in a DM: all of it is taken up afterwards,
// in order, once; the same for a process that was away.
func TestTenMinutesDown(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := prepare(t, setup{workspace: slacktest.Options{InMemory: true}})
				stop := w.start(t)
				time.Sleep(time.Minute)
				old := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " early"})
				file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n")})
				time.Sleep(time.Hour)

				if restart {
					stop()
				} else {
					w.SetDown(true)
				}
				var want []string
				for i, p := range []slacktest.Post{{Channel: w.sales}, {Channel: w.sales, Thread: old}, {Channel: w.DM(w.ada)}, {Channel: w.sales, Files: []string{file}}} {
					time.Sleep(2 * time.Minute)
					p.User, p.Text = w.ada, fmt.Sprintf("%s missed %d", slacktest.Mention, i)
					ts := w.Say(p)
					w.Say(slacktest.Post{Channel: p.Channel, User: w.ada, Text: "thanks all", Thread: ts})
					want = append(want, fmt.Sprintf("missed %d", i))
				}
				time.Sleep(2 * time.Minute)
				// The first attempt to catch up fails in the middle.
				w.Inject(slacktest.Fault{Method: "conversations.history", Kind: slacktest.Status})
				if restart {
					w.adapter = w.make(t, nil)
					stop = w.start(t)
				} else {
					w.SetDown(false)
				}
				time.Sleep(5 * time.Minute)
				// A DM needs no mention, so its "thanks all" is a request as well.
				got := slices.DeleteFunc(texts(w.core.of(bot.EventRequest)), func(s string) bool { return s == "early" || s == "thanks all" })
				inChannel := func(s string) bool { return s == "missed 2" }
				if !slices.Equal(slices.DeleteFunc(slices.Clone(got), inChannel), slices.DeleteFunc(slices.Clone(want), inChannel)) || len(got) != len(want) {
					t.Errorf("taken up %q, want %q", got, want)
				}
				stop()
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOldRequests shows that what is older than Catchup is offered with a
// button, once, and that pressing it runs the request as it was asked.
func TestOldRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := prepare(t, setup{workspace: slacktest.Options{InMemory: true}, options: func(o *slack.Options, _ *world) { o.Catchup = time.Hour }})
		stop := w.start(t)
		time.Sleep(time.Minute)
		stop()
		file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n")})
		ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " costly", Files: []string{file}, Delivery: slacktest.Delivery{Silent: true}})
		bob := w.AddUser(slacktest.User{Name: "Bob"})
		time.Sleep(3 * time.Hour)
		for range 3 { // each connection looks again, and offers once
			w.adapter = w.make(t, func(o *slack.Options, _ *world) { o.Catchup = time.Hour })
			stop = w.start(t)
			time.Sleep(time.Minute)
			stop()
		}
		stop = w.start(t)
		time.Sleep(time.Minute)
		if got := w.Replies(w.sales, ts); len(got) != 1 || !slices.Equal(got[0].Buttons(), []string{"Run now"}) || !strings.Contains(got[0].Shown(), "3 h") || len(w.core.all()) != 0 {
			t.Fatalf("events %v, transcript:\n%s", w.core.all(), w.Transcript(w.sales))
		}
		offer := w.Replies(w.sales, ts)[0].TS
		w.Press(bob, w.sales, offer, "Run now")
		time.Sleep(time.Second)
		if len(w.core.all()) != 0 || len(w.Ephemerals(w.sales, bob)) != 1 {
			t.Errorf("somebody else ran it: %v", w.core.all())
		}
		w.Press(w.ada, w.sales, offer, "Run now")
		time.Sleep(time.Second)
		got := w.core.of(bot.EventRequest)
		if len(got) != 1 || got[0].Text != "costly" || len(got[0].Inputs) != 1 || !strings.HasSuffix(got[0].Key, ts) || len(w.Replies(w.sales, ts)) != 0 {
			t.Errorf("events %+v, transcript:\n%s", got, w.Transcript(w.sales))
		}
		stop()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCatchUpCommercial catches up at one call a minute and 15 items a page.
func TestCatchUpCommercial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := prepare(t, setup{workspace: slacktest.Options{InMemory: true, Commercial: true}})
		stop := w.start(t)
		time.Sleep(time.Minute)
		stop()
		for i := range 40 {
			w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: fmt.Sprintf("%s n%02d", slacktest.Mention, i), Delivery: slacktest.Delivery{Silent: true}})
		}
		stop = w.start(t)
		time.Sleep(15 * time.Minute)
		if got := texts(w.core.all()); len(got) != 40 || !slices.IsSorted(got) {
			t.Errorf("%d events: %q", len(got), got)
		}
		stop()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFirstConnection shows that nothing of before the first connection ever is
// taken up.
func TestFirstConnection(t *testing.T) {
	w := prepare(t, setup{})
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " long ago", Delivery: slacktest.Delivery{Silent: true}})
	w.run(t)
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " now"})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
	if got := texts(w.core.all()); !slices.Equal(got, []string{"now"}) {
		t.Errorf("events %q", got)
	}
}

// TestEnterpriseGrid shows that keys hold enterprise, workspace, channel and ts,
// and that history gives the same ones as events.
func TestEnterpriseGrid(t *testing.T) {
	w := prepare(t, setup{workspace: slacktest.Options{Enterprise: "E0ORG", OrgInstall: true, Team: "T0GRID"}})
	stop := w.run(t)
	ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go"})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
	want := strings.Join([]string{"slack:E0ORG", "T0GRID", w.sales, ts}, "/")
	if got := w.core.all()[0]; got.Key != want || got.Actor.ID != "slack:T0GRID/"+w.ada {
		t.Errorf("key %s, want %s; actor %s", got.Key, want, got.Actor.ID)
	}
	if d, err := w.adapter.Authorize(t.Context(), w.core.all()[0]); err != nil || !d.Allowed {
		t.Errorf("decision %+v, error %v", d, err)
	}
	stop()
	w.adapter = w.make(t, nil)
	w.run(t)
	w.wait(t, "history", func() bool { return len(w.Calls("conversations.history")) > 0 })
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " again"})
	w.wait(t, "the second", func() bool { return slices.Contains(texts(w.core.all()), "again") })
	if got := texts(w.core.all()); !slices.Equal(got, []string{"go", "again"}) {
		t.Errorf("events %q: history gave another key", got)
	}
}

// TestChannelNotShown shows that a channel whose history Slack refuses keeps no
// other channel from being caught up, and is caught up itself once Slack shows it.
func TestChannelNotShown(t *testing.T) {
	for _, refusal := range []string{"missing_scope", "not_in_channel", "channel_not_found"} {
		for bad := range 2 {
			synctest.Test(t, func(t *testing.T) {
				w := prepare(t, setup{workspace: slacktest.Options{InMemory: true}})
				channels := []string{w.sales, w.AddChannel(slacktest.Channel{Name: "second", Members: []string{w.ada, slacktest.BotUser}})}
				both := func(o *slack.Options, _ *world) { o.Allow.Channels = channels }
				w.adapter = w.make(t, both)
				stop := w.start(t)
				time.Sleep(time.Minute)
				stop()
				for i, c := range channels {
					w.Say(slacktest.Post{Channel: c, User: w.ada, Text: fmt.Sprint(slacktest.Mention, " missed ", i), Delivery: slacktest.Delivery{Silent: true}})
				}
				shown := w.Inject(slacktest.Fault{Method: "conversations.history", Kind: slacktest.Fail, Error: refusal, Times: -1, Match: func(args map[string]string) bool { return args["channel"] == channels[bad] }})
				w.adapter = w.make(t, both)
				stop = w.start(t)
				time.Sleep(time.Minute)
				if got := texts(w.core.all()); !slices.Equal(got, []string{fmt.Sprint("missed ", 1-bad)}) {
					t.Errorf("%s in channel %d: taken up %q", refusal, bad, got)
				}
				shown()
				time.Sleep(time.Minute)
				if got := texts(w.core.all()); len(got) != 2 {
					t.Errorf("%s in channel %d: in the end taken up %q", refusal, bad, got)
				}
				stop()
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
