package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// TestScheduleInGitHub saves and schedules by comments: the file is read from
// the repository as it stands when the schedule runs, the answers gather in the
// issue, and somebody else may not touch it.
func TestScheduleInGitHub(t *testing.T) {
	h := newGitHubHome(t)
	h.write("conf.yaml", "github: {repositories: ["+githubRepo+"]}\nsandbox: {pool: 0, wall: 15m, cpu: 10m}\n")
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "SANDPIPER_MODEL") })
	h.hub.Commit(githubRepo, "main", "ann", "numbers", map[string]string{"data/sales.csv": sales})
	server := h.serve()
	n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "The weekly numbers go here.")
	told := func(what string) string {
		t.Helper()
		found := ""
		h.eventually(what, func() bool {
			for _, c := range h.answers(n) {
				if text := strings.ReplaceAll(c.Body, `\`, ""); strings.Contains(text, what) {
					found = text
				}
			}
			return found != ""
		})
		return found
	}
	say := func(who, text string) { h.hub.Comment(githubRepo, n, who, "@sandpiper "+text) }

	say("ann", "/schedule every Monday at 9 in Europe/Berlin weekly report of revenue by region from data/sales.csv")
	proposal := told("It is not on yet")
	for _, part := range []string{"0 9 * * 1", "Europe/Berlin", "09:00 CE", "data/sales.csv"} {
		if !strings.Contains(proposal, part) {
			t.Errorf("the proposal lacks %q:\n%s", part, proposal)
		}
	}
	name := regexp.MustCompile(`schedules confirm ([a-z0-9-]+)`).FindStringSubmatch(proposal)
	if name == nil {
		t.Fatalf("no name in\n%s", proposal)
	}
	say("ann", "/schedules confirm "+name[1])
	told("is on; next on Mon")
	h.hub.Commit(githubRepo, "main", "ann", "newer numbers", map[string]string{"data/sales.csv": sales + "2026-03-23,North,1,1000.00\n2026-03-24,South,1,2000.00\n"})
	say("ann", "/schedules run "+name[1])
	if report := told("2,000"); !strings.Contains(report, "South") { // of the newer numbers
		t.Errorf("the report:\n%s", report)
	}
	h.stopped(server)
}

func (h *githubHome) stopped(p *process) {
	h.t.Helper()
	(&slackHome{home: h.home}).stop(p)
}

// TestScheduleAsNewIssue has a schedule of the configuration, one of a comment
// and one of the command line open an issue at each run, through the binary.
func TestScheduleAsNewIssue(t *testing.T) {
	h := newGitHubHome(t)
	const conf = `github: {repositories: [` + githubRepo + `]}
sandbox: {pool: 0, wall: 15m, cpu: 10m}
schedules:
  list:
    - name: weekly
      owner: "github:ann"
      when: every Monday at 9
      zone: Europe/Berlin
      request: Weekly report of revenue by region
      skill: csv-report
      inputs: ["github:` + githubRepo + `:data/sales.csv"]
      to: ["github:` + githubRepo + `"]
`
	for _, wrong := range []string{conf, strings.ReplaceAll(conf, `"]`+"\n", `#1"]`+"\n") + "      title: x\n", conf + "      title: '{{.Owner}}'\n"} {
		h.write("conf.yaml", wrong)
		p := h.start(h.env, "serve")
		if status := p.wait(); status != 2 || !strings.Contains(p.err.String(), "title") && !strings.Contains(p.err.String(), "say which issue") {
			t.Errorf("%s\nstatus %d: %s", wrong, status, p.err.String())
		}
	}
	h.write("conf.yaml", conf+"      title: 'Weekly sales for @octo/team, {{date}}'\n")
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "SANDPIPER_MODEL") })
	h.hub.Commit(githubRepo, "main", "ann", "numbers", map[string]string{"data/sales.csv": sales})
	server := h.serve()
	today := time.Now().In(must(time.LoadLocation("Europe/Berlin")))
	opened := func(n int, title string) githubtest.Issue {
		t.Helper()
		var last githubtest.Issue
		h.eventually("an issue with its files", func() bool {
			all := h.hub.Issues(githubRepo)
			if len(all) > n {
				t.Fatalf("%d issues, want %d: %+v", len(all), n, all)
			}
			if len(all) == n {
				last = all[n-1]
			}
			return strings.Contains(last.Body, "Files:")
		})
		if last.Title != title || last.Author != "sandpiper-bot" || !strings.Contains(last.Body, "South") || strings.Contains(last.Body, "@octo") {
			t.Errorf("issue %q by %s:\n%s", last.Title, last.Author, last.Body)
		}
		return last
	}
	h.run(0, "schedules", "run", "weekly")
	first := opened(1, "Weekly sales for @\u2060octo/team, "+today.Format(time.DateOnly))
	if c := h.answers(first.Number); len(c) != 0 {
		t.Errorf("comments in the new issue: %+v", c)
	}
	h.run(0, "schedules", "run", "weekly")
	opened(2, first.Title)

	talk := h.hub.OpenIssue(githubRepo, "ann", "Plans", "Here we plan.")
	told := func(what string) string {
		t.Helper()
		found := ""
		h.eventually(what, func() bool {
			for _, c := range h.answers(talk) {
				if text := strings.ReplaceAll(c.Body, `\`, ""); strings.Contains(text, what) {
					found = text
				}
			}
			return found != ""
		})
		return found
	}
	h.hub.Comment(githubRepo, talk, "ann", `@sandpiper /schedule every Monday at 9 in Europe/Berlin weekly report of revenue by region from data/sales.csv as a new issue titled "Sales of {{week}}"`)
	proposal := told("It is not on yet")
	if !strings.Contains(proposal, "Each answer opens an issue in octo/sales: Sales of 20") {
		t.Errorf("the proposal:\n%s", proposal)
	}
	name := regexp.MustCompile(`schedules confirm ([a-z0-9-]+)`).FindStringSubmatch(proposal)
	if name == nil {
		t.Fatalf("no name in\n%s", proposal)
	}
	h.hub.Comment(githubRepo, talk, "ann", "@sandpiper /schedules confirm "+name[1])
	told("is on; next on Mon")
	h.hub.Comment(githubRepo, talk, "ann", "@sandpiper /schedules run "+name[1])
	year, week := today.ISOWeek()
	opened(4, fmt.Sprintf("Sales of %d-W%02d", year, week))

	p := h.run(0, "schedules", "add", "mine", "0 9 * * MON", "Weekly report of revenue by region", "github:"+githubRepo+":data/sales.csv",
		"--skill", "csv-report", "--tz", "UTC", "--to", "github:"+githubRepo, "--to", "github:"+githubRepo+"#"+strconv.FormatInt(talk, 10), "--title", "Mine: {{name}}")
	if out := p.out.String(); !strings.Contains(out, "each answer opens an issue in octo/sales: Mine: mine") {
		t.Errorf("added:\n%s", out)
	}
	h.run(0, "schedules", "run", "mine")
	opened(5, "Mine: mine")
	told("Files:")
	h.stopped(server)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestGitHubOwnerIsTold has the owner of a schedule whose answers open issues
// lose the right: that is said once, where the schedule was made, and no issue
// is opened for it. Before, a try answers where it is asked, and says so.
func TestGitHubOwnerIsTold(t *testing.T) {
	w := newGitHubWeekly(t)
	talk := w.hub.OpenIssue(githubRepo, "ann", "Plans", "Here we plan.")
	say := func(text string) { w.hub.Comment(githubRepo, talk, "ann", "@sandpiper "+text) }
	say(`/schedule every Monday at 9 profile data/sales.csv as a new issue titled "Sales of {{date}}"`)
	proposal := w.said(talk, "It is not on yet")
	name := regexp.MustCompile(`schedules confirm ([a-z0-9-]+)`).FindStringSubmatch(proposal)
	if name == nil {
		t.Fatalf("no name in\n%s", proposal)
	}
	say("/schedules confirm " + name[1])
	w.said(talk, "is on; next on Mon 30 Nov 2026 09:00 JST") // of users in the configuration

	say("/schedules try " + name[1])
	w.said(talk, "There is no place here that you alone can see")
	w.said(talk, "Revenue by day and region")
	if n := len(w.hub.Issues(githubRepo)); n != 1 {
		t.Errorf("the try opened an issue: %d", n)
	}

	w.hub.Grant(githubRepo, "ann", "read")
	s, err := w.app.schedules.Get(t.Context(), name[1])
	if err != nil {
		t.Fatal(err)
	}
	w.clock.set(s.Next.Add(time.Second))
	w.app.clock.Wake()
	told := ""
	w.home.eventually("the pause", func() bool {
		w.app.clock.Wake()
		told = w.find(talk, "is paused")
		return told != ""
	})
	for range 3 {
		w.clock.set(w.clock.Now().AddDate(0, 0, 7))
		w.app.clock.Tick(t.Context(), w.app.orchestrator)
	}
	if err := w.app.orchestrator.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(told, "@") || !strings.Contains(told, "write permission") {
		t.Errorf("told:\n%s", told)
	}
	n := 0
	for _, c := range w.hub.Comments(githubRepo, talk) {
		if strings.Contains(c.Body, "paused") {
			n++
		}
	}
	if issues := w.hub.Issues(githubRepo); n != 1 || len(issues) != 1 {
		t.Errorf("told %d times; issues %+v", n, issues)
	}

	// One of the configuration whose only place is its new issues tells it there.
	owner := bot.Actor{ID: "github:ann"}
	s, err = w.app.schedules.Add(t.Context(), schedules.Schedule{
		Name: "configured", Owner: owner, Cron: "0 9 * * *", Zone: "UTC", Request: "report", Skill: "csv-report",
		From: schedules.FromCommand, To: []bot.Origin{github.NewIssue(githubRepo, "Report")},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.set(s.Next.Add(time.Second))
	w.home.eventually("its pause", func() bool {
		w.app.clock.Wake()
		all := w.hub.Issues(githubRepo)
		return len(all) == 2 && all[1].Title == "The schedule configured needs you" && strings.Contains(all[1].Body, "is paused")
	})
}

// githubWeekly is a process with a fake GitHub and a clock in hand.
type githubWeekly struct {
	*home
	hub   *githubtest.Server
	clock *handClock
	app   *app
}

func newGitHubWeekly(t *testing.T) *githubWeekly {
	t.Helper()
	sandboxtest.Engine(t)
	w := &githubWeekly{home: &home{t: t, dir: t.TempDir()}, clock: &handClock{at: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}}
	w.hub = githubtest.New(githubtest.Options{Now: w.clock.Now})
	t.Cleanup(w.hub.Close)
	w.hub.AddRepo(githubtest.Repo{
		Name: githubRepo, Org: true, Visibility: "public", Files: map[string]string{"data/sales.csv": sales},
		Grants: map[string]string{"ann": "write", "sandpiper-bot": "admin"},
	})
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := port.Addr().String()
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	w.hub.AddHook(githubtest.Hook{Repo: githubRepo, URL: "http://" + listen + "/webhooks/github", Secret: githubSecret})
	w.write("conf.yaml", "github: {repositories: ["+githubRepo+"]}\nsandbox: {pool: 0, wall: 15m, cpu: 10m}\nusers: {\"github:Ann\": {zone: Asia/Tokyo}}\nschedules: {zone: Europe/Riga}\n")
	env := map[string]string{
		"SANDPIPER_LISTEN": listen, "GITHUB_WEBHOOK_SECRET": githubSecret, "GITHUB_TOKEN": w.hub.Token("sandpiper-bot", nil),
		"GITHUB_API_URL": w.hub.APIURL(), "SANDPIPER_DATA_DIR": t.TempDir(), "HOME": w.dir,
	}
	loaded, err := config.Load(config.Options{Path: w.dir + "/conf.yaml", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if w.app, err = start(ctx, loaded, log, startOptions{serve: true, clock: w.clock}); err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.app.serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, w.app.stop(context.WithoutCancel(ctx))); err != nil {
			t.Error(err)
		}
	})
	w.eventually("the adapter", func() bool { return w.app.github.Ready() == nil })
	return w
}

// find is the bot's comment on an issue that holds words; "" where none does.
func (w *githubWeekly) find(number int64, words string) string {
	for _, c := range w.hub.Comments(githubRepo, number) {
		if text := strings.ReplaceAll(c.Body, `\`, ""); c.Author == "sandpiper-bot" && strings.Contains(text, words) {
			return text
		}
	}
	return ""
}

// said waits for such a comment.
func (w *githubWeekly) said(number int64, words string) (text string) {
	w.t.Helper()
	w.eventually(words, func() bool { text = w.find(number, words); return text != "" })
	return text
}
