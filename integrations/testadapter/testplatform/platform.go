// Package testplatform is the platform that testadapter talks to: a chat that
// exists only in memory. It hands out each event until it is acknowledged,
// counts every message that arrives, and loses requests and responses at the
// rate it is told to.
package testplatform

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
)

// Faults are rates between 0 and 1.
type Faults struct {
	LoseRequest  float64 // the connection breaks before anything was done
	LoseResponse float64 // it was done, and the connection breaks
	Busy         float64 // 429, nothing was done
	Duplicate    float64 // an event is handed out once more after it was acknowledged
}

// Platform is an http.Handler; New makes it.
type Platform struct {
	mux *http.ServeMux

	// mu guards what follows.
	mu       sync.Mutex
	faults   Faults
	random   *rand.Rand
	events   []bot.Event
	acked    map[int]bool
	again    []int // acknowledged events to hand out once more
	messages []testadapter.Message
	shown    map[string]testadapter.Shown
	made     int // progress messages
	files    map[string]string
	denied   map[string]bool // actors
}

// New returns a platform whose faults follow the seed.
func New(faults Faults, seed uint64) *Platform {
	p := &Platform{
		mux: http.NewServeMux(), faults: faults, random: rand.New(rand.NewPCG(seed, 1)),
		acked: map[int]bool{}, shown: map[string]testadapter.Shown{}, files: map[string]string{}, denied: map[string]bool{},
	}
	p.mux.HandleFunc("GET /events", p.handOut)
	p.mux.HandleFunc("POST /events/{number}/ack", p.ack)
	p.mux.HandleFunc("POST /authorize", p.authorize)
	p.mux.HandleFunc("GET /files/{ref}", p.file)
	p.mux.HandleFunc("POST /progress", p.progress)
	p.mux.HandleFunc("POST /messages", p.post)
	p.mux.HandleFunc("GET /messages", p.find)
	return p
}

// ServeHTTP implements http.Handler.
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	roll, f := p.random.Float64(), p.faults
	p.mu.Unlock()
	switch {
	case roll < f.LoseRequest:
		panic(http.ErrAbortHandler) // breaks the connection without an answer
	case roll < f.LoseRequest+f.LoseResponse:
		p.mux.ServeHTTP(discard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case roll < f.LoseRequest+f.LoseResponse+f.Busy:
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		p.mux.ServeHTTP(w, r)
	}
}

// discard takes an answer that nobody will get.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// Happen makes events happen: they are handed out from now on.
func (p *Platform) Happen(events ...bot.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, events...)
}

// Store puts a file there for inputs that name ref.
func (p *Platform) Store(ref, content string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[ref] = content
}

// Deny refuses an actor from now on.
func (p *Platform) Deny(actor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied[actor] = true
}

// Heal ends all faults.
func (p *Platform) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.again = Faults{}, nil
}

// Unacknowledged counts the events that are still handed out.
func (p *Platform) Unacknowledged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.events) - len(p.acked)
}

// Messages returns every message that arrived, in order.
func (p *Platform) Messages() []testadapter.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.messages)
}

// Shown returns the progress messages as they stand.
func (p *Platform) Shown() []testadapter.Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []testadapter.Shown
	for _, s := range p.shown {
		all = append(all, s)
	}
	return all
}

func (p *Platform) handOut(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []testadapter.Delivered{}
	for n, e := range p.events {
		if !p.acked[n] {
			out = append(out, testadapter.Delivered{Number: n, Event: e})
		}
	}
	for _, n := range p.again {
		out = append(out, testadapter.Delivered{Number: n, Event: p.events[n]})
	}
	p.again = nil
	answer(w, out)
}

func (p *Platform) ack(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("number"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || n < 0 || n >= len(p.events) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !p.acked[n] && p.random.Float64() < p.faults.Duplicate {
		p.again = append(p.again, n)
	}
	p.acked[n] = true
}

func (p *Platform) authorize(w http.ResponseWriter, r *http.Request) {
	var event bot.Event
	if !decode(w, r, &event) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := bot.Decision{Allowed: !p.denied[event.Actor.ID], Rule: "testplatform"}
	if !d.Allowed {
		d.Reason = "You are not a member here."
	}
	answer(w, d)
}

func (p *Platform) file(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	content, ok := p.files[r.PathValue("ref")]
	p.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write([]byte(content)) // the client went away
}

func (p *Platform) progress(w http.ResponseWriter, r *http.Request) {
	var s testadapter.Shown
	if !decode(w, r, &s) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.ID == "" {
		p.made++
		s.ID = "p" + strconv.Itoa(p.made)
	}
	p.shown[s.ID] = s
	answer(w, s)
}

// post keeps a message, whether the same delivery came before or not: counting
// is what this platform is for. A progress delivery edits its message instead.
func (p *Platform) post(w http.ResponseWriter, r *http.Request) {
	var m testadapter.Message
	if !decode(w, r, &m.Delivery) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.ID = "m" + strconv.Itoa(len(p.messages)+1)
	p.messages = append(p.messages, m)
	if e := m.Delivery.Earlier; e != nil && m.Delivery.Kind == bot.DeliverProgress {
		s := p.shown[e.ID]
		s.ID, s.Task, s.Progress.State = e.ID, m.Delivery.Task, m.Delivery.State
		p.shown[e.ID] = s
	}
	answer(w, m)
}

func (p *Platform) find(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := []testadapter.Message{}
	for _, m := range p.messages {
		if m.Delivery.ID == r.URL.Query().Get("delivery") {
			found = append(found, m)
		}
	}
	answer(w, found)
}

func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away
}
