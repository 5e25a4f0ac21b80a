package githubtest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

const repoName = "octo/sales"

func start(t *testing.T, options githubtest.Options) *githubtest.Server {
	t.Helper()
	s := githubtest.New(options)
	t.Cleanup(s.Close)
	s.AddRepo(githubtest.Repo{
		Name: repoName, Org: true, Visibility: "private",
		Files:  map[string]string{"data/a.csv": "x\n1\n", "data/deep/b.csv": "y\n", "README.md": "hi"},
		Grants: map[string]string{"ann": "write", "bot": "write", "rob": "read"},
	})
	return s
}

func client(t *testing.T, s *githubtest.Server, token string) *github.Client {
	t.Helper()
	c := github.NewClient(nil)
	if token != "" {
		c = c.WithAuthToken(token)
	}
	c, err := c.WithEnterpriseURLs(s.APIURL(), s.APIURL())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func status(r *github.Response) int {
	if r == nil {
		return 0
	}
	return r.StatusCode
}

// Opening and changing issues is as narrow as GitHub's own.
func TestIssuesAsGitHubTakesThem(t *testing.T) {
	t.Parallel()
	s, ctx := start(t, githubtest.Options{}), context.Background()
	for _, name := range []string{"octo/off", "octo/old"} {
		s.AddRepo(githubtest.Repo{Name: name, Org: true, Grants: map[string]string{"bot": "write"}})
	}
	s.TurnIssuesOff("octo/off")
	s.Archive("octo/old")
	c := client(t, s, s.Token("bot", nil))
	text := func(n int) *string { return github.String(strings.Repeat("я", n)) }
	for name, test := range map[string]struct {
		repo   string
		in     github.IssueRequest
		token  string
		status int
		says   string
	}{
		"whole":            {repo: "sales", in: github.IssueRequest{Title: text(256), Body: text(65536)}, status: 201},
		"no title":         {repo: "sales", in: github.IssueRequest{Body: text(1)}, status: 422, says: `"title" wasn't supplied`},
		"an empty title":   {repo: "sales", in: github.IssueRequest{Title: github.String(" ")}, status: 422, says: "missing_field"},
		"a long title":     {repo: "sales", in: github.IssueRequest{Title: text(257)}, status: 422, says: "title is too long (maximum is 256 characters)"},
		"a long body":      {repo: "sales", in: github.IssueRequest{Title: text(1), Body: text(65537)}, status: 422, says: "body is too long (maximum is 65536 characters)"},
		"turned off":       {repo: "off", in: github.IssueRequest{Title: text(1)}, status: 410, says: "Issues are disabled for this repo"},
		"archived":         {repo: "old", in: github.IssueRequest{Title: text(1)}, status: 403, says: "archived"},
		"a reader":         {repo: "sales", token: s.Token("rob", nil), in: github.IssueRequest{Title: text(1)}, status: 201},
		"nobody":           {repo: "sales", token: s.Token("eve", nil), in: github.IssueRequest{Title: text(1)}, status: 404},
		"may only comment": {repo: "sales", token: s.Token("bot", map[string]string{"issues": "read"}), in: github.IssueRequest{Title: text(1)}, status: 403, says: "Resource not accessible"},
	} {
		with := c
		if test.token != "" {
			with = client(t, s, test.token)
		}
		made, r, err := with.Issues.Create(ctx, "octo", test.repo, &test.in)
		if status(r) != test.status || (err == nil) != (test.status == 201) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %d, %v", name, status(r), err)
		}
		if test.status == 201 && (made.GetNumber() == 0 || made.GetTitle() != *test.in.Title || made.GetHTMLURL() == "") {
			t.Errorf("%s: made %+v", name, made)
		}
	}
	first, second := int(s.OpenIssue(repoName, "ann", "theirs", "b")), int(s.OpenIssue(repoName, "bot", "ours", "b"))
	if _, r, err := client(t, s, s.Token("rob", nil)).Issues.Edit(ctx, "octo", "sales", first, &github.IssueRequest{Body: text(1)}); err == nil || status(r) != 403 {
		t.Errorf("a reader edited another's: %d", status(r))
	}
	if got, _, err := c.Issues.Edit(ctx, "octo", "sales", second, &github.IssueRequest{Body: github.String("new")}); err != nil || got.GetBody() != "new" || got.GetTitle() != "ours" {
		t.Errorf("edited to %+v, %v", got, err)
	}
	list, _, err := c.Issues.ListByRepo(ctx, "octo", "sales", &github.IssueListByRepoOptions{State: "all"})
	if err != nil || len(list) != 4 || list[0].GetNumber() != second {
		t.Errorf("the newest is not first of %d: %v", len(list), err)
	}
	s.DeleteIssue(repoName, int64(second))
	if _, r, err := c.Issues.Get(ctx, "octo", "sales", second); err == nil || status(r) != 410 {
		t.Errorf("a deleted issue: %d", status(r))
	}
}

func TestCommentsAndReactions(t *testing.T) {
	t.Parallel()
	s, ctx := start(t, githubtest.Options{}), context.Background()
	n := int(s.OpenIssue(repoName, "ann", "t", "b"))
	c := client(t, s, s.Token("bot", nil))
	made, r, err := c.Issues.CreateComment(ctx, "octo", "sales", n, &github.IssueComment{Body: github.String("hello")})
	if err != nil || r.StatusCode != http.StatusCreated {
		t.Fatalf("create: %v %d", err, status(r))
	}
	if _, r, err := c.Issues.CreateComment(ctx, "octo", "sales", n, &github.IssueComment{Body: github.String(strings.Repeat("x", 65537))}); err == nil || status(r) != 422 {
		t.Errorf("65,537 characters: %v %d", err, status(r))
	}
	if _, _, err := c.Issues.EditComment(ctx, "octo", "sales", made.GetID(), &github.IssueComment{Body: github.String(strings.Repeat("я", 65536))}); err != nil {
		t.Errorf("65,536 characters: %v", err)
	}
	for i, want := range []int{201, 200} {
		if _, r, err := c.Reactions.CreateIssueCommentReaction(ctx, "octo", "sales", made.GetID(), "eyes"); err != nil || r.StatusCode != want {
			t.Errorf("reaction %d: %v %d", i, err, status(r))
		}
	}
	for range 34 {
		s.Comment(repoName, int64(n), "ann", "more")
	}
	list, r, err := c.Issues.ListComments(ctx, "octo", "sales", n, nil)
	if err != nil || len(list) != 30 || r.NextPage != 2 {
		t.Errorf("list: %v, %d comments, next page %d", err, len(list), r.NextPage)
	}
	if got := s.Comments(repoName, int64(n))[0].Reactions; len(got) != 1 || got[0] != "bot:eyes" {
		t.Errorf("reactions %v", got)
	}
	if _, r, _ := client(t, s, "").Issues.Get(ctx, "octo", "sales", n); status(r) != 404 {
		t.Errorf("anonymous reader of a private repository: %d", status(r))
	}
	if _, r, _ := client(t, s, "wrong").Issues.Get(ctx, "octo", "sales", n); status(r) != 401 {
		t.Errorf("unknown token: %d", status(r))
	}
}

func TestGitData(t *testing.T) {
	t.Parallel()
	s, ctx := start(t, githubtest.Options{}), context.Background()
	c := client(t, s, s.Token("bot", nil))
	blob, _, err := c.Git.CreateBlob(ctx, "octo", "sales", &github.Blob{Content: github.String("aGVsbG8K"), Encoding: github.String("base64")})
	if err != nil || blob.GetSHA() != "ce013625030ba8dba906f756967f9e9ca394464a" { // git hash-object of "hello\n"
		t.Fatalf("blob: %v %s", err, blob.GetSHA())
	}
	tree, _, err := c.Git.CreateTree(ctx, "octo", "sales", "", []*github.TreeEntry{{Path: github.String("a/b.txt"), Mode: github.String("100644"), Type: github.String("blob"), SHA: blob.SHA}})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(parent string) string {
		in := &github.Commit{Message: github.String("m " + parent), Tree: tree}
		if parent != "" {
			in.Parents = []*github.Commit{{SHA: &parent}}
		}
		made, _, err := c.Git.CreateCommit(ctx, "octo", "sales", in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.GetSHA()
	}
	root := commit("")
	ref := func(sha string) *github.Reference {
		return &github.Reference{Ref: github.String("refs/heads/art/x"), Object: &github.GitObject{SHA: &sha}}
	}
	if _, _, err := c.Git.CreateRef(ctx, "octo", "sales", ref(root)); err != nil {
		t.Fatal(err)
	}
	if _, r, err := c.Git.CreateRef(ctx, "octo", "sales", ref(root)); err == nil || status(r) != 422 {
		t.Errorf("second creation: %v", err)
	}
	next := commit(root)
	if _, _, err := c.Git.UpdateRef(ctx, "octo", "sales", ref(next), false); err != nil {
		t.Errorf("fast forward: %v", err)
	}
	if _, r, err := c.Git.UpdateRef(ctx, "octo", "sales", ref(root), false); err == nil || status(r) != 422 || !strings.Contains(err.Error(), "fast forward") {
		t.Errorf("backwards: %v", err)
	}
	got, _, err := c.Git.GetRef(ctx, "octo", "sales", "heads/art/x")
	if err != nil || got.GetObject().GetSHA() != next {
		t.Errorf("ref: %v", err)
	}
	full, _, err := c.Git.GetTree(ctx, "octo", "sales", "main", true)
	if err != nil || len(full.Entries) != 3 {
		t.Errorf("tree: %v, %d entries", err, len(full.Entries))
	}
	if files := s.Files(repoName, "art/x"); files["a/b.txt"] != "hello\n" {
		t.Errorf("files %v", files)
	}
	for _, login := range []string{"rob"} {
		if _, r, err := client(t, s, s.Token(login, nil)).Git.CreateRef(ctx, "octo", "sales", ref(root)); err == nil || status(r) != 403 {
			t.Errorf("reader pushes: %v", err)
		}
	}
}

func TestLimitsAndFaults(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s, ctx := start(t, githubtest.Options{Now: clock, Limits: githubtest.GitHubLimits()}), context.Background()
	n := int(s.OpenIssue(repoName, "ann", "t", "b"))
	c := client(t, s, s.Token("bot", nil))
	post := func() (*github.Response, error) {
		_, r, err := c.Issues.CreateComment(ctx, "octo", "sales", n, &github.IssueComment{Body: github.String("x")})
		return r, err
	}
	made := 0
	for range 100 {
		if _, err := post(); err != nil {
			break
		}
		made++
	}
	if made != 80 {
		t.Errorf("%d comments in a minute, want 80", made)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	c = client(t, s, s.Token("bot", nil))
	s.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Kind: githubtest.LoseResponse})
	before := len(s.Comments(repoName, int64(n)))
	if _, err := post(); err == nil {
		t.Error("lost response answered")
	}
	if after := len(s.Comments(repoName, int64(n))); after != before+1 {
		t.Errorf("lost response made %d comments", after-before)
	}
	s.Fault(githubtest.Fault{Kind: githubtest.Secondary, Status: 429, After: time.Minute})
	if r, err := post(); err == nil || status(r) != 429 || r.Header.Get("Retry-After") != "60" {
		t.Errorf("secondary: %v %d", err, status(r))
	}
	s.Fault(githubtest.Fault{Kind: githubtest.Refuse})
	if _, err := post(); err == nil || len(s.Comments(repoName, int64(n))) != before+1 {
		t.Errorf("refused call: %v", err)
	}
	if left := s.ClearFaults(); left != 0 {
		t.Errorf("%d faults left", left)
	}
}

func TestConditional(t *testing.T) {
	t.Parallel()
	s := start(t, githubtest.Options{})
	get := func(etag string) *http.Response {
		r, _ := http.NewRequest(http.MethodGet, s.APIURL()+"repos/octo/sales", nil)
		r.Header.Set("Authorization", "Bearer "+s.Token("bot", nil))
		r.Header.Set("If-None-Match", etag)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response
	}
	first := get("")
	if again := get(first.Header.Get("ETag")); first.StatusCode != 200 || again.StatusCode != 304 {
		t.Errorf("%d then %d", first.StatusCode, again.StatusCode)
	}
}

func TestHooksAndRedelivery(t *testing.T) {
	t.Parallel()
	s, ctx := start(t, githubtest.Options{}), context.Background()
	var mu sync.Mutex
	var guids []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := github.ValidatePayload(r, []byte("secret"))
		if err != nil || len(body) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		guids = append(guids, github.DeliveryID(r))
	}))
	defer receiver.Close()
	id := s.AddHook(githubtest.Hook{Repo: repoName, URL: receiver.URL, Secret: "secret"})
	n := s.OpenIssue(repoName, "ann", "t", "b")
	s.Settle()
	s.SetHook(id, "", true, false)
	s.Comment(repoName, n, "ann", "missed")
	s.Settle()
	s.SetHook(id, "", false, false)
	s.Grant(repoName, "boss", "admin")
	c := client(t, s, s.Token("boss", nil))
	list, _, err := c.Repositories.ListHookDeliveries(ctx, "octo", "sales", id, nil)
	if err != nil || len(list) != 2 || list[0].GetStatusCode() != 502 || list[1].GetStatusCode() != 200 {
		t.Fatalf("deliveries: %v %v", err, list)
	}
	if _, _, err := c.Repositories.RedeliverHookDelivery(ctx, "octo", "sales", id, list[0].GetID()); err != nil && !strings.Contains(err.Error(), "job scheduled") {
		t.Fatal(err)
	}
	s.Settle()
	mu.Lock()
	defer mu.Unlock()
	if len(guids) != 2 || guids[1] != list[0].GetGUID() {
		t.Errorf("received %v, want the second to be %s", guids, list[0].GetGUID())
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	s, ctx := start(t, githubtest.Options{}), context.Background()
	picture, file := s.Attach(repoName, "a b.png", []byte("png")), s.Attach(repoName, "a.csv", []byte("x\n"))
	n := s.OpenIssue(repoName, "ann", "t", "b")
	id := s.Comment(repoName, n, "ann", "see "+picture+" and "+file)
	for url, reader := range map[string]*http.Client{picture: http.DefaultClient, file: http.DefaultClient} {
		if got := fetch(t, reader, url); got != 404 {
			t.Errorf("anonymous %s: %d", url, got)
		}
		if got := fetch(t, s.Browser("ann"), url); got != 200 {
			t.Errorf("member %s: %d", url, got)
		}
	}
	c := client(t, s, s.Token("bot", nil))
	r, _ := c.NewRequest(http.MethodGet, "repos/octo/sales/issues/comments/"+strconv.FormatInt(id, 10), nil)
	r.Header.Set("Accept", "application/vnd.github.full+json")
	var out struct {
		HTML string `json:"body_html"`
	}
	if _, err := c.Do(ctx, r, &out); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(out.HTML, s.URL()+"/private-user-images/")
	if at < 0 {
		t.Fatalf("no signed url in %s", out.HTML)
	}
	signed, _, _ := strings.Cut(out.HTML[at:], `"`)
	if got := fetch(t, http.DefaultClient, signed); got != 200 {
		t.Errorf("signed %s: %d", signed, got)
	}
}

func fetch(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}
