package bot

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// Store keeps what the core must not lose. It is one thing to its users and
// several small ones to whoever implements it; bot/storetest states what each
// promises.
//
// Every change goes through Commit, which is atomic and checks revisions: two
// processes over one store never overwrite each other's work.
type Store interface {
	Committer
	TaskReader
	DeliveryReader
	AuditReader
	Keeper
	Records
}

// Committer is the only way to change tasks, steps and deliveries.
type Committer interface {
	// NewID returns an id that no other process gives out and that sorts by
	// time: a ULID.
	NewID(at time.Time) string
	// Commit stores all of c durably, or nothing. It returns c with the new
	// revisions and the sealed audit entries. A revision or step number that
	// is not the expected one gives ErrConflict, a key that another event
	// claimed gives *ClaimedError, a full count *CountError, a store that
	// cannot write ErrReadOnly.
	Commit(ctx context.Context, c Commit) (Commit, error)
}

// Commit is one atomic change.
type Commit struct {
	// Keys are event keys to claim for Task, or for nothing where Task is nil.
	Keys []string
	// Counts are raised by one each. Where one is at its Most already, nothing
	// is stored.
	Counts []Count
	// Task is stored as it is; its Revision is the one it was read at, 0 when new.
	Task *Task
	// Holder must have the stored task's claim; nil: anybody may commit.
	Holder *Holder
	// Steps are appended; their Seq counts on from the last one of their task.
	Steps []TaskStep
	// Deliveries are stored as they are, each at the Revision it was read at.
	Deliveries []Delivery
	// Audit entries are sealed into the chain in this order.
	Audit []AuditEntry
}

// Holder names the life that has a task's claim.
type Holder struct{ Task, Life string }

// Count is a number that commits raise together with what they store, so that
// several processes share one limit exactly. It can be read, and deleted, as the
// record Key of CountBucket, whose value is the number in JSON.
type Count struct {
	Key  string
	Most int64 // 0 or less: no limit
}

// CountBucket is the bucket of Records that counts lie in.
const CountBucket = "counts"

// CountError says that a count is at its Most.
type CountError struct{ Count Count }

// Error implements error.
func (e *CountError) Error() string {
	return fmt.Sprintf("count %s is at its limit of %d", e.Count.Key, e.Count.Most)
}

// TaskStep is a step with the task it belongs to.
type TaskStep struct {
	Task string
	Step Step
}

// ClaimedError says that a key belongs to an event that was stored before.
type ClaimedError struct {
	Key  string
	Task string // "" where the event made no task
}

// Error implements error.
func (e *ClaimedError) Error() string {
	return fmt.Sprintf("event %s is stored already", e.Key)
}

// TaskReader reads tasks. What has no such task gives ErrNotFound.
type TaskReader interface {
	Task(ctx context.Context, id string) (Task, error)
	// Tasks returns what matches, newest first.
	Tasks(ctx context.Context, query TaskQuery) ([]Task, error)
	// Open returns every task that has not ended, oldest first.
	Open(ctx context.Context) ([]Task, error)
	// Claimed returns the task that an event key was claimed for, "" where the
	// event made none.
	Claimed(ctx context.Context, key string) (task string, err error)
	// Steps returns a task's steps in order.
	Steps(ctx context.Context, task string) ([]Step, error)
}

// TaskQuery selects tasks; empty fields select all.
type TaskQuery struct {
	State        TaskState
	Conversation string
	Actor        string // its ID
	Adapter      string
	// Source finds tasks by Event.Source, an input's Ref or its pinned Source.
	Source string
	// Before continues a list: only tasks whose id sorts before it.
	Before string
	// Since leaves out tasks created earlier.
	Since time.Time
	// Commands includes the records of commands, which are tasks of their own.
	Commands bool
	Limit    int // 0: 100
}

// DeliveryReader reads the outbox.
type DeliveryReader interface {
	Delivery(ctx context.Context, id string) (Delivery, error)
	// Pending returns every delivery that has not ended, in order.
	Pending(ctx context.Context) ([]Delivery, error)
	// Deliveries returns those of one task, in order.
	Deliveries(ctx context.Context, task string) ([]Delivery, error)
}

// AuditReader reads and prunes the audit chain.
type AuditReader interface {
	// Audit yields the entries whose Seq is above after, in order.
	Audit(ctx context.Context, after uint64) iter.Seq2[AuditEntry, error]
	// Checkpoint returns where the chain begins; the zero value when nothing
	// was pruned.
	Checkpoint(ctx context.Context) (Checkpoint, error)
	// Prune removes the entries up to and including c.Seq and keeps c as the
	// chain's beginning. It fails with ErrConflict where c does not name the
	// hash of that entry.
	Prune(ctx context.Context, c Checkpoint) error
}

// Keeper keeps house.
type Keeper interface {
	// Erase removes what e names and seals its entries in one transaction.
	Erase(ctx context.Context, e Erasure) error
	// References yields every content hash that is mentioned by records and
	// by tasks that have not ended or ended at or after since. It may yield
	// more than that, and the same hash often.
	References(ctx context.Context, since time.Time) iter.Seq2[string, error]
	// Compact gives the room of what was erased back to the disk.
	Compact(ctx context.Context) error
	// Backup writes a consistent copy of the store while it is in use.
	Backup(ctx context.Context, w io.Writer) error
	// Check fails when the store cannot commit or is damaged.
	Check(ctx context.Context) error
}

// Erasure says what to remove for good.
type Erasure struct {
	// Task goes with its steps, deliveries and keys; ErrConflict unless it
	// has ended.
	Task string
	// Steps removes only the steps of this task.
	Steps string
	// Untasked removes keys and ended deliveries that belong to no task and
	// are older than this.
	Untasked time.Time
	Audit    []AuditEntry
}
