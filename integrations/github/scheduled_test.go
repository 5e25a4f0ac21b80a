package github_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
)

// TestScheduledFile reads a repository's file as it stands at each run, with the rights
// of whoever the schedule runs for.
func TestScheduledFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{adapt: func(o *github.Options) { o.Repositories = append(o.Repositories, "octo/private", "octo/open") }})
	w.other("octo/private", "private", "ann")
	w.other("octo/open", "public", "ann")
	w.other("octo/unlisted", "public", "ann")
	w.hub.Commit(repo, "old/data", "ann", "c", map[string]string{"data/a.csv": "a,b\n9,9\n"})
	l := w.start()
	here := github.Address(repo, 1)
	private := github.Address("octo/private", 1)
	chat := bot.Origin{Adapter: "slack", Place: "slack:C1", Address: `{"team":"T1","channel":"C1"}`}
	for name, c := range map[string]struct {
		text     string
		vouched  bool
		origin   bot.Origin
		actor    string
		want, no string
	}{
		"the default branch":            {text: "data/a.csv", origin: here, actor: "github:ann", want: "1,2"},
		"a branch with a slash":         {text: "data/a.csv@old/data", origin: here, actor: "github:ann", want: "9,9"},
		"no such branch":                {text: "data/a.csv@nope", origin: here, actor: "github:ann", no: "no branch, tag or commit nope"},
		"no such file":                  {text: "data/none.csv", origin: here, actor: "github:ann", no: "no such file"},
		"another, open":                 {text: "octo/open:s.csv", origin: here, actor: "github:ann", want: "s\n1"},
		"another, private, into public": {text: "octo/private:s.csv", origin: here, actor: "github:ann", no: "it lies in a private repository"},
		"not the owner's":               {text: "octo/private:s.csv", origin: private, actor: "github:rob", want: "s\n1"}, // the right there is asked for by Authorize
		"unlisted":                      {text: "octo/unlisted:s.csv", origin: here, actor: "github:ann", no: "not among those I may read"},
		"unlisted, though vouched":      {text: "octo/unlisted:s.csv", vouched: true, origin: chat, actor: "slack:T1/U1", no: "not among those I may read"},
		"from Slack, open":              {text: "octo/open:s.csv", origin: chat, actor: "slack:T1/U1", want: "s\n1"},
		"from Slack, private":           {text: "octo/private:s.csv", origin: chat, actor: "slack:T1/U1", no: "cannot tell me whether you may read it"},
		"from Slack, vouched":           {text: "octo/private:s.csv", vouched: true, origin: chat, actor: "slack:T1/U1", want: "s\n1"},
		"an issue, asked from Slack":    {text: "octo/private:s.csv", origin: here, actor: "slack:T1/U1", no: "cannot tell me whether you may read it"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := github.Named(c.text, repo, c.vouched)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			fetched, err := l.adapter.Fetch(t.Context(), bot.Event{Origin: c.origin, Actor: bot.Actor{ID: c.actor}}, in, &got)
			var final *bot.InputError
			switch {
			case c.no != "":
				if !errors.As(err, &final) || !strings.Contains(final.Reason, c.no) {
					t.Errorf("read %q, %v; want a refusal with %q", got.String(), err, c.no)
				}
			case err != nil || !strings.Contains(got.String(), c.want) || !strings.Contains(fetched.Source, "@"):
				t.Errorf("read %q as %+v, %v; want %q", got.String(), fetched, err, c.want)
			}
		})
	}
	folder := bot.Origin{Adapter: "console", Place: "console", Address: "{}"}
	for name, c := range map[string]struct {
		text    string
		vouched bool
		also    bot.Origin
		actor   string
		no      string
	}{
		"private, also into public":             {text: "octo/private:s.csv", also: github.Address(repo, 2), actor: "github:ann", no: "this one is public: the answer goes to github:octo/sales, too"},
		"private, also as a new issue":          {text: "octo/private:s.csv", also: github.NewIssue(repo, "T"), actor: "github:ann", no: "this one is public"},
		"private, also in its own":              {text: "octo/private:s.csv", also: github.NewIssue("octo/private", "T"), actor: "github:ann"},
		"private, also into Slack":              {text: "octo/private:s.csv", also: chat, actor: "github:ann", no: "private repository: the answer goes to slack:C1, too"},
		"private, also into a folder":           {text: "octo/private:s.csv", also: folder, actor: "github:ann"},
		"private, vouched for an owner of ours": {text: "octo/private:s.csv", vouched: true, also: github.Address(repo, 2), actor: "github:ann", no: "this one is public"},
		"public, also into Slack":               {text: "octo/open:s.csv", also: chat, actor: "github:ann"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := github.Named(c.text, repo, c.vouched)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			_, err = l.adapter.Fetch(t.Context(), bot.Event{Origin: private, Also: []bot.Origin{c.also}, Actor: bot.Actor{ID: c.actor}}, in, &got)
			var final *bot.InputError
			if no := errors.As(err, &final); no != (c.no != "") || no && !strings.Contains(final.Reason, c.no) || !no && err != nil {
				t.Errorf("read %q, %v; want a refusal with %q", got.String(), err, c.no)
			}
		})
	}
	for _, bad := range []string{"", "../secret", "data/../../x", "owner:x.csv", "/"} {
		if in, err := github.Named(bad, repo, false); err == nil {
			t.Errorf("%q made %+v", bad, in)
		}
	}
	if _, err := github.Named("data/a.csv", "", false); err == nil || !strings.Contains(err.Error(), "name its repository") {
		t.Errorf("no repository: %v", err)
	}
}
