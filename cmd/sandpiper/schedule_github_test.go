package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
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
	if !strings.Contains(proposal, "each answer opens an issue in octo/sales: Sales of 20") {
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
