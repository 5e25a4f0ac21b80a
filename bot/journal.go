package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
)

// journal implements Journal for one running task.
type journal struct {
	o    *Orchestrator
	task string

	// mu guards what follows; it is held during a commit, so that steps of
	// parallel subagents get their numbers one after the other.
	mu     sync.Mutex
	last   uint64
	closed bool
}

func (o *Orchestrator) openJournal(ctx context.Context, task string) (*journal, error) {
	steps, err := o.opts.Store.Steps(ctx, task)
	if err != nil {
		return nil, err
	}
	j := &journal{o: o, task: task}
	if len(steps) > 0 {
		j.last = steps[len(steps)-1].Seq
	}
	return j, nil
}

// Steps implements Journal.
func (j *journal) Steps(ctx context.Context) ([]Step, error) { return j.Of(ctx, j.task) }

// Of implements Journal.
func (j *journal) Of(ctx context.Context, task string) ([]Step, error) {
	steps, err := j.o.opts.Store.Steps(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return steps, nil
}

// Append implements Journal. After the task's outcome was committed it fails
// with ErrCancelled.
func (j *journal) Append(ctx context.Context, step Step) (Step, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return step, fmt.Errorf("append to journal: %w", ErrCancelled)
	}
	step.Seq, step.At = j.last+1, j.o.now()
	c := Commit{Steps: []TaskStep{{Task: j.task, Step: step}}}
	if !j.o.opts.Exclusive {
		c.Holder = &Holder{Task: j.task, Life: j.o.life}
	}
	if entry, ok := j.o.programEntry(j.task, step); ok {
		c.Audit = []AuditEntry{entry}
	}
	if _, err := j.o.commit(ctx, c); err != nil {
		return step, fmt.Errorf("append to journal: %w", err)
	}
	j.last++
	j.o.opts.Point("step-recorded")
	return step, nil
}

// close ends the journal of this life.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// programEntry is the audit's record of a program: its hash and how it ended.
func (o *Orchestrator) programEntry(task string, step Step) (AuditEntry, bool) {
	if step.Kind != StepProgram {
		return AuditEntry{}, false
	}
	data := map[string]any{"step": step.Seq, "agent": step.Agent}
	var p Program
	if err := json.Unmarshal(step.Data, &p); err == nil {
		sum := sha256.Sum256([]byte(p.Code))
		data["language"], data["verdict"], data["seconds"] = p.Language, p.Verdict, p.Seconds
		data["code"] = hex.EncodeToString(sum[:])
	}
	e := o.entry(AuditProgram, nil, data)
	e.Task = task
	return e, true
}
