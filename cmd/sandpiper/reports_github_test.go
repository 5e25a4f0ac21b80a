package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// TestReportInGitHub saves a report by a comment after an answered one, and runs
// it on new files in the same issue and in another, by whoever may.
func TestReportInGitHub(t *testing.T) {
	h := newGitHubHome(t)
	h.hub.AddRepo(githubtest.Repo{Name: "octo/other", Org: true, Visibility: "public", Files: map[string]string{"README.md": "hello"}, Grants: map[string]string{"ann": "write", "sandpiper-bot": "admin"}})
	h.hub.Grant(githubRepo, "bob", "write")
	h.hub.Grant(githubRepo, "eve", "read")
	h.write("conf.yaml", "github: {repositories: ["+githubRepo+"]}\nsandbox: {pool: 0}\npolicies: [{origin: \"github:"+githubRepo+"\", actors: [\"github:carl\"], may: [ask]}, {origin: \"github:"+githubRepo+"\", actors: [\"*\"], may: [ask, save, schedule]}]\n")
	h.hub.Grant(githubRepo, "carl", "write")
	model := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Match: "revenue, please", Turns: []modeltest.Turn{
		modeltest.Do("execute_code", map[string]any{"language": "python", "code": "from sandpiper import read\nprint('total', read('/workspace/in/sales.csv')['revenue'].sum())"}),
		modeltest.Do("finish", map[string]any{"message": "Revenue was 225.50."}),
	}}}})
	h.env[slices.IndexFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "OPENAI_BASE_URL=") })] = "OPENAI_BASE_URL=" + model.URL()
	server := h.serve()
	file := func(content string) string {
		return "[week.csv](" + h.hub.Attach(githubRepo, "week.csv", []byte(content)) + ")"
	}
	const week3 = "date,region,units,revenue\n2026-03-23,North,1,10\n2026-03-24,South,2,20\n"

	// said comments and waits for an answer of the bot's that was not there.
	said := func(n int64, who, text, want string) string {
		t.Helper()
		before := map[string]bool{}
		for _, c := range h.answers(n) {
			before[c.Body] = true
		}
		h.hub.Comment(githubRepo, n, who, "@sandpiper "+text)
		found, began := "", time.Now()
		defer func() {
			if found == "" {
				t.Logf("%s said %q; the bot's comments:\n%+v\nlog:\n%s", who, text, h.answers(n), server.err.String())
			}
		}()
		h.eventually(want, func() bool {
			if time.Since(began) > 90*time.Second {
				t.Fatalf("waited for %q in vain", want)
			}
			for _, c := range h.answers(n) {
				if body := strings.NewReplacer(`\`, "", "\u2060", "").Replace(c.Body); !before[c.Body] && strings.Contains(body, want) {
					found = body
				}
			}
			return found != ""
		})
		return found
	}
	n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "The numbers: ["+"sales.csv]("+h.hub.Attach(githubRepo, "sales.csv", []byte(sales))+")")
	said(n, "ann", "revenue, please", "Revenue was 225.50.")
	asked := len(model.Requests())
	said(n, "carl", "/save weekly", "save") // may only ask
	if report := said(n, "ann", "/save weekly-sales", "Saved as"); !strings.Contains(report, "weekly-sales") {
		t.Errorf("saved:\n%s", report)
	}
	said(n, "bob", "/save weekly-sales", "Not saved") // hers

	// In the same issue, whose first comment has the old file, and in another.
	said(n, "ann", "/run weekly-sales "+file(week3), "Revenue was 30.00.")
	other := h.hub.OpenIssue(githubRepo, "ann", "More", "of them")
	said(other, "ann", "run weekly-sales on "+file(week3+"2026-03-25,East,1,5\n"), "Revenue was 35.00.")
	h.hub.Commit(githubRepo, "main", "ann", "numbers", map[string]string{"data/week5.csv": week3 + "2026-03-25,East,1,70\n"})
	said(other, "ann", "run weekly-sales data/week5.csv", "Revenue was 100.00.")

	// A name that is nearly one, and one of somebody else's.
	if text := said(other, "ann", "/run weekly-sale "+file(week3), "There is no skill named `weekly-sale`"); !strings.Contains(text, "Did you mean `weekly-sales`?") {
		t.Errorf("a near name:\n%s", text)
	}
	if text := said(other, "bob", "/run weekly-sales "+file(week3), "There is no skill named `weekly-sales`"); strings.Contains(text, "Did you mean") {
		t.Errorf("somebody else's report shows:\n%s", text)
	}
	said(n, "ann", "/reports share weekly-sale", "Did you mean `weekly-sales`?")
	said(n, "bob", "/reports share weekly-sales", "There is no report `weekly-sales`")
	said(n, "ann", "/reports publish weekly-sales", "publish") // needs the right to
	said(n, "ann", "/reports share weekly-sales", "belongs to this place now")
	said(other, "bob", "/run weekly-sales "+file(week3+"2026-03-25,East,1,50\n"), "Revenue was 80.00.")
	if list := said(other, "bob", "/reports", "weekly-sales"); !strings.Contains(list, "Saved report") {
		t.Errorf("the list:\n%s", list)
	}

	// An edit commands nothing, and who may only read is not answered.
	id := h.hub.Comment(githubRepo, other, "ann", "nothing for the bot")
	h.hub.EditComment(githubRepo, id, "@sandpiper /reports remove weekly-sales")
	h.hub.Comment(githubRepo, other, "eve", "@sandpiper /run weekly-sales "+file(week3+"2026-03-25,East,1,600\n"))
	said(other, "ann", "/reports versions weekly-sales", "is at version 2; kept are 2, 1")
	for _, c := range h.answers(other) {
		if strings.Contains(c.Body, "Revenue was 630") || strings.Contains(c.Body, "removed") {
			t.Errorf("answered all the same:\n%s", c.Body)
		}
	}
	said(n, "bob", "/schedule every Monday at 9 in Europe/Berlin run weekly-sales from data/week5.csv", "It is not on yet")
	if n := len(model.Requests()); n != asked {
		t.Errorf("%d requests went to the model", n-asked)
	}
	h.stopped(server)
}
