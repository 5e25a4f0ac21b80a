package bot

import (
	"context"
	"io"
	"iter"
	"time"
)

// Intake takes events. The Orchestrator implements it; adapters call it and
// acknowledge their platform only after it returned.
type Intake interface {
	// Submit commits the event and the task it makes, or says why not. An
	// error means that nothing was stored: the platform must not be
	// acknowledged, so that it sends again.
	Submit(ctx context.Context, event Event) (Ticket, error)
}

// Source brings events in until ctx ends. What it returns before that takes
// the process down.
type Source interface {
	Name() string
	Run(ctx context.Context, intake Intake) error
}

// Channel reaches back to where events came from. Each adapter has one.
type Channel interface {
	// Authorize asks the platform for the right that event needs. An error
	// means that the platform did not answer: it is asked again, and neither
	// granted nor refused meanwhile.
	Authorize(ctx context.Context, event Event) (Decision, error)
	// Fetch streams one input into w. An *InputError is final and shown to
	// the asker; any other error is tried again.
	Fetch(ctx context.Context, event Event, ref InputRef, w io.Writer) (Fetched, error)
	// Progress shows how a task stands; earlier is the receipt of the call
	// before, or nil. It is best effort: errors are logged, never retried
	// before an answer.
	Progress(ctx context.Context, task Task, progress Progress, earlier *Receipt) (*Receipt, error)
	// Send makes one delivery. Failures are *SendError.
	Send(ctx context.Context, delivery Delivery) (Receipt, error)
	// Find looks for a delivery that may have been sent before. Only our own
	// author with a valid mark counts.
	Find(ctx context.Context, delivery Delivery) (Receipt, bool, error)
}

// Expander is a Channel that can say only over the network which files a
// request names: a pattern of paths in a repository, say. It is asked once for
// a task, and once more for each answer to its questions, after its right was
// granted and before its inputs are fetched; what it returns is added to them.
// event.Text holds the request and all answers. An error means that there was no answer: it is
// asked again.
type Expander interface {
	Expand(ctx context.Context, event Event) ([]InputRef, error)
}

// Speller is a Channel on which a command is not its bare words: Spell returns
// how a person writes it there.
type Speller interface {
	Spell(command string) string
}

// Fetched is what Fetch learned beside the bytes.
type Fetched struct {
	// Name is what the file is called, where the reference named a pattern; it
	// takes the place of the reference's name.
	Name      string
	MediaType string
	Source    string // pinned identity of what was read
}

// InputError is why one input cannot be read, in words for the asker.
type InputError struct {
	Name   string
	Reason string
}

// Error implements error.
func (e *InputError) Error() string { return e.Name + ": " + e.Reason }

// Runner runs a task to its outcome; the agent implements it.
//
// A Run whose context ends with cause ErrCancelled ends as cancelled; with any
// other cause (shutdown) it returns that cause and the task is resumed later
// from its journal. Any other error is a failure of the run itself and is
// tried again a bounded number of times.
type Runner interface {
	Run(ctx context.Context, run Run) (Outcome, error)
}

// Run is all that a Runner gets.
type Run struct {
	Task Task
	// History holds the earlier tasks of the conversation, oldest first, with
	// their outcomes.
	History []Task
	Journal Journal
	Blobs   Blobs
	Meter   Meter
	// Report shows progress; it never blocks.
	Report func(Progress)
}

// Journal is the durable record of one task's steps.
type Journal interface {
	// Steps returns what is recorded, in order.
	Steps(ctx context.Context) ([]Step, error)
	// Append commits step and returns it with Seq and At set.
	Append(ctx context.Context, step Step) (Step, error)
	// Of returns the steps of another task of the same conversation or one
	// that Options name: for follow-ups and reproduction.
	Of(ctx context.Context, task string) ([]Step, error)
}

// Meter guards the daily limits of an actor and of all. The task's own limits
// stand in Task.Budgets and are kept by the Runner.
type Meter interface {
	// Reserve sets tokens and money aside before they are spent; it fails
	// with *BudgetError. Settle must follow.
	Reserve(ctx context.Context, tokens int64, usd float64) (Reservation, error)
}

// Reservation is budget set aside.
type Reservation interface {
	// Settle books what was really spent and frees the rest.
	Settle(ctx context.Context, tokens int64, usd float64) error
}

// Blob is stored content.
type Blob struct {
	SHA256 string // hex, lower-case
	Size   int64
	// Used is when the content was last put: what nobody refers to and was
	// put long ago is garbage.
	Used time.Time
}

// Blobs keeps content by its hash.
type Blobs interface {
	// Put streams r to the store, durably, and fails with ErrTooLarge once
	// more than limit bytes came (limit ≤ 0: no limit).
	Put(ctx context.Context, r io.Reader, limit int64) (Blob, error)
	// Open fails with ErrNotFound where there is no such content.
	Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, error)
	// Remove deletes the content unless it was put again after unusedSince;
	// the zero time deletes it whatever happened. What is absent is no error.
	Remove(ctx context.Context, sha256 string, unusedSince time.Time) error
	All(ctx context.Context) iter.Seq2[Blob, error]
}

// Records is a small durable key-value store for what adapters and schedules
// must remember (watermarks, next and last runs). Values are JSON.
type Records interface {
	// Get returns ErrNotFound where there is none.
	Get(ctx context.Context, bucket, key string) (Record, error)
	// Put writes value if the record is still at revision (0: absent) and
	// returns the new revision; otherwise ErrConflict.
	Put(ctx context.Context, bucket, key string, value []byte, revision uint64) (uint64, error)
	Delete(ctx context.Context, bucket, key string) error
	// List returns the records of bucket whose key starts with prefix, by key.
	List(ctx context.Context, bucket, prefix string) ([]Record, error)
}

// Record is one value in Records.
type Record struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Clock gives time; tests inject their own.
type Clock interface {
	Now() time.Time
}

// Right is something a policy can grant.
type Right string

// The rights.
const (
	MayAsk          Right = "ask"
	MaySave         Right = "save"
	MaySchedule     Right = "schedule"
	MayCancelOthers Right = "cancel_others"
	MayPublish      Right = "publish"
	MayAdmin        Right = "admin"
)

// Policy decides locally, without the network, who may do what. It denies by
// default.
type Policy interface {
	Decide(ctx context.Context, event Event, right Right) Decision
}

// Decision is a policy's or a platform's answer.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Reason is for the asker when refused.
	Reason string `json:"reason,omitempty"`
	// Rule names what decided, for the audit.
	Rule string `json:"rule,omitempty"`
	// Budgets, Model, Runtime and Destinations narrow what an allowed task may use.
	Budgets      Budgets  `json:"budgets,omitzero"`
	Model        string   `json:"model,omitempty"`
	Runtime      string   `json:"runtime,omitempty"`
	Destinations []string `json:"destinations,omitempty"`
}

// CommandFunc answers an EventCommand that the core does not know itself
// (save, schedule, reports…). The reply is Markdown. It runs after the event
// is committed and must be idempotent: after a crash it runs again. A
// *TaskError is final and shown to the asker; any other error is tried again.
type CommandFunc func(ctx context.Context, event Event) (reply string, err error)
