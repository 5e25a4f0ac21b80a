package github_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// An asked comment ends with reactions, one answer with an inline chart, and
// links that open each file, for an App and for a token alike.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]setup{
		"app":   {app: true, visibility: "private"},
		"token": {visibility: "public"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, with)
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "Sales", "no call here")
			id := w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv please\n\n```csv name=mine.csv\nx\n9\n```")
			w.idle(l)
			answer := w.one(n)
			for _, want := range []string{"Answer to: plot data/a.csv please", "`a,b/1,2/`", "`x/9/`", "![Sales by month](<", "table.csv](<", "How this was made"} {
				if !strings.Contains(strings.ReplaceAll(answer.Body, `\`, ""), want) {
					t.Errorf("answer lacks %q:\n%s", want, answer.Body)
				}
			}
			asked := w.hub.Comments(repo, n)[0]
			if asked.ID != id || !slices.Equal(asked.Reactions, []string{answer.Author + ":eyes", answer.Author + ":rocket"}) {
				t.Errorf("reactions %v", asked.Reactions)
			}
			links := regexp.MustCompile(`\(<([^>]+)>\)`).FindAllStringSubmatch(answer.Body, -1)
			if len(links) != 3 {
				t.Fatalf("%d links in\n%s", len(links), answer.Body)
			}
			for _, link := range links {
				r, err := w.hub.Browser("ann").Get(link[1])
				if err != nil {
					t.Fatal(err)
				}
				_ = r.Body.Close()
				if r.StatusCode != http.StatusOK {
					t.Errorf("%s answers %d", link[1], r.StatusCode)
				}
			}
			commits := w.hub.Commits(repo, w.branch())
			if len(commits) != 1 || len(commits[0].Parents) != 0 || strings.ContainsAny(commits[0].Message, "#@") {
				t.Errorf("commits %+v", commits)
			}
			if files := w.hub.Files(repo, w.branch()); len(files) != 2 {
				t.Errorf("files %v", files)
			}
		})
	}
}

// faults are the routes of an answer whose responses may be lost.
func routes() []string {
	return []string{
		"GET /repos/{owner}/{repo}/collaborators/{login}/permission",
		"POST /repos/{owner}/{repo}/issues/comments/{id}/reactions",
		"POST /repos/{owner}/{repo}/issues/{number}/comments",
		"PATCH /repos/{owner}/{repo}/issues/comments/{id}",
		"GET /repos/{owner}/{repo}/issues/comments/{id}",
		"GET /repos/{owner}/{repo}/issues/{number}/comments",
		"GET /repos/{owner}/{repo}",
		"GET /repos/{owner}/{repo}/git/ref/heads/{branch...}",
		"POST /repos/{owner}/{repo}/git/blobs",
		"POST /repos/{owner}/{repo}/git/trees",
		"POST /repos/{owner}/{repo}/git/commits",
		"POST /repos/{owner}/{repo}/git/refs",
		"GET /repos/{owner}/{repo}/git/trees/{sha...}",
		"GET /repos/{owner}/{repo}/contents/{path...}",
		"GET /repos/{owner}/{repo}/commits/{ref...}",
	}
}

// Whatever response is lost or refused, or told to be limited, there is one
// answer and one commit in the end.
func TestFaults(t *testing.T) {
	t.Parallel()
	kinds := map[string]githubtest.Fault{
		"lost":      {Kind: githubtest.LoseResponse},
		"lost x3":   {Kind: githubtest.LoseResponse, Times: 3},
		"refused":   {Kind: githubtest.Refuse, Times: 2},
		"502":       {Kind: githubtest.Answer, Status: 502, Times: 2},
		"403":       {Kind: githubtest.Secondary, After: 1e9},
		"429":       {Kind: githubtest.Secondary, Status: 429, After: 1e9},
		"exhausted": {Kind: githubtest.Primary, After: 0},
	}
	for name, fault := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, route := range routes() {
				if fault.After > 0 && i%3 != 0 {
					continue // each of these takes a real second
				}
				w := newWorld(t, setup{visibility: "private"})
				l := w.start()
				n := w.hub.OpenIssue(repo, "ann", "Sales", "no call here")
				fault.Route = route
				w.hub.Fault(fault)
				w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
				w.idle(l)
				answer := w.one(n)
				if !strings.Contains(answer.Body, "Answer to") || !strings.Contains(answer.Body, "Files:") {
					t.Errorf("%s: answer is\n%s", route, answer.Body)
				}
				if commits := w.hub.Commits(repo, w.branch()); len(commits) != 1 {
					t.Errorf("%s: %d commits", route, len(commits))
				}
				if left := w.hub.ClearFaults(); left > 0 && fault.Times <= 1 && !strings.Contains(route, "GET /repos/{owner}/{repo}/issues/{number}/comments") {
					t.Errorf("%s: the fault was never met", route)
				}
				if got := w.hub.Comments(repo, n)[0].Reactions; !slices.Contains(got, "sandpiper-bot:rocket") {
					t.Errorf("%s: reactions %v", route, got)
				}
				l.stop()
			}
		})
	}
}
