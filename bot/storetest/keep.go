package storetest

import (
	"bytes"
	"context"
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

func audit(t *testing.T, s *held) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1200
	for i := range n {
		commit(t, s, bot.Commit{Audit: []bot.AuditEntry{{At: s.at(), Kind: bot.AuditEvent, Task: fmt.Sprint(i), Data: json.RawMessage(`{"n": 1}`)}}})
	}
	chain, err := bot.VerifyAudit(t.Context(), s, s.key)
	if err != nil || chain.First > s.last()+1 || chain.Last != s.last()+n {
		t.Fatalf("chain: %+v %v", chain, err)
	}
	var half bot.AuditEntry
	for e, err := range s.Audit(t.Context(), s.last()+n/2-1) {
		if err != nil {
			t.Fatal(err)
		}
		half = e
		break
	}
	if err := s.Prune(t.Context(), bot.Checkpoint{Seq: half.Seq, Hash: "another", At: s.at()}.Sign(private)); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("prune at a wrong hash: %v", err)
	}
	if err := s.Prune(t.Context(), bot.Checkpoint{Seq: half.Seq, Hash: half.Hash, At: s.at()}.Sign(private)); err != nil {
		t.Fatal(err)
	}
	chain, err = bot.VerifyAudit(t.Context(), s, public)
	if err != nil || chain.First != half.Seq+1 || chain.Last != s.last()+n || chain.Checkpoint.Seq != half.Seq {
		t.Errorf("pruned chain: %+v %v", chain, err)
	}
	commit(t, s, bot.Commit{Audit: []bot.AuditEntry{{At: s.at(), Kind: bot.AuditEvent}}})
	if chain, err = bot.VerifyAudit(t.Context(), s, public); err != nil || chain.Last != s.last()+n+1 {
		t.Errorf("chain after pruning: %+v %v", chain, err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var broken *bot.BrokenChainError
	if _, err := bot.VerifyAudit(t.Context(), s, other); !errors.As(err, &broken) {
		t.Errorf("checkpoint of a stranger: %v", err)
	}
}

func erase(t *testing.T, s *held) {
	ctx := t.Context()
	gone, stays := task(s, "gone"), task(s, "stays")
	for _, one := range []*bot.Task{gone, stays} {
		*one = *commit(t, s, bot.Commit{
			Keys: []string{one.Event.Key}, Task: one, Deliveries: []bot.Delivery{delivery(s, one.ID)},
			Steps: []bot.TaskStep{{Task: one.ID, Step: bot.Step{Seq: 1}}},
		}).Task
	}
	if err := s.Erase(ctx, bot.Erasure{Task: gone.ID}); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("erase an open task: %v", err)
	}
	gone.State = bot.TaskDone
	commit(t, s, bot.Commit{Task: gone})
	if err := s.Erase(ctx, bot.Erasure{Task: gone.ID, Audit: []bot.AuditEntry{{At: s.at(), Kind: bot.AuditErase}}}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Task(ctx, gone.ID)
	_, claim := s.Claimed(ctx, gone.Event.Key)
	steps, err2 := s.Steps(ctx, gone.ID)
	ds, err3 := s.Deliveries(ctx, gone.ID)
	found, err4 := s.Tasks(ctx, bot.TaskQuery{Source: gone.Event.Source})
	pending, err5 := s.Pending(ctx)
	if !errors.Is(err, bot.ErrNotFound) || !errors.Is(claim, bot.ErrNotFound) || len(steps)+len(ds)+len(found) > 0 || len(s.owed(pending)) != 1 || errors.Join(err2, err3, err4, err5) != nil {
		t.Errorf("left: %v %v %d steps, %d deliveries, %d found, %d pending (%v)", err, claim, len(steps), len(ds), len(found), len(s.owed(pending)), errors.Join(err2, err3, err4, err5))
	}
	if steps, err := s.Steps(ctx, stays.ID); err != nil || len(steps) != 1 {
		t.Errorf("the other task lost its steps: %v", err)
	}
	if err := s.Erase(ctx, bot.Erasure{Steps: stays.ID}); err != nil {
		t.Error(err)
	}
	if steps, err := s.Steps(ctx, stays.ID); err != nil || len(steps) != 0 {
		t.Errorf("steps stay: %v %v", steps, err)
	}
	old := delivery(s, "")
	old.Status = bot.DeliverySent
	commit(t, s, bot.Commit{Keys: []string{"old"}, Deliveries: []bot.Delivery{old}})
	if err := s.Erase(ctx, bot.Erasure{Untasked: latest(time.Now(), s.at()).Add(time.Hour)}); err != nil {
		t.Error(err)
	}
	_, err = s.Delivery(ctx, old.ID)
	_, claim = s.Claimed(ctx, "old")
	_, other := s.Claimed(ctx, stays.Event.Key)
	if !errors.Is(err, bot.ErrNotFound) || !errors.Is(claim, bot.ErrNotFound) || other != nil {
		t.Errorf("untasked: delivery %v, key %v, a task's key %v", err, claim, other)
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func references(t *testing.T, s *held) {
	hash := func(n int) string { return strings.Repeat(fmt.Sprintf("%02x", n), 32) }
	for i := range 3 {
		one := task(s, fmt.Sprint(i))
		one.Inputs = []bot.Input{{Blob: hash(10 * i)}}
		if i > 0 {
			one.State, one.Ended = bot.TaskDone, s.at().Add(time.Duration(i)*time.Hour)
		}
		d := delivery(s, one.ID)
		d.Files = []bot.Artifact{{Blob: hash(10*i + 1)}}
		commit(t, s, bot.Commit{Task: one, Deliveries: []bot.Delivery{d}, Steps: []bot.TaskStep{
			{Task: one.ID, Step: bot.Step{Seq: 1, Data: json.RawMessage(`{"any":["` + hash(10*i+2) + `"]}`)}},
		}})
	}
	// Many more tasks behind them, and one reference at the very end.
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 40 {
				if _, err := s.Commit(t.Context(), bot.Commit{Task: task(s, "one of many")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	last := task(s, "last")
	last.ID, last.Title = s.NewID(s.at().Add(time.Hour)), hash(77)
	commit(t, s, bot.Commit{Task: last})
	if _, err := s.Put(t.Context(), "storetest", "report", []byte(`"`+hash(99)+`"`), 0); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for h, err := range s.References(t.Context(), s.at().Add(90*time.Minute)) {
		if err != nil {
			t.Fatal(err)
		}
		found[h] = true
	}
	for n, want := range map[int]bool{0: true, 1: true, 2: true, 10: false, 11: false, 12: false, 20: true, 21: true, 22: true, 77: true, 99: true} {
		if found[hash(n)] != want {
			t.Errorf("content %d is referred to: %v, want %v", n, found[hash(n)], want)
		}
	}
}

func keeping(t *testing.T, s *held) {
	var want []string
	for i := range 50 {
		one := commit(t, s, bot.Commit{Task: task(s, fmt.Sprint(i))}).Task
		if i%2 == 0 {
			one.State = bot.TaskDone
			commit(t, s, bot.Commit{Task: one})
			if err := s.Erase(t.Context(), bot.Erasure{Task: one.ID}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want = append([]string{one.ID}, want...)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Tasks(t.Context(), bot.TaskQuery{})
	if err != nil || !slices.Equal(s.fresh(got), want) {
		t.Errorf("after compaction: %d tasks of %d (%v)", len(s.fresh(got)), len(want), err)
	}
	commit(t, s, bot.Commit{Task: task(s, "after")})
	var copied bytes.Buffer
	if err := s.Backup(t.Context(), &copied); err != nil || copied.Len() == 0 {
		t.Errorf("backup of %d bytes: %v", copied.Len(), err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func ended(t *testing.T, s *held) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Commit(ctx, bot.Commit{Keys: []string{"k"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Claimed(t.Context(), "k"); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("committed nevertheless: %v", err)
	}
	if _, err := s.Tasks(ctx, bot.TaskQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("tasks: %v", err)
	}
}
