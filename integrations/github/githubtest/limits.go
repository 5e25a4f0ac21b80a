package githubtest

import (
	"net/http"
	"strconv"
	"time"
)

// Limits are what one token may do; a zero field does not limit.
type Limits struct {
	Requests         int // a primary window of an hour
	Concurrent       int
	Points           int // a minute; reads cost 1, writes 5
	ContentPerMinute int
	ContentPerHour   int
	// Status is how secondary limits are told: 403 or 429; 0 means 403.
	Status int
	// RetryAfter says whether secondary limits name a Retry-After of a minute.
	RetryAfter bool
}

// GitHubLimits are the documented limits of an installation's token.
func GitHubLimits() Limits {
	return Limits{Requests: 5000, Concurrent: 100, Points: 900, ContentPerMinute: 80, ContentPerHour: 500}
}

// meter counts one token's calls.
type meter struct {
	window   time.Time // start of the primary hour
	requests int
	active   int
	calls    []spent // of the last hour, oldest first
}

type spent struct {
	at      time.Time
	points  int
	content bool
}

// enter counts a call as on its way, from its arrival to the returned func.
func (s *Server) enter(request *http.Request) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(s.state.whoever(request))
	m.active++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		m.active--
	}
}

// meter returns the caller's meter. The lock must be held.
func (s *Server) meter(who caller) *meter {
	m := s.meters[who.key()]
	if m == nil {
		m = &meter{window: s.options.Now()}
		s.meters[who.key()] = m
	}
	return m
}

// admit counts the call against its token's limits; status is 0 where it may
// go on.
func (c *call) admit(r route) (status int, answer any) {
	limits, now, m := c.options.Limits, c.options.Now(), c.meter(c.caller)
	if now.Sub(m.window) >= time.Hour {
		m.window, m.requests = now, 0
	}
	if limits.Requests > 0 {
		left := limits.Requests - m.requests
		c.header.Set("X-RateLimit-Limit", strconv.Itoa(limits.Requests))
		c.header.Set("X-RateLimit-Remaining", strconv.Itoa(max(left-1, 0)))
		c.header.Set("X-RateLimit-Reset", strconv.FormatInt(m.window.Add(time.Hour).Unix(), 10))
		if left <= 0 {
			return http.StatusForbidden, message("API rate limit exceeded for installation.")
		}
	}
	m.requests++
	cost := 5
	if c.request.Method == http.MethodGet || c.request.Method == http.MethodHead {
		cost = 1
	}
	if m.over(limits, now, cost, r.content) {
		if limits.RetryAfter {
			c.header.Set("Retry-After", "60")
		}
		if limits.Status == 0 {
			limits.Status = http.StatusForbidden
		}
		return limits.Status, message("You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	}
	m.calls = append(m.calls, spent{at: now, points: cost, content: r.content})
	return 0, nil
}

func (m *meter) over(limits Limits, now time.Time, cost int, content bool) bool {
	for len(m.calls) > 0 && now.Sub(m.calls[0].at) >= time.Hour {
		m.calls = m.calls[1:]
	}
	points, minute, hour := cost, 0, 0
	for _, call := range m.calls {
		recent := now.Sub(call.at) < time.Minute
		if recent {
			points += call.points
		}
		if call.content {
			hour++
			if recent {
				minute++
			}
		}
	}
	return (limits.Concurrent > 0 && m.active > limits.Concurrent) ||
		(limits.Points > 0 && points > limits.Points) ||
		(content && limits.ContentPerMinute > 0 && minute >= limits.ContentPerMinute) ||
		(content && limits.ContentPerHour > 0 && hour >= limits.ContentPerHour)
}

// refund gives back what a 304 does not cost.
func (s *Server) refund(request *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.meters[s.state.whoever(request).key()]; m != nil && m.requests > 0 {
		m.requests--
	}
}
