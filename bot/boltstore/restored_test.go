package boltstore_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/bot/storetest"
)

// live works on a store as a bot does, n tasks long or until ctx ends: tasks that
// move on, journals, claims, deliveries, keys of nothing, counts, records, what is
// edited and what is erased.
func live(ctx context.Context, s *boltstore.Store, from, n int) error {
	for i := from; i < from+n && ctx.Err() == nil; i++ {
		if err := lead(s, i); err != nil {
			return err
		}
	}
	return nil
}

// lead takes one task from its event to its end, or to a part of the way there.
func lead(s *boltstore.Store, i int) error {
	ctx, now := context.Background(), time.Now()
	task := bot.Task{
		ID: s.NewID(now), State: bot.TaskQueued, Created: now, Title: fmt.Sprint("task ", i),
		Event: bot.Event{
			Key: fmt.Sprint("live:", i), Actor: bot.Actor{ID: fmt.Sprint("live:actor ", i%5)}, Source: fmt.Sprint("live:source ", i),
			Origin: bot.Origin{Adapter: "live", Conversation: fmt.Sprint("live:c", i%7)},
			Inputs: []bot.InputRef{{Ref: "live:old file"}, {Ref: "live:twice"}, {Ref: "live:twice"}},
		},
	}
	audit := []bot.AuditEntry{{At: now, Kind: bot.AuditEvent, Task: task.ID}}
	done, err := s.Commit(ctx, bot.Commit{
		Keys: []string{task.Event.Key, task.Event.Key + " again"}, Task: &task, Audit: audit,
		Counts: []bot.Count{{Key: fmt.Sprint("live:day ", i%3)}},
	})
	if err != nil {
		return err
	}
	move := func(c bot.Commit, change func(*bot.Task)) {
		if err != nil {
			return
		}
		next := *done.Task
		change(&next)
		c.Task = &next
		done, err = s.Commit(ctx, c)
	}
	move(bot.Commit{}, func(t *bot.Task) { // an edit takes a file away
		t.Event.Inputs = []bot.InputRef{{Ref: fmt.Sprint("live:file ", i)}}
	})
	move(bot.Commit{Audit: audit}, func(t *bot.Task) {
		t.State, t.Started, t.Claim = bot.TaskRunning, now, &bot.Claim{Life: "live", Until: now.Add(time.Minute)}
		t.Inputs = []bot.Input{{Name: "f", Source: fmt.Sprint("live:pinned ", i)}}
	})
	for seq := range uint64(1 + i%4) {
		step := bot.Step{Seq: seq + 1, At: now, Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage(`{"n":1}`)}
		if err == nil {
			_, err = s.Commit(ctx, bot.Commit{Holder: &bot.Holder{Task: task.ID, Life: "live"}, Steps: []bot.TaskStep{{Task: task.ID, Step: step}}})
		}
	}
	if err != nil || i%4 == 0 {
		return err // left running
	}
	owed := bot.Delivery{ID: s.NewID(now), Task: task.ID, Kind: bot.DeliverAnswer, Status: bot.DeliveryPending, Created: now}
	notice := bot.Delivery{ID: s.NewID(now), Kind: bot.DeliverNotice, Status: bot.DeliveryPending, Created: now}
	move(bot.Commit{Audit: audit, Keys: []string{}, Deliveries: []bot.Delivery{owed, notice}}, func(t *bot.Task) {
		t.State, t.Ended, t.Claim = bot.TaskDone, now, nil
	})
	if err == nil && i%3 == 0 {
		sent := done.Deliveries[0]
		sent.Status = bot.DeliverySent
		_, err = s.Commit(ctx, bot.Commit{Keys: []string{fmt.Sprint("live:of nothing ", i)}, Deliveries: []bot.Delivery{sent}})
	}
	if err == nil {
		_, err = s.Put(ctx, "live", fmt.Sprint(i), []byte(`{"at":1}`), 0)
	}
	if err == nil && i%5 == 0 {
		err = s.Erase(ctx, bot.Erasure{Task: task.ID, Audit: []bot.AuditEntry{{At: now, Kind: bot.AuditErase, Task: task.ID}}})
	}
	return err
}

// copyUnderLoad takes a copy of a store that is being worked on, its audit
// pruned, and returns its path with what had been acknowledged before.
func copyUnderLoad(t *testing.T) (path string, before []string, key ed25519.PublicKey) {
	t.Helper()
	s := open(t, t.TempDir())
	const some = 15 // each history looks at all of them after each of its steps
	if err := live(t.Context(), s, 0, some); err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Audit(t.Context(), some/2) {
		if err == nil {
			err = s.Prune(t.Context(), bot.Checkpoint{Seq: e.Seq, Hash: e.Hash, At: time.Now()}.Sign(private))
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	loaded, end := context.WithCancel(t.Context())
	defer end()
	var load sync.WaitGroup
	begun := make(chan struct{}, 4)
	for worker := range 4 {
		load.Go(func() {
			for i := 1; loaded.Err() == nil; i++ {
				if err := live(loaded, s, (worker+1)*1_000_000+i, 1); err != nil {
					t.Error(err)
					return
				}
				if i == 1 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-begun
	}
	tasks, err := s.Tasks(t.Context(), bot.TaskQuery{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		if tasks[i].State != bot.TaskDone { // which may be erased by now
			before = append(before, tasks[i].ID)
		}
	}
	path = filepath.Join(t.TempDir(), "sandpiper.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Backup(t.Context(), f)
	end()
	load.Wait()
	if err := errors.Join(err, f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return path, before, public
}

// TestACopyUnderLoadConforms puts a copy that was taken from a store at work
// through all that a store promises, beside what it holds.
func TestACopyUnderLoadConforms(t *testing.T) {
	path, before, key := copyUnderLoad(t)
	dir, _ := copied(t, path)
	s := open(t, dir)
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	chain, err := bot.VerifyAudit(t.Context(), s, key)
	if err != nil || chain.Checkpoint.Seq == 0 || chain.Last == 0 {
		t.Errorf("audit: %+v %v", chain, err)
	}
	if len(before) == 0 {
		t.Error("nothing was acknowledged before")
	}
	for _, id := range before {
		if _, err := s.Task(t.Context(), id); err != nil {
			t.Errorf("acknowledged before the copy began: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Store(t, func(dir string) (storetest.Opened, error) {
		to := filepath.Join(dir, "sandpiper.db")
		if _, err := os.Stat(to); errors.Is(err, os.ErrNotExist) {
			body, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(to, body, 0o600)
			}
			if err != nil {
				return storetest.Opened{}, err
			}
		}
		s, err := boltstore.Open(boltstore.Options{Dir: dir})
		if err != nil {
			return storetest.Opened{}, err
		}
		closed := func() error { return errors.Join(s.Verify(context.Background()), s.Close()) }
		return storetest.Opened{Store: s, Close: closed, Key: key}, nil
	})
}

// TestVerifyFindsWhatPagesDoNotTell spoils a copy in every way that leaves its
// pages whole: an entry is taken from each bucket, or one too many is put in.
func TestVerifyFindsWhatPagesDoNotTell(t *testing.T) {
	path, _, _ := copyUnderLoad(t)
	random := rand.New(rand.NewPCG(5, 8))
	take := func(bucket, prefix string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			var keys [][]byte
			var before []byte
			// What has something of its kind behind it: the last step of a journal,
			// and the last audit entry, leave no gap.
			err := b.ForEach(func(k, _ []byte) error {
				counted := bucket == "steps" || bucket == "audit"
				if !strings.HasPrefix(string(k), prefix) {
					return nil
				}
				if before != nil && (!counted || bytes.Equal(before[:len(before)-8], k[:len(k)-8])) {
					keys = append(keys, before)
				}
				before = k
				return nil
			})
			if len(keys) == 0 {
				return fmt.Errorf("bucket %s has too few entries of %q (%w)", bucket, prefix, err)
			}
			return b.Delete(keys[random.IntN(len(keys))])
		}
	}
	change := func(bucket, from, to string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			c := b.Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				if changed := strings.Replace(string(v), from, to, 1); changed != string(v) {
					return b.Put(k, []byte(changed))
				}
			}
			return fmt.Errorf("bucket %s holds no %q", bucket, from)
		}
	}
	add := func(bucket, key, value string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(key), []byte(value)) }
	}
	nobody := "0000000000000000000000NONE"
	for name, spoil := range map[string]func(*bolt.Tx) error{
		"a task is lost":                   take("tasks", ""),
		"an open task is forgotten":        take("open", ""),
		"a step is lost":                   take("steps", ""),
		"a key is lost":                    take("keys", ""),
		"a delivery is lost":               take("deliveries", ""),
		"an owed delivery is forgotten":    take("pending", ""),
		"an audit entry is lost":           take("audit", ""),
		"a conversation loses a task":      take("index", "c"),
		"an actor loses a task":            take("index", "a"),
		"a message loses its task":         take("index", "s"),
		"a task loses a delivery":          take("index", "d"),
		"a task loses a key":               take("index", "k"),
		"a notice is lost to retention":    take("index", "u"),
		"an ended task is open":            change("tasks", `"state":"running"`, `"state":"done"`),
		"a task changed its conversation":  change("tasks", `live:c1`, `live:c2`),
		"a task is another":                change("tasks", `"task":"0`, `"task":"1`),
		"a task is no JSON":                change("tasks", `{`, `[`),
		"a delivery ended and is owed":     change("deliveries", `"status":"pending"`, `"status":"sent"`),
		"a delivery is another task's":     change("deliveries", `"task":"0`, `"task":"1`),
		"a step calls itself another":      change("steps", `"seq":1`, `"seq":2`),
		"an audit entry calls itself more": change("audit", `"seq":`, `"seq":9`),
		"a key of a task that is not":      add("keys", "new", "12345678"+nobody),
		"a step of no task":                add("steps", nobody+"\x00\x00\x00\x00\x00\x00\x00\x01", `{"seq":1}`),
		"an open task that is not":         add("open", nobody, ""),
		"an owed delivery that is not":     add("pending", nobody, ""),
		"an index to no task":              add("index", "c0123456789abcdef"+nobody, ""),
		"an index to no key":               add("index", "k"+nobody+"no key", ""),
		"an index of no kind":              add("index", "x", ""),
		"an unfinished index":              add("index", "u1", ""),
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := copied(t, path)
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(spoil), db.Close()); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			defer s.Close()
			var damaged *boltstore.DamagedError
			if err := s.Verify(t.Context()); !errors.As(err, &damaged) {
				t.Errorf("verify: %v", err)
			} else {
				t.Log(damaged.Reason)
			}
		})
	}
}
