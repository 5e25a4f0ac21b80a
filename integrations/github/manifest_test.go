package github_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

type manifest struct {
	Permissions map[string]string `json:"default_permissions"`
	Events      []string          `json:"default_events"`
}

// permissions are what the App's manifest asks for; every test of an App runs
// with exactly these.
func permissions() map[string]string { return readManifest().Permissions }

func readManifest() manifest {
	data, err := os.ReadFile("../../deploy/github/app-manifest.json")
	if err != nil {
		panic(err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		panic(err)
	}
	return m
}

// The App asks for the permissions that are used, and for no others; the
// set-up page names the same.
func TestManifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true, visibility: "private"})
	w.hub.AddRepo(githubtest.Repo{
		Name: repo, Org: true, Visibility: "private", Pages: "gh-pages", Files: map[string]string{"data/a.csv": "a\n1\n"}, Grants: map[string]string{"ann": "write"},
	})
	w.hub.Commit(repo, "change", "ann", "c", map[string]string{"x.csv": "x\n"})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot `data/*.csv` and "+w.hub.Attach(repo, "p.png", []byte("x")))
	pull := w.hub.OpenPull(repo, "ann", "t", "b", "change", "diff")
	w.hub.Comment(repo, pull, "ann", "@sandpiper explain the diff")
	w.hub.ReviewComment(repo, pull, "ann", "x.csv", "@sandpiper plot x.csv")
	w.idle(l)
	l.adapter.Sweep(t.Context())
	if len(w.answers(n)) != 1 || len(w.answers(pull)) != 2 {
		t.Fatalf("answers %+v %+v", w.answers(n), w.answers(pull))
	}
	used := map[string]string{}
	for permission := range w.hub.Used() {
		name, level, _ := strings.Cut(permission, ":")
		if used[name] != "write" {
			used[name] = level
		}
	}
	if asked := readManifest().Permissions; !maps.Equal(asked, used) {
		t.Errorf("the manifest asks for %v, used are %v", asked, used)
	}
	if needed := github.Permissions(); !maps.Equal(needed, used) {
		t.Errorf("doctor looks for %v, used are %v", needed, used)
	}
	if events := readManifest().Events; !slices.Equal(events, []string{"issue_comment", "issues", "pull_request_review_comment"}) {
		t.Errorf("events %v", events)
	}
	page, err := os.ReadFile("../../deploy/docs/github.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, level := range used {
		if row := "| " + strings.ReplaceAll(name, "_", " ") + ": " + level + " |"; !strings.Contains(string(page), row) {
			t.Errorf("the set-up page lacks %q", row)
		}
	}
}
