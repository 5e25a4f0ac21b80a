package main

import (
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestScheduleRunByHand runs a saved report through the binary, by the command
// line: its input comes from a channel, its answer goes there, no model is asked.
func TestScheduleRunByHand(t *testing.T) {
	s := newSlackHome(t)
	s.ws.ChangeChannel(s.channel, func(c *slacktest.Channel) { c.Members = []string{s.ada, slacktest.BotUser} })
	s.write("conf.yaml", "listen: 127.0.0.1:0\nweb: {url: https://bot.example/}\nsandbox: {wall: 15m, cpu: 10m}\nslack: {allow: {channels: ["+s.channel+"]}}\n")
	server := s.serve()
	defer s.stop(server)
	root := s.ask(slacktest.Delivery{})
	s.answered(root)
	tell := func(text, reply string) {
		t.Helper()
		s.ws.Say(slacktest.Post{Channel: s.channel, User: s.ada, Text: slacktest.Mention + " " + text, Thread: root})
		s.eventually(reply, func() bool {
			for _, m := range s.ws.Replies(s.channel, root) {
				if strings.Contains(m.Shown(), reply) {
					return true
				}
			}
			return false
		})
	}
	tell("save weekly-rows", "Saved as")
	tell("reports share weekly-rows", "belongs to this place now")
	asked := len(s.model.Requests())

	file := s.ws.AddFile(slacktest.File{Name: "sales-2.csv", User: s.ada, Data: []byte("date,region,units,revenue\n2026-03-23,North,1,2.50\n2026-03-24,South,2,5.00\n")})
	s.ws.Say(slacktest.Post{Channel: s.channel, User: s.ada, Text: "the new numbers", Files: []string{file}})
	for _, args := range [][]string{
		{"schedules", "add", "weekly", "every Monday at 9", "run weekly-rows", "slack:" + s.channel + "/sales-*.csv", "--skill", "weekly-rows", "--to", "slack:" + s.channel, "--tz", "Europe/Berlin"},
		{"schedules", "run", "weekly"},
	} {
		p := s.start(s.env, args...)
		if status := p.wait(); status != 0 {
			t.Fatalf("%v: exit status %d; stderr:\n%s", args, status, p.err.String())
		}
	}
	posted := ""
	s.eventually("the report", func() bool {
		for _, m := range s.ws.Messages(s.channel) {
			if m.Bot && (m.ThreadTS == "" || m.ThreadTS == m.TS) && strings.Contains(m.Shown(), "rows") {
				posted = m.Shown()
			}
		}
		return posted != ""
	})
	if !strings.Contains(posted, "The file has 2 rows") && !strings.Contains(posted, "The file has **2 rows**") {
		t.Errorf("posted:\n%s", posted)
	}
	if n := len(s.model.Requests()); n != asked {
		t.Errorf("%d requests went to the model", n-asked)
	}
}
