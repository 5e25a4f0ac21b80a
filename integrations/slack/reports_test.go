package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// planner is what offers schedules.
type planner struct {
	mu     sync.Mutex // guards forms
	forms  []slack.ScheduleForm
	events []bot.Event
}

func (p *planner) Preview(_ context.Context, event bot.Event, form slack.ScheduleForm) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forms, p.events = append(p.forms, form), append(p.events, event)
	switch form.When {
	case "sometimes":
		return "", &slack.FieldError{Field: "when", Message: "On which days, and at what time? **Not** on `sometimes`."}
	case "broken":
		return "", errors.New("the store is gone")
	}
	return "weekly: 0 9 * * 1 (Europe/Berlin)\nnext:\n  Mon 30 Nov 2026 09:00 CET\n  <!channel> Mon 7 Dec 2026", nil
}

func (p *planner) Mine(context.Context, bot.Actor) ([]string, error) {
	return []string{"**weekly** `0 9 * * 1` (Europe/Berlin), next on Mon 30 Nov 2026 09:00 CET"}, nil
}

// reported is a world with an answer under which there are buttons.
func reported(t *testing.T, change func(*bot.Task)) (w *world, root, answer string) {
	t.Helper()
	w = build(t, setup{})
	w.adapter.Schedule(&planner{})
	w.ChangeUser(w.ada, func(u *slacktest.User) { u.TZ = "Europe/Berlin" })
	root = w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " Revenue by region", Files: []string{w.AddFile(slacktest.File{Name: "sales-2026-47.csv", Data: []byte("a\n1\n")})}})
	w.wait(t, "the request", func() bool { return len(w.core.of(bot.EventRequest)) == 1 })
	event := w.core.of(bot.EventRequest)[0]
	task := bot.Task{ID: "01KREPORT00000000000000000", State: bot.TaskDone, Title: "Revenue by region", Event: event, Outcome: &bot.Outcome{State: bot.TaskDone, Message: "42"}, Inputs: []bot.Input{{Name: "sales-2026-47.csv"}}}
	if change != nil {
		change(&task)
	}
	w.core.set(task)
	w.core.mu.Lock()
	w.core.steps[task.ID] = []bot.Step{{Kind: bot.StepProgram, Data: json.RawMessage(`{"language":"python","code":"print(42)","verdict":"ok"}`)}}
	w.core.mu.Unlock()
	receipt, err := w.adapter.Send(t.Context(), bot.Delivery{ID: "d1", Kind: bot.DeliverAnswer, Task: task.ID, Origin: event.Origin, Actor: event.Actor, Message: "42", State: bot.TaskDone})
	if err != nil {
		t.Fatal(err)
	}
	return w, root, receipt.ID
}

// open presses a button and returns the window.
func (w *world) open(t *testing.T, user, ts, label string) slacktest.View {
	t.Helper()
	before := len(w.Modals(user))
	if !w.Press(user, w.sales, ts, label) {
		t.Fatalf("there is no button %q:\n%s", label, w.Transcript(w.sales))
	}
	w.wait(t, "the window", func() bool { return len(w.Modals(user)) > before })
	return w.Modals(user)[before]
}

// fill submits the newest window and waits until something has come of it.
func (w *world) fill(t *testing.T, user string, values map[string]string) *slacktest.View {
	t.Helper()
	if err := w.Submit(user, values); err != nil {
		t.Fatal(err)
	}
	views := w.Modals(user)
	if len(views) == 0 {
		return nil
	}
	v := views[len(views)-1]
	if v.Trouble != "" {
		t.Fatalf("Slack could not show it: %s", v.Trouble)
	}
	return &v
}

// TestSaveButton saves an answer by a window, whose name is checked in it.
func TestSaveButton(t *testing.T) {
	w, root, answer := reported(t, nil)
	v := w.open(t, w.ada, answer, "Save as report")
	if got := v.Fields()["Name"]; got != "revenue-by-region" {
		t.Errorf("the name begins as %q", got)
	}
	if err := w.Submit(w.ada, map[string]string{"Name": ""}); err == nil {
		t.Error("Slack's client sends an empty field")
	}
	for _, bad := range []string{"Weekly Sales", "../x", "a--b", strings.Repeat("x", 65)} {
		if v := w.fill(t, w.ada, map[string]string{"Name": bad}); v == nil || !strings.Contains(v.Errors["Name"], "lower-case") {
			t.Errorf("the name %q was taken", bad)
		}
	}
	if v := w.fill(t, w.ada, map[string]string{"Name": "weekly-sales"}); v != nil {
		t.Errorf("the window stays open: %s %v", v.CallbackID, v.Errors)
	}
	commands := w.core.of(bot.EventCommand)
	if len(commands) != 1 {
		t.Fatalf("%d commands", len(commands))
	}
	e := commands[0]
	request := w.core.of(bot.EventRequest)[0]
	if e.Command != (bot.Command{Name: "save", Args: "weekly-sales", Task: "01KREPORT00000000000000000"}) || e.Inline ||
		e.Actor.ID != request.Actor.ID || e.Origin.Conversation != request.Origin.Conversation || !strings.HasSuffix(e.Origin.Conversation, root) {
		t.Errorf("submitted %+v", e)
	}
}

// TestScheduleButton fills the window in, corrects it, sees the next times and
// confirms.
func TestScheduleButton(t *testing.T) {
	w, _, answer := reported(t, nil)
	p := &planner{}
	w.adapter.Schedule(p)
	v := w.open(t, w.ada, answer, "Schedule…")
	want := map[string]string{"What": "Revenue by region", "When": "every Monday at 9", "Time zone": "Europe/Berlin", "Files": "sales-*.csv", "Files from": w.sales, "Where the answers go": w.sales}
	for label, value := range want {
		if got := v.Fields()[label]; got != value {
			t.Errorf("%s begins as %q, want %q", label, got, value)
		}
	}
	for when, says := range map[string]string{"sometimes": "On which days, and at what time? Not on sometimes.", "broken": "on my side"} {
		if v := w.fill(t, w.ada, map[string]string{"When": when}); v == nil || !strings.Contains(v.Errors["When"], says) {
			t.Errorf("%q: %s %v", when, v.CallbackID, v.Errors)
		}
	}
	long := strings.Repeat("x", 2990)
	if v := w.fill(t, w.ada, map[string]string{"What": long}); v == nil || !strings.Contains(v.Errors["What"], "too long") {
		t.Errorf("a request that a window cannot keep: %s %v", v.CallbackID, v.Errors)
	}
	exports := w.AddChannel(slacktest.Channel{Name: "exports", Members: []string{w.ada, slacktest.BotUser}})
	confirm := w.fill(t, w.ada, map[string]string{"When": "every Monday at 9", "Files": "week-*.csv", "Files from": exports})
	if confirm == nil || !strings.Contains(confirm.Shown(), "Mon 30 Nov 2026 09:00 CET") || strings.Contains(string(confirm.Blocks), "<!channel>") {
		t.Fatalf("the confirmation shows %s", confirm.Shown())
	}
	if n := len(w.core.of(bot.EventCommand)); n != 0 {
		t.Errorf("%d commands before anybody confirmed", n)
	}
	if v := w.fill(t, w.ada, nil); v != nil {
		t.Errorf("the window stays open: %s %v", v.CallbackID, v.Errors)
	}
	commands := w.core.of(bot.EventCommand)
	if len(commands) != 1 || commands[0].Command.Name != slack.ScheduleFormCommand {
		t.Fatalf("%+v", commands)
	}
	var form slack.ScheduleForm
	if err := json.Unmarshal([]byte(commands[0].Command.Args), &form); err != nil || form != (slack.ScheduleForm{What: "Revenue by region", When: "every Monday at 9", Zone: "Europe/Berlin", Files: "week-*.csv", From: exports, To: w.sales}) {
		t.Errorf("form %+v, %v", form, err)
	}
	if last := p.events[len(p.events)-1]; last.Actor.ID != commands[0].Actor.ID || last.Origin.Place != "slack:"+w.sales {
		t.Errorf("looked at for %+v", last)
	}
}

// TestNoReportButtons shows where there is nothing to save or to schedule.
func TestNoReportButtons(t *testing.T) {
	for name, change := range map[string]func(*bot.Task){
		"partial":   func(t *bot.Task) { t.Outcome.Partial = true },
		"failed":    func(t *bot.Task) { t.State = bot.TaskFailed },
		"scheduled": func(t *bot.Task) { t.Event.Options.Schedule = "weekly" },
	} {
		t.Run(name, func(t *testing.T) {
			w, _, answer := reported(t, change)
			m, _ := w.Message(w.sales, answer)
			for _, label := range m.Buttons() {
				if label == "Save as report" || label == "Schedule…" {
					t.Errorf("there is a button %q", label)
				}
			}
		})
	}
}

// TestHomeSchedules shows a person's schedules in the App Home.
func TestHomeSchedules(t *testing.T) {
	w := build(t, setup{})
	w.adapter.Schedule(&planner{})
	w.OpenHome(w.ada)
	w.wait(t, "the App Home", func() bool { v, ok := w.Home(w.ada); return ok && strings.Contains(v.Shown(), "next on Mon 30 Nov") })
	if v, _ := w.Home(w.ada); !strings.Contains(string(v.Blocks), `"*weekly* `) || strings.Contains(string(v.Blocks), "**") {
		t.Errorf("raw Markdown:\n%s", v.Blocks)
	}
}
