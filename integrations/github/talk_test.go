package github_test

import (
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/integrations/github"
)

// A mention with nothing else, and the word "help", are answered with how to
// ask, commands written as they are here; an issue that only calls has its
// title for a request.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	for _, body := range []string{"@sandpiper", "@sandpiper help", "@sandpiper /help", "@sandpiper /dance"} {
		n := w.hub.OpenIssue(repo, "ann", "t", "b")
		w.hub.Comment(repo, n, "eve", body)
		w.hub.Comment(repo, n, "ann", body)
		w.idle(l)
		got := w.one(n).Body
		for _, want := range []string{"Ask me in your own words", "- `@sandpiper /status`", ": what I am doing", "`@sandpiper /cancel`"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q lacks %q:\n%s", body, want, got)
			}
		}
	}
	n := w.hub.OpenIssue(repo, "ann", "Plot data/a.csv", "@sandpiper")
	w.idle(l)
	if got := w.one(n).Body; !strings.Contains(got, "Answer to: Plot data/a.csv") {
		t.Errorf("a title: %s", got)
	}
}

// A label on the text of somebody without the right: whoever set it is told
// whose right is missing, whatever outsiders are told.
func TestLabelNamesAuthor(t *testing.T) {
	t.Parallel()
	for _, outsiders := range []string{"silent", "reply"} {
		w := newWorld(t, setup{adapt: func(o *github.Options) { o.Label, o.Outsiders = "analyse", outsiders }})
		l := w.start()
		n := w.hub.OpenIssue(repo, "eve", "Sales by month", "from data/a.csv")
		w.hub.Label(repo, n, "ann", "analyse")
		w.idle(l)
		got := w.one(n).Body
		for _, want := range []string{"`eve`", "write permission", "a comment of your own that begins with `@sandpiper`"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the refusal lacks %q:\n%s", outsiders, want, got)
			}
		}
		if strings.Contains(got, "How this was made") || strings.Contains(got, "@eve") {
			t.Errorf("refusal:\n%s", got)
		}
	}
}
