package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// blobGrace is how long content is kept that nothing refers to: what was just
// stored is named by a commit only a little later.
const blobGrace = time.Hour

// The record that remembers when the house was last kept, so that many short
// lives do not each do it.
const (
	keepBucket = "keep"
	keepKey    = "last"
)

// keep does the house's work from time to time until ctx ends.
func (o *Orchestrator) keep(ctx context.Context) {
	for {
		wait, err := o.keepIfDue(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			o.log.Error("retention is not done; it is tried again later", "error", err)
			wait = o.opts.Timing.Keep
		}
		if sleep(ctx, wait) != nil {
			return
		}
	}
}

// keepIfDue tidies when the last time was long enough ago, and returns when to
// look again.
func (o *Orchestrator) keepIfDue(ctx context.Context) (time.Duration, error) {
	record, err := o.opts.Store.Get(ctx, keepBucket, keepKey)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	var last time.Time
	if err == nil {
		if err := last.UnmarshalText(record.Value); err != nil {
			return 0, fmt.Errorf("read when the house was last kept: %w", err)
		}
	}
	now := o.now()
	if wait := last.Add(o.opts.Timing.Keep).Sub(now); wait > 0 && wait <= o.opts.Timing.Keep {
		return wait, nil
	}
	if err := o.Tidy(ctx); err != nil {
		return 0, err
	}
	value, err := now.UTC().MarshalText()
	if err != nil {
		return 0, fmt.Errorf("remember when the house was kept: %w", err)
	}
	_, err = o.opts.Store.Put(ctx, keepBucket, keepKey, value, record.Revision)
	if errors.Is(err, ErrConflict) {
		err = nil // another process did it just now
	}
	return o.opts.Timing.Keep, err
}

// Tidy removes what is older than the retention allows, content that nothing
// refers to, and questions that nobody answered. Run does it once an hour.
func (o *Orchestrator) Tidy(ctx context.Context) error {
	now := o.now()
	return errors.Join(
		o.forgetRest(ctx),
		o.endQuestions(ctx, now.Add(-o.opts.Timing.Question)),
		o.pruneTasks(ctx, now),
		o.pruneBlobs(ctx, now),
		o.pruneAudit(ctx, now),
		o.meter.prune(ctx, now.AddDate(0, 0, -7)),
		o.pruneCounts(ctx, now.AddDate(0, 0, -7)),
	)
}

// endQuestions cancels tasks that waited too long for an answer.
func (o *Orchestrator) endQuestions(ctx context.Context, before time.Time) error {
	tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{State: TaskWaiting, Limit: 1000})
	if err != nil {
		return fmt.Errorf("end old questions: %w", err)
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Transitions[len(t.Transitions)-1].At.After(before) || o.opts.Channels[t.Event.Origin.Adapter] == nil {
			continue
		}
		if err := o.Cancel(ctx, t.ID, CancelRequest{Why: "nobody answered its question"}); err != nil {
			return fmt.Errorf("end old questions: %w", err)
		}
	}
	return nil
}

// pruneTasks removes tasks that ended before the retention.
func (o *Orchestrator) pruneTasks(ctx context.Context, now time.Time) error {
	if o.opts.Retention.Tasks <= 0 {
		return nil
	}
	before := now.Add(-o.opts.Retention.Tasks)
	// Ids sort by time: those before this one were made before then.
	cursor := o.opts.Store.NewID(before)
	for {
		tasks, err := o.opts.Store.Tasks(ctx, TaskQuery{Before: cursor, Commands: true, Limit: 500})
		if err != nil {
			return fmt.Errorf("prune tasks: %w", err)
		}
		for i := range tasks {
			t := &tasks[i]
			cursor = t.ID
			if !t.State.Final() || t.Ended.After(before) {
				continue
			}
			entry := o.entry(AuditRetained, t, nil)
			if err := o.opts.Store.Erase(ctx, Erasure{Task: t.ID, Audit: []AuditEntry{entry}}); err != nil {
				return fmt.Errorf("prune tasks: %w", err)
			}
		}
		if len(tasks) == 0 {
			break
		}
	}
	if err := o.opts.Store.Erase(ctx, Erasure{Untasked: before}); err != nil {
		return fmt.Errorf("prune notices: %w", err)
	}
	return nil
}

// pruneBlobs removes content that no record, open task or task within the
// blobs' retention refers to.
func (o *Orchestrator) pruneBlobs(ctx context.Context, now time.Time) error {
	var since time.Time
	if o.opts.Retention.Blobs > 0 {
		since = now.Add(-o.opts.Retention.Blobs)
	}
	unusedSince := now.Add(-blobGrace)
	garbage := map[string]bool{}
	for blob, err := range o.opts.Blobs.All(ctx) {
		if err != nil {
			return fmt.Errorf("prune blobs: %w", err)
		}
		if !blob.Used.After(unusedSince) {
			garbage[blob.SHA256] = true
		}
	}
	return o.collect(ctx, garbage, since, unusedSince)
}

// collect removes the content in garbage that nothing refers to and that was
// not put again after unusedSince.
func (o *Orchestrator) collect(ctx context.Context, garbage map[string]bool, since, unusedSince time.Time) error {
	if len(garbage) == 0 {
		return nil
	}
	for hash, err := range o.opts.Store.References(ctx, since) {
		if err != nil {
			return fmt.Errorf("find references: %w", err)
		}
		delete(garbage, hash)
	}
	for hash := range garbage {
		if err := o.opts.Blobs.Remove(ctx, hash, unusedSince); err != nil {
			return fmt.Errorf("remove unused content: %w", err)
		}
	}
	return nil
}

// pruneAudit removes old audit entries behind a signed checkpoint.
func (o *Orchestrator) pruneAudit(ctx context.Context, now time.Time) error {
	if o.opts.Retention.Audit <= 0 || o.opts.Key == nil {
		return nil
	}
	before := now.Add(-o.opts.Retention.Audit)
	written := ^uint64(0)
	if o.opts.Sink != nil { // it gets every entry before it goes
		var err error
		if written, _, err = o.written(ctx); err != nil {
			return fmt.Errorf("prune audit: %w", err)
		}
	}
	var last AuditEntry
	for entry, err := range o.opts.Store.Audit(ctx, 0) {
		if err != nil {
			return fmt.Errorf("prune audit: %w", err)
		}
		if !entry.At.Before(before) || entry.Seq > written {
			break
		}
		last = entry
	}
	if last.Seq == 0 {
		return nil
	}
	checkpoint := Checkpoint{Seq: last.Seq, Hash: last.Hash, At: now}.Sign(o.opts.Key)
	return o.opts.Store.Prune(ctx, checkpoint)
}

// PurgeScope says what Purge removes: exactly one field is set.
type PurgeScope struct {
	Task, Actor, Conversation string
}

// Purge removes tasks with their steps, deliveries and content, cancelling
// those that have not ended, and gives the room back to the disk. The audit
// keeps ids and hashes. It returns how many tasks went.
func (o *Orchestrator) Purge(ctx context.Context, scope PurgeScope) (int, error) {
	if err := o.await(ctx); err != nil {
		return 0, err
	}
	ids, err := o.purged(ctx, scope)
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	var gone []string
	for _, id := range ids {
		hashes, err := o.purgeTask(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("purge task %s: %w", id, err)
		}
		gone = append(gone, hashes...)
	}
	if o.opts.Purged != nil {
		if err := o.opts.Purged(ctx, scope, ids); err != nil {
			return len(ids), fmt.Errorf("purge what was kept of the tasks: %w", err)
		}
	}
	if err := o.dropBlobs(ctx, gone); err != nil {
		return len(ids), fmt.Errorf("purge: %w", err)
	}
	return len(ids), o.opts.Store.Compact(ctx)
}

// purged lists the tasks of a scope.
func (o *Orchestrator) purged(ctx context.Context, scope PurgeScope) ([]string, error) {
	query := TaskQuery{Actor: scope.Actor, Conversation: scope.Conversation, Commands: true, Limit: 500}
	switch {
	case scope.Task != "" && scope.Actor == "" && scope.Conversation == "":
		_, err := o.opts.Store.Task(ctx, scope.Task)
		return []string{scope.Task}, err
	case scope.Task != "" || (scope.Actor == "") == (scope.Conversation == ""):
		return nil, errors.New("give one of task, actor and conversation")
	}
	var ids []string
	for {
		tasks, err := o.opts.Store.Tasks(ctx, query)
		if err != nil || len(tasks) == 0 {
			return ids, err
		}
		for i := range tasks {
			ids = append(ids, tasks[i].ID)
		}
		query.Before = ids[len(ids)-1]
	}
}

// purgeTask removes one task and returns the hashes it referred to.
func (o *Orchestrator) purgeTask(ctx context.Context, id string) ([]string, error) {
	if err := o.Cancel(ctx, id, CancelRequest{Why: "purged"}); err != nil {
		return nil, err
	}
	if err := o.untilEnded(ctx, id); err != nil {
		return nil, err
	}
	task, err := o.opts.Store.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	steps, err := o.opts.Store.Steps(ctx, id)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(struct {
		Task  Task
		Steps []Step
	}{task, steps})
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", err)
	}
	hashes := HashesIn(body)
	entry := o.entry(AuditErase, &task, map[string]any{"sha256": hashes})
	return hashes, o.opts.Store.Erase(ctx, Erasure{Task: id, Audit: []AuditEntry{entry}})
}

// untilEnded waits until a cancelled task has ended.
func (o *Orchestrator) untilEnded(ctx context.Context, id string) error {
	for update, err := range o.Watch(ctx, id) {
		if err != nil {
			return err
		}
		if update.Task.State.Final() {
			return nil
		}
	}
	return nil
}

// HashesIn finds the content hashes that stored JSON refers to: each run of
// exactly 64 lower-case hex digits. It does not know which fields hold hashes,
// so that a reference in a step's own JSON counts as well.
func HashesIn(body []byte) (found []string) {
	const length = 64
	run := 0
	for i := 0; i <= len(body); i++ {
		if i < len(body) && (body[i] >= '0' && body[i] <= '9' || body[i] >= 'a' && body[i] <= 'f') {
			run++
			continue
		}
		if run == length {
			found = append(found, string(body[i-length:i]))
		}
		run = 0
	}
	return found
}
