package boltstore

import (
	"context"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// mostTogether bounds how many changes share one transaction.
const mostTogether = 256

// change is a write that waits for its transaction.
type change struct {
	apply func(*bolt.Tx) error
	err   error
	// turn is told once: true, when this caller is to lead, and then false,
	// when its change is done.
	turn chan bool
}

// group lets changes that arrive while a transaction commits share the next
// one: one of their callers leads and commits for all. bbolt's own Batch waits
// for a timer instead, and under load splits callers into small groups that
// queue up behind each other.
type group struct {
	// mu guards what follows.
	mu      sync.Mutex
	waiting []*change
	led     bool // somebody leads
}

// join adds a change; it reports whether its caller is to lead at once.
func (g *group) join(c *change) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, c)
	if g.led {
		return false
	}
	g.led = true
	return true
}

// take returns the changes of the next transaction.
func (g *group) take() []*change {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), mostTogether)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return batch
}

// pass has the first caller that waits lead, or nobody where none does.
func (g *group) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.led, g.waiting = false, nil
		return
	}
	g.waiting[0].turn <- true
}

// write runs apply in a transaction that it may share with others: apply can
// run more than once, and an error it returns undoes what it wrote.
func (s *Store) write(ctx context.Context, apply func(*bolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{apply: apply, turn: make(chan bool, 2)}
	if s.group.join(c) || <-c.turn {
		s.commitTogether(s.group.take()) // c is the first of them
		s.group.pass()
		<-c.turn
	}
	return writeError(c.err)
}

// commitTogether commits all changes of a batch in one transaction. One that
// fails is left out, and the others are tried again without it.
func (s *Store) commitTogether(batch []*change) {
	s.swap.RLock()
	defer s.swap.RUnlock()
	for len(batch) > 0 {
		failed := -1
		err := s.db.Update(func(tx *bolt.Tx) error {
			for i, c := range batch {
				if err := s.attempt(tx, c); err != nil {
					failed = i
					return err
				}
			}
			return nil
		})
		if failed < 0 {
			for _, c := range batch {
				c.err = err
				c.turn <- false
			}
			return
		}
		batch[failed].err = err
		batch[failed].turn <- false
		batch = append(batch[:failed:failed], batch[failed+1:]...)
	}
}

func (s *Store) attempt(tx *bolt.Tx, c *change) (err error) {
	defer guard(s.path(), &err)()
	return c.apply(tx)
}
