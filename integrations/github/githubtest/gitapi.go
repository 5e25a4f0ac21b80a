package githubtest

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"
	"time"
)

func gitRoutes() []route {
	return []route{
		{pattern: "POST /repos/{owner}/{repo}/git/blobs", permission: "contents:write", handle: (*call).createBlob},
		{pattern: "GET /repos/{owner}/{repo}/git/blobs/{sha}", permission: "contents:read", handle: (*call).getBlob},
		{pattern: "POST /repos/{owner}/{repo}/git/trees", permission: "contents:write", handle: (*call).createTree},
		{pattern: "GET /repos/{owner}/{repo}/git/trees/{sha...}", permission: "contents:read", handle: (*call).getTree},
		{pattern: "POST /repos/{owner}/{repo}/git/commits", permission: "contents:write", handle: (*call).createCommit},
		{pattern: "GET /repos/{owner}/{repo}/git/commits/{sha}", permission: "contents:read", handle: (*call).getGitCommit},
		{pattern: "GET /repos/{owner}/{repo}/git/ref/heads/{branch...}", permission: "contents:read", handle: (*call).getRef},
		{pattern: "GET /repos/{owner}/{repo}/git/matching-refs/heads/{prefix...}", permission: "contents:read", handle: (*call).matchingRefs},
		{pattern: "POST /repos/{owner}/{repo}/git/refs", permission: "contents:write", handle: (*call).createRef},
		{pattern: "PATCH /repos/{owner}/{repo}/git/refs/heads/{branch...}", permission: "contents:write", handle: (*call).updateRef},
		{pattern: "DELETE /repos/{owner}/{repo}/git/refs/heads/{branch...}", permission: "contents:write", handle: (*call).deleteRef},
	}
}

func (c *call) createBlob() (int, any) {
	var in struct{ Content, Encoding string }
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return invalid("Blob", "content", "content is not valid Base64")
		}
	}
	return http.StatusCreated, map[string]any{"sha": c.repo.git.addBlob(data)}
}

func (c *call) getBlob() (int, any) {
	data, ok := c.repo.git.blobs[c.path("sha")]
	if !ok {
		return notFound()
	}
	if strings.Contains(c.request.Header.Get("Accept"), "raw") {
		return http.StatusOK, raw{contentType: "application/vnd.github.raw; charset=utf-8", data: data}
	}
	return http.StatusOK, map[string]any{
		"sha": c.path("sha"), "size": len(data), "encoding": "base64", "content": base64.StdEncoding.EncodeToString(data),
	}
}

func (c *call) createTree() (int, any) {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA              *string
			Content          *string
		}
	}
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	git, files := c.repo.git, map[string]string{}
	if in.BaseTree != "" {
		base, ok := git.trees[in.BaseTree]
		if !ok {
			return notFound()
		}
		for name, blob := range base {
			files[name] = blob
		}
	}
	for _, e := range in.Tree {
		clean := path.Clean(e.Path)
		if e.Path == "" || clean != e.Path || strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "..") || strings.Contains(clean, ".git/") {
			return http.StatusUnprocessableEntity, message("tree.path contains a malformed path component")
		}
		switch {
		case e.Content != nil:
			files[e.Path] = git.addBlob([]byte(*e.Content))
		case e.SHA == nil:
			delete(files, e.Path)
		case git.blobs[*e.SHA] == nil:
			return http.StatusUnprocessableEntity, message("tree.sha " + *e.SHA + " is not a valid blob")
		default:
			files[e.Path] = *e.SHA
		}
	}
	id := git.addTree(files)
	return http.StatusCreated, c.treeJSON(id, false)
}

func (c *call) treeJSON(id string, recursive bool) map[string]any {
	git, entries, seen := c.repo.git, []any{}, map[string]bool{}
	files := git.trees[id]
	for _, name := range sortedKeys(files) {
		if dir, _, nested := strings.Cut(name, "/"); nested && !recursive {
			if !seen[dir] {
				seen[dir] = true
				inner := map[string]string{}
				for n, b := range files {
					if rest, ok := strings.CutPrefix(n, dir+"/"); ok {
						inner[rest] = b
					}
				}
				entries = append(entries, map[string]any{"path": dir, "mode": "040000", "type": "tree", "sha": git.addTree(inner)})
			}
			continue
		}
		blob := files[name]
		entries = append(entries, map[string]any{"path": name, "mode": "100644", "type": "blob", "sha": blob, "size": len(git.blobs[blob])})
	}
	return map[string]any{"sha": id, "tree": entries, "truncated": false}
}

func (c *call) getTree() (int, any) {
	git, id := c.repo.git, c.path("sha")
	if found := git.resolve(id); found != nil {
		id = found.tree
	}
	if _, ok := git.trees[id]; !ok {
		return notFound()
	}
	return http.StatusOK, c.treeJSON(id, c.query("recursive") != "")
}

func (c *call) createCommit() (int, any) {
	var in struct {
		Message, Tree string
		Parents       []string
		Author        *struct {
			Name string
			Date time.Time
		}
	}
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	git := c.repo.git
	if _, ok := git.trees[in.Tree]; !ok {
		return http.StatusUnprocessableEntity, message("Tree SHA does not exist")
	}
	for _, p := range in.Parents {
		if git.commits[p] == nil {
			return http.StatusUnprocessableEntity, message("Parent SHA does not exist or is not a commit object")
		}
	}
	author, at := c.caller.user.login, c.options.Now()
	if in.Author != nil && !in.Author.Date.IsZero() {
		at = in.Author.Date
	}
	return http.StatusCreated, c.gitCommitJSON(git.addCommit(in.Tree, in.Message, author, at, in.Parents...))
}

func (c *call) gitCommitJSON(found *commit) map[string]any {
	parents := []any{}
	for _, p := range found.parents {
		parents = append(parents, map[string]any{"sha": p})
	}
	who := map[string]any{"name": found.author, "date": stamp(found.at)}
	return map[string]any{
		"sha": found.sha, "message": found.message, "tree": map[string]any{"sha": found.tree}, "parents": parents,
		"author": who, "committer": who, "html_url": c.URL() + "/" + c.repo.full() + "/commit/" + found.sha,
	}
}

func (c *call) getGitCommit() (int, any) {
	found := c.repo.git.commits[c.path("sha")]
	if found == nil {
		return notFound()
	}
	return http.StatusOK, c.gitCommitJSON(found)
}

func refJSON(branch, sha string) map[string]any {
	return map[string]any{"ref": "refs/heads/" + branch, "object": map[string]any{"type": "commit", "sha": sha}}
}

func (c *call) getRef() (int, any) {
	branch := c.path("branch")
	sha, ok := c.repo.git.branches[branch]
	switch {
	case len(c.repo.git.branches) == 0:
		return http.StatusConflict, message("Git Repository is empty.")
	case !ok:
		return notFound()
	}
	return http.StatusOK, refJSON(branch, sha)
}

func (c *call) matchingRefs() (int, any) {
	out := []any{}
	for _, name := range sortedKeys(c.repo.git.branches) {
		if strings.HasPrefix(name, c.path("prefix")) {
			out = append(out, refJSON(name, c.repo.git.branches[name]))
		}
	}
	return http.StatusOK, page(c, out)
}

func (r *repo) isProtected(branch string) bool {
	for _, prefix := range r.protected {
		if strings.HasPrefix(branch, prefix) {
			return true
		}
	}
	return false
}

func (c *call) createRef() (int, any) {
	var in struct{ Ref, SHA string }
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	branch, ok := strings.CutPrefix(in.Ref, "refs/heads/")
	git := c.repo.git
	switch {
	case !ok || branch == "":
		return http.StatusUnprocessableEntity, message("Reference name must start with 'refs/'.")
	case git.branches[branch] != "":
		return http.StatusUnprocessableEntity, message("Reference already exists")
	case git.commits[in.SHA] == nil:
		return http.StatusUnprocessableEntity, message("Object does not exist")
	case c.repo.isProtected(branch):
		return http.StatusUnprocessableEntity, message("Repository rule violations found\n\nCannot create ref due to creations being restricted.")
	}
	git.branches[branch] = in.SHA
	return http.StatusCreated, refJSON(branch, in.SHA)
}

func (c *call) updateRef() (int, any) {
	var in struct {
		SHA   string
		Force bool
	}
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	git, branch := c.repo.git, c.path("branch")
	switch {
	case git.branches[branch] == "":
		return http.StatusUnprocessableEntity, message("Reference does not exist")
	case git.commits[in.SHA] == nil:
		return http.StatusUnprocessableEntity, message("Object does not exist")
	case c.repo.isProtected(branch):
		return http.StatusUnprocessableEntity, message("Protected branch update failed for refs/heads/" + branch + ".")
	case !in.Force && !git.ancestor(git.branches[branch], in.SHA):
		return http.StatusUnprocessableEntity, message("Update is not a fast forward")
	}
	git.branches[branch] = in.SHA
	return http.StatusOK, refJSON(branch, in.SHA)
}

func (c *call) deleteRef() (int, any) {
	git, branch := c.repo.git, c.path("branch")
	if git.branches[branch] == "" {
		return http.StatusUnprocessableEntity, message("Reference does not exist")
	}
	delete(git.branches, branch)
	return http.StatusNoContent, nil
}
