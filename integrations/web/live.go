package web

import (
	"fmt"
	"net/http"
	"time"
)

// Server-sent events carry no content, only "look again": what a viewer may
// see is decided where pages are made, and nowhere else.
const (
	lookAgain     = "event: change\ndata: {}\n\n"
	liveKeepAlive = 20 * time.Second
	liveLongest   = 30 * time.Minute // then the browser connects again and is checked again
)

func (s *Server) liveTask(w http.ResponseWriter, r *http.Request) {
	if t, ok := s.visible(w, r); ok {
		s.live(w, r, t.ID)
	}
}

func (s *Server) liveList(w http.ResponseWriter, r *http.Request) { s.live(w, r, "") }

func (s *Server) live(w http.ResponseWriter, r *http.Request, task string) {
	stream := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	changed := s.opts.Changed()
	var seen uint64
	keepAlive := time.NewTicker(liveKeepAlive)
	defer keepAlive.Stop()
	end := time.NewTimer(liveLongest)
	defer end.Stop()
	send := func(text string) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(liveKeepAlive))
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return stream.Flush() == nil
	}
	// What changed between the drawing of the page and now was told to nobody.
	if !send("retry: 2000\n\n" + lookAgain) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-end.C:
			return
		case <-keepAlive.C:
			if _, in := s.identify(r); !in || !send(": still here\n\n") {
				return // or its token is no longer the one
			}
		case <-changed:
			changed = s.opts.Changed() // before looking, so that nothing is missed
			if !s.news(r, task, &seen) {
				continue
			}
			if _, in := s.identify(r); !in || !send(lookAgain) {
				return
			}
		}
	}
}

// news reports whether a change concerns this stream: any does for the list; a
// task's own stream skips what happened to others while it stood still.
func (s *Server) news(r *http.Request, id string, seen *uint64) bool {
	if id == "" {
		return true
	}
	t, err := s.opts.Tasks.Task(r.Context(), id)
	if err != nil {
		return true // gone: the page says so
	}
	before := *seen
	*seen = t.Revision
	return t.Revision != before || !t.State.Final()
}
