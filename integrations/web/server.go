package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

//go:embed static
var staticFiles embed.FS

//go:embed pages
var pageFiles embed.FS

// Server serves the pages; it is an http.Handler.
type Server struct {
	opts    Options
	locked  bool // by a token
	pages   map[string]*template.Template
	handler http.Handler
}

// New checks options and returns a Server.
func New(options Options) (*Server, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	if options.Token == nil {
		options.Token = func() string { return "" }
	}
	s := &Server{opts: options, locked: options.Token() != "", pages: map[string]*template.Template{}}
	for _, name := range []string{"tasks", "task", "audit", "said", "schedules", "skills", "health", "login", "error"} {
		t, err := template.New("layout.html").Funcs(s.funcs()).ParseFS(pageFiles, "pages/layout.html", "pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		s.pages[name] = t
	}
	static, err := fs.Sub(staticFiles, "static")
	if err != nil {
		return nil, fmt.Errorf("open static files: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(static))))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/tasks", http.StatusSeeOther) })
	mux.HandleFunc("GET /login", s.loginPage)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /tasks", s.list)
	mux.HandleFunc("POST /tasks", s.ask)
	mux.HandleFunc("GET /tasks/live", s.liveList)
	mux.HandleFunc("GET /tasks/{id}", s.task)
	mux.HandleFunc("GET /tasks/{id}/live", s.liveTask)
	mux.HandleFunc("GET /tasks/{id}/audit", s.audit)
	mux.HandleFunc("GET /tasks/{id}/files/{number}/{name}", s.file)
	mux.HandleFunc("POST /tasks/{id}/{verb}", s.change)
	mux.HandleFunc("GET /schedules", s.schedules)
	mux.HandleFunc("GET /skills", s.skills)
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("POST /health/{verb}", s.pause)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "There is no such page.", "The links above lead to those that there are.")
	})
	s.handler = s.guard(mux)
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// cached lets browsers keep what never changes within one version.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=600")
		next.ServeHTTP(w, r)
	})
}

// page is what every template gets.
type page struct {
	Title  string
	Active string // which entry of the navigation is this one
	Viewer string
	// Refresh makes a page without JavaScript load itself again.
	Refresh   int
	Schedules bool
	Skills    bool
	Body      any
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, p page) {
	p.Viewer = viewerOf(r.Context()).actor.Name
	p.Schedules, p.Skills = s.opts.Schedules != nil, s.opts.Skills != nil
	var b bytes.Buffer
	if err := s.pages[name].Execute(&b, p); err != nil {
		s.opts.Log.ErrorContext(r.Context(), "render page", "page", name, "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

type errorBody struct{ Message, Hint string }

// fail tells what went wrong and what to do, in the form that was asked for.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, message, hint string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, message+" "+hint, status)
		return
	}
	s.render(w, r, status, "error", page{Title: message, Body: errorBody{message, hint}})
}

// broken answers for our own faults: logged in full, told in short.
func (s *Server) broken(w http.ResponseWriter, r *http.Request, doing string, err error) {
	if r.Context().Err() != nil {
		return
	}
	s.opts.Log.ErrorContext(r.Context(), doing, "error", err)
	if errors.Is(err, bot.ErrReadOnly) {
		s.fail(w, r, http.StatusServiceUnavailable, "Nothing new is taken now: the bot's disk is full or cannot be written.",
			"Nothing of this request was kept, and nothing of what was asked before is lost. Send it again once the operator has made room.")
		return
	}
	s.fail(w, r, http.StatusInternalServerError, "Something went wrong here.", "The log says what; the request can be sent again.")
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	if !s.locked {
		http.Redirect(w, r, "/tasks", http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "login", page{Title: "Sign in"})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if !s.tokenIs(r.PostFormValue("token")) || !s.locked {
		s.fail(w, r, http.StatusUnauthorized, "That is not the token.", "It is the value of SANDPIPER_WEB_TOKEN where the bot runs.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: s.sessionValue(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https", MaxAge: int((30 * 24 * time.Hour).Seconds()),
	})
	http.Redirect(w, r, "/tasks", http.StatusSeeOther)
}

func (s *Server) schedules(w http.ResponseWriter, r *http.Request) {
	if s.opts.Schedules == nil {
		s.fail(w, r, http.StatusNotFound, "There is no such page.", "")
		return
	}
	rows, err := s.opts.Schedules(r.Context())
	if err != nil {
		s.broken(w, r, "list schedules", err)
		return
	}
	s.render(w, r, http.StatusOK, "schedules", page{Title: "Schedules", Active: "schedules", Body: rows})
}

func (s *Server) skills(w http.ResponseWriter, r *http.Request) {
	if s.opts.Skills == nil {
		s.fail(w, r, http.StatusNotFound, "There is no such page.", "")
		return
	}
	s.render(w, r, http.StatusOK, "skills", page{Title: "Skills", Active: "skills", Body: s.opts.Skills()})
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	var body healthBody
	if s.opts.Health != nil {
		body.Rows = s.opts.Health(r.Context())
	}
	if s.opts.Pause != nil {
		body.Paused, body.MayPause = s.opts.Paused(), s.operates(r.Context(), viewerOf(r.Context()))
	}
	s.render(w, r, http.StatusOK, "health", page{Title: "Health", Active: "health", Body: body})
}

type healthBody struct {
	Rows             []HealthRow
	Paused, MayPause bool
}

// operates reports whether v may do what concerns everybody.
func (s *Server) operates(ctx context.Context, v viewer) bool {
	return v.operator || s.opts.Policy.Decide(ctx, bot.Event{Origin: bot.Origin{Adapter: "web", Place: "web"}, Actor: v.actor}, bot.MayAdmin).Allowed
}

// pause handles the button of the page of health.
func (s *Server) pause(w http.ResponseWriter, r *http.Request) {
	verb := r.PathValue("verb")
	switch {
	case s.opts.Pause == nil || verb != "pause" && verb != "resume":
		s.fail(w, r, http.StatusNotFound, "There is no such action.", "")
	case !s.operates(r.Context(), viewerOf(r.Context())):
		s.fail(w, r, http.StatusForbidden, "Only whoever runs this bot may do that.", "Ask an admin.")
	default:
		s.opts.Pause(verb == "pause")
		http.Redirect(w, r, "/health", http.StatusSeeOther)
	}
}

// visible returns a task that the viewer of r may see whole, or answers.
func (s *Server) visible(w http.ResponseWriter, r *http.Request) (bot.Task, bool) {
	t, err := s.opts.Tasks.Task(r.Context(), r.PathValue("id"))
	v := viewerOf(r.Context())
	if err == nil {
		see, audited := s.sees(r.Context(), v, t)
		if see == whole {
			if audited {
				if err := s.opts.Viewed(context.WithoutCancel(r.Context()), v.actor, t.ID); err != nil {
					s.broken(w, r, "record a look at a private task", err)
					return bot.Task{}, false
				}
			}
			return t, true
		}
	}
	// What one may not see does not exist: neither answer tells more.
	s.fail(w, r, http.StatusNotFound, "There is no such task here.", "The list shows those that you may see.")
	return bot.Task{}, false
}
