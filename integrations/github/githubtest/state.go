package githubtest

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"
)

// state is all that the fake GitHub remembers. The Server's lock guards it.
type state struct {
	nextID        int64
	users         map[string]*user  // by lower-case login
	tokens        map[string]caller // by token
	repos         map[string]*repo  // by lower-case full name
	hooks         []*hook
	app           *app
	installations map[int64]*installation
	attachments   map[string]*attachment // by path
	signed        map[string]signedURL   // by signature
}

type user struct {
	id    int64
	login string
	kind  string // "User", "Organization", "Bot"
}

type repo struct {
	id         int64
	owner      *user
	name       string
	visibility string // "public", "private", "internal"
	branch     string // the default branch
	pages      string // the Pages branch; "" for none
	archived   bool
	noIssues   bool              // issues are turned off
	grants     map[string]string // login to admin, maintain, write, triage, read
	protected  []string          // branch name prefixes nobody may push to
	git        *store
	issues     map[int64]*issue // by number
	comments   []*comment       // of issues and reviews, by id
	nextNumber int64
	deleted    []int64 // numbers of issues that were
}

type issue struct {
	id        int64
	number    int64
	author    *user
	title     string
	body      string
	labels    []string
	locked    bool
	created   time.Time
	updated   time.Time
	reactions []*reaction
	pull      *pull
}

type pull struct {
	head, base string // branch names
	headSHA    string
	headRepo   *repo
	diff       string
}

type comment struct {
	id        int64
	issue     *issue
	author    *user
	app       *app
	body      string
	review    bool // a pull request's review comment
	path      string
	replyTo   int64
	created   time.Time
	updated   time.Time
	reactions []*reaction
}

type reaction struct {
	id      int64
	user    *user
	content string
	created time.Time
}

type app struct {
	id   int64
	slug string
	bot  *user
	key  *rsa.PrivateKey
}

type installation struct {
	id          int64
	owner       *user
	permissions map[string]string
}

// caller is who a token belongs to. restricted tokens hold only permissions.
type caller struct {
	token        string
	user         *user
	jwt          bool
	installation *installation
	permissions  map[string]string // nil: all that the user has
	expires      time.Time
}

func (c caller) key() string { return c.token }

func (c caller) name() string {
	switch {
	case c.jwt:
		return "app"
	case c.user != nil:
		return c.user.login
	}
	return ""
}

func newState() state {
	return state{
		nextID: 1000, users: map[string]*user{}, tokens: map[string]caller{}, repos: map[string]*repo{},
		installations: map[int64]*installation{}, attachments: map[string]*attachment{}, signed: map[string]signedURL{},
	}
}

func (s *state) id() int64 { s.nextID++; return s.nextID }

// user returns login's user and makes it where there is none.
func (s *state) user(login, kind string) *user {
	u := s.users[strings.ToLower(login)]
	if u == nil {
		u = &user{id: s.id(), login: login, kind: kind}
		s.users[strings.ToLower(login)] = u
	}
	return u
}

func (s *state) repo(full string) *repo { return s.repos[strings.ToLower(full)] }

func (r *repo) full() string { return r.owner.login + "/" + r.name }

// permission is what login may do: admin, maintain, write, triage, read, none.
func (r *repo) permission(login string) string {
	if strings.EqualFold(login, r.owner.login) {
		return "admin"
	}
	if p := r.grants[strings.ToLower(login)]; p != "" {
		return p
	}
	if r.visibility == "public" {
		return "read"
	}
	return "none"
}

func (r *repo) comment(id int64, review bool) *comment {
	for _, c := range r.comments {
		if c.id == id && c.review == review {
			return c
		}
	}
	return nil
}

// token returns what an Authorization header carries.
func token(request *http.Request) string {
	header := request.Header.Get("Authorization")
	if _, password, ok := request.BasicAuth(); ok {
		return password
	}
	for _, scheme := range []string{"Bearer ", "token ", "bearer "} {
		if rest, ok := strings.CutPrefix(header, scheme); ok {
			return rest
		}
	}
	return ""
}

// whoever returns the caller that the token names, anonymous for none.
func (s *state) whoever(request *http.Request) caller {
	t := token(request)
	if strings.Count(t, ".") == 2 {
		return caller{token: "jwt", jwt: true}
	}
	return s.tokens[t]
}

// signIn finds the caller and refuses a token that is unknown or outlived.
func (c *call) signIn(r route) (int, any) {
	t := token(c.request)
	if strings.Count(t, ".") == 2 {
		if problem := c.checkJWT(t); problem != "" {
			return http.StatusUnauthorized, message(problem)
		}
		c.caller = caller{token: "jwt", jwt: true}
	} else if t != "" {
		known, ok := c.state.tokens[t]
		if !ok || (!known.expires.IsZero() && c.options.Now().After(known.expires)) {
			return http.StatusUnauthorized, message("Bad credentials")
		}
		c.caller = known
	}
	if (r.permission == "jwt") != c.caller.jwt {
		if c.caller.jwt {
			return http.StatusUnauthorized, message("This endpoint requires you to be authenticated with an installation access token")
		}
		return http.StatusUnauthorized, message("A JSON web token could not be decoded")
	}
	return 0, nil
}

func (c *call) mayRead(r *repo) bool {
	if r.visibility == "public" {
		return true
	}
	if c.caller.jwt {
		return true
	}
	if c.caller.installation != nil {
		return c.caller.installation.owner == r.owner
	}
	return c.caller.user != nil && r.permission(c.caller.user.login) != "none"
}

// permit checks the permission that a route names and notes that it was
// needed. Of an installation the App's permissions count, of a person what
// the repository grants; reading what is public needs no more.
func (c *call) permit(permission string) (int, any) {
	if permission == "" || permission == "jwt" {
		return 0, nil
	}
	c.used[permission] = true
	name, level, _ := strings.Cut(permission, ":")
	if c.caller.user == nil {
		if level == "read" && c.repo != nil && c.repo.visibility == "public" {
			return 0, nil
		}
		return http.StatusUnauthorized, message("Requires authentication")
	}
	if c.caller.permissions != nil && !covers(c.caller.permissions[name], level) {
		return http.StatusForbidden, message("Resource not accessible by integration")
	}
	if c.caller.installation != nil {
		if c.repo != nil && c.caller.installation.owner != c.repo.owner && level == "write" {
			return http.StatusForbidden, message("Resource not accessible by integration")
		}
		return 0, nil
	}
	if c.repo == nil {
		return 0, nil
	}
	have := c.repo.permission(c.caller.user.login)
	need := map[string]string{
		"contents:write": "write", "repository_hooks:read": "admin", "repository_hooks:write": "admin", "pages:read": "write",
	}[permission]
	if need != "" && rank(have) < rank(need) {
		return http.StatusForbidden, message("Must have " + need + " rights to Repository.")
	}
	return 0, nil
}

func covers(have, need string) bool {
	return have == "admin" || have == need || (have == "write" && need == "read")
}

func rank(permission string) int {
	return map[string]int{"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}[permission]
}

func (s *Server) userJSON(u *user) map[string]any {
	return map[string]any{
		"login": u.login, "id": u.id, "node_id": fmt.Sprintf("U_%d", u.id), "type": u.kind, "site_admin": false,
		"url": s.APIURL() + "users/" + u.login, "html_url": s.URL() + "/" + u.login,
	}
}

func (s *Server) repoJSON(r *repo) map[string]any {
	return map[string]any{
		"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": r.name, "full_name": r.full(), "owner": s.userJSON(r.owner),
		"private": r.visibility != "public", "visibility": r.visibility, "default_branch": r.branch, "archived": r.archived,
		"has_issues": !r.noIssues, "has_pages": r.pages != "", "html_url": s.URL() + "/" + r.full(), "url": s.APIURL() + "repos/" + r.full(), "fork": false,
	}
}

func (s *Server) issueJSON(r *repo, i *issue) map[string]any {
	labels := []any{}
	for _, l := range i.labels {
		labels = append(labels, map[string]any{"name": l, "color": "ededed"})
	}
	out := map[string]any{
		"id": i.id, "number": i.number, "title": i.title, "body": nullable(i.body), "user": s.userJSON(i.author), "labels": labels,
		"state": "open", "locked": i.locked, "comments": s.countComments(r, i), "author_association": "NONE",
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "reactions": reactionsJSON(i.reactions),
		"url":            fmt.Sprintf("%srepos/%s/issues/%d", s.APIURL(), r.full(), i.number),
		"repository_url": s.APIURL() + "repos/" + r.full(),
		"html_url":       fmt.Sprintf("%s/%s/issues/%d", s.URL(), r.full(), i.number),
	}
	if i.pull != nil {
		out["html_url"] = fmt.Sprintf("%s/%s/pull/%d", s.URL(), r.full(), i.number)
		out["pull_request"] = map[string]any{"url": fmt.Sprintf("%srepos/%s/pulls/%d", s.APIURL(), r.full(), i.number)}
	}
	return out
}

func (s *Server) countComments(r *repo, i *issue) int {
	n := 0
	for _, c := range r.comments {
		if c.issue == i && !c.review {
			n++
		}
	}
	return n
}

func (s *Server) commentJSON(r *repo, c *comment) map[string]any {
	kind, anchor, page := "issues", "issuecomment-", "issues"
	if c.issue.pull != nil {
		page = "pull"
	}
	if c.review {
		kind, anchor = "pulls", "discussion_r"
	}
	out := map[string]any{
		"id": c.id, "node_id": fmt.Sprintf("C_%d", c.id), "body": c.body, "user": s.userJSON(c.author),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": "NONE",
		"reactions": reactionsJSON(c.reactions), "performed_via_github_app": nil,
		"url":       fmt.Sprintf("%srepos/%s/%s/comments/%d", s.APIURL(), r.full(), kind, c.id),
		"html_url":  fmt.Sprintf("%s/%s/%s/%d#%s%d", s.URL(), r.full(), page, c.issue.number, anchor, c.id),
		"issue_url": fmt.Sprintf("%srepos/%s/issues/%d", s.APIURL(), r.full(), c.issue.number),
	}
	if c.app != nil {
		out["performed_via_github_app"] = map[string]any{"id": c.app.id, "slug": c.app.slug}
	}
	if c.review {
		delete(out, "issue_url")
		out["pull_request_url"] = fmt.Sprintf("%srepos/%s/pulls/%d", s.APIURL(), r.full(), c.issue.number)
		out["path"], out["commit_id"], out["diff_hunk"] = c.path, c.issue.pull.headSHA, "@@ -1 +1 @@"
		if c.replyTo != 0 {
			out["in_reply_to_id"] = c.replyTo
		}
	}
	return out
}

func (s *Server) pullJSON(r *repo, i *issue) map[string]any {
	out := s.issueJSON(r, i)
	delete(out, "pull_request")
	out["url"] = fmt.Sprintf("%srepos/%s/pulls/%d", s.APIURL(), r.full(), i.number)
	out["head"] = map[string]any{"ref": i.pull.head, "sha": i.pull.headSHA, "repo": s.repoJSON(i.pull.headRepo)}
	out["base"] = map[string]any{"ref": i.pull.base, "repo": s.repoJSON(r)}
	return out
}

func reactionsJSON(list []*reaction) map[string]any {
	out := map[string]any{"total_count": len(list)}
	for _, name := range []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"} {
		out[name] = 0
	}
	for _, r := range list {
		out[r.content] = out[r.content].(int) + 1
	}
	return out
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// stamp is a time as the API writes it: UTC, whole seconds.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
