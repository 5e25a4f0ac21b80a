package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// keyCheckpoint is the audit chain's beginning in bucketMeta.
const keyCheckpoint = "checkpoint"

// page is how many entries one read transaction hands out: a slow reader must
// not hold a transaction open, which would keep the file growing.
const page = 500

// Audit implements bot.AuditReader.
func (s *Store) Audit(ctx context.Context, after uint64) iter.Seq2[bot.AuditEntry, error] {
	return func(yield func(bot.AuditEntry, error) bool) {
		for {
			entries, err := s.auditPage(ctx, after)
			if err != nil {
				yield(bot.AuditEntry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(entries) < page {
				return
			}
		}
	}
}

func (s *Store) auditPage(ctx context.Context, after uint64) (entries []bot.AuditEntry, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		c := tx.Bucket([]byte(bucketAudit)).Cursor()
		for k, v := c.Seek(number(after + 1)); k != nil && len(entries) < page; k, v = c.Next() {
			var e bot.AuditEntry
			if err := json.Unmarshal(v, &e); err != nil {
				return &bot.BrokenChainError{Seq: binary.BigEndian.Uint64(k), Reason: "it cannot be read"}
			}
			entries = append(entries, e)
		}
		return nil
	})
	return entries, err
}

// Checkpoint implements bot.AuditReader.
func (s *Store) Checkpoint(ctx context.Context) (c bot.Checkpoint, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		_, err := get(tx, bucketMeta, []byte(keyCheckpoint), &c)
		return err
	})
	return c, err
}

// Prune implements bot.AuditReader.
func (s *Store) Prune(ctx context.Context, c bot.Checkpoint) error {
	err := s.write(ctx, func(tx *bolt.Tx) error {
		var last bot.AuditEntry
		ok, err := get(tx, bucketAudit, number(c.Seq), &last)
		if err != nil {
			return err
		}
		if !ok || last.Hash != c.Hash {
			return fmt.Errorf("entry %d does not have this hash: %w", c.Seq, bot.ErrConflict)
		}
		cur := tx.Bucket([]byte(bucketAudit)).Cursor()
		for k, _ := cur.First(); k != nil && binary.BigEndian.Uint64(k) <= c.Seq; k, _ = cur.First() {
			if err := cur.Delete(); err != nil {
				return err
			}
		}
		return put(tx, bucketMeta, []byte(keyCheckpoint), c)
	})
	if err != nil {
		return fmt.Errorf("prune audit: %w", err)
	}
	return nil
}

// Erase implements bot.Keeper.
func (s *Store) Erase(ctx context.Context, e bot.Erasure) error {
	err := s.write(ctx, func(tx *bolt.Tx) error {
		if e.Task != "" {
			if err := eraseTask(tx, e.Task); err != nil {
				return err
			}
		}
		if e.Steps != "" {
			if err := dropPrefix(tx, bucketSteps, []byte(e.Steps)); err != nil {
				return err
			}
		}
		if !e.Untasked.IsZero() {
			if err := eraseUntasked(tx, e.Untasked); err != nil {
				return err
			}
		}
		_, err := seal(tx, e.Audit)
		return err
	})
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	return nil
}

func eraseTask(tx *bolt.Tx, id string) error {
	var t bot.Task
	if err := find(tx, bucketTasks, id, &t); err != nil {
		return err
	}
	if !t.State.Final() {
		return fmt.Errorf("task %s has not ended: %w", id, bot.ErrConflict)
	}
	index := tx.Bucket([]byte(bucketIndex))
	for _, key := range taskIndex(&t) {
		if err := index.Delete(key); err != nil {
			return err
		}
	}
	owned := ownedKey(id, "")
	for _, k := range prefixed(tx, bucketIndex, owned) {
		if err := tx.Bucket([]byte(bucketKeys)).Delete(k[len(owned):]); err != nil {
			return err
		}
	}
	deliveries := indexPrefix(byTask, id)
	for _, k := range prefixed(tx, bucketIndex, deliveries) {
		for _, bucket := range []string{bucketDeliveries, bucketPending} {
			if err := tx.Bucket([]byte(bucket)).Delete(k[len(deliveries):]); err != nil {
				return err
			}
		}
	}
	for _, prefix := range [][]byte{owned, deliveries} {
		if err := dropPrefix(tx, bucketIndex, prefix); err != nil {
			return err
		}
	}
	if err := dropPrefix(tx, bucketSteps, []byte(id)); err != nil {
		return err
	}
	return tx.Bucket([]byte(bucketTasks)).Delete([]byte(id))
}

// eraseUntasked removes old keys and ended deliveries that no task owns.
func eraseUntasked(tx *bolt.Tx, before time.Time) error {
	const head = 1 + 8 + 1 // kind, time, what
	for _, lead := range prefixed(tx, bucketIndex, []byte{loose}) {
		if int64(binary.BigEndian.Uint64(lead[1:])) >= before.Unix() {
			break // they sort by time
		}
		id, bucket := lead[head:], bucketKeys
		if lead[head-1] == 'd' {
			bucket = bucketDeliveries
			var d bot.Delivery
			if ok, err := get(tx, bucketDeliveries, id, &d); err != nil {
				return err
			} else if ok && !d.Status.Final() {
				continue
			}
		}
		if err := tx.Bucket([]byte(bucket)).Delete(id); err != nil {
			return err
		}
		if err := tx.Bucket([]byte(bucketIndex)).Delete(lead); err != nil {
			return err
		}
	}
	return nil
}

// prefixed copies the keys that start with prefix.
func prefixed(tx *bolt.Tx, bucket string, prefix []byte) (keys [][]byte) {
	c := tx.Bucket([]byte(bucket)).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return keys
}

func dropPrefix(tx *bolt.Tx, bucket string, prefix []byte) error {
	for _, k := range prefixed(tx, bucket, prefix) {
		if err := tx.Bucket([]byte(bucket)).Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// References implements bot.Keeper. It does not know which fields hold hashes:
// every run of 64 hex digits in what is stored counts, so that a reference in a
// step's own JSON or in a record keeps its content too.
func (s *Store) References(ctx context.Context, since time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var after []byte
		for first := true; first || after != nil; first = false {
			var found []string
			collect := func(body []byte) { found = append(found, bot.HashesIn(body)...) }
			err := s.view(ctx, func(tx *bolt.Tx) (err error) {
				if first {
					if err := recordValues(tx, collect); err != nil {
						return err
					}
				}
				after, err = referencesPage(tx, after, since, collect)
				return err
			})
			if err != nil {
				yield("", err)
				return
			}
			for _, h := range found {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

// referencesPage visits what a page of tasks holds and returns the id that the
// next one follows; nil at the end.
func referencesPage(tx *bolt.Tx, after []byte, since time.Time, visit func([]byte)) ([]byte, error) {
	c := tx.Bucket([]byte(bucketTasks)).Cursor()
	id, v := c.First()
	if after != nil {
		if id, v = c.Seek(after); bytes.Equal(id, after) {
			id, v = c.Next()
		}
	}
	for n := 0; id != nil; id, v = c.Next() {
		var t struct {
			Ended time.Time `json:"ended"`
		}
		if err := json.Unmarshal(v, &t); err != nil {
			return nil, fmt.Errorf("decode task: %w", err)
		}
		if t.Ended.IsZero() || !t.Ended.Before(since) {
			visit(v)
			taskValues(tx, id, visit)
		}
		if n++; n == page {
			return bytes.Clone(id), nil
		}
	}
	return nil, nil
}

// taskValues visits the steps and deliveries of a task.
func taskValues(tx *bolt.Tx, id []byte, visit func([]byte)) {
	c := tx.Bucket([]byte(bucketSteps)).Cursor()
	for k, v := c.Seek(id); k != nil && bytes.HasPrefix(k, id); k, v = c.Next() {
		visit(v)
	}
	prefix := indexPrefix(byTask, string(id))
	for _, k := range prefixed(tx, bucketIndex, prefix) {
		visit(tx.Bucket([]byte(bucketDeliveries)).Get(k[len(prefix):]))
	}
}

func recordValues(tx *bolt.Tx, visit func([]byte)) error {
	records := tx.Bucket([]byte(bucketRecords))
	return records.ForEachBucket(func(name []byte) error {
		return records.Bucket(name).ForEach(func(_, v []byte) error {
			visit(v[8:])
			return nil
		})
	})
}

// Backup implements bot.Keeper.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	err := s.view(ctx, func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	return nil
}

// Check implements bot.Keeper: it commits a small value, which finds a full
// disk, and reads the chain's head.
func (s *Store) Check(ctx context.Context) error {
	err := s.write(ctx, func(tx *bolt.Tx) error {
		if _, _, err := chainHead(tx); err != nil {
			return err
		}
		return tx.Bucket([]byte(bucketMeta)).Put([]byte("checked"), number(uint64(s.clock.Now().Unix())))
	})
	if err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	return nil
}

// Verify walks every page of the file and everything in it, and fails with a
// *DamagedError at the first that is wrong: a page, a task that no index leads
// to, a journal with a gap. It reads the whole file: for doctor and restore, not
// for each start.
func (s *Store) Verify(ctx context.Context) error {
	return s.view(ctx, func(tx *bolt.Tx) error {
		var first error
		for err := range tx.Check() { // drained, or its goroutine stays
			if first == nil {
				first = &DamagedError{Path: s.path(), Reason: err.Error()}
			}
		}
		if first != nil {
			return first
		}
		return damaged(s.path(), consistent(ctx, tx))
	})
}

// Compact implements bot.Keeper: it copies what is alive into a new file and
// puts that in place of the old one. Everything else waits meanwhile.
func (s *Store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.swap.Lock()
	defer s.swap.Unlock()
	next := s.path() + ".compact"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("compact store: %w", err)
	}
	dst, err := bolt.Open(next, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, Timeout: lockWait})
	if err != nil {
		return fmt.Errorf("compact store: %w", writeError(err))
	}
	defer os.Remove(next) // gone after the rename
	const txSize = 1 << 20
	err = bolt.Compact(dst, s.db, txSize)
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return fmt.Errorf("compact store: %w", writeError(err))
	}
	if err := os.Rename(next, s.path()); err != nil {
		return fmt.Errorf("compact store: %w", writeError(err))
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	old := s.db
	if s.db, err = openFile(s.path()); err != nil {
		s.db = old
		return fmt.Errorf("compact store: %w", err)
	}
	return old.Close()
}
