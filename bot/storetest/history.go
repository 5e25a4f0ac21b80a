package storetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// histories compares the store with a model over random histories.
func histories(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "history")
		if err != nil {
			rt.Fatal(err)
		}
		h := &history{
			t: t, open: open, dir: dir, tasks: map[string]*bot.Task{},
			keys: map[string]string{}, steps: map[string]uint64{}, owed: map[string]bot.Delivery{},
		}
		h.reopen(rt)
		defer func() {
			h.before.unchanged(t, h.opened.Store)
			if err := errors.Join(h.opened.Close(), os.RemoveAll(dir)); err != nil {
				rt.Error(err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"accept": h.accept, "change": h.change, "step": h.step, "deliver": h.deliver,
			"erase": h.erase, "reopen": h.reopen, "": h.compare,
		})
	})
}

// history is a store and the model of what must be in it.
type history struct {
	t      *testing.T
	open   Open
	dir    string
	opened Opened
	before *held // what it held in its first life

	tasks map[string]*bot.Task // as stored
	keys  map[string]string
	steps map[string]uint64
	owed  map[string]bot.Delivery
	audit int
}

// reopen ends a life and begins the next.
func (h *history) reopen(rt *rapid.T) {
	if h.opened.Close != nil {
		if err := h.opened.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	var err error
	if h.opened, err = h.open(h.dir); err != nil {
		rt.Fatal(err)
	}
	if h.before == nil {
		h.before = look(h.t, h.opened)
	}
	h.before.Store = h.opened.Store
}

// pick chooses a task, in an order that does not depend on maps.
func (h *history) pick(rt *rapid.T) *bot.Task {
	if len(h.tasks) == 0 {
		rt.Skip("no task yet")
	}
	return h.tasks[rapid.SampledFrom(slices.Sorted(maps.Keys(h.tasks))).Draw(rt, "task")]
}

func (h *history) accept(rt *rapid.T) {
	s := h.before
	key := fmt.Sprint("key ", rapid.IntRange(0, 20).Draw(rt, "key"))
	one := task(s, fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "conversation")))
	done, err := s.Commit(h.t.Context(), bot.Commit{
		Keys: []string{key}, Task: one, Audit: []bot.AuditEntry{{At: s.at(), Kind: bot.AuditEvent, Task: one.ID}},
	})
	owner, taken := h.keys[key]
	var claimed *bot.ClaimedError
	switch {
	case taken && (!errors.As(err, &claimed) || claimed.Task != owner):
		rt.Fatalf("claimed key of %s: %v", owner, err)
	case !taken && err != nil:
		rt.Fatal(err)
	case !taken:
		h.keys[key], h.tasks[one.ID] = one.ID, done.Task
		h.audit++
	}
}

func (h *history) change(rt *rapid.T) {
	next := *h.pick(rt)
	next.State = rapid.SampledFrom([]bot.TaskState{bot.TaskQueued, bot.TaskRunning, bot.TaskDone}).Draw(rt, "state")
	stale := rapid.Bool().Draw(rt, "stale")
	if stale {
		next.Revision--
	}
	done, err := h.opened.Store.Commit(h.t.Context(), bot.Commit{Task: &next})
	switch {
	case stale && !errors.Is(err, bot.ErrConflict):
		rt.Fatalf("stale change: %v", err)
	case !stale && err != nil:
		rt.Fatal(err)
	case !stale:
		h.tasks[next.ID] = done.Task
	}
}

func (h *history) step(rt *rapid.T) {
	id := h.pick(rt).ID
	seq := h.steps[id] + uint64(rapid.IntRange(0, 2).Draw(rt, "ahead"))
	_, err := h.opened.Store.Commit(h.t.Context(), bot.Commit{Steps: []bot.TaskStep{{Task: id, Step: bot.Step{Seq: seq}}}})
	switch right := seq == h.steps[id]+1; {
	case right && err != nil:
		rt.Fatal(err)
	case !right && !errors.Is(err, bot.ErrConflict):
		rt.Fatalf("step %d after %d: %v", seq, h.steps[id], err)
	case right:
		h.steps[id] = seq
	}
}

func (h *history) deliver(rt *rapid.T) {
	id := h.pick(rt).ID
	d := delivery(h.before, id)
	if len(h.owed) > 0 && rapid.Bool().Draw(rt, "known") {
		d = h.owed[rapid.SampledFrom(slices.Sorted(maps.Keys(h.owed))).Draw(rt, "delivery")]
		d.Status = rapid.SampledFrom([]bot.DeliveryState{bot.DeliverySending, bot.DeliverySent}).Draw(rt, "status")
	}
	done, err := h.opened.Store.Commit(h.t.Context(), bot.Commit{Deliveries: []bot.Delivery{d}})
	if err != nil {
		rt.Fatal(err)
	}
	h.owed[d.ID] = done.Deliveries[0]
}

func (h *history) erase(rt *rapid.T) {
	one := h.pick(rt)
	err := h.opened.Store.Erase(h.t.Context(), bot.Erasure{Task: one.ID})
	if !one.State.Final() {
		if !errors.Is(err, bot.ErrConflict) {
			rt.Fatalf("erase an open task: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	delete(h.tasks, one.ID)
	delete(h.steps, one.ID)
	maps.DeleteFunc(h.keys, func(_, task string) bool { return task == one.ID })
	maps.DeleteFunc(h.owed, func(_ string, d bot.Delivery) bool { return d.Task == one.ID })
}

// compare checks everything that can be read.
func (h *history) compare(rt *rapid.T) {
	s, ctx := h.opened.Store, h.t.Context()
	tasks, err := s.Tasks(ctx, bot.TaskQuery{Limit: 1000})
	tasks = slices.DeleteFunc(tasks, func(t bot.Task) bool {
		_, was := h.before.tasks[t.ID]
		return was
	})
	want := slices.Sorted(maps.Keys(h.tasks))
	slices.Reverse(want)
	if err != nil || !slices.Equal(taskIDs(tasks), want) {
		rt.Fatalf("tasks: %v, want %v (%v)", taskIDs(tasks), want, err)
	}
	var open []string
	for i := range slices.Backward(tasks) {
		have, want := &tasks[i], h.tasks[tasks[i].ID]
		if have.Revision != want.Revision || have.State != want.State {
			rt.Fatalf("task %s is %s at %d, want %s at %d", have.ID, have.State, have.Revision, want.State, want.Revision)
		}
		if !have.State.Final() {
			open = append(open, have.ID)
		}
		steps, err := s.Steps(ctx, have.ID)
		if err != nil || uint64(len(steps)) != h.steps[have.ID] {
			rt.Fatalf("task %s has %d steps, want %d (%v)", have.ID, len(steps), h.steps[have.ID], err)
		}
	}
	if got, err := s.Open(ctx); err != nil || !slices.Equal(h.before.fresh(got), open) {
		rt.Fatalf("open: %v, want %v (%v)", h.before.fresh(got), open, err)
	}
	pending, err := s.Pending(ctx)
	count := 0
	for _, d := range h.owed {
		if !d.Status.Final() {
			count++
		}
	}
	if got := h.before.owed(pending); err != nil || len(got) != count {
		rt.Fatalf("%d pending, want %d (%v)", len(got), count, err)
	}
	for key, owner := range h.keys {
		if got, err := s.Claimed(ctx, key); err != nil || got != owner {
			rt.Fatalf("key %s belongs to %q, want %q (%v)", key, got, owner, err)
		}
	}
	chain, err := bot.VerifyAudit(ctx, s, h.before.key)
	if err != nil || int(chain.Last) != int(h.before.last())+h.audit {
		rt.Fatalf("audit: %+v, want %d entries (%v)", chain, h.audit, err)
	}
}
