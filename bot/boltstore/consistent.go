package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// idLength is the length of every id that NewID gives.
const idLength = 26

// inconsistentError is the first thing that does not agree.
type inconsistentError struct{ reason string }

// Error implements error.
func (e *inconsistentError) Error() string { return e.reason }

func inconsistent(format string, args ...any) error {
	return &inconsistentError{fmt.Sprintf(format, args...)}
}

// consistent checks that what the buckets say of each other is true: pages that
// are whole can still hold a task that no index leads to.
func consistent(ctx context.Context, tx *bolt.Tx) error {
	c := &census{ctx: ctx, tx: tx}
	for _, look := range []func() error{c.tasks, c.steps, c.deliveries, c.keys, c.index, c.audit, c.records} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

// census goes through one transaction's view.
type census struct {
	ctx  context.Context //nolint:containedctx // lives for one walk
	tx   *bolt.Tx
	lead int // index entries that must be there
}

// each visits a bucket's entries, until the context ends.
func (c *census) each(bucket string, visit func(k, v []byte) error) error {
	n := 0
	return c.tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		if n++; n%page == 0 {
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		return visit(k, v)
	})
}

func (c *census) has(bucket string, key []byte) bool {
	k, _ := c.tx.Bucket([]byte(bucket)).Cursor().Seek(key)
	return bytes.Equal(k, key)
}

// leads counts an index entry and reports whether it is there.
func (c *census) leads(key []byte) bool {
	c.lead++
	return c.has(bucketIndex, key)
}

// set checks that a bucket that is a set has an id, or has it not.
func (c *census) set(bucket string, id []byte, in bool) error {
	switch has := c.has(bucket, id); {
	case in && !has:
		return inconsistent("%s is not in the set %s", id, bucket)
	case has && !in:
		return inconsistent("%s has ended and is in the set %s", id, bucket)
	}
	return nil
}

// members checks that a set holds nothing that is not in its bucket.
func (c *census) members(set, bucket string) error {
	return c.each(set, func(id, _ []byte) error {
		if !c.has(bucket, id) {
			return inconsistent("the set %s holds %q, which is not in %s", set, id, bucket)
		}
		return nil
	})
}

func (c *census) tasks() error {
	err := c.each(bucketTasks, func(id, v []byte) error {
		var t bot.Task
		if err := json.Unmarshal(v, &t); err != nil {
			return inconsistent("task %q cannot be read", id)
		}
		if t.ID != string(id) || t.Revision == 0 {
			return inconsistent("task %q calls itself %q at revision %d", id, t.ID, t.Revision)
		}
		for _, key := range distinct(taskIndex(&t)) {
			if !c.leads(key) {
				return inconsistent("the index of kind %c does not lead to task %s", key[0], id)
			}
		}
		return c.set(bucketOpen, id, !t.State.Final())
	})
	if err != nil {
		return err
	}
	return c.members(bucketOpen, bucketTasks)
}

// steps checks that each journal belongs to a task and has no gap: the number
// of the next step follows from the last one's.
func (c *census) steps() error {
	var task []byte
	var last uint64
	return c.each(bucketSteps, func(k, v []byte) error {
		if len(k) <= 8 {
			return inconsistent("step %q has no task", k)
		}
		id, seq := k[:len(k)-8], binary.BigEndian.Uint64(k[len(k)-8:])
		if !bytes.Equal(id, task) {
			task, last = bytes.Clone(id), 0
			if !c.has(bucketTasks, id) {
				return inconsistent("a step belongs to task %q, which is not there", id)
			}
		}
		var step bot.Step
		if err := json.Unmarshal(v, &step); err != nil {
			return inconsistent("step %d of task %s cannot be read", seq, id)
		}
		if last++; seq != last || step.Seq != seq {
			return inconsistent("task %s has step %d, which calls itself %d, where %d is due", id, seq, step.Seq, last)
		}
		return nil
	})
}

func (c *census) deliveries() error {
	err := c.each(bucketDeliveries, func(id, v []byte) error {
		var d bot.Delivery
		if err := json.Unmarshal(v, &d); err != nil {
			return inconsistent("delivery %q cannot be read", id)
		}
		if d.ID != string(id) || d.Revision == 0 {
			return inconsistent("delivery %q calls itself %q at revision %d", id, d.ID, d.Revision)
		}
		if d.Task != "" && !c.has(bucketTasks, []byte(d.Task)) {
			return inconsistent("delivery %s belongs to task %q, which is not there", id, d.Task)
		}
		if !c.leads(deliveryLead(&d)) {
			return inconsistent("no index leads to delivery %s", id)
		}
		return c.set(bucketPending, id, !d.Status.Final())
	})
	if err != nil {
		return err
	}
	return c.members(bucketPending, bucketDeliveries)
}

func (c *census) keys() error {
	return c.each(bucketKeys, func(key, v []byte) error {
		if len(v) < 8 {
			return inconsistent("event key %q has no time", key)
		}
		owner := string(v[8:])
		if owner != "" && !c.has(bucketTasks, []byte(owner)) {
			return inconsistent("event key %q belongs to task %q, which is not there", key, owner)
		}
		if !c.leads(keyLead(v, string(key))) {
			return inconsistent("no index leads to event key %q of task %q", key, owner)
		}
		return nil
	})
}

// index looks for entries beyond those that must be there: each leads to
// something that is gone, or that says otherwise.
func (c *census) index() error {
	n := 0
	err := c.each(bucketIndex, func([]byte, []byte) error { n++; return nil })
	if err != nil || n == c.lead {
		return err
	}
	err = c.each(bucketIndex, func(key, _ []byte) error {
		if !c.warranted(key) {
			return inconsistent("the index has an entry of kind %q that leads nowhere", key[:1])
		}
		return nil
	})
	if err == nil {
		err = inconsistent("the index has %d entries where %d are due", n, c.lead)
	}
	return err
}

// warranted reports whether what an index entry leads to knows of it.
func (c *census) warranted(key []byte) bool {
	tail := func() []byte { return key[max(1, len(key)-idLength):] }
	switch key[0] {
	case byConversation, byActor, bySource:
		var t bot.Task
		ok, err := get(c.tx, bucketTasks, tail(), &t)
		return err == nil && ok && contains(taskIndex(&t), key)
	case byTask:
		return c.warrantedDelivery(tail(), key)
	case byOwner:
		return len(key) > 1+idLength && c.warrantedKey(key[1+idLength:], key)
	case loose:
		const head = 1 + 8 + 1 // kind, time, what
		switch {
		case len(key) < head:
			return false
		case key[head-1] == 'd':
			return c.warrantedDelivery(key[head:], key)
		default:
			return c.warrantedKey(key[head:], key)
		}
	default:
		return false
	}
}

func (c *census) warrantedDelivery(id, key []byte) bool {
	var d bot.Delivery
	ok, err := get(c.tx, bucketDeliveries, id, &d)
	return err == nil && ok && bytes.Equal(deliveryLead(&d), key)
}

func (c *census) warrantedKey(eventKey, key []byte) bool {
	v := c.tx.Bucket([]byte(bucketKeys)).Get(eventKey)
	return len(v) >= 8 && bytes.Equal(keyLead(v, string(eventKey)), key)
}

// audit checks that the entries are numbered without a gap from the checkpoint
// on; whether they follow from each other is bot.VerifyAudit's to say.
func (c *census) audit() error {
	var from bot.Checkpoint
	if _, err := get(c.tx, bucketMeta, []byte(keyCheckpoint), &from); err != nil {
		return inconsistent("the audit's checkpoint cannot be read")
	}
	last := from.Seq
	return c.each(bucketAudit, func(k, v []byte) error {
		var e bot.AuditEntry
		if err := json.Unmarshal(v, &e); err != nil || len(k) != 8 {
			return inconsistent("audit entry %x cannot be read", k)
		}
		if last++; binary.BigEndian.Uint64(k) != last || e.Seq != last {
			return inconsistent("audit entry %x calls itself %d where %d is due", k, e.Seq, last)
		}
		return nil
	})
}

func (c *census) records() error {
	records := c.tx.Bucket([]byte(bucketRecords))
	return records.ForEach(func(name, v []byte) error {
		if v != nil {
			return inconsistent("record bucket %q is a value", name)
		}
		return records.Bucket(name).ForEach(func(k, v []byte) error {
			if len(v) < 8 || binary.BigEndian.Uint64(v) == 0 {
				return inconsistent("record %s/%q has no revision", name, k)
			}
			if string(name) != bot.CountBucket {
				return nil
			}
			if n, _, err := counted(c.tx, string(k)); err != nil || n < 0 {
				return inconsistent("count %q reads %q", k, v[8:])
			}
			return nil
		})
	})
}

// distinct drops keys that come again: a file may be named twice.
func distinct(keys [][]byte) (out [][]byte) {
	for _, key := range keys {
		if !contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

func contains(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// damaged says of an inconsistency what DamagedError says of a file.
func damaged(path string, err error) error {
	var wrong *inconsistentError
	if errors.As(err, &wrong) {
		return &DamagedError{Path: path, Reason: wrong.reason}
	}
	return err
}
