package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// limitedError says that GitHub, or our own budget, takes no call now.
type limitedError struct {
	until  time.Time
	after  time.Duration
	reason string
}

// Error implements error.
func (e *limitedError) Error() string {
	return fmt.Sprintf("github limits requests (%s) until %s", e.reason, e.until.UTC().Format(time.RFC3339))
}

// gate keeps one credential within GitHub's limits: it bounds the calls at
// once, and after a limit was told lets nothing through until it is over. A
// limit that names no time is waited out from one minute on, doubled each
// time up to 16 minutes.
type gate struct {
	next  http.RoundTripper
	clock bot.Clock
	slots chan struct{}

	mu     sync.Mutex // guards what follows
	until  time.Time
	reason string
	blind  int // limits in a row that named no time
}

const (
	leastBackoff = time.Minute
	mostBackoff  = 16 * time.Minute
)

func newGate(next http.RoundTripper, clock bot.Clock, atOnce int) *gate {
	return &gate{next: next, clock: clock, slots: make(chan struct{}, atOnce)}
}

// RoundTrip implements http.RoundTripper. A limit is returned as
// *limitedError, for 403 and 429 alike.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.closed(); err != nil {
		closeBody(request)
		return nil, err
	}
	select {
	case g.slots <- struct{}{}:
	case <-request.Context().Done():
		closeBody(request)
		return nil, context.Cause(request.Context())
	}
	defer func() { <-g.slots }()
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := g.judge(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

func (g *gate) closed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := g.until.Sub(g.clock.Now()); left > 0 {
		return &limitedError{until: g.until, after: left, reason: g.reason}
	}
	return nil
}

// judge reads whether the response tells a limit. A primary window that is
// used up by a call that still succeeded closes the gate for the next one.
func (g *gate) judge(response *http.Response) error {
	now := g.clock.Now()
	exhausted := response.Header.Get("X-RateLimit-Remaining") == "0"
	reset := now.Add(leastBackoff)
	if unix, err := strconv.ParseInt(response.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		reset = time.Unix(unix, 0).Add(time.Second)
	}
	if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusTooManyRequests {
		g.mu.Lock()
		defer g.mu.Unlock()
		if response.StatusCode < 400 {
			g.blind = 0
		}
		if exhausted && reset.After(now) {
			g.until, g.reason = reset, "primary"
		}
		return nil
	}
	retryAfter, named := retryAfter(response.Header, now)
	switch {
	case named:
		return g.shut(now, retryAfter, "secondary")
	case exhausted:
		return g.shut(now, reset.Sub(now), "primary")
	case response.StatusCode == http.StatusTooManyRequests || speaksOfLimit(response):
		g.mu.Lock()
		g.blind++
		wait := min(leastBackoff<<min(g.blind-1, 6), mostBackoff)
		g.mu.Unlock()
		return g.shut(now, wait, "secondary")
	}
	return nil
}

func (g *gate) shut(now time.Time, wait time.Duration, reason string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = max(wait, time.Second)
	if until := now.Add(wait); until.After(g.until) {
		g.until, g.reason = until, reason
	}
	return &limitedError{until: g.until, after: g.until.Sub(now), reason: reason}
}

func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now), true
	}
	return 0, false
}

// speaksOfLimit looks into a 403's body and leaves it to be read again.
func speaksOfLimit(response *http.Response) bool {
	text := strings.ToLower(peek(response))
	return strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection") || strings.Contains(text, "rate limit exceeded")
}

// budget spaces out what GitHub counts as creating content, over all
// repositories: half of the budget may be used at once, the other half comes
// back over the window, so that no window sees more than the whole. Answers
// wait for their turn; progress gives way.
type budget struct {
	minute, hour *rate.Limiter
	clock        bot.Clock
}

func newBudget(perMinute, perHour int, clock bot.Clock) *budget {
	return &budget{
		minute: rate.NewLimiter(rate.Limit(float64(perMinute)/120), (perMinute+1)/2),
		hour:   rate.NewLimiter(rate.Limit(float64(perHour)/7200), (perHour+1)/2),
		clock:  clock,
	}
}

// errYield says that progress gives way to answers.
var errYield = errors.New("content budget is kept for answers")

// progress takes one creation if at least half of the budget would stay.
func (b *budget) progress() error {
	now := b.clock.Now()
	if b.minute.TokensAt(now) < float64(b.minute.Burst())/2 || b.hour.TokensAt(now) < float64(b.hour.Burst())/2 {
		return errYield
	}
	b.minute.AllowN(now, 1)
	b.hour.AllowN(now, 1)
	return nil
}

// answer takes one creation, or says when there will be one.
func (b *budget) answer() error {
	now := b.clock.Now()
	for _, limiter := range []*rate.Limiter{b.minute, b.hour} {
		if missing := 1 - limiter.TokensAt(now); missing > 0 {
			wait := time.Duration(missing / float64(limiter.Limit()) * float64(time.Second))
			return &limitedError{until: now.Add(wait), after: wait, reason: "our own content budget"}
		}
	}
	b.minute.AllowN(now, 1)
	b.hour.AllowN(now, 1)
	return nil
}
