package github

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hand is a clock that only moves by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newHand() *hand { return &hand{now: time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)} }

type answering func(*http.Request) *http.Response

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// Each way in which GitHub tells a limit closes the gate for as long as it
// says, or for a growing time where it says nothing.
func TestGate(t *testing.T) {
	t.Parallel()
	clock := newHand()
	reset := strconv.FormatInt(clock.Now().Add(25*time.Minute).Unix(), 10)
	const secondary = `{"message":"You have exceeded a secondary rate limit."}`
	for name, c := range map[string]struct {
		response func() *http.Response
		waits    []time.Duration // each time it is told again; empty: no limit
	}{
		"429 with Retry-After": {func() *http.Response { return answer(429, "", "Retry-After", "90") }, []time.Duration{90 * time.Second, 90 * time.Second}},
		"403 with Retry-After": {func() *http.Response { return answer(403, "", "Retry-After", "30") }, []time.Duration{30 * time.Second}},
		"403 primary": {func() *http.Response {
			return answer(403, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
		}, []time.Duration{25*time.Minute + time.Second}},
		"429 primary": {func() *http.Response {
			return answer(429, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
		}, []time.Duration{25*time.Minute + time.Second}},
		"429 without words":      {func() *http.Response { return answer(429, "") }, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 16 * time.Minute}},
		"403 secondary":          {func() *http.Response { return answer(403, secondary) }, []time.Duration{time.Minute, 2 * time.Minute}},
		"403 missing permission": {func() *http.Response { return answer(403, `{"message":"Resource not accessible by integration"}`) }, nil},
		"404":                    {func() *http.Response { return answer(404, secondary) }, nil},
		"200 that uses the last up": {func() *http.Response {
			return answer(200, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
		}, nil},
	} {
		own := newHand()
		calls := 0
		g := newGate(answering(func(*http.Request) *http.Response { calls++; return c.response() }), own, 10)
		try := func() (*http.Response, error) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.github.com/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			return g.RoundTrip(r)
		}
		if len(c.waits) == 0 {
			response, err := try()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if body, err := io.ReadAll(response.Body); err != nil || (response.StatusCode == 403 && !strings.Contains(string(body), "Resource")) {
				t.Errorf("%s: the body is gone: %q %v", name, body, err)
			}
			if response.StatusCode == 200 {
				if _, err := try(); err == nil || calls != 1 {
					t.Errorf("%s: asked again", name)
				}
			}
			continue
		}
		for i, want := range c.waits {
			_, err := try()
			limit, ok := errors.AsType[*limitedError](err)
			if !ok || limit.after != want && limit.after != max(want-own.Now().Sub(clock.Now()), time.Second) {
				t.Errorf("%s, time %d: %v after %v, want %v", name, i, err, limit, want)
				break
			}
			own.add(limit.after - time.Second)
			if _, err := try(); err == nil || calls != i+1 {
				t.Errorf("%s: the gate is open too early (%d calls)", name, calls)
			}
			own.add(time.Second)
		}
	}
}

// No minute sees more than the budget, no hour either; progress leaves half
// for answers.
func TestBudget(t *testing.T) {
	t.Parallel()
	clock := newHand()
	b := newBudget(60, 400, clock)
	begun := clock.Now()
	var spent []time.Time
	for clock.Now().Sub(begun) < 2*time.Hour {
		if b.answer() == nil {
			spent = append(spent, clock.Now())
		} else {
			clock.add(time.Second)
		}
	}
	within := func(at time.Time, d time.Duration) int {
		n := 0
		for _, other := range spent {
			if !other.Before(at) && other.Sub(at) < d {
				n++
			}
		}
		return n
	}
	for _, at := range spent {
		if n := within(at, time.Minute); n > 61 {
			t.Fatalf("%d in a minute", n)
		}
		if n := within(at, time.Hour); n > 401 {
			t.Fatalf("%d in an hour", n)
		}
	}
	if len(spent) < 500 {
		t.Errorf("only %d in two hours", len(spent))
	}
	fresh := newBudget(60, 400, clock)
	n := 0
	for fresh.progress() == nil {
		n++
	}
	if n > 16 || fresh.answer() != nil {
		t.Errorf("progress took %d of 30", n)
	}
}

// What did not change is asked for conditionally, and the remembered answer
// given.
func TestConditional(t *testing.T) {
	t.Parallel()
	var full, asked atomic.Int32
	c := newConditional(answering(func(r *http.Request) *http.Response {
		asked.Add(1)
		if r.Header.Get("If-None-Match") == `"a"` {
			return answer(304, "", "X-RateLimit-Remaining", "7")
		}
		full.Add(1)
		if strings.HasSuffix(r.URL.Path, "large") {
			return answer(200, strings.Repeat("x", maxRememberedBody+1), "ETag", `"a"`)
		}
		return answer(200, "body of "+r.URL.Path, "ETag", `"a"`)
	}))
	get := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.github.com"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.RoundTrip(r)
		if err != nil || response.StatusCode != 200 {
			t.Fatal(err, response)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for range 3 {
		if got := get("/x"); got != "body of /x" {
			t.Errorf("got %q", got)
		}
	}
	if full.Load() != 1 || asked.Load() != 3 {
		t.Errorf("%d full answers of %d", full.Load(), asked.Load())
	}
	for range 2 {
		if n := len(get("/large")); n != maxRememberedBody+1 {
			t.Errorf("large: %d bytes", n)
		}
	}
	if full.Load() != 3 {
		t.Error("a large answer is remembered")
	}
	for i := range 2 * maxRemembered {
		get("/" + strconv.Itoa(i))
	}
	if n := len(c.byKey); n != maxRemembered || c.order.Len() != n {
		t.Errorf("%d answers are kept", n)
	}
}
