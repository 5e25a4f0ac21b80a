package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/lifecycle"
	"github.com/sandpiper-bot/sandpiper/integrations/web"
)

// part is how one part of the process is, for /readyz and the health page.
type part struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warning, failed
	Detail string `json:"detail,omitempty"`
	// Needed parts make the process unready while they are not ok.
	Needed bool `json:"needed"`
	// LastEvent is when an adapter last got something in this life.
	LastEvent *time.Time `json:"last_event,omitempty"`
}

// listen opens the one HTTP listener.
func (a *app) listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.loaded.Listen)
	if err != nil {
		return nil, fault.New(fault.Usage, "set SANDPIPER_LISTEN or listen to a free address", "cannot listen on %s: %v", a.loaded.Listen, err)
	}
	return listener, nil
}

// serveHTTP answers webhooks, probes, metrics and pages until ctx ends.
func (a *app) serveHTTP(ctx context.Context, listener net.Listener) error {
	handler, err := a.routes()
	if err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.part("http").Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	return lifecycle.ServeHTTP(ctx, server, listener, 5*time.Second)
}

func (a *app) routes() (http.Handler, error) {
	pages, err := a.pages()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.healthz)
	mux.Handle("GET /readyz", a.byOurName(http.HandlerFunc(a.readyz)))
	mux.Handle("GET /metrics", a.byOurName(promhttp.HandlerFor(a.metrics(), promhttp.HandlerOpts{})))
	for pattern, hook := range a.webhooks {
		mux.Handle(pattern, hook)
	}
	mux.Handle("/", pages)
	return mux, nil
}

// byOurName answers on a loopback listener only who names the machine itself, or
// web.url: a page elsewhere whose name was bound to 127.0.0.1, or the world behind
// a tunnel for webhooks, is not to read how the bot is and what it costs. A
// listener that others can reach answers them: it is asked by many names.
func (a *app) byOurName(next http.Handler) http.Handler {
	public, err := url.Parse(a.loaded.Web.URL)
	if err != nil || public.Host == "" {
		public = &url.URL{}
	}
	local := web.IsLoopback(a.loaded.Listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && !web.IsLoopback(r.Host) && (public.Host == "" || !strings.EqualFold(r.Host, public.Host)) {
			http.Error(w, "This name does not lead here: ask by the address that the bot listens on, or set web.url to this one.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// healthz is red only when the store cannot commit.
func (a *app) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := a.orchestrator.Healthy(ctx); err != nil {
		a.log.Error("unhealthy: the store cannot commit", "error", err)
		http.Error(w, "the store cannot commit", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readyz tells how each part is; 503 while one that is needed is not.
func (a *app) readyz(w http.ResponseWriter, r *http.Request) {
	parts := a.parts(r.Context())
	ready := true
	for _, p := range parts {
		ready = ready && (!p.Needed || p.Status == "ok")
	}
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "parts": parts}) // whoever asked is gone otherwise
}

// parts asks each part how it is.
func (a *app) parts(ctx context.Context) []part {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	store := part{Name: "store", Status: "ok", Needed: true}
	if err := a.orchestrator.Healthy(ctx); err != nil {
		store.Status, store.Detail = "failed", "the store cannot commit"
	}
	engine := part{Name: "engine", Status: "ok", Detail: "runtime " + a.loaded.Sandbox.Runtime}
	if err := a.boxes.Ready(ctx); err != nil {
		engine.Status, engine.Detail = "failed", err.Error()
	}
	model := part{Name: "model", Status: "ok", Detail: a.loaded.Model.Name}
	if problem := a.loaded.ModelProblem(); problem != "" {
		model.Status, model.Detail = "warning", problem
	}
	parts := []part{store, engine, model}
	if target := auditTarget(a.loaded.Audit); target != "" {
		sink := part{Name: "audit sink", Status: "ok", Detail: target}
		if err := a.orchestrator.SinkError(); err != nil {
			sink.Status, sink.Detail = "failed", err.Error()
		}
		parts = append(parts, sink)
	}
	for _, check := range a.connections {
		parts = append(parts, check(a))
	}
	return parts
}

// pages makes the pages' handler.
func (a *app) pages() (http.Handler, error) {
	trusted, err := prefixes(a.loaded.Web.TrustedProxies)
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{
		Tasks: a.orchestrator, Intake: a.orchestrator, Blobs: a.blobs, Policy: a.policy, Log: a.part("web"),
		Changed: a.orchestrator.Changed, Schedules: a.scheduleRows, Skills: a.skillRows, Health: a.healthRows,
		Paused: a.orchestrator.Paused, Pause: a.pause,
		Describe: describeStep, Plan: agent.Plan, Audit: a.auditView, Viewed: a.orchestrator.Viewed,
		Token: func() string { return a.secrets.Load().WebToken.Reveal() }, ProxyHeader: a.loaded.Web.ProxyHeader, TrustedProxies: trusted,
		OpenOnLoopback: web.IsLoopback(a.loaded.Listen) && !a.loaded.Secrets.GitHubWebhook.Set(),
		MaxInput:       int64(a.loaded.Limits.Input), MaxInputs: a.loaded.Limits.Inputs,
	})
}

// describeStep tells a step as a headline and the rest.
func describeStep(step bot.Step) (headline, body string) {
	headline, _, _ = strings.Cut(agent.Describe(step), "\n")
	return strings.TrimPrefix(headline, step.Agent+": "), agent.Detail(step)
}

// auditView reads a task's entries of the audit and checks the whole chain.
func (a *app) auditView(ctx context.Context, task string) (web.AuditView, error) {
	var view web.AuditView
	for entry, err := range a.store.Audit(ctx, 0) {
		if err != nil {
			return view, err
		}
		if entry.Task == task {
			view.Entries = append(view.Entries, entry)
		}
	}
	found, err := a.verifyAudit(ctx)
	var broken *bot.BrokenChainError
	switch {
	case errors.As(err, &broken):
		view.Verdict = broken.Error()
	case err != nil:
		return view, err
	default:
		view.Holds, view.Verdict = true, fmt.Sprintf("Checked now: entries %d to %d are whole.", found.First, found.Last)
	}
	return view, nil
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("read web.trusted_proxies: %w", err)
		}
		out = append(out, prefix)
	}
	return out, nil
}

func (a *app) healthRows(ctx context.Context) []web.HealthRow {
	var rows []web.HealthRow
	for _, p := range a.parts(ctx) {
		rows = append(rows, web.HealthRow{Name: p.Name, Status: p.Status, Detail: p.Detail})
	}
	return rows
}

func (a *app) skillRows() []web.SkillRow {
	var rows []web.SkillRow
	for _, s := range a.catalogue.List() {
		rows = append(rows, web.SkillRow{Name: s.Name, Description: s.Description, Source: s.Source, Runnable: s.Runnable()})
	}
	return rows
}

func (a *app) scheduleRows(ctx context.Context) ([]web.ScheduleRow, error) {
	list, err := a.listSchedules(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	var rows []web.ScheduleRow
	for _, s := range list {
		row := web.ScheduleRow{Name: s.Name, Cron: s.Cron, Zone: s.Zone, State: s.State, Owner: s.Owner, Next: s.readable, Week: s.week()}
		if s.Last != nil {
			row.Last = localTime(*s.Last)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
