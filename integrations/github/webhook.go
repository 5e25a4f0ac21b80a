package github

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// maxPayload is GitHub's own limit: it sends nothing larger. What is over
// usualPayload is taken largeAtOnce at a time.
const (
	maxPayload   = 25 << 20
	usualPayload = 1 << 20
	largeAtOnce  = 4
)

// answerWithin is how long a webhook may take; GitHub gives up after 10 s.
const answerWithin = 8 * time.Second

var guidPattern = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// Webhook is the handler of POST /webhooks/github. It answers
//
//	200  a ping, or a delivery that was taken before
//	202  taken, or nothing to do (the reason stands in the answer)
//	400  no event or delivery id, or a body that is no JSON
//	401  no SHA-256 signature, or a wrong one
//	405  another method than POST
//	413  a body over 25 MB
//	415  another content type than application/json
//	503  no secret is set, not ready, too many at once, or not stored: GitHub will be asked again
//
// What can be refused by the head of a request is refused before its body is
// read.
func (a *Adapter) Webhook() http.Handler { return http.HandlerFunc(a.webhook) }

func (a *Adapter) webhook(w http.ResponseWriter, r *http.Request) {
	select {
	case a.hooks <- struct{}{}:
		defer func() { <-a.hooks }()
	default:
		w.Header().Set("Retry-After", "10")
		reply(w, http.StatusServiceUnavailable, "too many requests at once")
		return
	}
	if s := a.options.Secrets(); s.Webhook == "" && s.Previous == "" {
		NoSecret().ServeHTTP(w, r)
		return
	}
	if status, problem := headProblem(r); status != 0 {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		reply(w, status, problem)
		return
	}
	// A slow sender must not hold a place for long. Not every server can set
	// a deadline (a test's recorder cannot); then its own timeouts hold.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.options.Limits.Settle))
	payload, status, problem := a.readPayload(w, r)
	if status != 0 {
		reply(w, status, problem)
		return
	}
	if !a.signed(payload, r.Header.Get(github.SHA256SignatureHeader)) {
		reply(w, http.StatusUnauthorized, "the signature does not match the secret")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	status, text := a.deliver(ctx, r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery"), payload)
	reply(w, status, text)
}

// readPayload reads the body. Payloads with a comment are far below
// usualPayload; few larger ones are held at once, for nothing says yet that
// they come from GitHub.
func (a *Adapter) readPayload(w http.ResponseWriter, r *http.Request) (payload []byte, status int, problem string) {
	body := http.MaxBytesReader(w, r.Body, maxPayload)
	payload, err := io.ReadAll(io.LimitReader(body, usualPayload))
	if err == nil && len(payload) == usualPayload {
		select {
		case a.large <- struct{}{}:
			defer func() { <-a.large }()
		default:
			return nil, http.StatusServiceUnavailable, "too many large requests at once"
		}
		var rest []byte
		rest, err = io.ReadAll(body)
		payload = append(payload, rest...)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, http.StatusRequestEntityTooLarge, "the payload is larger than 25 MB"
	}
	if err != nil {
		return nil, http.StatusBadRequest, "the payload ended early"
	}
	return payload, 0, ""
}

func reply(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

// headProblem judges all that can be judged before the body is read.
func headProblem(r *http.Request) (int, string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "send a POST"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "set the webhook's content type to application/json"
	}
	if r.ContentLength > maxPayload {
		return http.StatusRequestEntityTooLarge, "the payload is larger than 25 MB"
	}
	if _, ok := signature(r.Header.Get(github.SHA256SignatureHeader)); !ok {
		return http.StatusUnauthorized, "a SHA-256 signature is required: set a secret on the webhook"
	}
	if r.Header.Get("X-GitHub-Event") == "" || !guidPattern.MatchString(r.Header.Get("X-GitHub-Delivery")) {
		return http.StatusBadRequest, "X-GitHub-Event and X-GitHub-Delivery are required"
	}
	return 0, ""
}

func signature(header string) ([]byte, bool) {
	text, ok := strings.CutPrefix(header, "sha256=")
	if !ok || len(text) != 2*sha256.Size {
		return nil, false
	}
	sum, err := hex.DecodeString(text)
	return sum, err == nil
}

// signed compares in constant time with the current and the previous secret.
func (a *Adapter) signed(payload []byte, header string) bool {
	given, ok := signature(header)
	if !ok {
		return false
	}
	secrets := a.options.Secrets()
	valid := false
	for _, secret := range []string{secrets.Webhook, secrets.Previous} {
		if secret == "" {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(payload)
		if hmac.Equal(mac.Sum(nil), given) {
			valid = true
		}
	}
	return valid
}

// deliver takes one delivery that is known to come from GitHub.
func (a *Adapter) deliver(ctx context.Context, event, guid string, payload []byte) (int, string) {
	if !json.Valid(payload) {
		return http.StatusBadRequest, "the payload is no JSON"
	}
	switch event {
	case "ping":
		return http.StatusOK, "pong"
	case "issues", "issue_comment", "pull_request_review_comment":
	default:
		return http.StatusAccepted, "nothing to do on " + strings.ToValidUTF8(event[:min(len(event), 40)], "")
	}
	if a.guids.has(guid) {
		return http.StatusOK, "taken before"
	}
	parsed, err := github.ParseWebHook(event, payload)
	if err != nil {
		return http.StatusBadRequest, "the payload is no " + event
	}
	h := fromPayload(parsed)
	if h == nil {
		return http.StatusAccepted, "nothing to do"
	}
	text, err := a.take(ctx, h)
	if err != nil {
		a.options.Logger.Error("webhook not taken", "event", event, "delivery", guid, "error", err)
		return http.StatusServiceUnavailable, "not stored; it will be asked for again"
	}
	a.guids.add(guid)
	return http.StatusAccepted, text
}
