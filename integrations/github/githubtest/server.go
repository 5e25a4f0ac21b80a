package githubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request's body: a blob of 100 MB in base64 and its JSON.
const maxBody = 140 << 20

// Options make a Server; the zero value serves.
type Options struct {
	// Now is the server's clock, also for the Date header; nil means time.Now.
	Now func() time.Time
	// Limits are what each token may do; the zero value limits nothing.
	Limits Limits
	// TokensOpenFiles says whether a private repository's
	// user-attachments/files open to a token. GitHub answers 404 to some.
	TokensOpenFiles bool
}

// Server is a fake GitHub. Its methods are safe for concurrent use.
type Server struct {
	options Options
	http    *httptest.Server
	client  *http.Client // sends webhooks

	mu     sync.Mutex // guards everything below
	state  state
	faults []*Fault
	log    []Request
	used   map[string]bool
	meters map[string]*meter

	sending int        // webhook deliveries on their way
	landed  *sync.Cond // one of them has ended; its lock is mu
}

// New starts a server on a loopback port. Close must follow.
func New(options Options) *Server {
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Server{
		options: options,
		client:  &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
		state:   newState(),
		used:    map[string]bool{},
		meters:  map[string]*meter{},
	}
	s.landed = sync.NewCond(&s.mu)
	s.http = httptest.NewServer(s.routes())
	return s
}

// Close waits for webhook deliveries on their way, then stops the server.
func (s *Server) Close() {
	s.Settle()
	s.client.CloseIdleConnections()
	s.http.Close()
}

// Settle waits until no webhook delivery is on its way.
func (s *Server) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sending > 0 {
		s.landed.Wait()
	}
}

// APIURL is the base that "repos/…" is appended to, with its final slash.
func (s *Server) APIURL() string { return s.http.URL + "/api/v3/" }

// URL is the base of the web pages, without a final slash.
func (s *Server) URL() string { return s.http.URL }

// Request is one API call as the server saw it.
type Request struct {
	Method string
	Path   string // below the API's base, without the query
	Route  string // the pattern it matched
	Actor  string // login, "app" for a JWT, "" for anonymous
	Status int    // 0 where a fault dropped the connection
}

// Requests returns all API calls so far, in the order they were answered.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// Count counts the API calls that route ("POST /repos/{owner}/{repo}/git/commits")
// answered with a status below 400.
func (s *Server) Count(route string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Route == route && r.Status != 0 && r.Status < 400 {
			n++
		}
	}
	return n
}

// Used lists the permissions that calls needed so far, as "issues:write".
func (s *Server) Used() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]bool{}
	for p := range s.used {
		out[p] = true
	}
	return out
}

// route is one API call. permission is "" where a signed-in caller needs
// none, and "jwt" where only the App itself may call.
type route struct {
	pattern    string // "GET /repos/{owner}/{repo}"
	permission string // "issues:write"
	content    bool   // counts as a creation of content
	handle     func(*call) (status int, body any)
}

// call is one API request with what was found out about it. Handlers run
// under the server's lock.
type call struct {
	*Server
	request *http.Request
	header  http.Header
	body    []byte
	caller  caller
	repo    *repo // set where the route names one
}

// raw is a body that is not JSON.
type raw struct {
	contentType string
	data        []byte
}

func (c *call) path(name string) string { return c.request.PathValue(name) }

func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.path(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (c *call) query(name string) string { return c.request.URL.Query().Get(name) }

// decode reads the body into v; on failure it gives the answer to send.
func (c *call) decode(v any) (int, any) {
	if err := json.Unmarshal(c.body, v); err != nil {
		return http.StatusBadRequest, message("Problems parsing JSON")
	}
	return 0, nil
}

func message(text string) any {
	return map[string]string{"message": text, "documentation_url": "https://docs.github.com/rest"}
}

func notFound() (int, any) { return http.StatusNotFound, message("Not Found") }

func invalid(resource, field, text string) (int, any) {
	return http.StatusUnprocessableEntity, map[string]any{
		"message":           "Validation Failed",
		"errors":            []any{map[string]string{"resource": resource, "field": field, "code": "custom", "message": text}},
		"documentation_url": "https://docs.github.com/rest",
	}
}

func (s *Server) routes() http.Handler {
	api := &router{missing: func(w http.ResponseWriter, request *http.Request) {
		s.serve(w, request, route{pattern: "unknown", handle: func(*call) (int, any) { return notFound() }})
	}}
	for _, table := range [][]route{issueRoutes(), reviewRoutes(), repoRoutes(), gitRoutes(), hookRoutes(), appRoutes()} {
		for _, r := range table {
			api.add(r.pattern, func(w http.ResponseWriter, request *http.Request) { s.serve(w, request, r) })
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v3/", http.StripPrefix("/api/v3", api))
	mux.Handle("/", s.web())
	return mux
}

// serve answers one API call: fault, sign-in, limits, permission, handler.
func (s *Server) serve(w http.ResponseWriter, request *http.Request, r route) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, "body", http.StatusRequestEntityTooLarge)
		return
	}
	defer s.enter(request)()
	fault := s.takeFault(r.pattern, body)
	if fault != nil {
		if fault.Do != nil {
			fault.Do()
		}
		if fault.Wait > 0 {
			time.Sleep(fault.Wait)
		}
		if fault.Kind == Refuse {
			s.record(request, r, caller{}, 0)
			drop(w)
			return
		}
		if fault.answers() {
			s.record(request, r, caller{}, fault.Status)
			fault.write(w, s.options.Now())
			return
		}
	}
	c := &call{Server: s, request: request, header: w.Header(), body: body}
	w.Header().Set("Date", s.options.Now().UTC().Format(http.TimeFormat))
	status, answer := s.handle(c, r)
	s.record(request, r, c.caller, status)
	if fault != nil && fault.Kind == LoseResponse {
		drop(w)
		return
	}
	s.write(w, request, status, answer)
}

func (s *Server) handle(c *call, r route) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status, answer := c.signIn(r); status != 0 {
		return status, answer
	}
	if status, answer := c.admit(r); status != 0 {
		return status, answer
	}
	if owner := c.path("owner"); owner != "" {
		c.repo = s.state.repo(owner + "/" + c.path("repo"))
		if c.repo == nil || !c.mayRead(c.repo) {
			return notFound()
		}
	}
	if status, answer := c.permit(r.permission); status != 0 {
		return status, answer
	}
	return r.handle(c)
}

// write sends the answer with its ETag, or 304 where the caller has it.
func (s *Server) write(w http.ResponseWriter, request *http.Request, status int, answer any) {
	contentType, data := "application/json; charset=utf-8", []byte(nil)
	switch v := answer.(type) {
	case nil:
	case raw:
		contentType, data = v.contentType, v.data
	default:
		data, _ = json.Marshal(v)
	}
	w.Header().Set("Content-Type", contentType)
	if status == http.StatusOK && request.Method == http.MethodGet {
		sum := sha256.Sum256(data)
		etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", etag)
		if request.Header.Get("If-None-Match") == etag {
			s.refund(request)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func (s *Server) record(request *http.Request, r route, who caller, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Request{
		Method: request.Method, Path: strings.TrimPrefix(request.URL.Path, "/"),
		Route: r.pattern, Actor: who.name(), Status: status,
	})
}

// drop ends the connection without an answer.
func drop(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// page cuts items to the page that the query asks for and sets Link.
func page[T any](c *call, items []T) []T {
	size, _ := strconv.Atoi(c.query("per_page"))
	if size <= 0 {
		size = 30
	}
	size = min(size, 100)
	at, _ := strconv.Atoi(c.query("page"))
	at = max(at, 1)
	from, to := min((at-1)*size, len(items)), min(at*size, len(items))
	if to < len(items) {
		next := *c.request.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(at+1))
		q.Set("per_page", strconv.Itoa(size))
		next.RawQuery = q.Encode()
		c.header.Set("Link", `<`+c.APIURL()+strings.TrimPrefix(next.String(), "/")+`>; rel="next"`)
	}
	return items[from:to]
}
