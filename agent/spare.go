package agent

import (
	"context"
	"sync"
)

// spare is a session that is leased while something else still runs, so that
// the check of deliverables need not wait for one. Whoever makes it must end
// it, and ending waits for the lease.
type spare struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex // guards session, until done
	session Session
}

// prepare begins to lease a spare session. One that cannot be had is leased
// again, with its error, when it is needed.
func (t *task) prepare(ctx context.Context) *spare {
	ctx, cancel := context.WithCancel(ctx)
	s := &spare{cancel: cancel}
	s.done.Go(func() {
		w := &workspace{t: t, agent: lead}
		session, err := w.lease(ctx)
		if err != nil {
			t.log.Debug("no spare session", "error", err)
			return
		}
		s.mu.Lock()
		s.session = session
		s.mu.Unlock()
	})
	return s
}

// take waits for the session and hands it over; nil when there is none.
func (s *spare) take() Session {
	if s == nil {
		return nil
	}
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.session
	s.session = nil
	return session
}

// end closes a session that nobody took.
func (s *spare) end(t *task) {
	if s == nil {
		return
	}
	s.cancel()
	if session := s.take(); session != nil {
		if err := session.Close(); err != nil {
			t.log.Warn("close spare session", "error", err)
		}
	}
}
