package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxBody bounds a request; larger ones are answered with 413.
const maxBody = 64 << 20

// Server is the scripted server; it is an http.Handler.
type Server struct {
	script Script
	url    string

	mu       sync.Mutex // guards requests and tries
	requests []*Request
	tries    map[string]int
}

// New makes a server that is not listening yet.
func New(script Script) *Server {
	return &Server{script: script, tries: map[string]int{}}
}

// Start serves script on a loopback port until the test ends.
func Start(t testing.TB, script Script) *Server {
	t.Helper()
	s := New(script)
	h := httptest.NewServer(s)
	s.url = h.URL + "/v1"
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// URL is the base for OPENAI_BASE_URL, ending in /v1.
func (s *Server) URL() string { return s.url }

// Requests returns what was asked so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Of returns the requests of the conversations whose opening holds match.
func (s *Server) Of(match string) []Request {
	var out []Request
	for _, r := range s.Requests() {
		if strings.Contains(r.Opening, match) {
			out = append(out, r)
		}
	}
	return out
}

// Repeated returns how often a turn was asked again after it had been
// answered in full, over all conversations. A client that journals its turns
// keeps this at the number of times it was killed with a turn in flight.
func (s *Server) Repeated() int {
	seen := map[string]bool{}
	repeated := 0
	for _, r := range s.Requests() {
		if seen[r.Key] {
			repeated++
		}
		if r.Answered {
			seen[r.Key] = true
		}
	}
	return repeated
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted", "object": "model"}}})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"),
		r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		s.complete(w, r)
	default:
		writeError(w, http.StatusNotFound, "not_found", "no such route: "+r.URL.Path)
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, "too_large", err.Error())
		return
	}
	parsed, err := parse(r.URL.Path, r.Header.Clone(), body)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	req := s.record(parsed)
	if s.refused(w, *req) {
		return
	}
	turn, err := s.script.turn(*req)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if s.script.Latency > 0 && !sleep(r, s.script.Latency) {
		return
	}
	if turn.Usage == nil {
		turn.Usage = &Usage{Input: len(body) / 4, Output: turn.size() / 4}
	}
	var fault Fault
	if req.Try < len(turn.Faults) {
		fault = turn.Faults[req.Try]
	}
	answer := answer{w: w, r: r, turn: turn, model: req.Model, fault: fault, stream: req.Stream && !turn.Shape.Plain}
	if answer.failBefore() {
		return
	}
	whole := answer.write(strings.HasSuffix(req.Path, "/responses"))
	s.mu.Lock()
	req.Answered = whole && r.Context().Err() == nil
	s.mu.Unlock()
}

// record stores req and counts its tries.
func (s *Server) record(req Request) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.At = time.Now()
	req.Try = s.tries[req.Key]
	s.tries[req.Key]++
	s.requests = append(s.requests, &req)
	return &req
}

// refused answers what the script says the server cannot take.
func (s *Server) refused(w http.ResponseWriter, req Request) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(req.Body, &fields) != nil {
		return false
	}
	for _, name := range s.script.Reject {
		if _, ok := fields[name]; ok {
			writeError(w, http.StatusBadRequest, "unsupported_parameter", fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name))
			return true
		}
	}
	if tokens := len(req.Body) / 4; s.script.Window > 0 && tokens > s.script.Window {
		writeContextError(w, tokens, s.script.Window)
		return true
	}
	return false
}

func (t Turn) size() int {
	n := len(t.Text) + len(t.Reasoning)
	for _, c := range t.Calls {
		n += len(c.Name) + len(c.Args)
	}
	return n
}

// sleep waits for d; false when the client went away first.
func sleep(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": code, "message": message, "type": code}})
}

// writeContextError answers as llama-server does, with a number as code.
func writeContextError(w http.ResponseWriter, tokens, window int) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
		"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": window,
		"message": "the request exceeds the available context size, try increasing it",
	}})
}
