package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
