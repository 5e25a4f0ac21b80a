package github_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// Each wrong setting of a webhook is named with what to do, of a repository,
// of an organization and of an App alike; a right one is not, and neither is
// one that may not be read.
func TestCheckHooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *githubtest.Hook)
		answer int // of the bot; 0: 202
		want   string
	}{
		"right":        {},
		"form":         {change: func(h *githubtest.Hook) { h.ContentType = "form" }, want: "another content type than JSON; set its content type"},
		"few events":   {change: func(h *githubtest.Hook) { h.Events = []string{"issues"} }, want: "does not send: issue_comment, pull_request_review_comment; add"},
		"all events":   {change: func(h *githubtest.Hook) { h.Events = []string{"*", "issues"} }},
		"no secret":    {change: func(h *githubtest.Hook) { h.Secret = "" }, want: "has no secret"},
		"other secret": {answer: http.StatusUnauthorized, want: "failed at its last delivery (401); its secret is not the bot's"},
		"other server": {answer: http.StatusNotFound, want: "another server answers there"},
		"unreachable":  {answer: http.StatusBadGateway, want: "GitHub does not reach the bot"},
		"elsewhere":    {change: func(h *githubtest.Hook) { h.URL += "/other" }, want: "/webhooks/github"},
	} {
		for _, scope := range []string{"repository", "organization", "App"} {
			t.Run(name+" "+scope, func(t *testing.T) {
				t.Parallel()
				hub := githubtest.New(githubtest.Options{})
				defer hub.Close()
				bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(max(c.answer, http.StatusOK)) }))
				defer bot.Close()
				hub.AddRepo(githubtest.Repo{Name: repo, Org: true, Grants: map[string]string{"ann": "write", "sandpiper-bot": "admin"}})
				o := options(hub)
				h := githubtest.Hook{URL: bot.URL + "/webhooks/github", Secret: secret}
				token := hub.Token("sandpiper-bot", nil)
				o.Secrets = func() github.Secrets { return github.Secrets{Webhook: secret, Token: token} }
				switch scope {
				case "repository":
					h.Repo = repo
				case "organization":
					h.Org = "octo"
				case "App":
					id, key, err := hub.AddApp("sandpiper")
					if err != nil {
						t.Fatal(err)
					}
					hub.Install("octo", permissions())
					o.AppID = id
					keyed(&o, key)
				}
				if c.change != nil {
					c.change(&h)
				}
				hub.AddHook(h)
				hub.OpenIssue(repo, "ann", "t", "b")
				hub.Settle()
				a, err := github.New(o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, found := range a.CheckHooks(t.Context()) {
					got = append(got, found.Error())
				}
				if said := strings.Join(got, "\n"); (c.want == "") != (said == "") || !strings.Contains(said, c.want) || len(got) > 1 {
					t.Errorf("CheckHooks says %q, want %q", said, c.want)
				}
			})
		}
	}
}

// A hook that the token may not read is passed over.
func TestCheckHooksUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	if got := l.adapter.CheckHooks(t.Context()); len(got) > 0 {
		t.Errorf("CheckHooks says %v", got)
	}
}
