package bot_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestDailyTasks(t *testing.T) {
	clock := &handClock{now: time.Date(2026, 5, 1, 20, 30, 0, 0, time.UTC)}
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
		o.Budgets, o.Clock = bot.Budgets{ActorDailyTasks: 2, DailyTasks: 5}, clock
	})
	refused := func(e bot.Event, kind string, words ...string) bot.Ticket {
		t.Helper()
		ticket, err := w.Submit(t.Context(), e)
		if err != nil || ticket.Task != "" || ticket.Refused == nil || ticket.Refused.Kind != kind {
			t.Fatalf("submit gives %+v %v, want a refusal of kind %s", ticket, err, kind)
		}
		for _, word := range words {
			if !strings.Contains(ticket.Refused.Message, word) {
				t.Errorf("the refusal lacks %q: %s", word, ticket.Refused.Message)
			}
		}
		return ticket
	}
	first := w.ask("c1", "alice", "one")
	w.ask("c1", "alice", "two")
	refused(request("c1", "alice", "three"), "actor_daily_tasks", "You have asked for 2 tasks today", "in 3 h 30 min")
	refused(request("c1", "alice", "four"), "actor_daily_tasks")
	if again, err := w.Submit(t.Context(), request("c1", "alice", "one")); err != nil || again.Task != first || !again.Duplicate {
		t.Errorf("what was accepted before gives %+v %v", again, err)
	}
	fire := request("c2", "alice", "report")
	fire.Scheduled = true
	if ticket, err := w.Submit(t.Context(), fire); err != nil || ticket.Task == "" {
		t.Errorf("the schedule of somebody who asked enough gives %+v %v", ticket, err)
	}
	w.ask("c3", "bob", "one")
	w.end() // the counts outlive the process
	w.start()
	w.ask("c3", "bob", "two")
	refused(request("c4", "carol", "one"), "daily_tasks", "I have taken 5 requests today")
	fire.Key += " again"
	refused(fire, "daily_tasks")
	if n := w.Refusals(); n["daily_tasks"] != 2 {
		t.Errorf("refusals are counted as %v", n)
	}
	w.idle()
	told := 0
	for _, m := range w.platform.messages() {
		if strings.Contains(m, "asked for 2 tasks today") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the refusal was told %d times: %v", told, w.platform.messages())
	}
	tasks, err := w.Tasks(t.Context(), bot.TaskQuery{})
	if err != nil || len(tasks) != 5 {
		t.Errorf("%d tasks (%v), want 5: refusals are none", len(tasks), err)
	}
	clock.add(4 * time.Hour)
	w.ask("c1", "alice", "five")
}

func TestAPolicyChangesTheDailyTasks(t *testing.T) {
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
		o.Budgets = bot.Budgets{ActorDailyTasks: 1}
		may := []bot.Right{bot.MayAsk}
		o.Policy = bot.Rules{
			{Origin: "*", Actors: []string{"alice"}, May: may, Budgets: bot.Budgets{ActorDailyTasks: 2}},
			{Origin: "*", Actors: []string{"root"}, May: may, Budgets: bot.Budgets{ActorDailyTasks: -1}},
			{Origin: "*", Actors: []string{"*"}, May: may},
		}
	})
	for actor, most := range map[string]int{"alice": 2, "bob": 1, "root": 9} {
		accepted := 0
		for i := range 9 {
			ticket, err := w.Submit(t.Context(), request(actor, actor, fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			if ticket.Task != "" {
				accepted++
			}
		}
		if accepted != most {
			t.Errorf("%s was accepted %d times, want %d", actor, accepted, most)
		}
	}
}

func TestABurstNeverPassesTheDailyTasks(t *testing.T) {
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) { o.Budgets = bot.Budgets{DailyTasks: 40} })
	var accepted atomic.Int64
	var callers sync.WaitGroup
	for c := range 64 {
		callers.Go(func() {
			for i := range 3 {
				ticket, err := w.Submit(t.Context(), request(fmt.Sprint(c), fmt.Sprint("actor", c), fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
				}
				if ticket.Task != "" {
					accepted.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if accepted.Load() != 40 {
		t.Errorf("%d were accepted, want 40", accepted.Load())
	}
}
