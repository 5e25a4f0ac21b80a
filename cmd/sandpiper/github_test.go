package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

const (
	githubRepo   = "octo/sales"
	githubSecret = "a webhook's secret"
)

// githubHome is a home whose bot serves a fake GitHub and asks a scripted
// model.
type githubHome struct {
	*home
	hub  *githubtest.Server
	hook int64
	env  []string
	url  string
}

// drawing reads the attached table, draws it, and answers.
func drawing() modeltest.Script {
	return modeltest.Script{Agents: []modeltest.Agent{{Match: "draw the revenue", Turns: []modeltest.Turn{
		modeltest.Do("create_todo_list", map[string]any{"items": []string{"Read the file", "Draw it"}}),
		modeltest.Do("execute_code", map[string]any{"language": "python", "code": `import os
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sandpiper import read
df = read("in/sales.csv")
total = df.groupby("region").revenue.sum()
print("ROWS in/sales.csv used=%d left_out=0" % len(df))
print(total)
os.makedirs("out", exist_ok=True)
total.plot.bar()
plt.savefig("out/revenue.png")
total.to_csv("out/revenue.csv")`}),
		modeltest.Do("finish", map[string]any{"message": "North brought **91.5** and South **134**, @octocat. Fixes #1 ![x](https://evil.example/leak)", "files": []string{"out/revenue.png", "out/revenue.csv"}}),
	}}, {Match: "take your time", Turns: []modeltest.Turn{
		modeltest.Do("execute_code", map[string]any{"language": "python", "code": "import time\ntime.sleep(100)"}),
		modeltest.Do("finish", map[string]any{"message": "At last."}),
	}}, {Match: "say it in code", Turns: []modeltest.Turn{
		modeltest.Do("finish", map[string]any{"message": "It is\n\n```text\nnever closed"}),
	}}}}
}

func newGitHubHome(t *testing.T) *githubHome {
	t.Helper()
	h := &githubHome{home: newHome(t), hub: githubtest.New(githubtest.Options{})}
	t.Cleanup(h.hub.Close)
	h.hub.AddRepo(githubtest.Repo{
		Name: githubRepo, Org: true, Visibility: "public", Files: map[string]string{"README.md": "hello"},
		Grants: map[string]string{"ann": "write", "sandpiper-bot": "admin"},
	})
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + port.Addr().String()
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	h.hook = h.hub.AddHook(githubtest.Hook{Repo: githubRepo, URL: h.url + "/webhooks/github", Secret: githubSecret})
	h.write("conf.yaml", "github: {repositories: ["+githubRepo+"]}\nsandbox: {pool: 0}\n")
	model := modeltest.Start(t, drawing())
	h.env = []string{
		"SANDPIPER_LISTEN=" + strings.TrimPrefix(h.url, "http://"), "GITHUB_WEBHOOK_SECRET=" + githubSecret,
		"GITHUB_TOKEN=" + h.hub.Token("sandpiper-bot", nil), "GITHUB_API_URL=" + h.hub.APIURL(),
		"OPENAI_BASE_URL=" + model.URL(), "OPENAI_API_KEY=k", "SANDPIPER_MODEL=scripted",
	}
	return h
}

// serve starts the bot and waits until GitHub knows it.
func (h *githubHome) serve(env ...string) *process {
	h.t.Helper()
	p := h.start(append(slices.Clone(h.env), env...), "serve")
	h.eventually("the bot is ready", func() bool {
		select {
		case <-p.done:
			h.t.Fatalf("serve ended: %s", p.err.String())
		default:
		}
		response, err := http.Get(h.url + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(text), `"github","status":"ok"`)
	})
	return p
}

func (h *githubHome) ask(number int64) {
	link := h.hub.Attach(githubRepo, "sales.csv", []byte(sales))
	h.hub.Comment(githubRepo, number, "ann", "@sandpiper draw the revenue by region, please: ["+"sales.csv]("+link+")")
}

// answers are the bot's comments on an issue.
func (h *githubHome) answers(number int64) []githubtest.Comment {
	return slices.DeleteFunc(h.hub.Comments(githubRepo, number), func(c githubtest.Comment) bool { return c.Author != "sandpiper-bot" })
}

// answered waits for the answer with its files and checks all that a person
// sees of it.
func (h *githubHome) answered(number int64) {
	h.t.Helper()
	h.eventually("the answer with its files", func() bool {
		got := h.answers(number)
		return len(got) > 0 && strings.Contains(got[0].Body, "Files:")
	})
	h.eventually("the last reaction", func() bool {
		return slices.Contains(h.hub.Comments(githubRepo, number)[0].Reactions, "sandpiper-bot:rocket")
	})
	got := h.answers(number)
	if len(got) != 1 {
		h.t.Fatalf("%d comments of the bot, want 1: %+v", len(got), got)
	}
	body := got[0].Body
	for _, want := range []string{"North brought **91.5**", "revenue.png", "revenue.csv](<", "How this was made", "sales.csv"} {
		if !strings.Contains(strings.ReplaceAll(body, `\`, ""), want) {
			h.t.Errorf("the answer lacks %q:\n%s", want, body)
		}
	}
	for _, not := range []string{"@octocat", "#1 ", "](https://evil", "(<https://evil"} {
		if strings.Contains(body, not) {
			h.t.Errorf("the answer has %q:\n%s", not, body)
		}
	}
	if !slices.Contains(h.hub.Comments(githubRepo, number)[0].Reactions, "sandpiper-bot:eyes") {
		h.t.Errorf("reactions %v", h.hub.Comments(githubRepo, number)[0].Reactions)
	}
	picture := regexp.MustCompile(`!\[[^\]]*\]\(<([^>]+)>\)`).FindStringSubmatch(body)
	if picture == nil || !strings.HasPrefix(h.get(picture[1]), "\x89PNG") {
		h.t.Errorf("no picture is shown inline:\n%s", body)
	}
	links := regexp.MustCompile(`\n- \[[^\]]*\]\(<([^>]+)>\)`).FindAllStringSubmatch(body, -1)
	if len(links) < 2 {
		h.t.Errorf("%d links to files in\n%s", len(links), body)
	}
	for _, link := range links {
		h.get(link[1])
	}
}

func (h *githubHome) get(link string) string {
	h.t.Helper()
	response, err := h.hub.Browser("ann").Get(link)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		h.t.Errorf("%s answers %d, %v", link, response.StatusCode, err)
	}
	return string(data)
}

// commits counts the bot's commits on this month's branch.
func (h *githubHome) commits() int {
	n := 0
	for _, c := range h.hub.Commits(githubRepo, "sandpiper-artifacts-"+time.Now().UTC().Format("2006-01")) {
		if strings.Contains(c.Message, "Sandpiper-Mac: ") {
			n++
		}
	}
	return n
}

// TestGitHub asks in an issue with an attached table, through the binary, the
// scripted model and the sandbox: first in calm weather, then with every
// delivery doubled, each write's response lost once, both kinds of limits, a
// server error, and a branch that moves. Each gives one answer and one commit.
func TestGitHub(t *testing.T) {
	h := newGitHubHome(t)
	p := h.serve()
	calm := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
	h.ask(calm)
	h.answered(calm)
	if n := h.commits(); n != 1 {
		t.Errorf("%d commits, want 1", n)
	}

	h.hub.SetHook(h.hook, "", false, true)
	arm := func(route string, kind githubtest.FaultKind, fault githubtest.Fault) {
		fault.Route, fault.Kind = route, kind
		h.hub.Fault(fault)
	}
	const issues, git = "POST /repos/{owner}/{repo}/issues/", "POST /repos/{owner}/{repo}/git/"
	for _, route := range []string{
		issues + "{number}/comments", issues + "comments/{id}/reactions", "PATCH /repos/{owner}/{repo}/issues/comments/{id}",
		git + "blobs", git + "trees", git + "commits", "PATCH /repos/{owner}/{repo}/git/refs/heads/{branch...}",
		"GET /repos/{owner}/{repo}/collaborators/{login}/permission", "GET /repos/{owner}/{repo}/issues/comments/{id}",
	} {
		arm(route, githubtest.LoseResponse, githubtest.Fault{})
	}
	arm(git+"blobs", githubtest.Secondary, githubtest.Fault{Status: 429, After: time.Second})
	arm(git+"trees", githubtest.Secondary, githubtest.Fault{After: time.Second})
	arm("PATCH /repos/{owner}/{repo}/issues/comments/{id}", githubtest.Answer, githubtest.Fault{Status: 502})
	moved := 0
	arm(git+"commits", githubtest.Before, githubtest.Fault{Do: func() {
		moved++
		h.hub.Commit(githubRepo, "sandpiper-artifacts-"+time.Now().UTC().Format("2006-01"), "ann", "in between", map[string]string{"other": "x"})
	}})
	rough := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
	h.ask(rough)
	h.answered(rough)
	h.hub.Settle()
	if n := h.commits(); n != 2 || moved != 1 {
		t.Errorf("%d commits, want 2; the branch moved %d times", n, moved)
	}
	if left := h.hub.ClearFaults(); left > 1 {
		t.Errorf("%d faults were never met", left)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if got := len(h.answers(calm)) + len(h.answers(rough)); got != 2 {
		t.Errorf("%d answers in the end", got)
	}
}

// TestGitHubKilled kills the bot at points of a request's way: the next life
// finds what is missing and repeats nothing.
func TestGitHubKilled(t *testing.T) {
	for _, point := range []string{"1:committed", "1:inputs-stored", "1:program-running", "1:artifacts-stored", "1:delivered", "2:delivered"} {
		t.Run(strings.ReplaceAll(point, ":", " "), func(t *testing.T) {
			h := newGitHubHome(t)
			p := h.serve(killVariable + "=" + point)
			n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
			h.ask(n)
			if status := p.wait(); status != -1 {
				t.Fatalf("it was not killed but ended with %d: %s", status, p.err.String())
			}
			h.hub.Settle()
			p = h.serve()
			h.answered(n)
			if got := h.commits(); got != 1 {
				t.Errorf("%d commits, want 1", got)
			}
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			p.wait()
			if got := h.answers(n); len(got) != 1 {
				t.Errorf("answers in the end: %s", fmt.Sprint(got))
			}
			// One that the engine was still making for the killed life is
			// removed by whichever life comes next.
			h.eventually("no container is left", func() bool {
				if len(h.containers()) > 0 {
					h.run(0, "tasks", "list")
				}
				return len(h.containers()) == 0
			})
		})
	}
}
