package storetest

import (
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// held is a store with what it held when the test began: nothing, or what a
// restored one brings along. A test asks about what it made itself, and what was
// there must stay as it was.
type held struct {
	bot.Store
	key   ed25519.PublicKey
	begin time.Time

	tasks   map[string]bot.Task
	steps   map[string]int
	pending map[string]bool
	chain   bot.VerifiedChain
}

// look reads what a store holds.
func look(t testing.TB, o Opened) *held {
	t.Helper()
	h := &held{Store: o.Store, key: o.Key, begin: at(), tasks: map[string]bot.Task{}, steps: map[string]int{}, pending: map[string]bool{}}
	tasks, err := o.Store.Tasks(t.Context(), bot.TaskQuery{Commands: true, Limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		one := tasks[i]
		h.tasks[one.ID] = one
		steps, err := o.Store.Steps(t.Context(), one.ID)
		if err != nil {
			t.Fatal(err)
		}
		h.steps[one.ID] = len(steps)
		for _, seen := range []time.Time{one.Created, one.Ended} {
			// What tests make is newer than all that is there.
			if after := seen.UTC().Truncate(time.Hour).Add(2 * time.Hour); after.After(h.begin) {
				h.begin = after
			}
		}
	}
	pending, err := o.Store.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range pending {
		h.pending[pending[i].ID] = true
	}
	if h.chain, err = bot.VerifyAudit(t.Context(), o.Store, o.Key); err != nil {
		t.Fatal(err)
	}
	return h
}

// at is the time that a test uses.
func (h *held) at() time.Time { return h.begin }

// last is the number of the newest audit entry that was there.
func (h *held) last() uint64 { return max(h.chain.Last, h.chain.Checkpoint.Seq) }

// fresh returns the ids of the tasks that were not there before.
func (h *held) fresh(tasks []bot.Task) []string {
	return slices.DeleteFunc(taskIDs(tasks), func(id string) bool {
		_, was := h.tasks[id]
		return was
	})
}

// owed returns the ids of the deliveries that were not there before.
func (h *held) owed(deliveries []bot.Delivery) (ids []string) {
	for i := range deliveries {
		if !h.pending[deliveries[i].ID] {
			ids = append(ids, deliveries[i].ID)
		}
	}
	return ids
}

// unchanged checks that what was there before the test is there after it.
func (h *held) unchanged(t testing.TB, s bot.Store) {
	t.Helper()
	now := look(t, Opened{Store: s, Key: h.key})
	for id := range h.tasks {
		was, is := h.tasks[id], now.tasks[id]
		if is.Revision != was.Revision || is.State != was.State || now.steps[id] != h.steps[id] {
			t.Errorf("task %s was %s at revision %d with %d steps and is %q at %d with %d", id, was.State, was.Revision, h.steps[id], is.State, is.Revision, now.steps[id])
		}
	}
	for id := range h.pending {
		if !now.pending[id] {
			t.Errorf("delivery %s is owed no more", id)
		}
	}
	open, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id := range h.tasks {
		was := h.tasks[id]
		if has := slices.Contains(taskIDs(open), id); has == was.State.Final() {
			t.Errorf("task %s is %s, and among the open ones: %v", id, was.State, has)
		}
	}
}
