package github_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// A branch that moved between reading and writing it is tried again on top of
// what came, never forced.
func TestMovedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper first")
	w.idle(l)
	moves := 0
	w.hub.Fault(githubtest.Fault{Route: "PATCH /repos/{owner}/{repo}/git/refs/heads/{branch...}", Kind: githubtest.Before, Times: 2, Do: func() {
		moves++
		w.hub.Commit(repo, w.branch(), "ann", "in between", map[string]string{fmt.Sprint("other", moves): "x"})
	}})
	w.hub.Comment(repo, n, "ann", "@sandpiper second")
	w.idle(l)
	commits := w.hub.Commits(repo, w.branch())
	if len(commits) != 4 || len(w.answers(n)) != 2 {
		t.Errorf("%d commits, %d answers", len(commits), len(w.answers(n)))
	}
	if files := w.hub.Files(repo, w.branch()); len(files) != 6 || files["other2"] == "" {
		t.Errorf("files %v", files)
	}
	for _, r := range w.hub.Requests() {
		if r.Method == "PATCH" && strings.Contains(r.Path, "/git/refs/") && r.Status == 0 {
			t.Errorf("request %+v", r)
		}
	}
	// Another first commit of the month comes between.
	w2 := newWorld(t, setup{})
	w2.hub.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/git/refs", Kind: githubtest.Before, Do: func() {
		w2.hub.Commit(repo, w2.branch(), "ann", "first", map[string]string{"other": "x"})
	}})
	l2 := w2.start()
	m := w2.hub.OpenIssue(repo, "ann", "t", "b")
	w2.hub.Comment(repo, m, "ann", "@sandpiper first")
	w2.idle(l2)
	if commits := w2.hub.Commits(repo, w2.branch()); len(commits) != 2 || !strings.Contains(w2.one(m).Body, "Files:") {
		t.Errorf("commits %+v", commits)
	}
}

// Where the branch cannot be written, small texts go into the comment, and the
// rest is named with the reason.
func TestDeniedBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*world)
		adapt   func(*github.Options)
		want    string
	}{
		"protected": {prepare: func(w *world) { w.hub.Protect(repo, "sandpiper-") }, want: "as its protection or rules say"},
		"read only": {prepare: func(w *world) { w.token = w.hub.Token("sandpiper-bot", without("contents")) }, want: "permission contents: write"},
		"default":   {prepare: func(w *world) { w.repoWith(githubtest.Repo{Branch: w.branch()}) }, want: "default branch"},
		"pages":     {prepare: func(w *world) { w.repoWith(githubtest.Repo{Pages: w.branch()}) }, want: "GitHub Pages"},
		"more public": {
			prepare: func(w *world) { w.repoWith(githubtest.Repo{Visibility: "private"}) },
			adapt:   func(o *github.Options) { o.Artifacts.Repository = "octo/files" }, want: "would leave its place",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{adapt: c.adapt})
			w.hub.AddRepo(githubtest.Repo{Name: "octo/files", Grants: map[string]string{"sandpiper-bot": "write"}})
			c.prepare(w)
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			w.hub.Comment(repo, n, "ann", "@sandpiper plot")
			w.idle(l)
			got := strings.ReplaceAll(w.one(n).Body, `\`, "")
			for _, want := range []string{"content of table.csv", "Not delivered: `chart.png`. The small texts stand here instead:"} {
				if !strings.Contains(got, want) {
					t.Errorf("answer lacks %q:\n%s", want, got)
				}
			}
			if strings.Count(got, c.want) != 1 {
				t.Errorf("the reason does not stand there once:\n%s", got)
			}
			for _, name := range []string{repo, "octo/files"} {
				for _, branch := range w.hub.Branches(name) {
					if len(w.hub.Commits(name, branch)) > 1 || (branch != "main" && branch != w.branch()) {
						t.Errorf("%s: branches %v", name, w.hub.Branches(name))
					}
				}
			}
		})
	}
}

func without(name string) map[string]string {
	p := permissions()
	p[name] = "read"
	return p
}

// repoWith makes the repository anew.
func (w *world) repoWith(r githubtest.Repo) {
	r.Name, r.Org = repo, true
	r.Grants = map[string]string{"ann": "write", "sandpiper-bot": "write"}
	w.hub.AddRepo(r)
	w.hub.AddHook(githubtest.Hook{Repo: repo, URL: w.url, Secret: secret})
}

// A separate repository takes the files under the asking one's name.
func TestSeparateRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true, visibility: "private", adapt: func(o *github.Options) { o.Artifacts.Repository = "octo/files" }})
	w.hub.AddRepo(githubtest.Repo{Name: "octo/files", Org: true, Visibility: "private"})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot")
	w.idle(l)
	files := w.hub.Files("octo/files", w.branch())
	if len(files) != 2 || !strings.Contains(w.one(n).Body, "/octo/files/blob/") {
		t.Errorf("files %v", files)
	}
	for name := range files {
		if !strings.HasPrefix(name, "octo/sales/issue-1/task-") {
			t.Errorf("path %s", name)
		}
	}
}

// Names from the sandbox stay below the task's folder.
func TestFileNames(t *testing.T) {
	t.Parallel()
	names := []string{"../../../etc/x", "/abs/y", ".git/config", "a/../b.txt", "same.txt", "SAME.txt", "evil](http://x).md", "tab\tname\n.txt", "weird #1 @ann?.csv", "имя.csv"}
	var blobs bot.Blobs
	w := newWorld(t, setup{adapt: func(o *github.Options) { blobs = o.Blobs }, runner: func(ctx context.Context, _ bot.Run) (bot.Outcome, error) {
		var files []bot.Artifact
		for _, name := range names {
			blob, err := blobs.Put(ctx, strings.NewReader(name), 0)
			if err != nil {
				return bot.Outcome{}, err
			}
			files = append(files, bot.Artifact{Name: name, MediaType: "text/plain", Size: blob.Size, Blob: blob.SHA256})
		}
		return bot.Outcome{State: bot.TaskDone, Message: "ok", Files: files}, nil
	}})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot")
	w.idle(l)
	var got []string
	for path := range w.hub.Files(repo, w.branch()) {
		if !strings.HasPrefix(path, "issue-1/task-") {
			t.Errorf("path %q", path)
		}
		got = append(got, path)
	}
	if len(got) != len(names) {
		t.Errorf("%d files: %q", len(got), got)
	}
	body := w.one(n).Body
	if strings.Contains(body, "](http://x") || strings.Contains(body, "@ann") || strings.Contains(body, "#1") {
		t.Errorf("answer %s", body)
	}
	if !slices.ContainsFunc(got, func(p string) bool { return strings.HasSuffix(p, "/_git/config") }) {
		t.Errorf("files %q", got)
	}
}

// What only accompanies an answer comes last in its list, unless the request
// names it.
func TestAuxiliary(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{"@sandpiper plot": "\nAlso made: [table.csv](<", "@sandpiper make table.csv": "\n- [table.csv](<"} {
		w := newWorld(t, setup{auxiliary: "table.csv"})
		l := w.start()
		n := w.hub.OpenIssue(repo, "ann", "t", "b")
		w.hub.Comment(repo, n, "ann", request)
		w.idle(l)
		if got := w.one(n).Body; !strings.Contains(got, want) || !strings.Contains(got, "Files:\n\n- [chart.png](<") {
			t.Errorf("%s:\n%s", request, got)
		}
	}
}

// A repository without a commit takes no branch for files, for it would become
// its default branch: that is said, and not tried for ever.
func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{adapt: func(o *github.Options) { o.Repositories = []string{"octo/new"} }})
	w.hub.AddRepo(githubtest.Repo{Name: "octo/new", Org: true, Empty: true, Grants: map[string]string{"ann": "write", "sandpiper-bot": "write"}})
	w.hub.AddHook(githubtest.Hook{Repo: "octo/new", URL: w.url, Secret: secret})
	l := w.start()
	n := w.hub.OpenIssue("octo/new", "ann", "t", "b")
	w.hub.Comment("octo/new", n, "ann", "@sandpiper plot it")
	w.idle(l)
	got := w.hub.Comments("octo/new", n)
	if len(got) != 2 || !strings.Contains(strings.ReplaceAll(got[1].Body, `\`, ""), "is empty, and its first branch would become its default branch") {
		t.Errorf("comments %+v", got)
	}
}
