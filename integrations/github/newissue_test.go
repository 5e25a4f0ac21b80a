package github_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

const issuesRoute = "POST /repos/{owner}/{repo}/issues"

func scheduleWorld(t *testing.T, with setup) *world {
	with.tune = func(o *bot.OrchestratorOptions) {
		o.Policy = bot.Rules{{Origin: "github:*", Actors: []string{"github:*"}, May: []bot.Right{bot.MayAsk, bot.MaySchedule}}}
	}
	return newWorld(t, with)
}

// fire has a schedule of somebody run, whose answer opens an issue.
func fire(t *testing.T, l *life, key, who, title string) string {
	t.Helper()
	to := github.NewIssue(repo, title)
	to.Conversation = "schedule:weekly"
	ticket, err := l.core.Submit(t.Context(), bot.Event{
		Key: "schedule:weekly:" + key, Kind: bot.EventRequest, Origin: to, Actor: bot.Actor{ID: "github:" + who}, Text: "weekly report " + key,
		Options: bot.Options{Schedule: "weekly"}, NeedsRight: true, Scheduled: true, Received: time.Now(),
	})
	if err != nil || ticket.Refused != nil {
		t.Fatalf("submit: %+v, %v", ticket, err)
	}
	return ticket.Task
}

// Each run opens an issue whose text is the answer, its files with it; nothing
// of it pings, and its own opening asks for nothing.
func TestNewIssueEachTime(t *testing.T) {
	t.Parallel()
	for name, app := range map[string]bool{"token": false, "app": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := scheduleWorld(t, setup{app: app})
			l := w.start()
			first := fire(t, l, "1", "ann", "Weekly sales, 2026-11-23")
			w.idle(l)
			second := fire(t, l, "2", "ann", "@octocat @octo/team fixes #1, octo/other#2 GH-3\n/approve "+strings.Repeat("x", 300))
			w.idle(l)
			issues := w.hub.Issues(repo)
			if len(issues) != 2 || issues[0].Title != "Weekly sales, 2026-11-23" {
				t.Fatalf("issues: %+v", issues)
			}
			if bad := issues[1].Title; strings.Contains(bad, "@o") || strings.Contains(bad, "#1") || strings.Contains(bad, "#2") || strings.Contains(bad, "GH-3") ||
				strings.Contains(bad, "\n") || utf8.RuneCountInString(bad) != 256 {
				t.Errorf("title %q", bad)
			}
			for i, task := range []string{first, second} {
				body := issues[i].Body
				if !strings.Contains(body, fmt.Sprintf("Answer to: weekly report %d", i+1)) || !strings.Contains(body, "chart.png?raw=true") ||
					!strings.Contains(body, "table.csv") || strings.Count(body, "<!-- sandpiper:1 ") != 1 {
					t.Errorf("issue %d:\n%s", issues[i].Number, body)
				}
				if n := len(w.hub.Comments(repo, issues[i].Number)); n != 0 {
					t.Errorf("%d comments in issue %d", n, issues[i].Number)
				}
				at := fmt.Sprintf("issue-%d/task-%s/chart.png", issues[i].Number, task)
				if w.hub.Files(repo, w.branch())[at] == "" {
					t.Errorf("no %s", at)
				}
			}
			if tasks, err := l.store.Tasks(t.Context(), everything()); err != nil || len(tasks) != 2 {
				t.Errorf("%d tasks, %v: our own issue asks for nothing", len(tasks), err)
			}
		})
	}
}

// A life that ends between opening the issue and recording that, or whose answer
// is lost, opens no second one; what of the answer is missing is added.
func TestNewIssueIsOpenedOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A sentence of the report that is long enough to need parts. ", 1600) // three parts
	for name, c := range map[string]struct {
		lost   string // the call whose answer is lost
		killed bool   // before it could be looked up
		text   string
	}{
		"lost":                    {issuesRoute, false, "Short."},
		"killed":                  {issuesRoute, true, "Short."},
		"lost, long":              {issuesRoute, false, long},
		"killed, long":            {issuesRoute, true, long},
		"killed at a part":        {"POST /repos/{owner}/{repo}/issues/{number}/comments", true, long},
		"lost as files are shown": {"PATCH /repos/{owner}/{repo}/issues/{number}", false, "Short."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := scheduleWorld(t, setup{runner: func(context.Context, bot.Run) (bot.Outcome, error) {
				return bot.Outcome{State: bot.TaskDone, Message: c.text, Undelivered: []bot.Undelivered{{Name: "gone.csv", Reason: "too large"}}}, nil
			}})
			if name == "lost as files are shown" {
				w.runner = nil
			}
			l := w.start()
			w.hub.Fault(githubtest.Fault{Route: c.lost, Kind: githubtest.LoseResponse, Do: func() {
				if !c.killed {
					return
				}
				for _, look := range []string{"GET /repos/{owner}/{repo}/issues", "GET /repos/{owner}/{repo}/issues/{number}/comments"} {
					w.hub.Fault(githubtest.Fault{Route: look, Kind: githubtest.Answer, Status: 502, Times: -1})
				}
			}})
			task := fire(t, l, "1", "ann", "Weekly")
			if c.killed {
				w.until("its answer is unsure", func() bool {
					owed, err := l.store.Deliveries(t.Context(), task)
					return err == nil && len(owed) > 0 && owed[0].Status == bot.DeliveryUnsure
				})
				l.stop()
				w.hub.ClearFaults()
				l = w.start()
			}
			w.idle(l)
			issues := w.hub.Issues(repo)
			if len(issues) != 1 {
				t.Fatalf("%d issues, want 1", len(issues))
			}
			var parts []string
			for _, each := range w.hub.Comments(repo, issues[0].Number) {
				parts = append(parts, each.Body)
			}
			whole := issues[0].Body + strings.Join(parts, "")
			if c.text == long {
				if n := strings.Count(whole, "sentence"); len(parts) != 2 || n != 1600 {
					t.Errorf("%d further parts with %d sentences in all", len(parts), n)
				}
			} else if len(parts) != 0 || strings.Count(whole, "Weekly") > 0 && !strings.Contains(whole, "chart.png") {
				t.Errorf("further parts: %q", parts)
			}
			if w.runner == nil && strings.Count(whole, "chart.png?raw=true") != 1 {
				t.Errorf("the files are not shown once:\n%s", whole)
			}
			owed, err := l.store.Deliveries(t.Context(), task)
			if err != nil || slices.ContainsFunc(owed, func(d bot.Delivery) bool { return d.Status != bot.DeliverySent }) {
				t.Errorf("deliveries: %+v, %v", owed, err)
			}
		})
	}
}

// Somebody else's issue with our text and mark is not taken for ours.
func TestForgedIssueIsNotOurs(t *testing.T) {
	t.Parallel()
	w := scheduleWorld(t, setup{})
	l := w.start()
	fire(t, l, "1", "ann", "Weekly")
	w.idle(l)
	d := *sentAnswer(t, l)
	if _, found, err := l.adapter.Find(t.Context(), d); err != nil || !found {
		t.Fatalf("ours: found %v, %v", found, err)
	}
	ours := w.hub.Issues(repo)[0]
	w.hub.DeleteIssue(repo, ours.Number)
	w.hub.OpenIssue(repo, "eve", ours.Title, ours.Body)
	if _, found, err := l.adapter.Find(t.Context(), d); err != nil || found {
		t.Errorf("eve's: found %v, %v", found, err)
	}
	// One of ours under another repository's or issue's mark is none, either.
	w.hub.OpenIssue(repo, "sandpiper-bot", ours.Title, strings.Replace(ours.Body, "part=0/1", "part=0/2", 1))
	if _, found, err := l.adapter.Find(t.Context(), d); err != nil || found {
		t.Errorf("changed: found %v, %v", found, err)
	}
}

// Where no issue may or can be opened none is, and that ends.
func TestNewIssueThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who    string
		before func(w *world)
		state  bot.TaskState
		says   string // the failure of the answer
	}{
		"no right":   {"rob", func(*world) {}, bot.TaskRefused, ""},
		"right gone": {"ann", func(w *world) { w.hub.Grant(repo, "ann", "read") }, bot.TaskRefused, ""},
		"turned off": {"ann", func(w *world) { w.hub.TurnIssuesOff(repo) }, bot.TaskDone, "Issues are disabled"},
		"archived":   {"ann", func(w *world) { w.hub.Archive(repo) }, bot.TaskDone, "archived"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := scheduleWorld(t, setup{})
			c.before(w)
			l := w.start()
			id := fire(t, l, "1", c.who, "Weekly")
			w.idle(l)
			task, err := l.store.Task(t.Context(), id)
			if err != nil || task.State != c.state {
				t.Fatalf("task %s, %v", task.State, err)
			}
			if n := len(w.hub.Issues(repo)); n != 0 {
				t.Errorf("%d issues", n)
			}
			owed, err := l.store.Deliveries(t.Context(), id)
			if refused := c.state == bot.TaskRefused; err != nil || refused != (len(owed) == 0) || !refused && !strings.Contains(owed[0].Failure, c.says) {
				t.Errorf("deliveries: %+v, %v", owed, err)
			}
			if c.state == bot.TaskRefused { // run by hand, its person is told: but by no new issue
				_, err := l.adapter.Send(t.Context(), bot.Delivery{ID: "01D", Task: id, Kind: bot.DeliverAnswer, State: bot.TaskRefused, Origin: task.Event.Origin, Actor: task.Event.Actor, Message: "No."})
				if err != nil {
					t.Error(err)
				}
			}
			tries := 0
			for _, r := range w.hub.Requests() {
				if r.Route == issuesRoute {
					tries++
				}
			}
			if want := map[bool]int{true: 1, false: 0}[c.says != ""]; tries != want {
				t.Errorf("tried %d times, want %d", tries, want)
			}
		})
	}
}
