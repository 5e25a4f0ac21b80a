package storetest

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Opened is a store in one of its lives.
type Opened struct {
	Store bot.Store
	Close func() error
	// Key is the one that signed the checkpoint that the audit begins with; nil
	// where nothing was pruned.
	Key ed25519.PublicKey
}

// Open opens the store that belongs to dir; after Close it opens the same one
// again.
type Open func(dir string) (Opened, error)

// Store runs the whole suite. What open opens may hold things already, a
// restored backup say: then each test finds a copy of its own, works beside what
// is there, and must leave that as it was.
func Store(t *testing.T, open Open) {
	tests := []struct {
		name string
		run  func(t *testing.T, s *held)
	}{
		{"a commit is whole or nothing", atomic},
		{"a key is claimed once", claims},
		{"of many who claim a key one wins", race},
		{"counts stop at their most", counts},
		{"a claim has one holder", claimed},
		{"revisions guard tasks and deliveries", revisions},
		{"steps count on", steps},
		{"open and pending are what has not ended", openSets},
		{"queries", queries},
		{"ids sort by time", ids},
		{"records compare and swap", records},
		{"the audit chain holds and can be pruned", audit},
		{"erasing reaches everything", erase},
		{"references", references},
		{"compaction and backup keep what is there", keeping},
		{"an ended context stops", ended},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := look(t, o)
			test.run(t, s)
			if test.name != "the audit chain holds and can be pruned" { // which signs with a key of its own
				s.unchanged(t, o.Store)
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("random histories", func(t *testing.T) { histories(t, open) })
}

// at is the time that tests use.
func at() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// task makes one that was never stored.
func task(s *held, conversation string) *bot.Task {
	return &bot.Task{
		ID: s.NewID(s.at()), State: bot.TaskQueued, Title: "a title", Created: s.at(),
		Event: bot.Event{
			Key: "key of " + conversation, Kind: bot.EventRequest, Source: "source of " + conversation,
			Origin: bot.Origin{Adapter: "test", Conversation: conversation, Place: "test:here"},
			Actor:  bot.Actor{ID: "actor of " + conversation},
		},
	}
}

func delivery(s *held, task string) bot.Delivery {
	return bot.Delivery{ID: s.NewID(s.at()), Task: task, Kind: bot.DeliverAnswer, Status: bot.DeliveryPending, Created: s.at(), Message: "m"}
}

func commit(t *testing.T, s *held, c bot.Commit) bot.Commit {
	t.Helper()
	done, err := s.Commit(t.Context(), c)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return done
}

func atomic(t *testing.T, s *held) {
	one, two := task(s, "one"), task(s, "two")
	done := commit(t, s, bot.Commit{Keys: []string{"k1"}, Task: one})
	if done.Task.Revision != 1 || one.Revision != 0 {
		t.Errorf("revisions: %d returned, %d in the caller's value", done.Task.Revision, one.Revision)
	}
	// Each of these fails by its last part; none of the others may be there after.
	for name, c := range map[string]bot.Commit{
		"claimed key":    {Keys: []string{"k2", "k1"}, Task: two},
		"wrong step":     {Keys: []string{"k2"}, Task: two, Steps: []bot.TaskStep{{Task: two.ID, Step: bot.Step{Seq: 2}}}},
		"wrong delivery": {Keys: []string{"k2"}, Task: two, Deliveries: []bot.Delivery{{ID: s.NewID(s.at()), Revision: 3}}},
	} {
		c.Audit = []bot.AuditEntry{{At: s.at(), Kind: bot.AuditEvent}}
		if _, err := s.Commit(t.Context(), c); err == nil {
			t.Errorf("%s: committed", name)
		}
		if _, err := s.Task(t.Context(), two.ID); !errors.Is(err, bot.ErrNotFound) {
			t.Errorf("%s: task is there: %v", name, err)
		}
		if _, err := s.Claimed(t.Context(), "k2"); !errors.Is(err, bot.ErrNotFound) {
			t.Errorf("%s: key is claimed: %v", name, err)
		}
		if n := entries(t, s); n != 0 {
			t.Errorf("%s: %d audit entries", name, n)
		}
	}
}

// entries counts the audit's entries that are new.
func entries(t *testing.T, s *held) (n int) {
	t.Helper()
	for _, err := range s.Audit(t.Context(), s.last()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func claims(t *testing.T, s *held) {
	first := commit(t, s, bot.Commit{Keys: []string{"k"}, Task: task(s, "one")}).Task
	commit(t, s, bot.Commit{Keys: []string{"of nothing"}})
	var claimed *bot.ClaimedError
	if _, err := s.Commit(t.Context(), bot.Commit{Keys: []string{"k"}, Task: task(s, "two")}); !errors.As(err, &claimed) || claimed.Task != first.ID || claimed.Key != "k" {
		t.Errorf("second claim: %v", err)
	}
	if _, err := s.Commit(t.Context(), bot.Commit{Keys: []string{"of nothing"}}); !errors.As(err, &claimed) || claimed.Task != "" {
		t.Errorf("second claim of a key without a task: %v", err)
	}
	if got, err := s.Claimed(t.Context(), "k"); err != nil || got != first.ID {
		t.Errorf("claimed: %q %v", got, err)
	}
}

func race(t *testing.T, s *held) {
	const callers = 32
	won := make(chan string, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			mine := task(s, fmt.Sprint(i))
			_, err := s.Commit(t.Context(), bot.Commit{
				Keys: []string{"the same"}, Task: mine, Audit: []bot.AuditEntry{{At: s.at(), Kind: bot.AuditEvent, Task: mine.ID}},
			})
			var claimed *bot.ClaimedError
			switch {
			case err == nil:
				won <- mine.ID
			case !errors.As(err, &claimed):
				t.Error(err)
			}
		})
	}
	group.Wait()
	close(won)
	winner := <-won
	if got, err := s.Claimed(t.Context(), "the same"); len(won) != 0 || err != nil || got != winner {
		t.Errorf("more than one won (%d more), or %q did not (%q %v)", len(won), winner, got, err)
	}
	if n := entries(t, s); n != 1 {
		t.Errorf("%d audit entries of one commit", n)
	}
}

func revisions(t *testing.T, s *held) {
	d := delivery(s, "")
	done := commit(t, s, bot.Commit{Task: task(s, "one"), Deliveries: []bot.Delivery{d}})
	fresh := *done.Task
	fresh.State = bot.TaskRunning
	commit(t, s, bot.Commit{Task: &fresh})
	stale := *done.Task
	stale.State = bot.TaskFailed
	if _, err := s.Commit(t.Context(), bot.Commit{Task: &stale}); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("stale task: %v", err)
	}
	if got, err := s.Task(t.Context(), fresh.ID); err != nil || got.State != bot.TaskRunning || got.Revision != 2 {
		t.Errorf("task is %s at revision %d: %v", got.State, got.Revision, err)
	}
	if _, err := s.Commit(t.Context(), bot.Commit{Deliveries: []bot.Delivery{d}}); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("stale delivery: %v", err)
	}
	sent := done.Deliveries[0]
	sent.Status = bot.DeliverySent
	if got := commit(t, s, bot.Commit{Deliveries: []bot.Delivery{sent}}).Deliveries[0]; got.Revision != 2 {
		t.Errorf("delivery is at revision %d", got.Revision)
	}
}

func steps(t *testing.T, s *held) {
	id := commit(t, s, bot.Commit{Task: task(s, "one")}).Task.ID
	other := commit(t, s, bot.Commit{Task: task(s, "two")}).Task.ID
	step := func(task string, seq uint64) bot.TaskStep {
		return bot.TaskStep{Task: task, Step: bot.Step{Seq: seq, At: s.at(), Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage(`{"n":1}`)}}
	}
	commit(t, s, bot.Commit{Steps: []bot.TaskStep{step(id, 1), step(other, 1), step(id, 2)}})
	commit(t, s, bot.Commit{Steps: []bot.TaskStep{step(id, 3)}})
	for _, wrong := range []uint64{0, 1, 3, 5} {
		if _, err := s.Commit(t.Context(), bot.Commit{Steps: []bot.TaskStep{step(id, wrong)}}); !errors.Is(err, bot.ErrConflict) {
			t.Errorf("step %d after 3: %v", wrong, err)
		}
	}
	got, err := s.Steps(t.Context(), id)
	if err != nil || len(got) != 3 || got[2].Seq != 3 || string(got[2].Data) != `{"n":1}` || !got[2].At.Equal(s.at()) {
		t.Errorf("steps: %+v %v", got, err)
	}
	if got, err := s.Steps(t.Context(), "nobody's"); err != nil || len(got) != 0 {
		t.Errorf("steps of no task: %v %v", got, err)
	}
}

func openSets(t *testing.T, s *held) {
	var want, owed []string
	for i, state := range []bot.TaskState{bot.TaskQueued, bot.TaskDone, bot.TaskRunning, bot.TaskFailed, bot.TaskWaiting, bot.TaskCancelled, bot.TaskRefused} {
		one, d := task(s, fmt.Sprint(i)), delivery(s, "")
		one.State = state
		if i%2 == 1 {
			d.Status = bot.DeliverySent
		}
		commit(t, s, bot.Commit{Task: one, Deliveries: []bot.Delivery{d}})
		if !state.Final() {
			want = append(want, one.ID)
		}
		if i%2 == 0 {
			owed = append(owed, d.ID)
		}
	}
	open, err := s.Open(t.Context())
	if got := s.fresh(open); err != nil || !slices.Equal(got, want) {
		t.Errorf("open: %v, want %v (%v)", got, want, err)
	}
	pending, err := s.Pending(t.Context())
	if got := s.owed(pending); err != nil || !slices.Equal(got, owed) {
		t.Errorf("pending: %v, want %v (%v)", got, owed, err)
	}
}

func taskIDs(tasks []bot.Task) (ids []string) {
	for i := range tasks {
		ids = append(ids, tasks[i].ID)
	}
	return ids
}

func queries(t *testing.T, s *held) {
	var all []string
	for i := range 6 {
		one := task(s, fmt.Sprint(i%2))
		one.Event.Source = fmt.Sprint("message ", i)
		one.Event.Inputs = []bot.InputRef{{Ref: fmt.Sprint("file ", i%3)}}
		one.Created = s.at().Add(time.Duration(i) * time.Hour)
		if i == 5 {
			one.Event.Kind = bot.EventCommand
		}
		if i == 0 {
			one.State = bot.TaskDone
		}
		commit(t, s, bot.Commit{Task: one})
		all = append([]string{one.ID}, all...) // newest first
	}
	since := s.at().Add(3 * time.Hour)
	at := func(is ...int) (ids []string) {
		for _, i := range is {
			ids = append(ids, all[5-i])
		}
		return ids
	}
	for _, test := range []struct {
		name  string
		query bot.TaskQuery
		want  []string
	}{
		{"all", bot.TaskQuery{}, at(4, 3, 2, 1, 0)},
		{"with commands", bot.TaskQuery{Commands: true}, at(5, 4, 3, 2, 1, 0)},
		{"limit", bot.TaskQuery{Limit: 2}, at(4, 3)},
		{"continued", bot.TaskQuery{Limit: 2, Before: all[5-3]}, at(2, 1)},
		{"conversation", bot.TaskQuery{Conversation: "0"}, at(4, 2, 0)},
		{"conversation, continued", bot.TaskQuery{Conversation: "0", Before: all[5-4]}, at(2, 0)},
		{"a conversation's beginning is no conversation", bot.TaskQuery{Conversation: ""}, at(4, 3, 2, 1, 0)},
		{"actor", bot.TaskQuery{Actor: "actor of 1"}, at(3, 1)},
		{"state", bot.TaskQuery{State: bot.TaskDone}, at(0)},
		{"open state", bot.TaskQuery{State: bot.TaskQueued}, at(4, 3, 2, 1)},
		{"message", bot.TaskQuery{Source: "message 2"}, at(2)},
		{"file", bot.TaskQuery{Source: "file 1"}, at(4, 1)},
		{"since", bot.TaskQuery{Since: since}, at(4, 3)},
		{"adapter", bot.TaskQuery{Adapter: "another"}, nil},
		{"nothing", bot.TaskQuery{Conversation: "none"}, nil},
	} {
		got, err := s.Tasks(t.Context(), test.query)
		if err != nil || !slices.Equal(s.fresh(got), test.want) {
			t.Errorf("%s: %v, want %v (%v)", test.name, s.fresh(got), test.want, err)
		}
	}
}

func ids(t *testing.T, s *held) {
	const each = 2000
	lists := make([][]string, 4)
	var group sync.WaitGroup
	for i := range lists {
		group.Go(func() {
			for range each {
				lists[i] = append(lists[i], s.NewID(s.at()))
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, list := range lists {
		if !slices.IsSorted(list) {
			t.Error("ids of one caller do not sort in their order")
		}
		for _, id := range list {
			seen[id] = true
		}
	}
	if len(seen) != each*len(lists) {
		t.Errorf("%d different ids of %d", len(seen), each*len(lists))
	}
	if ancient := s.NewID(time.Time{}); ancient >= s.NewID(s.at()) {
		t.Errorf("the zero time's id %s does not sort first", ancient)
	}
	early, late := s.NewID(s.at()), s.NewID(s.at().Add(time.Millisecond))
	if early >= late || len(early) != len(late) || strings.ToUpper(early) != early {
		t.Errorf("ids do not sort by time: %s %s", early, late)
	}
}

func records(t *testing.T, s *held) {
	ctx := t.Context()
	if _, err := s.Get(ctx, "b", "k"); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	if list, err := s.List(ctx, "b", ""); err != nil || len(list) != 0 {
		t.Errorf("list of nothing: %v %v", list, err)
	}
	first, err := s.Put(ctx, "b", "k", []byte("1"), 0)
	if err != nil || first == 0 {
		t.Fatalf("put: %d %v", first, err)
	}
	if _, err := s.Put(ctx, "b", "k", []byte("2"), 0); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("put over what should be absent: %v", err)
	}
	second, err := s.Put(ctx, "b", "k", []byte("2"), first)
	if err != nil || second == first {
		t.Errorf("put: %d %v", second, err)
	}
	if r, err := s.Get(ctx, "b", "k"); err != nil || string(r.Value) != "2" || r.Revision != second || r.Key != "k" {
		t.Errorf("get: %+v %v", r, err)
	}
	for _, key := range []string{"a/2", "a/1", "b/1"} {
		if _, err := s.Put(ctx, "b", key, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.List(ctx, "b", "a/"); err != nil || len(list) != 2 || list[0].Key != "a/1" {
		t.Errorf("list: %+v %v", list, err)
	}
	for range 2 { // what is gone is gone
		if err := s.Delete(ctx, "b", "k"); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Get(ctx, "b", "k"); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}
