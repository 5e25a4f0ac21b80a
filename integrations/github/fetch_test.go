package github_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// Each way a file comes in, and for each that cannot the reason in words.
func TestInputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		visibility string
		token      bool // GitHub opens private files to tokens
		body       func(w *world) string
		want       []string
		not        []string
	}{
		"public attachment":     {body: func(w *world) string { return w.hub.Attach(repo, "up.csv", []byte("p\n1\n")) }, want: []string{"up.csv", "`p/1/`"}},
		"private picture":       {visibility: "private", body: func(w *world) string { return "![x](" + w.hub.Attach(repo, "p.png", []byte("pixels")) + ")" }, want: []string{"`pixels`"}},
		"private file refused":  {visibility: "private", body: func(w *world) string { return w.hub.Attach(repo, "up.csv", []byte("p\n1\n")) }, want: []string{"up.csv GitHub does not hand files attached in a private repository to programs", "fenced block"}},
		"private file by token": {visibility: "private", token: true, body: func(w *world) string { return w.hub.Attach(repo, "up.csv", []byte("p\n1\n")) }, want: []string{"`p/1/`"}},
		"glob":                  {body: func(*world) string { return "`data/*.csv`" }, want: []string{"`a,b/1,2/`", "`a,b/3,4/`"}, not: []string{"5,6"}},
		"deep glob":             {body: func(*world) string { return "`data/**/*.csv`" }, want: []string{"`a,b/1,2/`", "`a,b/5,6/`"}},
		"no match":              {body: func(*world) string { return "`none/*.csv`" }, want: []string{"no file of the repository matches it"}},
		"an output's name":      {body: func(*world) string { return "and write result.csv" }, want: []string{"- result.csv", "(maybe)"}},
		"missing":               {body: func(*world) string { return "data/none.csv" }, want: []string{"- none.csv there is no data/none.csv at octo/sales's default branch"}, not: []string{"maybe"}},
		"missing, twice":        {body: func(*world) string { return "old/x.csv and new/x.csv" }, want: []string{"no old/x.csv", "no new/x.csv"}},
		"in several folders": {body: func(w *world) string {
			w.hub.Commit(repo, "main", "ann", "c", map[string]string{"x/same.csv": "s", "y/same.csv": "s"})
			return "same.csv"
		}, want: []string{"several folders: write which (x/same.csv, y/same.csv)"}},
		"odd name": {body: func(w *world) string {
			w.hub.Commit(repo, "main", "ann", "c", map[string]string{"data/a (1) & b.csv": "o\n1\n"})
			return "`data/a (1) & b.csv`"
		}, want: []string{"`o/1/`"}},
		"out of the repository": {body: func(*world) string { return "../secrets.csv" }, want: []string{"the path ../secrets.csv leads out of the repository"}},
		"the asker's machine":   {body: func(*world) string { return `C:\Users\ann\sales.csv` }, want: []string{"sales.csv", "path on your machine"}},
		"unlisted host":         {body: func(*world) string { return "https://example.org/sales.csv?sig=1" }, want: []string{"its host example.org is not among those that I read links of"}},
		"a page":                {body: func(*world) string { return "https://example.org/how" }, want: []string{"its host example.org", "(maybe)"}},
		"link in code":          {body: func(*world) string { return "`https://example.org/sales.csv`" }, want: []string{"its host example.org"}},
		"another scheme":        {body: func(*world) string { return "s3://bucket/sales.csv" }, want: []string{"only https links are read, not s3: links"}},
		"talk of an issue":      {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/issues/1" }, not: []string{"not read", "\n- 1"}},
		"all of a kind":         {body: func(*world) string { return "all .csv files" }, not: []string{"not read"}},
		"hidden": {body: func(w *world) string {
			w.hub.Commit(repo, "main", "ann", "c", map[string]string{".data/h.csv": "h\n1\n"})
			return ".data/h.csv"
		}, want: []string{"`h/1/`"}},
		"folder":    {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/tree/main/data" }, want: []string{"it is a folder"}},
		"loopback":  {body: func(*world) string { return "http://127.0.0.1:1/x" }, want: []string{"leads where I do not go: refuse address 127.0.0.1: loopback"}, not: []string{"(maybe)"}},
		"mapped":    {body: func(*world) string { return "https://[::ffff:10.0.0.1]/x" }, want: []string{"private network"}},
		"NAT64":     {body: func(*world) string { return "https://[64:ff9b::a9fe:a9fe]/x" }, want: []string{"link-local"}},
		"decimal":   {body: func(*world) string { return "http://2130706433/x.csv" }, want: []string{"its host 2130706433 is not among"}},
		"octal":     {body: func(*world) string { return "http://0177.0.0.1/x.csv" }, want: []string{"its host 0177.0.0.1 is not among"}},
		"very many": {body: func(*world) string { return manyLinks(50) }, want: []string{"30 more things that the text names"}},
		"blob link": {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/blob/main/data/deep/c.csv" }, want: []string{"`a,b/5,6/`", "octo/sales@"}},
		"raw link":  {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/raw/main/data/a.csv" }, want: []string{"`a,b/1,2/`"}},
		"branch with a slash": {body: func(w *world) string {
			w.hub.Commit(repo, "feature/x", "ann", "c", map[string]string{"f.csv": "f\n8\n"})
			return w.hub.URL() + "/" + repo + "/blob/feature/x/f.csv"
		}, want: []string{"`f/8/`"}},
		"no such ref":  {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/blob/nope/f.csv" }, want: []string{"names no branch or commit"}},
		"no such file": {body: func(w *world) string { return w.hub.URL() + "/" + repo + "/blob/main/f.csv" }, want: []string{"no such file there"}},
		"LFS": {body: func(w *world) string {
			w.hub.Commit(repo, "main", "ann", "c", map[string]string{"big.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:ab\n"})
			return "`big.csv`"
		}, want: []string{"Git LFS"}},
		"unlisted repository":      {body: func(w *world) string { return w.other("octo/unlisted", "public", "ann") }, want: []string{"not among those I may read"}, not: []string{"`s/1/`"}},
		"listed":                   {body: func(w *world) string { return w.other("octo/listed", "public", "ann") }, want: []string{"`s/1/`"}},
		"private into public":      {body: func(w *world) string { return w.other("octo/listed", "private", "ann") }, want: []string{"it lies in a private repository, and this one is public"}, not: []string{"`s/1/`"}},
		"internal into public":     {body: func(w *world) string { return w.other("octo/listed", "internal", "ann") }, want: []string{"internal repository, and this one is public"}, not: []string{"`s/1/`"}},
		"internal into private":    {visibility: "private", body: func(w *world) string { return w.other("octo/listed", "internal", "ann") }, want: []string{"`s/1/`"}},
		"private, not the asker's": {visibility: "private", body: func(w *world) string { return w.other("octo/listed", "private", "bea") }, want: []string{"you have no access"}, not: []string{"`s/1/`"}},
		"private, the asker's":     {visibility: "private", body: func(w *world) string { return w.other("octo/listed", "private", "ann") }, want: []string{"`s/1/`"}},
		"another owner's":          {visibility: "private", body: func(w *world) string { return w.other("corp/listed", "private", "ann") }, want: []string{"of another owner"}, not: []string{"`s/1/`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{visibility: c.visibility, options: githubtest.Options{TokensOpenFiles: c.token}, adapt: func(o *github.Options) {
				o.Repositories = append(o.Repositories, "octo/listed", "corp/listed")
			}})
			body := c.body(w)
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			w.hub.Comment(repo, n, "ann", "@sandpiper use "+body)
			w.idle(l)
			got := strings.ReplaceAll(w.answers(n)[0].Body, `\`, "")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("answer lacks %q:\n%s", want, got)
				}
			}
			for _, not := range c.not {
				if strings.Contains(got, not) {
					t.Errorf("answer has %q:\n%s", not, got)
				}
			}
		})
	}
}

func manyLinks(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, " https://example.org/%d.csv", i)
	}
	return out.String()
}

// other makes a repository with a file that reader may read, and returns a
// link to it.
func (w *world) other(name, visibility, reader string) string {
	w.hub.AddRepo(githubtest.Repo{
		Name: name, Org: true, Visibility: visibility, Files: map[string]string{"s.csv": "s\n1\n"},
		Grants: map[string]string{reader: "read", "sandpiper-bot": "write"},
	})
	return w.hub.URL() + "/" + name + "/blob/main/s.csv"
}

// The issue's attachments come with each request in it.
func TestIssueAttachment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "eve", "t", "Here: "+w.hub.Attach(repo, "issue.csv", []byte("i\n5\n")))
	w.hub.Comment(repo, n, "ann", "@sandpiper plot it")
	w.idle(l)
	if got := w.one(n); !strings.Contains(got.Body, "`i/5/`") {
		t.Errorf("answer %s", got.Body)
	}
}

// Links and redirects into the operator's network are refused, whoever wrote
// them; the API's own host is the only exception.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an inner server was reached") }))
	defer inner.Close()
	w := newWorld(t, setup{})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper hello")
	w.idle(l)
	tasks, err := l.store.Tasks(t.Context(), everything())
	if err != nil || len(tasks) != 1 {
		t.Fatal(err, tasks)
	}
	for _, link := range []string{
		inner.URL + "/user-attachments/files/1/x.csv", "http://localhost/user-attachments/files/1/x.csv", "https://127.0.0.1/user-attachments/files/1/x.csv",
		"https://10.0.0.1/x", "https://[::1]/x", "https://[::ffff:169.254.169.254]/x", "http://169.254.169.254/latest/meta-data/", "https://metadata.google.internal/x",
		"https://2130706433/x", "file:///etc/passwd", "https://user:pass@github.com/x",
	} {
		var out bytes.Buffer
		_, err := l.adapter.Fetch(t.Context(), tasks[0].Event, bot.InputRef{Name: "x", Ref: `{"kind":"attachment","url":"` + link + `","in":"comment"}`}, &out)
		var problem *bot.InputError
		if !errors.As(err, &problem) || out.Len() > 0 || !strings.Contains(problem.Reason, "leads where I do not go") {
			t.Errorf("%s: %v", link, err)
		}
	}
	// What a comment may name as an attachment is only what looks like one on
	// GitHub's own host.
	w.hub.Comment(repo, n, "ann", "@sandpiper read "+inner.URL+"/user-attachments/files/1/x.csv and https://example.org/user-attachments/files/1/y.csv")
	w.idle(l)
	if tasks, err = l.store.Tasks(t.Context(), everything()); err != nil || len(tasks[0].Inputs) != 2 {
		t.Fatalf("inputs %+v %v", tasks[0].Inputs, err)
	}
	for _, in := range tasks[0].Inputs {
		if in.Problem == "" || in.Blob != "" {
			t.Errorf("input %+v", in)
		}
	}
}

// A repository that may not be listed costs its files, not the task.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]githubtest.Fault{
		"denied": {Route: "GET /repos/{owner}/{repo}/commits/{ref...}", Kind: githubtest.Answer, Status: 403, Times: -1},
		"empty":  {Route: "GET /repos/{owner}/{repo}/commits/{ref...}", Kind: githubtest.Answer, Status: 409, Times: -1},
		"gone":   {Route: "GET /repos/{owner}/{repo}/git/trees/{sha...}", Kind: githubtest.Answer, Status: 404, Times: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := "does not let me list"
			if name == "empty" {
				want = "the repository is empty"
			}
			w := newWorld(t, setup{})
			w.hub.Fault(fault)
			l := w.start()
			n := w.hub.OpenIssue(repo, "ann", "t", "b")
			w.hub.Comment(repo, n, "ann", "@sandpiper plot `data/*.csv` into out.csv")
			w.idle(l)
			if body := w.one(n).Body; !strings.Contains(body, want) || !strings.Contains(body, "data/") {
				t.Errorf("answer %s", body)
			}
		})
	}
}
