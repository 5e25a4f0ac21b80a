package githubtest

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// maxContentsJSON is the largest file that the contents API gives as JSON.
const maxContentsJSON = 1 << 20

func repoRoutes() []route {
	return []route{
		{pattern: "GET /user", handle: (*call).getUser},
		{pattern: "GET /repos/{owner}/{repo}", permission: "metadata:read", handle: func(c *call) (int, any) { return http.StatusOK, c.repoJSON(c.repo) }},
		{pattern: "GET /repos/{owner}/{repo}/collaborators/{login}/permission", permission: "metadata:read", handle: (*call).getPermission},
		{pattern: "GET /repos/{owner}/{repo}/pages", permission: "pages:read", handle: (*call).getPages},
		{pattern: "GET /repos/{owner}/{repo}/contents/{path...}", permission: "contents:read", handle: (*call).getContents},
		{pattern: "GET /repos/{owner}/{repo}/commits", permission: "contents:read", handle: (*call).listCommits},
		{pattern: "GET /repos/{owner}/{repo}/commits/{ref...}", permission: "contents:read", handle: (*call).getCommit},
		{pattern: "GET /users/{login}/repos", permission: "metadata:read", handle: (*call).listRepos},
		{pattern: "GET /orgs/{login}/repos", permission: "metadata:read", handle: (*call).listRepos},
	}
}

func (c *call) getUser() (int, any) {
	if c.caller.installation != nil {
		return http.StatusForbidden, message("Resource not accessible by integration")
	}
	if c.caller.user == nil {
		return http.StatusUnauthorized, message("Requires authentication")
	}
	return http.StatusOK, c.userJSON(c.caller.user)
}

func (c *call) getPermission() (int, any) {
	if c.caller.user == nil || (c.caller.installation == nil && rank(c.repo.permission(c.caller.user.login)) < rank("write")) {
		return http.StatusForbidden, message("Must have push access to view collaborator permission.")
	}
	u := c.state.users[strings.ToLower(c.path("login"))]
	if u == nil {
		return http.StatusNotFound, message(c.path("login") + " is not a user")
	}
	role := c.repo.permission(u.login)
	coarse := map[string]string{"maintain": "write", "triage": "read"}[role]
	if coarse == "" {
		coarse = role
	}
	return http.StatusOK, map[string]any{"permission": coarse, "role_name": role, "user": c.userJSON(u)}
}

func (c *call) getPages() (int, any) {
	if c.repo.pages == "" {
		return notFound()
	}
	return http.StatusOK, map[string]any{
		"status": "built", "build_type": "legacy", "source": map[string]any{"branch": c.repo.pages, "path": "/"},
	}
}

// at returns the commit that a query's or path's ref names; "" is the default
// branch.
func (c *call) at(ref string) *commit {
	if ref == "" {
		ref = c.repo.branch
	}
	return c.repo.git.resolve(ref)
}

func (c *call) getContents() (int, any) {
	found := c.at(c.query("ref"))
	if found == nil {
		return http.StatusNotFound, message("No commit found for the ref " + c.query("ref"))
	}
	name := strings.Trim(c.path("path"), "/")
	files := c.repo.git.trees[found.tree]
	blob, ok := files[name]
	if !ok {
		return c.listFolder(files, name)
	}
	data := c.repo.git.blobs[blob]
	if strings.Contains(c.request.Header.Get("Accept"), "raw") {
		return http.StatusOK, raw{contentType: "application/vnd.github.raw; charset=utf-8", data: data}
	}
	out := map[string]any{
		"type": "file", "name": name[strings.LastIndex(name, "/")+1:], "path": name, "sha": blob, "size": len(data),
		"encoding": "base64", "content": base64.StdEncoding.EncodeToString(data),
		"download_url": c.URL() + "/" + c.repo.full() + "/raw/" + found.sha + "/" + name,
	}
	if len(data) > maxContentsJSON {
		out["encoding"], out["content"] = "none", ""
	}
	return http.StatusOK, out
}

func (c *call) listFolder(files map[string]string, folder string) (int, any) {
	out, seen := []any{}, map[string]bool{}
	for _, name := range sortedKeys(files) {
		rest, ok := name, true
		if folder != "" {
			rest, ok = strings.CutPrefix(name, folder+"/")
		}
		if !ok {
			continue
		}
		first, _, nested := strings.Cut(rest, "/")
		if seen[first] {
			continue
		}
		seen[first] = true
		kind := "file"
		if nested {
			kind = "dir"
		}
		out = append(out, map[string]any{"type": kind, "name": first, "path": strings.TrimPrefix(folder+"/"+first, "/"), "size": len(c.repo.git.blobs[files[name]])})
	}
	if len(out) == 0 {
		return notFound()
	}
	return http.StatusOK, out
}

func (c *call) commitJSON(found *commit) map[string]any {
	who := map[string]any{"name": found.author, "date": stamp(found.at)}
	return map[string]any{
		"sha": found.sha, "html_url": c.URL() + "/" + c.repo.full() + "/commit/" + found.sha,
		"commit":    map[string]any{"message": found.message, "tree": map[string]any{"sha": found.tree}, "author": who, "committer": who},
		"author":    map[string]any{"login": found.author},
		"committer": map[string]any{"login": found.author},
	}
}

func (c *call) listCommits() (int, any) {
	found := c.at(c.query("sha"))
	if found == nil {
		return notFound()
	}
	out := []any{}
	for _, each := range page(c, c.repo.git.history(found.sha, c.query("path"))) {
		out = append(out, c.commitJSON(each))
	}
	return http.StatusOK, out
}

func (c *call) getCommit() (int, any) {
	found := c.at(c.path("ref"))
	if found == nil {
		return http.StatusUnprocessableEntity, message("No commit found for SHA: " + c.path("ref"))
	}
	if strings.Contains(c.request.Header.Get("Accept"), "sha") {
		return http.StatusOK, raw{contentType: "application/vnd.github.sha; charset=utf-8", data: []byte(found.sha)}
	}
	return http.StatusOK, c.commitJSON(found)
}

func (c *call) listRepos() (int, any) {
	out := []any{}
	for _, name := range sortedKeys(c.state.repos) {
		if r := c.state.repos[name]; strings.EqualFold(r.owner.login, c.path("login")) && c.mayRead(r) {
			out = append(out, c.repoJSON(r))
		}
	}
	return http.StatusOK, page(c, out)
}
