package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// ready asks /readyz.
func (h *githubHome) ready() (status int, text string) {
	response, err := http.Get(h.url + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// without takes variables out of the environment.
func (h *githubHome) without(names ...string) {
	h.env = slices.DeleteFunc(h.env, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(names, name)
	})
}

// TestGitHubToken starts with a token that GitHub does not know, gets a right
// one by a signal, and has that revoked for a while: the process goes on, and
// /readyz tells.
func TestGitHubToken(t *testing.T) {
	h := newGitHubHome(t)
	h.without("GITHUB_TOKEN")
	h.write("token", "ghp_nobodys")
	h.env = append(h.env, "GITHUB_TOKEN_FILE="+h.dir+"/token")
	p := h.start(h.env, "serve")
	red := func() bool {
		status, text := h.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, `"github","status":"failed","detail":"GitHub does not accept GITHUB_TOKEN`)
	}
	green := func() bool { status, _ := h.ready(); return status == http.StatusOK }
	h.eventually("readiness is red with the reason", red)
	if response, err := http.Get(h.url + "/healthz"); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("healthz: %v %v", response, err)
	} else if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if log := p.err.String(); strings.Count(log, "it is mistyped, expired") != 1 || strings.Count(log, `"level":"ERROR"`) != 1 {
		t.Errorf("the log does not tell once: %s", log)
	}
	h.write("token", h.hub.Token("sandpiper-bot", nil))
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.eventually("readiness is green", green)

	h.hub.Fault(githubtest.Fault{Kind: githubtest.Answer, Status: http.StatusUnauthorized, Times: -1})
	n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
	h.ask(n)
	h.eventually("readiness is red again", red)
	h.hub.ClearFaults()
	h.eventually("readiness is green again", green)
	h.answered(n)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
}

// TestGitHubKey starts as an App with the key of another, and gets the right
// one by a signal.
func TestGitHubKey(t *testing.T) {
	h := newGitHubHome(t)
	_, other, err := h.hub.AddApp("other")
	if err != nil {
		t.Fatal(err)
	}
	id, key, err := h.hub.AddApp("sandpiper")
	if err != nil {
		t.Fatal(err)
	}
	h.hub.Install("octo", github.Permissions())
	h.without("GITHUB_TOKEN")
	h.write("key.pem", string(other))
	h.env = append(h.env, fmt.Sprint("GITHUB_APP_ID=", id), "GITHUB_APP_PRIVATE_KEY_FILE="+h.dir+"/key.pem")
	p := h.start(h.env, "serve")
	h.eventually("readiness is red with the reason", func() bool {
		status, text := h.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "GITHUB_APP_PRIVATE_KEY is not a key of this App")
	})
	h.write("key.pem", string(key))
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.eventually("readiness is green", func() bool { status, _ := h.ready(); return status == http.StatusOK })
	if log := p.err.String(); !strings.Contains(log, `"changed":"GITHUB_APP_PRIVATE_KEY"`) || strings.Contains(log, "take effect at the next start") {
		t.Errorf("the log does not say that the key took effect: %s", log)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
}

// TestGitHubNoSecret: without a webhook's secret nothing is taken, and
// everybody who should know is told.
func TestGitHubNoSecret(t *testing.T) {
	h := newGitHubHome(t)
	h.without("GITHUB_WEBHOOK_SECRET")
	p := h.start(h.env, "serve")
	h.eventually("readiness tells", func() bool {
		status, text := h.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "GITHUB_WEBHOOK_SECRET is not set")
	})
	body := []byte(`{"action":"created"}`)
	for _, secret := range []string{"", githubSecret} {
		request, err := http.NewRequest(http.MethodPost, h.url+"/webhooks/github", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = githubtest.Headers(secret, "issue_comment", "1-2", body)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "GITHUB_WEBHOOK_SECRET is not set") {
			t.Errorf("a webhook is answered %d: %s %v", response.StatusCode, text, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if log := p.err.String(); !strings.Contains(log, "GITHUB_WEBHOOK_SECRET is not set") {
		t.Errorf("the log does not tell: %s", log)
	}
	h.without("SANDPIPER_LISTEN")
	doctor := h.start(h.env, "doctor", "--no-probe")
	doctor.wait()
	if out := doctor.out.String(); !strings.Contains(out, "GITHUB_WEBHOOK_SECRET is not set") {
		t.Errorf("doctor does not tell: %s", out)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
}

// TestGitHubCommandKilled kills the bot when it has obeyed a command that was
// not acknowledged: delivered again, it does not meet what was asked since.
func TestGitHubCommandKilled(t *testing.T) {
	h := newGitHubHome(t)
	p := h.serve(killVariable + "=2:committed")
	n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
	h.hub.Comment(githubRepo, n, "ann", "@sandpiper take your time")
	h.eventually("it works", func() bool {
		got := h.answers(n)
		return len(got) == 1 && strings.Contains(got[0].Body, "Working on it")
	})
	h.hub.Comment(githubRepo, n, "ann", "@sandpiper /cancel")
	if status := p.wait(); status != -1 {
		t.Fatalf("it was not killed but ended with %d: %s", status, p.err.String())
	}
	h.hub.Settle()
	h.ask(n)
	p = h.serve()
	h.eventually("both have ended", func() bool {
		got := h.answers(n)
		return len(got) == 2 && strings.Contains(got[0].Body, "Cancelled") && strings.Contains(got[1].Body, "Files:")
	})
	h.hub.Settle()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if got := h.answers(n); len(got) != 2 {
		t.Errorf("comments in the end: %s", fmt.Sprint(got))
	}
}

// TestGitHubUnread asks for what cannot be had: each is named with its reason,
// and what the model's own text leaves open swallows nothing.
func TestGitHubUnread(t *testing.T) {
	h := newGitHubHome(t)
	h.hub.AddRepo(githubtest.Repo{
		Name: "octo/private", Org: true, Visibility: "private", Files: map[string]string{"s.csv": "s\n1\n"},
		Grants: map[string]string{"ann": "write", "sandpiper-bot": "admin"},
	})
	h.write("conf.yaml", "github: {repositories: ["+githubRepo+", octo/private]}\n")
	p := h.serve()
	n := h.hub.OpenIssue(githubRepo, "ann", "Sales", "How are they?")
	h.hub.Comment(githubRepo, n, "ann", "@sandpiper say it in code, of [README.md](README.md) README.md, data/none.csv, ../up.csv, https://example.org/x.csv, http://127.0.0.1:9/y.csv, "+
		h.hub.URL()+"/octo/private/blob/main/s.csv and `none/*.tsv`")
	h.eventually("the answer", func() bool {
		got := h.answers(n)
		return len(got) == 1 && strings.Contains(got[0].Body, "never closed")
	})
	body := h.answers(n)[0].Body
	_, told, closed := strings.Cut(body, "never closed\n```\n")
	if !closed {
		t.Errorf("the fence is not closed before what follows:\n%s", body)
	}
	for _, want := range []string{
		"there is no data/none.csv", "../up.csv leads out of the repository", "example.org is not among", "127.0.0.1: loopback",
		"it lies in a private repository, and this one is public", "no file of the repository matches it",
	} {
		if !strings.Contains(strings.ReplaceAll(told, `\`, ""), want) {
			t.Errorf("the answer lacks %q:\n%s", want, body)
		}
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
}
