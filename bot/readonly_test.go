package bot_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// fullStore is a store whose disk can be full.
type fullStore struct {
	bot.Store
	full atomic.Bool
}

func (s *fullStore) Commit(ctx context.Context, c bot.Commit) (bot.Commit, error) {
	if s.full.Load() {
		return bot.Commit{}, bot.ErrReadOnly
	}
	return s.Store.Commit(ctx, c)
}

func (s *fullStore) Check(ctx context.Context) error {
	if s.full.Load() {
		return bot.ErrReadOnly
	}
	return s.Store.Check(ctx)
}

func TestAFullDiskIsWaitedOut(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	w.end()
	store := &fullStore{}
	w.wrap = func(s bot.Store) bot.Store { store.Store = s; return store }
	w.start()
	id := w.ask("c1", "alice", "before")
	<-g.started
	store.full.Store(true)
	if ticket, err := w.Submit(t.Context(), request("c2", "alice", "during")); !errors.Is(err, bot.ErrReadOnly) {
		t.Errorf("submit: %+v %v", ticket, err)
	}
	if err := w.Healthy(t.Context()); !errors.Is(err, bot.ErrReadOnly) {
		t.Errorf("health: %v", err)
	}
	close(g.open) // the run ends, and its outcome cannot be committed
	until(t, "it is tried again", func() bool { return strings.Contains(w.log.String(), "task is tried again") })
	if task, err := w.Task(t.Context(), id); err != nil || task.State != bot.TaskRunning {
		t.Errorf("meanwhile the task is %s (%v)", task.State, err)
	}
	store.full.Store(false)
	if task := w.settle(id); task.State != bot.TaskDone {
		t.Errorf("the task is %s", task.State)
	}
	w.settle(w.ask("c2", "alice", "during"))
	w.idle()
	w.platform.once(t)
	for _, line := range []string{"read-only: the store cannot commit", "the store commits again"} {
		if !strings.Contains(w.log.String(), line) {
			t.Errorf("the log does not say %q", line)
		}
	}
}
