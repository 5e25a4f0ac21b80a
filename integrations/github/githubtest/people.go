package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Repo describes a repository to make.
type Repo struct {
	Name       string // "owner/name"
	Org        bool   // the owner is an organization
	Visibility string // "public" (default), "private", "internal"
	Branch     string // the default branch; "main" unless set
	Pages      string // the branch GitHub Pages serves
	Protected  []string
	Empty      bool              // without a commit
	Files      map[string]string // of the first commit on the default branch
	Grants     map[string]string // login to admin, maintain, write, triage, read
}

// AddRepo makes a repository, with one commit unless it is to be Empty. It panics on a name without an
// owner, for that is a mistake in the test.
func (s *Server) AddRepo(of Repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, name, ok := strings.Cut(of.Name, "/")
	if !ok {
		panic("githubtest: repository name needs an owner: " + of.Name)
	}
	kind := "User"
	if of.Org {
		kind = "Organization"
	}
	r := &repo{
		id: s.state.id(), owner: s.state.user(owner, kind), name: name, visibility: of.Visibility, branch: of.Branch,
		pages: of.Pages, protected: of.Protected, grants: map[string]string{}, git: newStore(), issues: map[int64]*issue{},
	}
	if r.visibility == "" {
		r.visibility = "public"
	}
	if r.branch == "" {
		r.branch = "main"
	}
	for login, permission := range of.Grants {
		s.state.user(login, "User")
		r.grants[strings.ToLower(login)] = permission
	}
	s.state.repos[strings.ToLower(of.Name)] = r
	if !of.Empty {
		s.commit(r, r.branch, of.Files, "first commit", owner)
	}
}

func (s *Server) commit(r *repo, branch string, files map[string]string, text, author string) string {
	tree := map[string]string{}
	var parents []string
	if head := r.git.branches[branch]; head != "" {
		parents = []string{head}
		for name, blob := range r.git.trees[r.git.commits[head].tree] {
			tree[name] = blob
		}
	}
	for name, content := range files {
		tree[name] = r.git.addBlob([]byte(content))
	}
	made := r.git.addCommit(r.git.addTree(tree), text, author, s.options.Now(), parents...)
	r.git.branches[branch] = made.sha
	return made.sha
}

// Commit pushes files on top of branch (made where it is missing) as login,
// and returns the commit's id.
func (s *Server) Commit(repository, branch, login, text string, files map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commit(s.must(repository), branch, files, text, login)
}

// must finds a repository or panics: tests name only what they made.
func (s *Server) must(repository string) *repo {
	r := s.state.repo(repository)
	if r == nil {
		panic("githubtest: no repository " + repository)
	}
	return r
}

// AddUser makes an account that has no rights yet; kind is "User" or "Bot".
func (s *Server) AddUser(login, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.user(login, kind)
}

// Grant sets what login may do in a repository; "" takes it away.
func (s *Server) Grant(repository, login, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.user(login, "User")
	s.must(repository).grants[strings.ToLower(login)] = permission
}

// Protect forbids pushes to branches that start with prefix.
func (s *Server) Protect(repository, prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	r.protected = append(r.protected, prefix)
}

// TurnIssuesOff turns a repository's issues off, as its settings do; pull
// requests stay.
func (s *Server) TurnIssuesOff(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(repository).noIssues = true
}

// Archive makes a repository read-only.
func (s *Server) Archive(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(repository).archived = true
}

// Lock locks an issue: only those with write may comment.
func (s *Server) Lock(repository string, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(repository).issues[number].locked = true
}

// Token makes a personal token of login. With permissions ("issues" to
// "write") it may do only these, as a fine-grained one.
func (s *Server) Token(login string, permissions map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := fmt.Sprintf("ghp_%d", s.state.id())
	s.state.tokens[t] = caller{token: t, user: s.state.user(login, "User"), permissions: permissions}
	return t
}

// AddApp makes the GitHub App slug and returns its id and private key (PEM).
func (s *Server) AddApp(slug string) (id int64, key []byte, err error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return 0, nil, fmt.Errorf("make key: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.app = &app{id: s.state.id(), slug: slug, bot: s.state.user(slug+"[bot]", "Bot"), key: private}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}
	return s.state.app.id, pem.EncodeToMemory(block), nil
}

// Install installs the App on all repositories of owner and returns the
// installation's id.
func (s *Server) Install(owner string, permissions map[string]string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &installation{id: s.state.id(), owner: s.state.user(owner, "User"), permissions: permissions}
	s.state.installations[i.id] = i
	return i.id
}

// Hook describes a webhook to register. Without Repo and Org it is the App's.
type Hook struct {
	Repo, Org, URL, Secret string
	Events                 []string // nil: all that this package sends
	ContentType            string   // "json" (also "") or "form"
}

// AddHook registers a webhook and returns its id.
func (s *Server) AddHook(of Hook) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &hook{id: s.state.id(), scope: "app", url: of.URL, secret: of.Secret, events: of.Events, kind: of.ContentType}
	if h.kind == "" {
		h.kind = "json"
	}
	if of.Repo != "" {
		h.scope, h.repo = "repo", s.must(of.Repo)
	}
	if of.Org != "" {
		h.scope, h.org = "org", s.state.user(of.Org, "Organization")
	}
	if h.events == nil {
		h.events = []string{"issues", "issue_comment", "pull_request_review_comment", "ping"}
	}
	s.state.hooks = append(s.state.hooks, h)
	return h.id
}

// SetHook changes how a hook delivers: to another URL ("" keeps it), not at
// all (down), or everything twice under one GUID.
func (s *Server) SetHook(id int64, to string, down, twice bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.state.hooks {
		if h.id == id {
			h.down, h.twice = down, twice
			if to != "" {
				h.url = to
			}
		}
	}
}

// OpenIssue opens an issue as login and returns its number.
func (s *Server) OpenIssue(repository, login, title, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(repository, login, title, body, nil)
}

func (s *Server) open(repository, login, title, body string, p *pull) int64 {
	r := s.must(repository)
	return s.enroll(r, &issue{author: s.state.user(login, "User"), title: title, body: body, pull: p}).number
}

// enroll numbers an issue and tells of it.
func (s *Server) enroll(r *repo, i *issue) *issue {
	r.nextNumber++
	now := s.options.Now()
	i.id, i.number, i.created, i.updated = s.state.id(), r.nextNumber, now, now
	r.issues[i.number] = i
	if i.pull == nil {
		s.emit(r, "issues", "opened", i.author, map[string]any{"issue": s.issueJSON(r, i)})
	}
	return i
}

// OpenPull opens a pull request from branch head, which must exist, as login.
func (s *Server) OpenPull(repository, login, title, body, head, diff string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	return s.open(repository, login, title, body, &pull{
		head: head, base: r.branch, headSHA: r.git.branches[head], headRepo: r, diff: diff,
	})
}

// Label puts label on an issue as login.
func (s *Server) Label(repository string, number int64, login, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	i := r.issues[number]
	if !slices.Contains(i.labels, label) {
		i.labels = append(i.labels, label)
	}
	i.updated = s.options.Now()
	s.emit(r, "issues", "labeled", s.state.user(login, "User"), map[string]any{
		"issue": s.issueJSON(r, i), "label": map[string]any{"name": label, "color": "ededed"},
	})
}

// Comment writes a comment as login and returns its id.
func (s *Server) Comment(repository string, number int64, login, body string) int64 {
	return s.say(repository, number, login, body, "")
}

// ReviewComment writes a review comment on path of a pull request as login.
func (s *Server) ReviewComment(repository string, number int64, login, path, body string) int64 {
	return s.say(repository, number, login, body, path)
}

func (s *Server) say(repository string, number int64, login, body, path string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := s.must(repository), s.options.Now()
	made := &comment{
		id: s.state.id(), issue: r.issues[number], author: s.state.user(login, "User"), body: body,
		review: path != "", path: path, created: now, updated: now,
	}
	made.issue.updated = now
	r.comments = append(r.comments, made)
	s.emitComment(r, made, "created", made.author, "")
	return made.id
}

// EditComment changes a comment's text as its author.
func (s *Server) EditComment(repository string, id int64, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	for _, c := range r.comments {
		if c.id == id {
			before := c.body
			c.body, c.updated = body, s.options.Now()
			s.emitComment(r, c, "edited", c.author, before)
		}
	}
}

// DeleteComment removes a comment as its author.
func (s *Server) DeleteComment(repository string, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	for _, c := range r.comments {
		if c.id == id {
			s.emitComment(r, c, "deleted", c.author, "")
		}
	}
	r.comments = slices.DeleteFunc(r.comments, func(c *comment) bool { return c.id == id })
}

// Attach uploads a file as the web page does and returns the URL that stands
// in the comment: assets/UUID for pictures, files/ID/NAME for the rest.
func (s *Server) Attach(repository, name string, data []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &attachment{repo: s.must(repository), name: name, data: data}
	switch strings.ToLower(name[strings.LastIndex(name, ".")+1:]) {
	case "png", "jpg", "jpeg", "gif", "svg":
		a.image, a.path = true, "/user-attachments/assets/"+guid()
	default:
		a.path = fmt.Sprintf("/user-attachments/files/%d/%s", s.state.id(), url.PathEscape(name))
	}
	s.state.attachments[a.path] = a
	return s.URL() + a.path
}

// Browser is a client signed in as login.
func (s *Server) Browser(login string) *http.Client {
	return &http.Client{Transport: session{login: login}}
}

type session struct{ login string }

// RoundTrip implements http.RoundTripper.
func (b session) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.login})
	return http.DefaultTransport.RoundTrip(r)
}
