package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// AuditSink takes audit entries to a file, a syslog or elsewhere. The same entry
// can come twice after a failure or a crash; Seq tells.
type AuditSink interface {
	Write(ctx context.Context, entry AuditEntry) error
	// Flush makes durable what was written: only then are the entries taken
	// as handed over.
	Flush(ctx context.Context) error
}

// JSONSink writes audit entries as lines of JSON. Where its writer has a Sync
// method, as a file does, Flush calls it.
type JSONSink struct {
	// mu guards w.
	mu sync.Mutex
	w  io.Writer
}

// NewJSONSink writes to w, a whole line each time.
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

// Flush implements AuditSink.
func (s *JSONSink) Flush(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file, ok := s.w.(interface{ Sync() error }); ok {
		if err := file.Sync(); err != nil {
			return fmt.Errorf("sync audit entries: %w", err)
		}
	}
	return nil
}

// The record that remembers how far the sink has come.
const (
	sinkBucket = "audit-sink"
	sinkKey    = "written"
)

// sinkState is how the sink is doing.
type sinkState struct {
	wake chan struct{} // holds at most one signal
	// mu guards failure.
	mu      sync.Mutex
	failure error
}

// note keeps the outcome of a round; it reports whether that is news.
func (s *sinkState) note(err error) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = (err == nil) != (s.failure == nil)
	s.failure = err
	return news
}

// SinkError is why the audit sink does not take entries at the moment; nil when
// it does, or there is none. Entries it did not take are kept.
func (o *Orchestrator) SinkError() error {
	o.sink.mu.Lock()
	defer o.sink.mu.Unlock()
	return o.sink.failure
}

// RetrySink has the sink tried again at once.
func (o *Orchestrator) RetrySink() {
	select {
	case o.sink.wake <- struct{}{}:
	default:
	}
}

// follow hands each audit entry to the sink, from where an earlier life
// stopped, until ctx ends.
func (o *Orchestrator) follow(ctx context.Context) {
	const longest = time.Minute // a sink that is back is used soon
	for failures := 0; ; {
		changed := o.hub.any()
		err := o.feed(ctx)
		if ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		news := o.sink.note(err)
		if err == nil {
			failures = 0
			if news {
				o.log.Info("the audit sink takes entries again")
			}
		} else {
			if news {
				o.log.Error("audit sink fails; entries are kept and written later", "error", err)
			}
			again, changed = time.After(backoff(o.opts.Timing.Retry, min(longest, o.opts.Timing.RetryMax), failures)), nil
			failures++
		}
		select {
		case <-changed:
		case <-again:
		case <-o.sink.wake:
		case <-ctx.Done():
			return
		}
	}
}

// feed writes what the sink does not have yet. What a sink took before it failed
// is remembered, so that it does not come again.
func (o *Orchestrator) feed(ctx context.Context) error {
	after, revision, err := o.written(ctx)
	if err != nil {
		return err
	}
	last := after
	for entry, failed := range o.opts.Store.Audit(ctx, after) {
		if failed == nil {
			failed = o.opts.Sink.Write(ctx, entry)
		}
		if failed != nil {
			err = failed
			break
		}
		last = entry.Seq
	}
	if last == after {
		return err
	}
	if flushed := o.opts.Sink.Flush(ctx); flushed != nil {
		return errors.Join(err, flushed)
	}
	_, put := o.opts.Store.Put(ctx, sinkBucket, sinkKey, strconv.AppendUint(nil, last, 10), revision)
	return errors.Join(err, put)
}

// written is the number of the last entry that the sink has taken.
func (o *Orchestrator) written(ctx context.Context) (seq, revision uint64, err error) {
	record, err := o.opts.Store.Get(ctx, sinkBucket, sinkKey)
	if errors.Is(err, ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read sink's position: %w", err)
	}
	if seq, err = strconv.ParseUint(string(record.Value), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("read sink's position: %w", err)
	}
	return seq, record.Revision, nil
}
