package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// TestScheduleOfAnOwnerWithoutRight has owners go, become guests, or their
// channel become shared, between two runs: the schedule is paused and the
// channel told so once, and not again at later ticks.
func TestScheduleOfAnOwnerWithoutRight(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *weekly)
		says   string
	}{
		"gone":             {func(w *weekly) { w.ws.ChangeUser(w.ada, func(u *slacktest.User) { u.Gone = true }) }, "deactivated"},
		"a guest":          {func(w *weekly) { w.ws.ChangeUser(w.ada, func(u *slacktest.User) { u.Guest = true }) }, "guests"},
		"a shared channel": {func(w *weekly) { w.ws.ChangeChannel(w.reports, func(ch *slacktest.Channel) { ch.External = true }) }, "shared with other organizations"},
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
				var told []string
				for _, post := range w.posts() {
					if strings.Contains(post, "is paused") {
						told = append(told, post)
					}
				}
				return s, told
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
			if len(told) != 1 || !strings.Contains(s.Why, c.says) || !strings.Contains(told[0], c.says) {
				t.Errorf("paused for %q; told %q", s.Why, told)
			}
			if n := len(w.model.Requests()); n != 0 {
				t.Errorf("%d requests went to the model", n)
			}
		})
	}
}
