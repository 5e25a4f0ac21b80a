package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"
)

// Names of credentials in health.
const (
	ownCredential          = "own" // the token, or the App's key
	installationCredential = "installation "
)

// health remembers which of our credentials GitHub does not accept now. Every
// answer of the API tells: a token may be revoked at any time.
type health struct {
	log  *slog.Logger
	wake chan struct{} // holds at most one signal: something broke

	mu     sync.Mutex // guards broken
	broken map[string]*IdentityError
}

func newHealth(log *slog.Logger) *health {
	return &health{log: log, wake: make(chan struct{}, 1), broken: map[string]*IdentityError{}}
}

func (h *health) refused(credential string, why *IdentityError) {
	h.mu.Lock()
	_, known := h.broken[credential]
	h.broken[credential] = why
	h.mu.Unlock()
	if known {
		return
	}
	h.log.Error("github does not accept our credentials", "credential", credential, "error", why.Problem, "hint", why.Hint)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *health) accepted(credential string) {
	h.mu.Lock()
	_, known := h.broken[credential]
	delete(h.broken, credential)
	h.mu.Unlock()
	if known {
		h.log.Info("github accepts our credentials again", "credential", credential)
	}
}

// names lists the credentials that are not accepted.
func (h *health) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.broken))
}

// problem is why the first of them is not accepted; nil where all are.
func (h *health) problem() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.broken)) {
		return h.broken[name]
	}
	return nil
}

// watch sees how GitHub judges one credential in each answer.
type watch struct {
	next       http.RoundTripper
	clients    *clients
	credential string
}

// RoundTrip implements http.RoundTripper.
func (w *watch) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		// A token for an installation, or the App's, could not be had.
		if wrong, ok := errors.AsType[*IdentityError](w.clients.explain(err)); ok && (statusOf(err) == http.StatusUnauthorized || errors.Is(wrong, errNoKey)) {
			w.clients.health.refused(w.credential, wrong)
			return nil, wrong
		}
		return nil, err
	}
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized:
		w.clients.health.refused(w.credential, w.clients.unauthorized(newAnswer(response, peek(response)), nil))
	case status < http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusUnprocessableEntity:
		w.clients.health.accepted(w.credential)
	}
	return response, nil
}

// peek reads the head of a body and leaves it to be read again.
func peek(response *http.Response) string {
	const enough = 8 << 10
	head, _ := io.ReadAll(io.LimitReader(response.Body, enough))
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
	return string(head)
}

// Ready returns nil while webhooks can be checked and GitHub accepts us, else
// the reason in words for the operator.
func (a *Adapter) Ready() error {
	if s := a.options.Secrets(); s.Webhook == "" && s.Previous == "" {
		return errNoSecret
	}
	a.mu.Lock()
	self, unknown := a.self, a.unknown
	a.mu.Unlock()
	if self == "" {
		return unknown
	}
	return a.clients.health.problem()
}

// watchLoop asks again for credentials that GitHub did not accept until it
// does, and once in a while for ours, so that a revoked one is seen before
// somebody needs it.
func (a *Adapter) watchLoop(ctx context.Context) {
	h := a.clients.health
	first := a.options.Limits.Probe
	for wait := first; ; {
		broken := h.names()
		pause := wait
		if len(broken) == 0 {
			pause, wait = heartbeat, first
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-h.wake:
			timer.Stop()
			continue
		case <-timer.C:
		}
		if len(broken) == 0 {
			broken = []string{ownCredential}
		}
		for _, credential := range broken {
			a.probe(ctx, credential)
		}
		wait = min(2*wait, time.Minute)
	}
}

// heartbeat is how often GitHub is asked who we are; unchanged, the answer
// costs nothing.
const heartbeat = 5 * time.Minute

// probe makes one call with a credential; watch sees what comes of it.
func (a *Adapter) probe(ctx context.Context, credential string) {
	id, ok := strings.CutPrefix(credential, installationCredential)
	if !ok {
		if _, err := a.clients.login(ctx); err != nil {
			a.options.Logger.Debug("github was asked who we are", "error", err)
		}
		return
	}
	n, _ := strconv.ParseInt(id, 10, 64)
	_, _, err := a.clients.forInstallation(n).Apps.ListRepos(ctx, &github.ListOptions{PerPage: 1})
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusForbidden {
		a.clients.health.accepted(credential) // it was uninstalled or suspended: nothing is lost there
	}
}

// errNoSecret says that no webhook can be checked.
var errNoSecret = errors.New("GITHUB_WEBHOOK_SECRET is not set: no webhook is accepted")

// NoSecret answers webhooks where no secret is set: nothing can be checked, so
// nothing is taken.
func NoSecret() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusServiceUnavailable, fmt.Sprintf("%v; set it to the secret of the webhook", errNoSecret))
	})
}

// ErrNoSecret is why an adapter without a webhook's secret is not ready.
func ErrNoSecret() error { return errNoSecret }
