package boltstore

import (
	"context"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Commit implements bot.Committer.
//
// A commit that is refused writes nothing and reports so beside the
// transaction, not through it: an error would undo and repeat the commits of
// everybody who shares the fsync.
func (s *Store) Commit(ctx context.Context, c bot.Commit) (bot.Commit, error) {
	var done bot.Commit
	var refused error
	err := s.write(ctx, func(tx *bolt.Tx) error {
		if refused = expected(tx, c); refused != nil {
			return nil
		}
		var err error
		done, err = s.apply(tx, c)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return bot.Commit{}, fmt.Errorf("commit: %w", err)
	}
	return done, nil
}

// expected checks everything that c builds upon, and writes nothing.
func expected(tx *bolt.Tx, c bot.Commit) error {
	for _, key := range c.Keys {
		if v := tx.Bucket([]byte(bucketKeys)).Get([]byte(key)); v != nil {
			return &bot.ClaimedError{Key: key, Task: string(v[8:])}
		}
	}
	if c.Task != nil {
		if err := atRevision(tx, bucketTasks, c.Task.ID, c.Task.Revision); err != nil {
			return err
		}
	}
	for i := range c.Deliveries {
		if err := atRevision(tx, bucketDeliveries, c.Deliveries[i].ID, c.Deliveries[i].Revision); err != nil {
			return err
		}
	}
	if c.Holder != nil {
		if err := heldBy(tx, *c.Holder); err != nil {
			return err
		}
	}
	for _, count := range c.Counts {
		n, _, err := counted(tx, count.Key)
		if err != nil {
			return err
		}
		if count.Most > 0 && n >= count.Most {
			return &bot.CountError{Count: count}
		}
	}
	return inOrder(tx, c)
}

// inOrder checks that steps count on from what their tasks have.
func inOrder(tx *bolt.Tx, c bot.Commit) error {
	last := map[string]uint64{}
	for _, step := range c.Steps {
		if _, ok := last[step.Task]; !ok {
			last[step.Task] = lastStep(tx, step.Task)
		}
		last[step.Task]++
		if step.Step.Seq != last[step.Task] {
			return fmt.Errorf("step %d of task %s where %d is next: %w", step.Step.Seq, step.Task, last[step.Task], bot.ErrConflict)
		}
	}
	return nil
}

// atRevision checks that what is stored is at the revision (0: absent).
func atRevision(tx *bolt.Tx, bucket, id string, revision uint64) error {
	var stored struct {
		Revision uint64 `json:"revision"`
	}
	if _, err := get(tx, bucket, []byte(id), &stored); err != nil {
		return err
	}
	if stored.Revision != revision {
		return fmt.Errorf("%s %s is at revision %d, not %d: %w", bucket, id, stored.Revision, revision, bot.ErrConflict)
	}
	return nil
}

// heldBy checks that a life has the task's claim.
func heldBy(tx *bolt.Tx, holder bot.Holder) error {
	var stored struct {
		Claim bot.Claim `json:"claim"`
	}
	if _, err := get(tx, bucketTasks, []byte(holder.Task), &stored); err != nil {
		return err
	}
	if stored.Claim.Life == "" || stored.Claim.Life != holder.Life {
		return fmt.Errorf("task %s is claimed by another life: %w", holder.Task, bot.ErrConflict)
	}
	return nil
}

// lastStep returns the number of a task's newest step.
func lastStep(tx *bolt.Tx, task string) uint64 {
	c := tx.Bucket([]byte(bucketSteps)).Cursor()
	k, _ := c.Seek(stepKey(task, ^uint64(0)))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if len(k) != len(task)+8 || string(k[:len(task)]) != task {
		return 0
	}
	return binary.BigEndian.Uint64(k[len(task):])
}

// apply writes c, whose expectations hold. It leaves the caller's values alone,
// because it may run again.
func (s *Store) apply(tx *bolt.Tx, c bot.Commit) (bot.Commit, error) {
	done := c
	owner := ""
	if c.Task != nil {
		task := *c.Task
		task.Revision++
		owner = task.ID
		done.Task = &task
		if err := putTask(tx, &task); err != nil {
			return done, err
		}
	}
	claim := append(number(uint64(max(s.clock.Now().Unix(), 0))), owner...)
	for _, key := range c.Keys {
		if err := tx.Bucket([]byte(bucketKeys)).Put([]byte(key), claim); err != nil {
			return done, fmt.Errorf("claim key: %w", err)
		}
		if err := tx.Bucket([]byte(bucketIndex)).Put(keyLead(claim, key), nil); err != nil {
			return done, fmt.Errorf("claim key: %w", err)
		}
	}
	for _, count := range c.Counts {
		if err := raise(tx, count.Key); err != nil {
			return done, err
		}
	}
	for _, step := range c.Steps {
		if err := put(tx, bucketSteps, stepKey(step.Task, step.Step.Seq), step.Step); err != nil {
			return done, err
		}
	}
	done.Deliveries = nil
	for _, d := range c.Deliveries {
		d.Revision++
		if err := putDelivery(tx, &d); err != nil {
			return done, err
		}
		done.Deliveries = append(done.Deliveries, d)
	}
	sealed, err := seal(tx, c.Audit)
	done.Audit = sealed
	return done, err
}

func putTask(tx *bolt.Tx, t *bot.Task) error {
	id := []byte(t.ID)
	var before bot.Task
	had, err := get(tx, bucketTasks, id, &before)
	if err != nil {
		return err
	}
	if err := put(tx, bucketTasks, id, t); err != nil {
		return err
	}
	index, keys := tx.Bucket([]byte(bucketIndex)), taskIndex(t)
	if had {
		for _, key := range taskIndex(&before) {
			if contains(keys, key) {
				continue
			}
			// A file that an edit took away leads to the task no more.
			if err := index.Delete(key); err != nil {
				return fmt.Errorf("index task: %w", err)
			}
		}
	}
	for _, key := range keys {
		if err := index.Put(key, nil); err != nil {
			return fmt.Errorf("index task: %w", err)
		}
	}
	return mark(tx, bucketOpen, id, !t.State.Final())
}

func putDelivery(tx *bolt.Tx, d *bot.Delivery) error {
	id := []byte(d.ID)
	if err := put(tx, bucketDeliveries, id, d); err != nil {
		return err
	}
	if err := tx.Bucket([]byte(bucketIndex)).Put(deliveryLead(d), nil); err != nil {
		return fmt.Errorf("index delivery: %w", err)
	}
	return mark(tx, bucketPending, id, !d.Status.Final())
}

// mark keeps or drops id in a bucket that is a set.
func mark(tx *bolt.Tx, bucket string, id []byte, in bool) error {
	b := tx.Bucket([]byte(bucket))
	if in {
		return b.Put(id, nil)
	}
	return b.Delete(id)
}

// seal appends entries to the audit chain.
func seal(tx *bolt.Tx, entries []bot.AuditEntry) ([]bot.AuditEntry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	seq, prev, err := chainHead(tx)
	if err != nil {
		return nil, err
	}
	sealed := make([]bot.AuditEntry, 0, len(entries))
	for _, e := range entries {
		seq++
		if e, err = e.Seal(seq, prev); err != nil {
			return nil, err
		}
		if err := put(tx, bucketAudit, number(seq), e); err != nil {
			return nil, err
		}
		prev = e.Hash
		sealed = append(sealed, e)
	}
	return sealed, nil
}

// chainHead returns number and hash of the newest audit entry.
func chainHead(tx *bolt.Tx) (uint64, string, error) {
	k, _ := tx.Bucket([]byte(bucketAudit)).Cursor().Last()
	if k == nil {
		var c bot.Checkpoint
		_, err := get(tx, bucketMeta, []byte(keyCheckpoint), &c)
		return c.Seq, c.Hash, err
	}
	var e bot.AuditEntry
	_, err := get(tx, bucketAudit, k, &e)
	return e.Seq, e.Hash, err
}
