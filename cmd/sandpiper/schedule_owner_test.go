package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// TestScheduleOfAnOwnerWithoutRight has owners go, become guests, or their
// channel go, become shared, between two runs: the schedule is paused and its
// owner alone told so once, and not again at later ticks. Who cannot be told is
// told of in the channel.
func TestScheduleOfAnOwnerWithoutRight(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(w *weekly)
		says    string
		channel bool // that is where it is told
	}{
		"gone":                {func(w *weekly) { w.ws.ChangeUser(w.ada, func(u *slacktest.User) { u.Gone = true }) }, "deactivated", true},
		"a guest":             {func(w *weekly) { w.ws.ChangeUser(w.ada, func(u *slacktest.User) { u.Guest = true }) }, "guests", false},
		"a shared channel":    {func(w *weekly) { w.ws.ChangeChannel(w.reports, func(ch *slacktest.Channel) { ch.External = true }) }, "shared with other organizations", false},
		"an archived channel": {func(w *weekly) { w.ws.ChangeChannel(w.reports, func(ch *slacktest.Channel) { ch.Archived = true }) }, "The channel is archived", false},
		"removed from it":     {func(w *weekly) { w.ws.ChangeChannel(w.reports, func(ch *slacktest.Channel) { ch.BotAbsent = true }) }, "not in the channel any more", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeekly(t)
			s, err := w.app.schedules.Add(t.Context(), schedules.Schedule{
				Name: "weekly", Owner: bot.Actor{ID: "slack:" + w.ws.Team() + "/" + w.ada}, Cron: "0 9 * * MON", Zone: "UTC", Request: "report",
				Skill: "csv-report", From: schedules.FromChat, To: []bot.Origin{{Adapter: "slack", Place: "slack:" + w.reports, Conversation: "slack:" + w.reports}},
			})
			if err != nil {
				t.Fatal(err)
			}
			c.change(w)
			w.clock.set(s.Next.Add(time.Second))
			w.app.clock.Wake()
			paused := func() (schedules.Schedule, []string) {
				s, err := w.app.schedules.Get(t.Context(), "weekly")
				if err != nil {
					t.Fatal(err)
				}
				return s, w.told("is paused", c.channel)
			}
			h := &home{t: t}
			h.eventually("the pause", func() bool {
				w.app.clock.Wake() // the ending of a run is counted at the next look
				s, told := paused()
				return s.State == schedules.Paused && len(told) > 0
			})
			for range 3 {
				w.clock.set(w.clock.Now().AddDate(0, 0, 7))
				w.app.clock.Tick(t.Context(), w.app.orchestrator)
			}
			if err := w.app.orchestrator.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, told := paused()
			if elsewhere := w.told("", !c.channel); len(elsewhere) != 0 {
				t.Errorf("said where it is not to be: %q", elsewhere)
			}
			if len(told) != 1 || !strings.Contains(s.Why, c.says) || !strings.Contains(told[0], c.says) {
				t.Errorf("paused for %q; told %q", s.Why, told)
			}
			if n := len(w.model.Requests()); n != 0 {
				t.Errorf("%d requests went to the model", n)
			}
		})
	}
}

// told are the bot's messages with some words in the channel, or to Ada alone.
func (w *weekly) told(words string, channel bool) (out []string) {
	in := w.reports
	if !channel {
		in = w.ws.DM(w.ada)
	}
	for _, m := range w.ws.Messages(in) {
		if m.Bot && strings.Contains(m.Shown(), words) {
			out = append(out, m.Shown())
		}
	}
	return out
}

// TestTryAScheduleInSlack tries a schedule in its private channel: the answer and
// its files come to the asker alone, and the first Monday is the first run.
func TestTryAScheduleInSlack(t *testing.T) {
	w := newWeekly(t)
	w.ws.ChangeChannel(w.reports, func(ch *slacktest.Channel) { ch.Private = true })
	newest, err := slack.Newest(w.reports, "sales-*.csv")
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.app.schedules.Add(t.Context(), schedules.Schedule{
		Name: "weekly", Owner: bot.Actor{ID: "slack:" + w.ws.Team() + "/" + w.ada}, Cron: "0 9 * * MON", Zone: "UTC", Request: "report", Inputs: []bot.InputRef{newest},
		Skill: "csv-report", From: schedules.FromChat, To: []bot.Origin{{Adapter: "slack", Place: "slack:" + w.reports, Conversation: "slack:" + w.reports}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.upload("sales-1.csv", "region,amount\nnorth,100\nsouth,60\neast,40\n")
	// Who cannot be written to is told so, and nothing is tried.
	remove := w.ws.Inject(slacktest.Fault{Method: "conversations.open", Kind: slacktest.Fail, Error: "missing_scope", Times: -1})
	w.tell("", "schedules try weekly", "I cannot write to you alone, so I try nothing")
	remove()
	root := w.ws.Say(slacktest.Post{Channel: w.reports, User: w.ada, Text: slacktest.Mention + " schedules try weekly"})
	w.said(root, "answers you alone")
	aside := w.ws.DM(w.ada)
	w.await("the answer and its files", func() bool {
		files := 0
		for _, m := range w.ws.Messages(aside) {
			files += len(m.Files)
		}
		return files > 0 && len(w.told("sales-1.csv", false)) > 0
	})
	if err := w.app.orchestrator.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if posts := w.posts(); len(posts) != 0 {
		t.Errorf("in the channel: %q", posts)
	}
	if replies := w.ws.Replies(w.reports, root); len(replies) != 1 {
		t.Errorf("%d messages in the thread:\n%s", len(replies), w.ws.Transcript(w.reports))
	}
	post := w.monday(s.Next.Add(time.Second))
	if strings.Contains(post, "Compared with") || strings.Contains(post, "no new one has come") {
		t.Errorf("the try counted:\n%s", post)
	}
	fires, err := w.app.schedules.Fires(t.Context(), "weekly")
	if err != nil || len(fires) != 2 || fires[0].Result != schedules.Tried || fires[1].Result != schedules.Ran {
		t.Errorf("fires %+v, %v", fires, err)
	}
}
