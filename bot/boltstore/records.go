package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Get implements bot.Records.
func (s *Store) Get(ctx context.Context, bucket, key string) (r bot.Record, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketRecords)).Bucket([]byte(bucket))
		if b == nil {
			return fmt.Errorf("read record %s/%s: %w", bucket, key, bot.ErrNotFound)
		}
		v := b.Get([]byte(key))
		if v == nil {
			return fmt.Errorf("read record %s/%s: %w", bucket, key, bot.ErrNotFound)
		}
		r = record([]byte(key), v)
		return nil
	})
	return r, err
}

// Put implements bot.Records.
func (s *Store) Put(ctx context.Context, bucket, key string, value []byte, revision uint64) (uint64, error) {
	var refused error
	err := s.write(ctx, func(tx *bolt.Tx) error {
		refused = nil
		b, err := tx.Bucket([]byte(bucketRecords)).CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return fmt.Errorf("make bucket %s: %w", bucket, err)
		}
		var have uint64
		if v := b.Get([]byte(key)); v != nil {
			have = binary.BigEndian.Uint64(v)
		}
		if have != revision {
			refused = fmt.Errorf("record %s/%s is at revision %d, not %d: %w", bucket, key, have, revision, bot.ErrConflict)
			return nil
		}
		return b.Put([]byte(key), append(number(revision+1), value...))
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return 0, fmt.Errorf("put record: %w", err)
	}
	return revision + 1, nil
}

// Delete implements bot.Records.
func (s *Store) Delete(ctx context.Context, bucket, key string) error {
	return s.write(ctx, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketRecords)).Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		return b.Delete([]byte(key))
	})
}

// List implements bot.Records.
func (s *Store) List(ctx context.Context, bucket, prefix string) (rs []bot.Record, err error) {
	err = s.view(ctx, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketRecords)).Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
			rs = append(rs, record(k, v))
		}
		return nil
	})
	return rs, err
}

// record copies a record out of the file's memory.
func record(k, v []byte) bot.Record {
	return bot.Record{Key: string(k), Revision: binary.BigEndian.Uint64(v), Value: bytes.Clone(v[8:])}
}

// counted returns a count and the revision of its record; 0 where it was never
// raised.
func counted(tx *bolt.Tx, key string) (n int64, revision uint64, err error) {
	b := tx.Bucket([]byte(bucketRecords)).Bucket([]byte(bot.CountBucket))
	if b == nil {
		return 0, 0, nil
	}
	v := b.Get([]byte(key))
	if v == nil {
		return 0, 0, nil
	}
	if err := json.Unmarshal(v[8:], &n); err != nil {
		return 0, 0, fmt.Errorf("decode count %s: %w", key, err)
	}
	return n, binary.BigEndian.Uint64(v), nil
}

// raise adds one to a count.
func raise(tx *bolt.Tx, key string) error {
	n, revision, err := counted(tx, key)
	if err != nil {
		return err
	}
	b, err := tx.Bucket([]byte(bucketRecords)).CreateBucketIfNotExists([]byte(bot.CountBucket))
	if err != nil {
		return fmt.Errorf("make bucket of counts: %w", err)
	}
	if err := b.Put([]byte(key), strconv.AppendInt(number(revision+1), n+1, 10)); err != nil {
		return fmt.Errorf("raise count %s: %w", key, err)
	}
	return nil
}
