package githubtest

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// signedLife is how long a signed attachment URL opens.
const signedLife = 5 * time.Minute

type attachment struct {
	path  string // "/user-attachments/files/ID/NAME" or "/user-attachments/assets/UUID"
	repo  *repo
	name  string
	image bool
	data  []byte
}

type signedURL struct {
	attachment *attachment
	expires    time.Time
}

// sessionCookie is what a signed-in browser sends.
const sessionCookie = "user_session"

func (s *Server) web() http.Handler {
	pages := &router{missing: http.NotFound}
	pages.add("GET /user-attachments/{path...}", s.getAttachment)
	pages.add("GET /private-user-images/{owner}/{name}", s.getSigned)
	pages.add("GET /{owner}/{repo}/blob/{ref}/{path...}", s.getPage)
	pages.add("GET /{owner}/{repo}/raw/{ref}/{path...}", s.getRaw)
	return pages
}

// sign makes a URL that opens an attachment for five minutes. The lock must
// be held.
func (s *Server) sign(a *attachment) string {
	key := guid()
	s.state.signed[key] = signedURL{attachment: a, expires: s.options.Now().Add(signedLife)}
	return fmt.Sprintf("%s/private-user-images/%d/%d-%s%s?jwt=%s", s.URL(), a.repo.owner.id, a.repo.id, path.Base(a.path), path.Ext(a.name), key)
}

func (s *Server) getSigned(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	signed, ok := s.state.signed[r.URL.Query().Get("jwt")]
	live := ok && s.options.Now().Before(signed.expires)
	s.mu.Unlock()
	if !live {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(signed.attachment.data)
}

func (s *Server) getAttachment(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	a := s.state.attachments[r.URL.Path]
	allowed := a != nil && (a.repo.visibility == "public" || s.signedIn(r, a.repo))
	if a != nil && !a.image && s.options.TokensOpenFiles && !allowed {
		c := call{Server: s, request: r, caller: s.state.whoever(r)}
		allowed = c.mayRead(a.repo)
	}
	s.mu.Unlock()
	if !allowed {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", a.name))
	_, _ = w.Write(a.data)
}

// signedIn says whether the request comes from a browser of somebody who may
// read the repository. The lock must be held.
func (s *Server) signedIn(r *http.Request, target *repo) bool {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return false
	}
	who := s.state.users[strings.ToLower(cookie.Value)]
	return who != nil && target.permission(who.login) != "none"
}

// file finds what a web path names, nil where the reader may not see it.
func (s *Server) file(r *http.Request) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.state.repo(r.PathValue("owner") + "/" + r.PathValue("repo"))
	if target == nil || (target.visibility != "public" && !s.signedIn(r, target)) {
		return nil
	}
	found := target.git.resolve(r.PathValue("ref"))
	if found == nil {
		return nil
	}
	return target.git.blobs[target.git.trees[found.tree][r.PathValue("path")]]
}

// getPage is the page about a file; with raw=true it leads to the file.
func (s *Server) getPage(w http.ResponseWriter, r *http.Request) {
	if s.file(r) == nil {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("raw") == "true" {
		http.Redirect(w, r, strings.Replace(r.URL.EscapedPath(), "/blob/", "/raw/", 1), http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, "<html><title>%s</title></html>", path.Base(r.PathValue("path")))
}

func (s *Server) getRaw(w http.ResponseWriter, r *http.Request) {
	data := s.file(r)
	if data == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if strings.HasSuffix(r.PathValue("path"), ".png") {
		w.Header().Set("Content-Type", "image/png")
	}
	_, _ = w.Write(data)
}
