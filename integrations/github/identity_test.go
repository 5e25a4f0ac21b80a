package github_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead time.Duration
		adapt func(o *github.Options, otherKey []byte)
		want  string
	}{
		"right":        {want: "sandpiper[bot]"},
		"clock ahead":  {ahead: -time.Hour, want: "ahead of GitHub's"},
		"clock behind": {ahead: time.Hour, want: "behind GitHub's"},
		"other key":    {adapt: func(o *github.Options, k []byte) { keyed(o, k) }, want: "is not a key of this App"},
		"other id":     {adapt: func(o *github.Options, _ []byte) { o.AppID = 4 }, want: "there is no App with GITHUB_APP_ID 4"},
		"wrong token":  {adapt: func(o *github.Options, _ []byte) { o.AppID = 0 }, want: "does not accept GITHUB_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := githubtest.New(githubtest.Options{Now: func() time.Time { return time.Now().Add(c.ahead) }})
			defer hub.Close()
			_, otherKey, err := hub.AddApp("other")
			if err != nil {
				t.Fatal(err)
			}
			id, key, err := hub.AddApp("sandpiper")
			if err != nil {
				t.Fatal(err)
			}
			o := options(hub)
			o.AppID = id
			keyed(&o, key)
			if c.adapt != nil {
				c.adapt(&o, otherKey)
			}
			a, err := github.New(o)
			if err != nil {
				t.Fatal(err)
			}
			login, err := a.Check(t.Context())
			got := login
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("Check = %q, want %q", got, c.want)
			}
		})
	}
}

// keyed gives the App's key.
func keyed(o *github.Options, key []byte) {
	given := o.Secrets
	o.Secrets = func() github.Secrets {
		s := given()
		s.AppKey = string(key)
		return s
	}
}

func options(hub *githubtest.Server) github.Options {
	return github.Options{
		Secrets: func() github.Secrets { return github.Secrets{Webhook: secret, Token: "wrong"} }, APIURL: hub.APIURL(), Repositories: []string{repo},
		MarkerKey: make([]byte, 32), Records: &noRecords{}, Blobs: &noBlobs{}, History: &noHistory{}, Logger: quiet(),
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	hub := githubtest.New(githubtest.Options{})
	defer hub.Close()
	for want, change := range map[string]func(*github.Options){
		"GITHUB_WEBHOOK_SECRET is empty":     func(o *github.Options) { o.Secrets = func() github.Secrets { return github.Secrets{Token: "t"} } },
		"no credentials":                     func(o *github.Options) { o.Secrets = func() github.Secrets { return github.Secrets{Webhook: "s"} } },
		"without GITHUB_APP_PRIVATE_KEY":     func(o *github.Options) { o.AppID = 1 },
		"is no PEM private key":              func(o *github.Options) { o.AppID = 1; keyed(o, []byte("nonsense")) },
		"marker key":                         func(o *github.Options) { o.MarkerKey = []byte("short") },
		"is no URL":                          func(o *github.Options) { o.APIURL = "github" },
		"min_permission":                     func(o *github.Options) { o.MinPermission = "owner" },
		"outsiders":                          func(o *github.Options) { o.Outsiders = "shout" },
		"is no GitHub name":                  func(o *github.Options) { o.Handle = "-x" },
		"is no branch name":                  func(o *github.Options) { o.Artifacts.Branch = "../x" },
		"neither owner/name nor owner/*":     func(o *github.Options) { o.Repositories = []string{"*/x"} },
		"must name one repository":           func(o *github.Options) { o.Artifacts.Repository = "octo/*" },
		"records, blobs, history and logger": func(o *github.Options) { o.Records = nil },
	} {
		o := options(hub)
		change(&o)
		if _, err := github.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}

// Several installations are served, each with its own token.
func TestInstallations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true, visibility: "private", adapt: func(o *github.Options) { o.Repositories = []string{"octo/*", "corp/*"} }})
	w.hub.AddRepo(githubtest.Repo{Name: "corp/books", Org: true, Visibility: "private", Files: map[string]string{"a.csv": "c\n1\n"}, Grants: map[string]string{"ann": "write"}})
	w.hub.Install("corp", permissions())
	l := w.start()
	for _, name := range []string{repo, "corp/books"} {
		n := w.hub.OpenIssue(name, "ann", "t", "b")
		w.hub.Comment(name, n, "ann", "@sandpiper plot a.csv")
		w.idle(l)
		if got := w.hub.Comments(name, n); len(got) != 2 || !strings.Contains(got[1].Body, "Files:") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if bytes.Contains([]byte(w.log.String()), []byte("ghs_")) {
		t.Error("a token is logged")
	}
}

// The documented limits are kept with many issues asked at once: no answer is
// lost, and GitHub never has to refuse more than once in a while.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{options: githubtest.Options{Limits: githubtest.GitHubLimits()}})
	l := w.start()
	var numbers []int64
	for range 12 {
		n := w.hub.OpenIssue(repo, "ann", "t", "b")
		w.hub.Comment(repo, n, "ann", "@sandpiper plot data/a.csv")
		numbers = append(numbers, n)
	}
	w.idle(l)
	for _, n := range numbers {
		w.one(n)
	}
	if got := len(w.hub.Commits(repo, w.branch())); got != len(numbers) {
		t.Errorf("%d commits", got)
	}
	for _, r := range w.hub.Requests() {
		if (r.Status == 403 && !strings.Contains(r.Route, "/hooks")) || r.Status == 429 {
			t.Errorf("limited: %+v", r)
		}
	}
}

// A missing permission is named with the call that needs it.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{app: true})
	w.hub.AddRepo(githubtest.Repo{Name: "corp/books", Org: true, Grants: map[string]string{"ann": "write"}})
	w.hub.Install("corp", without("issues"))
	w.adapt = func(o *github.Options) { o.Repositories = []string{"corp/books"} }
	w.start()
	n := w.hub.OpenIssue("corp/books", "ann", "t", "b")
	w.hub.Comment("corp/books", n, "ann", "@sandpiper plot")
	w.until("it is told", func() bool {
		return strings.Contains(w.log.String(), "a permission is missing for POST /api/v3/repos/corp/books/issues/1/comments; compare the App's or token's permissions")
	})
}
