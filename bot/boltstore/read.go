package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// defaultLimit bounds a list where the query does not.
const defaultLimit = 100

// Task implements bot.TaskReader.
func (s *Store) Task(ctx context.Context, id string) (t bot.Task, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error { return find(tx, bucketTasks, id, &t) })
	return t, err
}

// Delivery implements bot.DeliveryReader.
func (s *Store) Delivery(ctx context.Context, id string) (d bot.Delivery, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error { return find(tx, bucketDeliveries, id, &d) })
	return d, err
}

func find(tx *bolt.Tx, bucket, id string, v any) error {
	ok, err := get(tx, bucket, []byte(id), v)
	if err == nil && !ok {
		err = fmt.Errorf("read %s %s: %w", bucket, id, bot.ErrNotFound)
	}
	return err
}

// Claimed implements bot.TaskReader.
func (s *Store) Claimed(ctx context.Context, key string) (task string, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		v := tx.Bucket([]byte(bucketKeys)).Get([]byte(key))
		if v == nil {
			return fmt.Errorf("read event key: %w", bot.ErrNotFound)
		}
		task = string(v[8:])
		return nil
	})
	return task, err
}

// Open implements bot.TaskReader.
func (s *Store) Open(ctx context.Context) (tasks []bot.Task, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		tasks, err = all[bot.Task](tx, bucketOpen, bucketTasks)
		return err
	})
	return tasks, err
}

// Pending implements bot.DeliveryReader.
func (s *Store) Pending(ctx context.Context) (ds []bot.Delivery, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		ds, err = all[bot.Delivery](tx, bucketPending, bucketDeliveries)
		return err
	})
	return ds, err
}

// all reads the members of the set from their bucket.
func all[T any](tx *bolt.Tx, set, bucket string) ([]T, error) {
	var found []T
	err := tx.Bucket([]byte(set)).ForEach(func(id, _ []byte) error {
		var v T
		if ok, err := get(tx, bucket, id, &v); err != nil || !ok {
			return err
		}
		found = append(found, v)
		return nil
	})
	return found, err
}

// Deliveries implements bot.DeliveryReader.
func (s *Store) Deliveries(ctx context.Context, task string) (ds []bot.Delivery, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		prefix := indexPrefix(byTask, task)
		c := tx.Bucket([]byte(bucketIndex)).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			var d bot.Delivery
			if ok, err := get(tx, bucketDeliveries, k[len(prefix):], &d); err != nil {
				return err
			} else if ok {
				ds = append(ds, d)
			}
		}
		return nil
	})
	return ds, err
}

// Steps implements bot.TaskReader.
func (s *Store) Steps(ctx context.Context, task string) (steps []bot.Step, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		c := tx.Bucket([]byte(bucketSteps)).Cursor()
		for k, v := c.Seek([]byte(task)); len(k) == len(task)+8 && bytes.HasPrefix(k, []byte(task)); k, v = c.Next() {
			var step bot.Step
			if err := json.Unmarshal(v, &step); err != nil {
				return fmt.Errorf("decode step: %w", err)
			}
			steps = append(steps, step)
		}
		return nil
	})
	return steps, err
}

// Tasks implements bot.TaskReader.
func (s *Store) Tasks(ctx context.Context, q bot.TaskQuery) (tasks []bot.Task, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	err = s.view(ctx, func(tx *bolt.Tx) error {
		bucket, prefix := queryPath(q)
		return backwards(tx, bucket, prefix, q.Before, func(id []byte) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			var t bot.Task
			if ok, err := get(tx, bucketTasks, id, &t); err != nil || !ok {
				return err == nil, err
			}
			if !q.Since.IsZero() && t.Created.Before(q.Since) {
				return false, nil
			}
			if matches(&t, q) {
				tasks = append(tasks, t)
			}
			return len(tasks) < q.Limit, nil
		})
	})
	return tasks, err
}

// queryPath chooses the narrowest set of ids that holds all matches.
func queryPath(q bot.TaskQuery) (bucket string, prefix []byte) {
	switch {
	case q.Source != "":
		return bucketIndex, indexPrefix(bySource, q.Source)
	case q.Conversation != "":
		return bucketIndex, indexPrefix(byConversation, q.Conversation)
	case q.State != "" && !q.State.Final():
		return bucketOpen, nil
	case q.Actor != "":
		return bucketIndex, indexPrefix(byActor, q.Actor)
	default:
		return bucketTasks, nil
	}
}

func matches(t *bot.Task, q bot.TaskQuery) bool {
	return (q.State == "" || t.State == q.State) &&
		(q.Conversation == "" || t.Event.Origin.Conversation == q.Conversation) &&
		(q.Actor == "" || t.Event.Actor.ID == q.Actor) &&
		(q.Adapter == "" || t.Event.Origin.Adapter == q.Adapter) &&
		(q.Commands || t.Event.Kind != bot.EventCommand)
}

// backwards walks the ids behind prefix from the newest that sorts before the
// given one, until visit says no.
func backwards(tx *bolt.Tx, bucket string, prefix []byte, before string, visit func(id []byte) (bool, error)) error {
	c := tx.Bucket([]byte(bucket)).Cursor()
	end := append(bytes.Clone(prefix), 0xff)
	if before != "" {
		end = append(bytes.Clone(prefix), before...)
	}
	k, _ := c.Seek(end)
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	for ; k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Prev() {
		if more, err := visit(k[len(prefix):]); err != nil || !more {
			return err
		}
	}
	return nil
}
