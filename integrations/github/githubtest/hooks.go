package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Deliveries are kept this long, and a payload may be this large.
const (
	keepDeliveries = 3 * 24 * time.Hour
	maxPayload     = 25 << 20
)

type hook struct {
	id         int64
	scope      string // "repo", "org", "app"
	repo       *repo
	org        *user
	url        string
	secret     string
	events     []string
	kind       string // content type
	down       bool
	twice      bool
	deliveries []*delivery
}

type delivery struct {
	id           int64
	guid         string
	event        string
	action       string
	payload      []byte
	redelivery   bool
	status       int
	at           time.Time
	repo         *repo
	installation int64
}

func hookRoutes() []route {
	var out []route
	for scope, base := range map[string]string{"repo": "/repos/{owner}/{repo}/hooks", "org": "/orgs/{org}/hooks"} {
		read, write := "repository_hooks:read", "repository_hooks:write"
		if scope == "org" {
			read, write = "organization_hooks:read", "organization_hooks:write"
		}
		out = append(out,
			route{pattern: "GET " + base, permission: read, handle: func(c *call) (int, any) { return c.listHooks(scope) }},
			route{pattern: "GET " + base + "/{hook}/deliveries", permission: read, handle: (*call).listDeliveries},
			route{pattern: "POST " + base + "/{hook}/deliveries/{delivery}/attempts", permission: write, handle: (*call).redeliver})
	}
	return append(out,
		route{pattern: "GET /app/hook/config", permission: "jwt", handle: (*call).appHookConfig},
		route{pattern: "GET /app/hook/deliveries", permission: "jwt", handle: (*call).listDeliveries},
		route{pattern: "POST /app/hook/deliveries/{delivery}/attempts", permission: "jwt", handle: (*call).redeliver})
}

// scopedHooks are the hooks that the call's path speaks of.
func (c *call) scopedHooks(scope string) []*hook {
	var out []*hook
	for _, h := range c.state.hooks {
		if h.scope == scope && (scope == "app" || (scope == "repo" && h.repo == c.repo) || (scope == "org" && strings.EqualFold(h.org.login, c.path("org")))) {
			out = append(out, h)
		}
	}
	return out
}

func (c *call) listHooks(scope string) (int, any) {
	out := []any{}
	for _, h := range c.scopedHooks(scope) {
		out = append(out, map[string]any{
			"id": h.id, "name": "web", "active": true, "events": h.events, "config": h.config(),
		})
	}
	return http.StatusOK, page(c, out)
}

// config is how GitHub shows a hook's settings: without its secret.
func (h *hook) config() map[string]any {
	out := map[string]any{"url": h.url, "content_type": h.kind, "insecure_ssl": "0"}
	if h.secret != "" {
		out["secret"] = "********"
	}
	return out
}

func (c *call) appHookConfig() (int, any) {
	if h := c.hook(); h != nil {
		return http.StatusOK, h.config()
	}
	return notFound()
}

func (c *call) hook() *hook {
	scope := "app"
	switch {
	case c.repo != nil:
		scope = "repo"
	case c.path("org") != "":
		scope = "org"
	}
	for _, h := range c.scopedHooks(scope) {
		if scope == "app" || h.id == c.number("hook") {
			return h
		}
	}
	return nil
}

// listDeliveries gives the newest first; cursor is the id to go on below.
func (c *call) listDeliveries() (int, any) {
	h := c.hook()
	if h == nil {
		return notFound()
	}
	size, _ := strconv.Atoi(c.query("per_page"))
	if size <= 0 || size > 100 {
		size = 30
	}
	below, _ := strconv.ParseInt(c.query("cursor"), 10, 64)
	out := []any{}
	for _, d := range slices.Backward(h.deliveries) {
		if c.options.Now().Sub(d.at) > keepDeliveries || (below != 0 && d.id >= below) {
			continue
		}
		if len(out) == size {
			next := *c.request.URL
			q := next.Query()
			q.Set("cursor", strconv.FormatInt(d.id+1, 10))
			next.RawQuery = q.Encode()
			c.header.Set("Link", `<`+c.APIURL()+strings.TrimPrefix(next.String(), "/")+`>; rel="next"`)
			break
		}
		status := "OK"
		if d.status < 200 || d.status > 299 {
			status = "failed to connect to host"
		}
		one := map[string]any{
			"id": d.id, "guid": d.guid, "delivered_at": stamp(d.at), "redelivery": d.redelivery, "duration": 0.1,
			"status": status, "status_code": d.status, "event": d.event, "action": nullable(d.action), "installation_id": nil, "repository_id": nil,
		}
		if d.repo != nil {
			one["repository_id"] = d.repo.id
		}
		out = append(out, one)
	}
	return http.StatusOK, out
}

func (c *call) redeliver() (int, any) {
	h := c.hook()
	if h == nil {
		return notFound()
	}
	for _, d := range h.deliveries {
		if d.id == c.number("delivery") && c.options.Now().Sub(d.at) <= keepDeliveries {
			again := *d
			again.redelivery = true
			c.deliver(h, &again)
			return http.StatusAccepted, map[string]any{}
		}
	}
	return notFound()
}

// emit delivers event to all hooks that listen. The lock must be held.
func (s *Server) emit(r *repo, event, action string, sender *user, payload map[string]any) {
	payload["action"] = action
	payload["repository"] = s.repoJSON(r)
	payload["sender"] = s.userJSON(sender)
	if r.owner.kind == "Organization" {
		payload["organization"] = s.userJSON(r.owner)
	}
	for _, h := range s.state.hooks {
		if (h.scope == "repo" && h.repo != r) || (h.scope == "org" && h.org != r.owner) || !slices.Contains(h.events, event) {
			continue
		}
		d := &delivery{guid: guid(), event: event, action: action, repo: r}
		if h.scope == "app" {
			for _, i := range s.state.installations {
				if i.owner == r.owner {
					d.installation = i.id
				}
			}
			if d.installation == 0 {
				continue
			}
			payload["installation"] = map[string]any{"id": d.installation}
		}
		d.payload, _ = json.Marshal(payload)
		delete(payload, "installation")
		if len(d.payload) > maxPayload {
			continue
		}
		s.deliver(h, d)
		if h.twice {
			twin := *d
			s.deliver(h, &twin)
		}
	}
}

// deliver makes one attempt in the background. The lock must be held.
func (s *Server) deliver(h *hook, d *delivery) {
	d.id, d.at, d.status = s.state.id(), s.options.Now(), 0
	h.deliveries = append(h.deliveries, d)
	if h.down {
		d.status = http.StatusBadGateway
		return
	}
	at := *h
	s.sending++
	go func() { // Settle waits for it
		status := s.post(&at, d)
		s.mu.Lock()
		defer s.mu.Unlock()
		d.status = status
		s.sending--
		s.landed.Broadcast()
	}()
}

func (s *Server) post(h *hook, d *delivery) int {
	body := d.payload
	if h.kind == "form" {
		body = []byte(url.Values{"payload": {string(d.payload)}}.Encode())
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header = Headers(h.secret, d.event, d.guid, body)
	if h.kind == "form" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("X-GitHub-Hook-ID", strconv.FormatInt(h.id, 10))
	response, err := s.client.Do(request)
	if err != nil {
		return http.StatusBadGateway
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	return response.StatusCode
}

// Headers are those of a webhook request that carries payload, signed with
// secret as GitHub signs it (SHA-256, and SHA-1 for old receivers).
func Headers(secret, event, guid string, payload []byte) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitHub-Hookshot/044aadd")
	h.Set("X-GitHub-Event", event)
	h.Set("X-GitHub-Delivery", guid)
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(payload)
		h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return h
}

func guid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) emitComment(r *repo, c *comment, action string, sender *user, before string) {
	payload := map[string]any{"comment": s.commentJSON(r, c)}
	event := "issue_comment"
	if c.review {
		event = "pull_request_review_comment"
		payload["pull_request"] = s.pullJSON(r, c.issue)
	} else {
		payload["issue"] = s.issueJSON(r, c.issue)
	}
	if action == "edited" {
		payload["changes"] = map[string]any{"body": map[string]any{"from": before}}
	}
	s.emit(r, event, action, sender, payload)
}
