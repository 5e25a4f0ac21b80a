package githubtest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// FaultKind says what goes wrong with a call.
type FaultKind int

// The kinds of faults.
const (
	// LoseResponse does what was asked and drops the connection.
	LoseResponse FaultKind = iota + 1
	// Refuse drops the connection and does nothing.
	Refuse
	// Answer gives Status and does nothing (a 502 page, a 401).
	Answer
	// Primary answers 403 with X-RateLimit-Remaining 0 and a reset after After.
	Primary
	// Secondary answers Status (403 unless set) with GitHub's words, and
	// Retry-After where After is set.
	Secondary
	// Before runs Do and then serves as if nothing were.
	Before
)

// Fault is something that goes wrong with the next calls of one route.
type Fault struct {
	// Route is the pattern, "POST /repos/{owner}/{repo}/git/commits"; "" is any.
	Route string
	// Body, where set, must occur in the request's body.
	Body   string
	Kind   FaultKind
	Status int
	After  time.Duration
	// Wait holds the answer back.
	Wait time.Duration
	// Do runs first, without the server's lock: it may move a branch.
	Do func()
	// Times is how many calls it meets; 0 means one, -1 all.
	Times int
}

// Fault arms a fault. Faults are met in the order they were armed.
func (s *Server) Fault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault.Times == 0 {
		fault.Times = 1
	}
	s.faults = append(s.faults, &fault)
}

// ClearFaults disarms what is still armed and says how many faults that were.
func (s *Server) ClearFaults() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.faults)
	s.faults = nil
	return n
}

func (s *Server) takeFault(pattern string, body []byte) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, fault := range s.faults {
		if (fault.Route != "" && fault.Route != pattern) || !bytes.Contains(body, []byte(fault.Body)) {
			continue
		}
		if fault.Times > 0 {
			fault.Times--
		}
		if fault.Times == 0 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		taken := *fault
		return &taken
	}
	return nil
}

func (f *Fault) answers() bool {
	if f.Kind == Primary || (f.Kind == Secondary && f.Status == 0) {
		f.Status = http.StatusForbidden
	}
	return f.Kind == Answer || f.Kind == Primary || f.Kind == Secondary
}

func (f *Fault) write(w http.ResponseWriter, now time.Time) {
	text := `{"message":"Server Error"}`
	switch f.Kind {
	case Primary:
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(f.After).Unix(), 10))
		text = `{"message":"API rate limit exceeded for installation."}`
	case Secondary:
		if f.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		}
		text = `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
	}
	contentType := "application/json"
	if f.Kind == Answer && f.Status >= 500 {
		contentType, text = "text/html", "<html><title>Unicorn! &middot; GitHub</title></html>"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(text))
}
