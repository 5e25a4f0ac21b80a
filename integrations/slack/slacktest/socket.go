package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxSockets is how many sockets an app may have.
const maxSockets = 10

// socket is one connection of the bot.
type socket struct {
	conn *websocket.Conn
	mu   sync.Mutex // guards writes to conn
	done chan struct{}
}

// envelope is an event on its way to the bot.
type envelope struct {
	id      string
	kind    string // events_api, slash_commands, interactive
	payload any
	attempt int
	sent    time.Time
	answer  chan json.RawMessage // the payload of the answer, which may be empty
	ask     bool                 // accepts_response_payload
}

// Acks counts what became of envelopes.
type Acks struct {
	Sent      int // envelopes sent, redeliveries included
	Acked     int
	Late      int             // answered after AckTimeout
	Lost      int             // events for which no socket was up
	GivenUp   int             // events never answered
	Oversized int             // answers of MaxAck bytes or more
	Times     []time.Duration // from sending to answer, per acked envelope
}

// connectionsOpen is apps.connections.open: the URL serves once.
func (w *Workspace) connectionsOpen(map[string]string) result {
	if w.disabled {
		return failed("link_disabled")
	}
	if len(w.sockets) >= maxSockets {
		return failed("too_many_websockets")
	}
	ticket := w.id("ticket-")
	w.tickets[ticket] = true
	return result{"url": "ws" + strings.TrimPrefix(w.base, "http") + "/socket?ticket=" + ticket + "&app_id=" + AppID}
}

// serveSocket runs one connection: hello, pings, answers.
func (w *Workspace) serveSocket(rw http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	w.mu.Lock()
	fresh := w.tickets[ticket]
	delete(w.tickets, ticket)
	w.mu.Unlock()
	if !fresh {
		http.Error(rw, "this URL was used before", http.StatusNotFound)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return
	}
	s := &socket{conn: conn, done: make(chan struct{})}
	w.mu.Lock()
	w.sockets = append(w.sockets, s)
	count := len(w.sockets)
	w.mu.Unlock()
	_ = s.write(map[string]any{
		"type": "hello", "num_connections": count, "connection_info": map[string]any{"app_id": AppID},
		"debug_info": map[string]any{"host": "applink-fake", "approximate_connection_time": 18060},
	})
	w.mu.Lock()
	w.notify()
	w.mu.Unlock()
	var pings sync.WaitGroup
	pings.Go(func() { w.pings(s) })
	w.readAnswers(s)
	close(s.done)
	pings.Wait()
	_ = conn.Close()
	w.mu.Lock()
	w.sockets = slices.DeleteFunc(w.sockets, func(o *socket) bool { return o == s })
	w.notify()
	w.mu.Unlock()
}

func (s *socket) write(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return s.conn.WriteJSON(v)
}

// pings sends a ping every PingInterval until the socket is done.
func (w *Workspace) pings(s *socket) {
	ticker := time.NewTicker(w.options.PingInterval)
	defer ticker.Stop()
	for {
		s.mu.Lock()
		err := s.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
		s.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return
		}
	}
}

// readAnswers reads the bot's answers from s until it ends.
func (w *Workspace) readAnswers(s *socket) {
	for {
		_, raw, err := s.conn.ReadMessage()
		if err != nil {
			return
		}
		var in struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(raw, &in) != nil {
			continue
		}
		w.mu.Lock()
		e := w.pending[in.EnvelopeID]
		switch {
		case e == nil:
		case len(raw) >= MaxAck:
			w.acks.Oversized++
		default:
			delete(w.pending, in.EnvelopeID)
			took := time.Since(e.sent)
			w.acks.Acked++
			w.acks.Times = append(w.acks.Times, took)
			if took > w.options.AckTimeout {
				w.acks.Late++
			}
			e.answer <- in.Payload
			w.notify()
		}
		w.mu.Unlock()
	}
}

// dispatch sends an event and sends it again until it is answered. then, when
// not nil, gets the answer's payload. It returns at once.
func (w *Workspace) dispatch(kind string, payload any, then func(json.RawMessage)) {
	w.wait.Go(func() {
		for attempt := 0; ; attempt++ {
			answer, sent := w.attempt(&envelope{kind: kind, payload: payload, attempt: attempt, ask: kind != "events_api"})
			if !sent {
				return
			}
			if answer != nil {
				if then != nil {
					then(*answer)
				}
				return
			}
			// People see a time-out for what they pressed; only events come again.
			if kind != "events_api" || attempt >= len(w.options.Redelivery) {
				w.mu.Lock()
				w.acks.GivenUp++
				w.notify()
				w.mu.Unlock()
				return
			}
			select {
			case <-time.After(w.options.Redelivery[attempt]):
			case <-w.closed:
				return
			}
		}
	})
}

// attempt sends e over one socket and waits for its answer. sent is false when
// no socket was up: the event is lost.
func (w *Workspace) attempt(e *envelope) (answer *json.RawMessage, sent bool) {
	w.mu.Lock()
	if len(w.sockets) == 0 || w.down {
		w.acks.Lost++
		w.notify()
		w.mu.Unlock()
		return nil, false
	}
	s := w.sockets[w.next%len(w.sockets)]
	w.next++
	e.id, e.sent, e.answer = w.id("envelope-"), time.Now(), make(chan json.RawMessage, 1)
	w.pending[e.id] = e
	w.acks.Sent++
	w.mu.Unlock()
	frame := map[string]any{"envelope_id": e.id, "type": e.kind, "payload": e.payload, "accepts_response_payload": e.ask}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.attempt, ""
		if e.attempt > 0 {
			frame["retry_reason"] = "timeout"
		}
	}
	_ = s.write(frame)
	select {
	case raw := <-e.answer:
		return &raw, true
	case <-time.After(w.options.AckTimeout):
	case <-w.closed:
	}
	select { // an answer that came with the time-out counts
	case raw := <-e.answer:
		return &raw, true
	default:
		return nil, true
	}
}

// Send sends frame, any JSON value or raw text, to one socket as it is.
func (w *Workspace) Send(frame any) {
	w.mu.Lock()
	var s *socket
	if len(w.sockets) > 0 {
		s = w.sockets[0]
	}
	w.mu.Unlock()
	if s == nil {
		return
	}
	if text, ok := frame.(string); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.conn.WriteMessage(websocket.TextMessage, []byte(text))
		return
	}
	_ = s.write(frame)
}

// SendEnvelope sends payload in an envelope of the given kind and waits for
// nothing; its fate shows in Acks.
func (w *Workspace) SendEnvelope(kind string, payload any) { w.dispatch(kind, payload, nil) }

// Disconnect sends a disconnect with reason ("warning", "refresh_requested",
// "link_disabled", "too_many_websockets") to all sockets. They stay up until the
// bot closes them: Slack, too, waits a moment.
func (w *Workspace) Disconnect(reason string) {
	w.mu.Lock()
	sockets := slices.Clone(w.sockets)
	w.disabled = w.disabled || reason == "link_disabled"
	w.mu.Unlock()
	for _, s := range sockets {
		_ = s.write(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink-fake"}})
	}
}

// DropSockets breaks all connections without a word.
func (w *Workspace) DropSockets() {
	w.mu.Lock()
	sockets := slices.Clone(w.sockets)
	w.sockets = nil
	w.notify()
	w.mu.Unlock()
	for _, s := range sockets {
		_ = s.conn.NetConn().Close()
	}
}

// Sockets is how many connections are up.
func (w *Workspace) Sockets() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sockets)
}

// Acks tells what became of envelopes so far.
func (w *Workspace) Acks() Acks {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.acks
	out.Times = slices.Clone(out.Times)
	return out
}
