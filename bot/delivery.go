package bot

import "time"

// DeliveryKind says what a Delivery carries.
type DeliveryKind string

// The kinds of deliveries.
const (
	DeliverAnswer   DeliveryKind = "answer"   // the message that ends a task
	DeliverFiles    DeliveryKind = "files"    // the files of an answer, as one group
	DeliverQuestion DeliveryKind = "question" // ask_user
	DeliverNotice   DeliveryKind = "notice"   // a command's reply, a refusal, a warning
	DeliverProgress DeliveryKind = "progress" // the last state of the progress message
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery; see transitions.go for the moves between them.
const (
	DeliveryPending DeliveryState = "pending" // surely not sent
	DeliverySending DeliveryState = "sending" // a send has begun
	DeliveryUnsure  DeliveryState = "unsure"  // may have been sent: to be looked up
	DeliverySent    DeliveryState = "sent"    // its Receipt is recorded
	DeliveryFailed  DeliveryState = "failed"  // ended unsent; Failure says why
)

// DeliveryMove records one move between a delivery's states.
type DeliveryMove struct {
	To DeliveryState `json:"to"`
	At time.Time     `json:"at"`
}

// Delivery is what is owed to an origin. It stands in the outbox until its
// Receipt is recorded.
type Delivery struct {
	ID       string        `json:"id"` // ULID: an origin's deliveries are made in its order
	Revision uint64        `json:"revision"`
	Status   DeliveryState `json:"status"`
	Task     string        `json:"task,omitempty"`
	Kind     DeliveryKind  `json:"kind"`
	Origin   Origin        `json:"origin"`
	Actor    Actor         `json:"actor"` // who asked

	Message     string        `json:"message,omitempty"` // Markdown
	Files       []Artifact    `json:"files,omitempty"`
	Undelivered []Undelivered `json:"undelivered,omitempty"`
	Question    *Question     `json:"question,omitempty"`
	// Links are the exact URLs that the asker typed: only these stay live.
	Links []string `json:"links,omitempty"`
	// State is how the task ended, for the adapter's last progress line.
	State TaskState `json:"task_state,omitempty"`
	// Earlier is the receipt of the progress message, where there is one: a
	// DeliverProgress edits it, an answer may take its place.
	Earlier *Receipt `json:"earlier,omitempty"`

	// Claim says which process sends it.
	Claim *Claim `json:"claim,omitempty"`

	Attempts int            `json:"attempts,omitempty"`
	Next     time.Time      `json:"next,omitzero"` // not tried before
	Created  time.Time      `json:"created"`
	Moves    []DeliveryMove `json:"moves,omitempty"`
	Receipt  *Receipt       `json:"receipt,omitempty"`
	Failure  string         `json:"failure,omitempty"` // why it ended unsent
}

// Receipt is the platform's proof that a delivery stands there.
type Receipt struct {
	ID   string    `json:"id"` // the platform's id: a Slack ts, a comment id, a path
	Link string    `json:"link,omitempty"`
	At   time.Time `json:"at"`
	// Detail is the adapter's own, for edits and look-ups later.
	Detail string `json:"detail,omitempty"`
	// Undelivered lists files that the platform refused, with the reason.
	Undelivered []Undelivered `json:"undelivered,omitempty"`
	// Told says that what was sent names the undelivered itself: the core owes
	// no remark about them.
	Told bool `json:"told,omitempty"`
}

// FailureClass says what may be done after a send failed.
type FailureClass int

// The classes of failures, decided in the adapter.
const (
	Retryable FailureClass = iota + 1 // surely not sent: send again later
	Permanent                         // will never succeed
	Ambiguous                         // may have been sent: Find before sending again
)

// SendError is a failed send with its class. An error from Channel.Send that
// is no SendError counts as Ambiguous: nothing is repeated blindly.
type SendError struct {
	Class FailureClass
	// After is the platform's Retry-After; 0 where it named none.
	After time.Duration
	Err   error
}

// Error implements error.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *SendError) Unwrap() error { return e.Err }

// Progress is what a person sees while a task runs.
type Progress struct {
	Task     string     `json:"task"`
	State    TaskState  `json:"state"`
	Position int        `json:"position,omitempty"` // tasks before it, while queued
	Todo     []TodoItem `json:"todo,omitempty"`
	Now      string     `json:"now,omitempty"` // the running step in words
	Started  time.Time  `json:"started,omitzero"`
	Usage    Usage      `json:"usage"`
}

// TodoItem is one line of the agent's plan.
type TodoItem struct {
	Text string `json:"text"`
	Done bool   `json:"done,omitempty"`
}

// String names the class for logs.
func (c FailureClass) String() string {
	switch c {
	case Retryable:
		return "retryable"
	case Permanent:
		return "permanent"
	default:
		return "ambiguous"
	}
}
