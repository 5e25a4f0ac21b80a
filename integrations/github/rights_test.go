package github_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// Who has not the permission gets no answer, no reaction and no task's work.
func TestOutsiders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who, min, outsiders, visibility string
		answers                         int
		want                            string
	}{
		"writer":             {who: "ann", answers: 1, want: "Answer to"},
		"reader":             {who: "rob"},
		"stranger":           {who: "eve"},
		"reader may read":    {who: "rob", min: "read", answers: 1, want: "Answer to"},
		"stranger is told":   {who: "eve", outsiders: "reply", answers: 1, want: "Only people with write permission"},
		"private and reader": {who: "rob", visibility: "private"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{visibility: c.visibility, adapt: func(o *github.Options) { o.MinPermission, o.Outsiders = c.min, c.outsiders }})
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			for range 2 {
				w.hub.Comment(repo, n, c.who, "@sandpiper plot")
				w.idle(l)
				if c.want == "Answer to" {
					break
				}
			}
			got := w.answers(n)
			if len(got) != c.answers || (c.answers > 0 && !strings.Contains(got[0].Body, c.want)) {
				t.Fatalf("answers %+v", got)
			}
			if c.answers == 0 && len(w.hub.Comments(repo, n)[0].Reactions) > 0 {
				t.Errorf("reactions %v", w.hub.Comments(repo, n)[0].Reactions)
			}
		})
	}
}

// A permission that cannot be asked for is no permission.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.hub.Grant(repo, "sandpiper-bot", "read") // may no longer ask
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot")
	w.idle(l)
	if got := w.answers(n); len(got) != 0 {
		t.Errorf("answers %+v", got)
	}
	if !strings.Contains(w.log.String(), "permissions cannot be asked for") {
		t.Error("the operator is not told")
	}
}

// A repository that is not listed, bots, ourselves, edits by others: nothing.
func TestIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.hub.AddRepo(githubtest.Repo{Name: "octo/other", Grants: map[string]string{"ann": "admin", "sandpiper-bot": "admin"}})
	w.hub.AddHook(githubtest.Hook{Repo: "octo/other", URL: w.url, Secret: secret})
	w.hub.AddUser("helper[bot]", "Bot")
	w.hub.Grant(repo, "helper[bot]", "admin")
	l := w.start()
	other := w.hub.OpenIssue("octo/other", "ann", "t", "@sandpiper plot")
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "helper[bot]", "@sandpiper plot")
	w.hub.Comment(repo, n, "sandpiper-bot", "@sandpiper plot")
	w.hub.Comment(repo, n, "ann", "> @sandpiper plot")
	w.hub.Label(repo, n, "ann", "bug")
	w.idle(l)
	all, err := l.store.Tasks(t.Context(), everything())
	if err != nil || len(all) != 0 {
		t.Errorf("%d tasks, %v", len(all), err)
	}
	if got := w.hub.Comments("octo/other", other); len(got) != 0 {
		t.Errorf("comments %+v", got)
	}
}

// A label makes an issue's text a request only when both the labeller and the
// text's author have the right.
func TestLabel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		author, labeller string
		answers          int
	}{"both": {"ann", "bea", 1}, "author outside": {"eve", "ann", -1}, "labeller outside": {"ann", "rob", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{adapt: func(o *github.Options) { o.Label = "analyse" }})
			w.hub.Grant(repo, "bea", "write")
			l := w.start()
			n := w.hub.OpenIssue(repo, c.author, "Sales by month", "from data/a.csv")
			w.hub.Label(repo, n, c.labeller, "analyse")
			w.idle(l)
			got := w.answers(n)
			if c.answers < 0 { // the labeller is told: TestLabelNamesAuthor
				if tasks, err := l.store.Tasks(t.Context(), everything()); err != nil || len(tasks) != 1 || tasks[0].State != bot.TaskRefused {
					t.Errorf("tasks %+v, %v", tasks, err)
				}
				return
			}
			if len(got) != c.answers || (c.answers == 1 && !strings.Contains(got[0].Body, "Sales by month")) {
				t.Errorf("answers %+v", got)
			}
		})
	}
}

// The issue's own text, a review comment, and an edit that first calls.
func TestEntrances(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true, visibility: "private"})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "Plot sales", "@sandpiper from data/a.csv")
	w.idle(l)
	if got := w.one(n); !strings.Contains(got.Body, "Plot sales") || !strings.Contains(strings.Join(w.hub.IssueReactions(repo, n), " "), "sandpiper[bot]:eyes sandpiper[bot]:rocket") {
		t.Errorf("issue: %q %v", got.Body, w.hub.IssueReactions(repo, n))
	}
	w.hub.Commit(repo, "feature/x", "ann", "work", map[string]string{"new/only.csv": "q\n7\n"})
	pull := w.hub.OpenPull(repo, "ann", "A change", "text", "feature/x", "diff --git a/new/only.csv b/new/only.csv\n")
	id := w.hub.ReviewComment(repo, pull, "ann", "new/only.csv", "@sandpiper check the diff against new/only.csv")
	w.idle(l)
	got := w.one(pull)
	if !got.Review || got.ReplyTo != id || !strings.Contains(got.Body, "`q/7/`") || !strings.Contains(strings.ReplaceAll(got.Body, `\`, ""), "pull-2.diff") {
		t.Errorf("review: %+v", got)
	}
	m := w.hub.OpenIssue(repo, "ann", "t", "b")
	c := w.hub.Comment(repo, m, "ann", "plot data/b.csv")
	w.idle(l)
	w.hub.EditComment(repo, c, "@sandpiper plot data/b.csv")
	w.idle(l)
	w.hub.EditComment(repo, c, "@sandpiper plot data/b.csv, please")
	w.idle(l)
	if got := w.one(m); !strings.Contains(got.Body, "`a,b/3,4/`") {
		t.Errorf("edit: %+v", got)
	}
	if used := w.hub.Used(); !used["pull_requests:write"] {
		t.Errorf("used %v", used)
	}
}

// Commands are obeyed for people with the right, once, and answered.
func TestCommandComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{runner: waiting})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "/cancel") // another bot's, perhaps
	w.hub.Settle()                           // deliveries keep no order
	w.hub.Comment(repo, n, "ann", "@sandpiper work")
	w.until("it works", func() bool {
		return len(w.answers(n)) == 1 && strings.Contains(w.answers(n)[0].Body, "Working on it")
	})
	w.hub.Comment(repo, n, "eve", "@sandpiper /cancel")
	w.hub.Comment(repo, n, "ann", "@sandpiper /status")
	w.until("the status is told", func() bool { return len(w.answers(n)) == 2 })
	if got := w.answers(n)[1].Body; !strings.Contains(got, "is running") {
		t.Errorf("status %q", got)
	}
	w.hub.Comment(repo, n, "ann", "/cancel")
	w.idle(l)
	if got := w.answers(n); len(got) != 2 || !strings.Contains(got[0].Body, "Cancelled") {
		t.Errorf("answers %+v", got)
	}
}

// Older requests than catchup are answered with how to run them now.
func TestTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.hub.Grant(repo, "sandpiper-bot", "admin") // may read hooks
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot")
	w.hub.Comment(repo, n, "eve", "@sandpiper plot")
	w.hub.Settle()
	w.clock.add(7 * time.Hour)
	l := w.start()
	w.until("it is told", func() bool { return len(w.answers(n)) > 0 })
	l.adapter.Sweep(t.Context())
	w.idle(l)
	if got := w.one(n); !strings.Contains(got.Body, "I was away") {
		t.Errorf("answer %q", got.Body)
	}
}

// A flood of an outsider's comments makes one task and one call, not many; a
// right that is granted later is seen.
func TestOutsidersFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	for range 30 {
		w.hub.Comment(repo, n, "eve", "@sandpiper plot")
		w.idle(l)
	}
	tasks, err := l.store.Tasks(t.Context(), everything())
	if err != nil || len(tasks) != 1 || tasks[0].State != bot.TaskRefused {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
	if asked := w.hub.Count("GET /repos/{owner}/{repo}/collaborators/{login}/permission"); asked != 1 {
		t.Errorf("permissions were asked for %d times", asked)
	}
	w.hub.Grant(repo, "eve", "write")
	w.clock.add(6 * time.Minute)
	w.hub.Comment(repo, n, "eve", "@sandpiper plot")
	w.idle(l)
	if got := w.answers(n); len(got) != 1 {
		t.Errorf("answers %+v", got)
	}
}
