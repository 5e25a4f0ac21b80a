package boltstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// The buckets. Keys that are ids sort by time.
const (
	bucketMeta       = "meta"       // "version" -> 8 bytes; "checkpoint" -> bot.Checkpoint
	bucketTasks      = "tasks"      // id -> bot.Task
	bucketOpen       = "open"       // id of a task that has not ended -> nothing
	bucketSteps      = "steps"      // task id, seq (8 bytes) -> bot.Step
	bucketKeys       = "keys"       // event key -> Unix time (8 bytes), task id
	bucketDeliveries = "deliveries" // id -> bot.Delivery
	bucketPending    = "pending"    // id of a delivery that has not ended -> nothing
	bucketIndex      = "index"      // what leads to an id, see the kinds below -> nothing
	bucketAudit      = "audit"      // seq (8 bytes) -> bot.AuditEntry
	bucketRecords    = "records"    // a bucket each: key -> revision (8 bytes), value
)

// buckets lists all of them.
func buckets() []string {
	return []string{
		bucketMeta, bucketTasks, bucketOpen, bucketSteps, bucketKeys, bucketDeliveries,
		bucketPending, bucketIndex, bucketAudit, bucketRecords,
	}
}

// NewerError says that a later Sandpiper wrote the database.
type NewerError struct {
	Path        string
	Have, Known uint64
}

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the database %s has schema %d and this sandpiper knows up to %d: use the newer sandpiper, or restore a backup of the older one", e.Path, e.Have, e.Known)
}

// migrations holds the step from each version to the next: migrations()[0]
// makes version 1 of an empty file. This code reads and writes the version that
// the last step makes.
func migrations() []func(*bolt.Tx) error {
	return []func(*bolt.Tx) error{
		func(tx *bolt.Tx) error {
			for _, name := range buckets() {
				if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
					return fmt.Errorf("create bucket %s: %w", name, err)
				}
			}
			return nil
		},
	}
}

// migrate brings the file to the version that steps lead to, one step a
// transaction, and keeps a copy of it as it was before.
func (s *Store) migrate(steps []func(*bolt.Tx) error) error {
	version := uint64(len(steps))
	have, err := s.schema()
	if err != nil {
		return err
	}
	if have > version {
		return &NewerError{Path: s.path(), Have: have, Known: version}
	}
	if have > 0 && have < version {
		if err := s.keepCopy(have); err != nil {
			return err
		}
	}
	for ; have < version; have++ {
		err := s.db.Update(func(tx *bolt.Tx) (err error) {
			defer guard(s.path(), &err)()
			if err := steps[have](tx); err != nil {
				return err
			}
			return tx.Bucket([]byte(bucketMeta)).Put([]byte("version"), number(have+1))
		})
		if err != nil {
			return fmt.Errorf("migrate store to schema %d: %w", have+1, writeError(err))
		}
	}
	return s.complete()
}

// schema returns the file's version: 0 for a new file.
func (s *Store) schema() (have uint64, err error) {
	err = s.db.View(func(tx *bolt.Tx) (err error) {
		defer guard(s.path(), &err)()
		meta := tx.Bucket([]byte(bucketMeta))
		if meta == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return &DamagedError{Path: s.path(), Reason: "it is a bbolt file of something else"}
			}
			return nil
		}
		v := meta.Get([]byte("version"))
		if len(v) != 8 {
			return &DamagedError{Path: s.path(), Reason: "it names no schema version"}
		}
		have = binary.BigEndian.Uint64(v)
		return nil
	})
	return have, err
}

// complete checks that every bucket is there.
func (s *Store) complete() error {
	return s.db.View(func(tx *bolt.Tx) (err error) {
		defer guard(s.path(), &err)()
		for _, name := range buckets() {
			if tx.Bucket([]byte(name)) == nil {
				return &DamagedError{Path: s.path(), Reason: "bucket " + name + " is missing"}
			}
		}
		return nil
	})
}

// keepCopy writes the file beside itself before a migration changes it.
func (s *Store) keepCopy(have uint64) error {
	name := fmt.Sprintf("%s.schema-%d", fileName, have)
	return writeFile(filepath.Join(s.dir, name), func(w io.Writer) error {
		return s.db.View(func(tx *bolt.Tx) error {
			_, err := tx.WriteTo(w)
			return err
		})
	})
}

// writeFile makes a durable file through a temporary name.
func writeFile(path string, fill func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // gone after the rename
	err = fill(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, writeError(err))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// The kinds of index entries: what leads to an id.
const (
	byConversation = 'c'
	byActor        = 'a'
	bySource       = 's'
	byTask         = 'd' // deliveries of a task
	byOwner        = 'k' // event keys of a task
	loose          = 'u' // keys and deliveries that no task owns, by their time
)

// ownedKey leads from a task to an event key it owns.
func ownedKey(task, key string) []byte {
	return append(append([]byte{byOwner}, task...), key...)
}

// looseKey leads to what no task owns: what is 'k' for an event key, 'd' for a
// delivery.
func looseKey(at time.Time, what byte, id string) []byte {
	return append(append(binary.BigEndian.AppendUint64([]byte{loose}, uint64(max(at.Unix(), 0))), what), id...)
}

// keyLead leads to an event key whose claim is v: its time, and the task that
// owns it.
func keyLead(v []byte, key string) []byte {
	if owner := string(v[8:]); owner != "" {
		return ownedKey(owner, key)
	}
	return looseKey(time.Unix(int64(binary.BigEndian.Uint64(v)), 0), 'k', key)
}

// deliveryLead leads to a delivery.
func deliveryLead(d *bot.Delivery) []byte {
	if d.Task == "" {
		return looseKey(d.Created, 'd', d.ID)
	}
	return indexKey(byTask, d.Task, d.ID)
}

// indexPrefix hashes the value, so that no value can be a prefix of another.
func indexPrefix(kind byte, value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return append([]byte{kind}, sum[:16]...)
}

func indexKey(kind byte, value, id string) []byte {
	return append(indexPrefix(kind, value), id...)
}

// taskIndex lists the index keys of a task.
func taskIndex(t *bot.Task) [][]byte {
	keys := [][]byte{
		indexKey(byConversation, t.Event.Origin.Conversation, t.ID),
		indexKey(byActor, t.Event.Actor.ID, t.ID),
	}
	source := func(s string) {
		if s != "" {
			keys = append(keys, indexKey(bySource, s, t.ID))
		}
	}
	source(t.Event.Source)
	for _, in := range t.Event.Inputs {
		source(in.Ref)
	}
	for _, in := range t.Inputs {
		source(in.Source)
	}
	for _, a := range t.Answers {
		source(a.Source)
	}
	return keys
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func stepKey(task string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(task), seq)
}

// put stores v as JSON.
func put(tx *bolt.Tx, bucket string, key []byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode for %s: %w", bucket, err)
	}
	return tx.Bucket([]byte(bucket)).Put(key, body)
}

// get reads JSON into v and reports whether there was any.
func get(tx *bolt.Tx, bucket string, key []byte, v any) (bool, error) {
	body := tx.Bucket([]byte(bucket)).Get(key)
	if body == nil {
		return false, nil
	}
	if err := json.Unmarshal(body, v); err != nil {
		return false, fmt.Errorf("decode from %s: %w", bucket, err)
	}
	return true, nil
}
