package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// spend stores ended tasks as earlier lives left them.
func (s *sickbed) spend(tasks ...bot.Task) {
	s.t.Helper()
	s.folder(0o700)
	store, err := boltstore.Open(boltstore.Options{Dir: s.dataDir()})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range tasks {
		tasks[i].ID, tasks[i].State = store.NewID(tasks[i].Created), bot.TaskDone
		if _, err := store.Commit(s.t.Context(), bot.Commit{Task: &tasks[i]}); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func spentTask(actor, place, skill string, ago time.Duration, usd float64) bot.Task {
	return bot.Task{
		Created: time.Now().Add(-ago),
		Event:   bot.Event{Kind: bot.EventRequest, Actor: bot.Actor{ID: actor}, Origin: bot.Origin{Adapter: "slack", Place: place}, Options: bot.Options{Skill: skill}},
		Outcome: &bot.Outcome{State: bot.TaskDone, Usage: bot.Usage{Turns: 3, InputTokens: 1000, OutputTokens: 100, CostUSD: usd}},
	}
}

func costBed(t *testing.T) *sickbed {
	s := &sickbed{home: &home{t: t, dir: t.TempDir()}}
	s.without()
	s.spend(
		spentTask("slack:U1", "slack:C1", "csv-report", 20*24*time.Hour, 8), spentTask("slack:U1", "slack:C1", "", 2*time.Hour, 0.5),
		spentTask("slack:U2", "slack:C1", "csv-report", time.Hour, 2), spentTask("slack:U2", "slack:C2", "", time.Minute, 0.25),
	)
	return s
}

// TestCostsAreAddedUp groups what tasks cost.
func TestCostsAreAddedUp(t *testing.T) {
	s := costBed(t)
	s.write("conf.yaml", "")
	costs := func(args ...string) costReport {
		var report costReport
		p := s.start(s.env, append([]string{"tasks", "list", "--cost", "--json"}, args...)...)
		if status := p.wait(); status != 0 {
			t.Fatalf("status %d\n%s", status, p.err.String())
		}
		s.read(p, &report)
		return report
	}
	for _, k := range []struct {
		args []string
		want map[string]float64
		sum  float64
	}{
		{nil, map[string]float64{}, 10.75},
		{[]string{"--by", "actor"}, map[string]float64{"slack:U1": 8.5, "slack:U2": 2.25}, 10.75},
		{[]string{"--by", "channel", "--since", "7d"}, map[string]float64{"slack:C1": 2.5, "slack:C2": 0.25}, 2.75},
		{[]string{"--by", "skill"}, map[string]float64{"csv-report": 10, "(none)": 0.75}, 10.75},
	} {
		report := costs(k.args...)
		got := map[string]float64{}
		last := 1e9
		for _, row := range report.Rows {
			got[row.Key] = row.CostUSD
			if row.CostUSD > last {
				t.Errorf("%v: the dearest does not stand first: %+v", k.args, report.Rows)
			}
			last = row.CostUSD
		}
		if report.Total.CostUSD != k.sum || len(got) != len(k.want) {
			t.Errorf("%v: total %v of %v, want %v of %v", k.args, report.Total.CostUSD, got, k.sum, k.want)
		}
		for key, usd := range k.want {
			if got[key] != usd {
				t.Errorf("%v: %s cost %v, want %v", k.args, key, got[key], usd)
			}
		}
	}
	if days := costs("--by", "day"); len(days.Rows) < 2 || days.Rows[0].CostUSD != 8 {
		t.Errorf("by day: %+v", days.Rows)
	}
	p := s.start(s.env, "tasks", "list", "--cost", "--by", "actor")
	if status := p.wait(); status != 0 || !strings.Contains(p.out.String(), "slack:U1") || !strings.Contains(p.out.String(), "$10.750") {
		t.Errorf("status %d\n%s%s", status, p.out.String(), p.err.String())
	}
	if p := s.start(s.env, "tasks", "list", "--cost", "--by", "mood"); p.wait() != 2 {
		t.Errorf("an unknown grouping is taken\n%s", p.err.String())
	}
	s.scheduled()
}

// scheduled checks what schedules cost: in all, and each within seven days.
func (s *sickbed) scheduled() {
	s.t.Helper()
	for ago, usd := range map[time.Duration]float64{20 * 24 * time.Hour: 4, 6 * 24 * time.Hour: 0.125, time.Hour: 0.25} {
		one := spentTask("slack:U3", "slack:C3", "", ago, usd)
		one.Event.Options.Schedule, one.Event.Scheduled = "weekly", true
		s.spend(one)
	}
	for _, name := range []string{"weekly", "idle"} {
		s.ends(0, s.env, "schedules", "add", name, "0 9 * * MON", "Weekly report", "--tz", "UTC")
	}
	var report costReport
	s.read(s.ends(0, s.env, "tasks", "list", "--cost", "--json", "--by", "schedule"), &report)
	if len(report.Rows) != 2 || report.Rows[1].Key != "weekly" || report.Rows[1].CostUSD != 4.375 || report.Rows[1].Tasks != 3 {
		s.t.Errorf("by schedule: %+v", report.Rows)
	}
	var list []listedSchedule
	s.read(s.ends(0, s.env, "schedules", "list", "--json"), &list)
	for _, one := range list {
		if tasks, usd := map[string]int{"weekly": 2}[one.Name], map[string]float64{"weekly": 0.375}[one.Name]; one.WeekTasks != tasks || one.WeekCostUSD != usd {
			s.t.Errorf("%s had %d tasks for %v within seven days, want %d for %v", one.Name, one.WeekTasks, one.WeekCostUSD, tasks, usd)
		}
	}
	if out := s.ends(0, s.env, "schedules", "list").out.String(); !strings.Contains(out, "2 tasks, $0.375") {
		s.t.Errorf("the list reads\n%s", out)
	}
}

// TestCostsAreToldOnce has two lives in a row meet a due time: the place is
// told once.
func TestCostsAreToldOnce(t *testing.T) {
	s := costBed(t)
	ws, err := slacktest.New(slacktest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	channel := ws.AddChannel(slacktest.Channel{Name: "money"})
	// Due once within the last 24 hours, whatever the time is.
	due := time.Now().UTC().Add(-2 * time.Hour)
	s.write("conf.yaml", "listen: 127.0.0.1:0\nslack: {allow: {channels: ["+channel+"]}}\ncosts: {to: ['slack:"+channel+"'], zone: UTC, when: '"+due.Format("4 15")+" * * *'}\n")
	env := append([]string{"SLACK_API_URL=" + ws.APIURL(), "SLACK_APP_TOKEN=" + ws.AppToken(), "SLACK_BOT_TOKEN=" + ws.BotToken()}, s.env...)
	told := func() int {
		n := 0
		for _, m := range ws.Messages(channel) {
			if strings.Contains(m.Shown(), "$2.75") {
				n++
			}
		}
		return n
	}
	for range 2 {
		server := s.start(env, "serve")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		err := ws.Await(ctx, func() bool { return told() > 0 && ws.Sockets() > 0 })
		cancel()
		if err != nil {
			t.Fatalf("nothing was told: %v\n%s\n%s", err, ws.Transcript(channel), server.err.String())
		}
		(&slackHome{home: s.home}).stop(server)
	}
	if n := told(); n != 1 {
		t.Errorf("told %d times\n%s", n, ws.Transcript(channel))
	}
}
