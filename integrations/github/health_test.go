package github_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// Credentials that GitHub does not accept at the start, or no longer, make the
// adapter unready with the reason, and nothing ends: mended, it is ready again
// and does what was asked meanwhile.
func TestRevoked(t *testing.T) {
	t.Parallel()
	for _, app := range []bool{false, true} {
		for _, start := range []bool{false, true} {
			w := newWorld(t, setup{app: app, visibility: "private", adapt: func(o *github.Options) { o.Limits.Probe = time.Millisecond }})
			w.hub.Grant(repo, "sandpiper-bot", "admin")
			if start {
				w.hub.Fault(githubtest.Fault{Kind: githubtest.Answer, Status: http.StatusUnauthorized, Times: 4})
			}
			l := w.start() // it returns once it is ready
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			if !start {
				w.hub.Fault(githubtest.Fault{Kind: githubtest.Answer, Status: http.StatusUnauthorized, Times: -1})
				w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
				w.until("it is unready", func() bool { return l.adapter.Ready() != nil })
				if err := l.adapter.Ready(); !strings.Contains(err.Error(), "does not accept") {
					t.Errorf("unready for %v", err)
				}
				w.hub.ClearFaults()
				w.until("it is ready again", func() bool { return l.adapter.Ready() == nil })
			} else {
				w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
			}
			w.idle(l)
			if got := w.one(n); !strings.Contains(got.Body, "Answer to") {
				t.Errorf("answer %q", got.Body)
			}
			if log := w.log.String(); strings.Count(log, "level=ERROR") != 1 && start {
				t.Errorf("the operator is not told once:\n%s", log)
			} else if !strings.Contains(log, "level=ERROR") {
				t.Errorf("the operator is not told:\n%s", log)
			}
			l.stop()
		}
	}
}

// A secret that is taken away while the bot runs closes the door.
func TestSecretTaken(t *testing.T) {
	t.Parallel()
	var taken atomic.Bool
	w := newWorld(t, setup{adapt: func(o *github.Options) {
		given := o.Secrets
		o.Secrets = func() github.Secrets {
			s := given()
			if taken.Load() {
				s.Webhook = ""
			}
			return s
		}
	}})
	l := w.start()
	taken.Store(true)
	body := payload("created", "@sandpiper plot", 1)
	for _, with := range []string{secret, "", "x"} {
		got := post(l.adapter.Webhook(), githubtest.Headers(with, "issue_comment", "1-2", body), bytes.NewReader(body))
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "GITHUB_WEBHOOK_SECRET is not set") {
			t.Errorf("%q: %d %s", with, got.Code, got.Body)
		}
	}
	if err := l.adapter.Ready(); err == nil || !strings.Contains(err.Error(), "GITHUB_WEBHOOK_SECRET is not set") {
		t.Errorf("ready: %v", err)
	}
}

// Another key of the App takes effect while the bot runs; one that is none, or
// not this App's, makes it unready and ends nothing.
func TestKeyReplaced(t *testing.T) {
	t.Parallel()
	elsewhere := githubtest.New(githubtest.Options{})
	defer elsewhere.Close()
	_, other, err := elsewhere.AddApp("other")
	if err != nil {
		t.Fatal(err)
	}
	var key atomic.Pointer[[]byte]
	w := newWorld(t, setup{app: true, visibility: "private", adapt: func(o *github.Options) {
		o.Limits.Probe = time.Millisecond
		given := o.Secrets
		o.Secrets = func() github.Secrets {
			s := given()
			if k := key.Load(); k != nil {
				s.AppKey = string(*k)
			}
			return s
		}
	}})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	for want, wrong := range map[string][]byte{
		"is not a key of this App": other, "GITHUB_APP_PRIVATE_KEY is no PEM private key": []byte("nonsense"), "is no PEM": {},
	} {
		key.Store(&wrong)
		_, _ = l.adapter.Check(t.Context())
		w.until("it is unready for "+want, func() bool {
			err := l.adapter.Ready()
			return err != nil && strings.Contains(err.Error(), want)
		})
		key.Store(nil)
		w.until("it is ready again", func() bool { return l.adapter.Ready() == nil })
	}
	w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
	w.idle(l)
	w.one(n)
	if log := w.log.String(); strings.Contains(log, "nonsense") || strings.Contains(log, "PRIVATE KEY-----") {
		t.Errorf("the key is logged:\n%s", log)
	}
}
