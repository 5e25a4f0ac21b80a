package github_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// What was written while the bot was away is asked for again: by the App's
// hook, a repository's, an organization's, and by listing where none can be
// read.
func TestMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app, org bool
		grant    string
	}{
		"app": {app: true}, "repository": {grant: "admin"}, "organization": {org: true, grant: "write"}, "listing": {grant: "write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{app: c.app, visibility: "private"})
			if c.grant != "" {
				w.hub.Grant(repo, "sandpiper-bot", c.grant)
			}
			if c.org {
				w.hub.SetHook(w.hookID, "http://127.0.0.1:1/elsewhere", true, false)
				w.hub.AddHook(githubtest.Hook{Org: "octo", URL: w.url, Secret: secret})
			}
			first := w.start() // sets the watermark
			w.until("the watermark is set", func() bool {
				_, err := first.store.Get(t.Context(), "github.marks", "watermark/"+repo)
				return err == nil || name != "listing"
			})
			first.stop()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
			w.hub.Comment(repo, n, "eve", "@sandpiper plot data/a.csv")
			m := w.hub.OpenIssue(repo, "ann", "an issue", "@sandpiper plot data/b.csv")
			w.hub.Settle()
			l := w.start()
			w.until("both are answered", func() bool { return len(w.answers(n)) == 1 && len(w.answers(m)) == 1 })
			l.adapter.Sweep(t.Context())
			w.idle(l)
			l.adapter.Sweep(t.Context())
			w.idle(l)
			if got := w.one(n); !strings.Contains(got.Body, "`a,b/1,2/`") {
				t.Errorf("answer %q", got.Body)
			}
			if got := w.one(m); !strings.Contains(got.Body, "`a,b/3,4/`") {
				t.Errorf("answer %q", got.Body)
			}
			redelivered := 0
			for _, d := range w.hub.Deliveries() {
				if d.Redelivery {
					redelivered++
				}
			}
			if (redelivered > 0) == (name == "listing") {
				t.Errorf("%d redeliveries", redelivered)
			}
		})
	}
}

// Every delivery twice, by a repository's hook and the App's at once: one
// answer, one commit.
func TestTwins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true})
	w.hub.SetHook(w.hookID, "", false, true)
	w.hub.AddHook(githubtest.Hook{Repo: repo, URL: w.url, Secret: secret})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
	w.idle(l)
	l.adapter.Sweep(t.Context())
	w.idle(l)
	w.one(n)
	if got := w.hub.Commits(repo, w.branch()); len(got) != 1 {
		t.Errorf("%d commits", len(got))
	}
	if n := len(w.hub.Deliveries()); n < 6 {
		t.Errorf("only %d deliveries", n)
	}
}

// Whole months are deleted, and nothing else.
func TestRetention(t *testing.T) {
	t.Parallel()
	keep := 0 * time.Hour
	w := newWorld(t, setup{adapt: func(o *github.Options) { o.Artifacts.Keep = keep }})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
	w.idle(l)
	l.stop()
	mine := w.branch()
	w.hub.Commit(repo, "sandpiper-artifacts-2020-01", "ann", "by hand", map[string]string{"x": "y"})
	w.hub.Commit(repo, "sandpiper-artifacts-notes", "ann", "by hand", map[string]string{"x": "y"})
	keep = 30 * 24 * time.Hour
	w.clock.add(20 * 24 * time.Hour)
	l = w.start()
	l.stop()
	if got := strings.Join(w.hub.Branches(repo), " "); !strings.Contains(got, mine) {
		t.Errorf("dropped too early: %s", got)
	}
	w.clock.add(60 * 24 * time.Hour)
	l = w.start()
	w.until("the month is dropped", func() bool { return !strings.Contains(strings.Join(w.hub.Branches(repo), " "), mine) })
	l.stop()
	if got := strings.Join(w.hub.Branches(repo), " "); got != "main sandpiper-artifacts-2020-01 sandpiper-artifacts-notes" {
		t.Errorf("left %s", got)
	}
}

// A life that is cut short at any point leaves one answer and one commit.
func TestCutShort(t *testing.T) {
	t.Parallel()
	for point, times := range map[string]int32{"committed": 1, "started": 1, "inputs-stored": 1, "delivery-begun": 2, "delivered": 2, "receipt-recorded": 1} {
		for nth := int32(1); nth <= times; nth++ {
			name := point + " " + fmt.Sprint(nth)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				killed, seen := make(chan struct{}), atomic.Int32{}
				w := newWorld(t, setup{})
				w.tune = func(o *bot.OrchestratorOptions) {
					o.Timing.Grace = 50 * time.Millisecond
					o.Point = func(at string) {
						if at == point {
							if seen.Add(1) == nth {
								close(killed)
							}
						}
					}
				}
				l := w.start()
				n := w.hub.OpenIssue(repo, "ann", "t", "b")
				w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
				<-killed
				l.stop()
				w.tune = nil
				l = w.start()
				w.idle(l)
				if got := w.one(n); !strings.Contains(got.Body, "Files:") {
					t.Errorf("answer %q", got.Body)
				}
				if got := w.hub.Commits(repo, w.branch()); len(got) != 1 {
					t.Errorf("%d commits", len(got))
				}
			})
		}
	}
}
