package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// JSONSink writes audit entries as lines of JSON: to an append-only file, or to
// a syslog writer. The same entry can come twice after a crash; Seq tells.
type JSONSink struct {
	// mu guards w.
	mu sync.Mutex
	w  io.Writer
}

// NewJSONSink writes to w.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Write implements AuditSink.
func (s *JSONSink) Write(_ context.Context, entry AuditEntry) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode audit entry: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write audit entry: %w", err)
	}
	return nil
}

// AuditSink takes audit entries to a file, a syslog or elsewhere.
type AuditSink interface {
	Write(ctx context.Context, entry AuditEntry) error
}

// The record that remembers how far the sink has come.
const (
	sinkBucket = "audit-sink"
	sinkKey    = "written"
)

// follow hands each audit entry to the sink, from where an earlier life
// stopped, until ctx ends.
func (o *Orchestrator) follow(ctx context.Context) {
	for {
		changed := o.hub.any()
		if err := o.feed(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			o.log.Error("audit sink fails; entries are kept and written later", "error", err)
			if sleep(ctx, o.opts.Timing.RetryMax) != nil {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// feed writes what the sink does not have yet.
func (o *Orchestrator) feed(ctx context.Context) error {
	record, err := o.opts.Store.Get(ctx, sinkBucket, sinkKey)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	var after uint64
	if len(record.Value) > 0 {
		if after, err = strconv.ParseUint(string(record.Value), 10, 64); err != nil {
			return fmt.Errorf("read sink's position: %w", err)
		}
	}
	last := after
	for entry, err := range o.opts.Store.Audit(ctx, after) {
		if err == nil {
			err = o.opts.Sink.Write(ctx, entry)
		}
		if err != nil {
			return fmt.Errorf("write audit entry: %w", err)
		}
		last = entry.Seq
	}
	if last == after {
		return nil
	}
	_, err = o.opts.Store.Put(ctx, sinkBucket, sinkKey, strconv.AppendUint(nil, last, 10), record.Revision)
	return err
}
