package bot

import "time"

// EventKind says what an Event asks for.
type EventKind string

// The kinds of events.
const (
	EventRequest EventKind = "request" // a piece of work, or the answer to a question asked back
	EventEdit    EventKind = "edit"    // the text of the message Source names has changed
	EventDelete  EventKind = "delete"  // the message or file Source names is gone
	EventCommand EventKind = "command" // cancel, status, help and the like: answered at once
)

// Event is one thing that happened outside, normalized by an adapter.
type Event struct {
	// Key is the platform's own identity of the happening, prefixed with the
	// adapter's name. Two events with one Key are twins: they make one task,
	// and what the second carries is added until the task has started.
	Key  string    `json:"key"`
	Kind EventKind `json:"kind"`
	// Source identifies the message behind the event, so that a later edit or
	// deletion finds the task it made. Empty where nothing can be edited.
	Source string `json:"source,omitempty"`

	Origin Origin `json:"origin"`
	Actor  Actor  `json:"actor"`
	// Text is the request as the person wrote it, without the mention.
	Text   string     `json:"text"`
	Inputs []InputRef `json:"inputs,omitempty"`
	// Also lists further places the answer goes to (a schedule's destinations).
	Also []Origin `json:"also,omitempty"`

	Command Command `json:"command,omitzero"`
	Options Options `json:"options,omitzero"`

	// NeedsRight says that a right must be asked for over the network
	// (Channel.Authorize) before the task may run.
	NeedsRight bool `json:"needs_right,omitempty"`
	// Inline says that the adapter answers in the same breath, from the
	// Ticket: the core then owes no delivery for a command's reply or a
	// refusal. Otherwise the core delivers both through the outbox, and the
	// Ticket has nothing left to show.
	Inline bool `json:"inline,omitempty"`
	// Scheduled work yields to people who wait.
	Scheduled bool      `json:"scheduled,omitempty"`
	Received  time.Time `json:"received"`
}

// Origin is where an event came from and where its answer goes.
type Origin struct {
	Adapter string `json:"adapter"` // "slack", "github", "console", "web", "schedule"
	// Conversation names the thread of talk, unique over all adapters: its
	// tasks run one after the other and share history.
	Conversation string `json:"conversation"`
	// Place is what policies match, for instance "slack:C0123",
	// "github:owner/name", "console", "web".
	Place string `json:"place"`
	// Address is the adapter's own address of the place, opaque to the core.
	Address string `json:"address,omitempty"`
	// Title is what an answer is called that opens a talk of its own there (an
	// issue each time); empty where it goes to one that exists.
	Title string `json:"title,omitempty"`
	// Private marks a talk between one person and the bot: its title is shown
	// to nobody else.
	Private bool `json:"private,omitempty"`
	// Link leads a person back to the source, where the platform has such a link.
	Link string `json:"link,omitempty"`
}

// Actor is who caused an event: "slack:T1/U0123", "github:octocat",
// "console:alice", "web:alice@example.com".
type Actor struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// InputRef is a file that a request brings, not yet fetched.
type InputRef struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"` // as the platform says, unchecked
	Size      int64  `json:"size,omitempty"`       // bytes as the platform says; 0 where it does not
	// Adapter fetches it; empty means the origin's own.
	Adapter string `json:"adapter,omitempty"`
	// Ref is that adapter's reference, opaque to the core.
	Ref string `json:"ref,omitempty"`
	// Blob is set when the bytes were stored before the event was submitted
	// (console, web): nothing is left to fetch.
	Blob string `json:"blob,omitempty"`
	// Fresh says that it must be another one than the conversation's last good
	// run had: the newest file of a channel that is still last week's is missing.
	Fresh bool `json:"fresh,omitempty"`
	// Problem says why the adapter already knows that it cannot be read.
	Problem string `json:"problem,omitempty"`
	// Maybe says that the text names it and may mean something to be made, or
	// merely speak of it: that it cannot be read is told, and fails nothing.
	Maybe bool `json:"maybe,omitempty"`
	// Around says that it came with the conversation's beginning and not with the
	// request: a report that is run on a new file leaves it alone.
	Around bool `json:"around,omitempty"`
	// Found says that Expand named it: what could not be read is looked for
	// again when the task is done again.
	Found bool `json:"found,omitempty"`
}

// Command is what an EventCommand asks for.
type Command struct {
	Name string `json:"name,omitempty"` // "cancel", "status", "help", "retry", "save", …
	Args string `json:"args,omitempty"`
	Task string `json:"task,omitempty"` // the task it is about; empty: the conversation's newest
}

// Options steer a request beyond its text.
type Options struct {
	Skill string `json:"skill,omitempty"` // run this skill
	After string `json:"after,omitempty"` // go on from this task, as a follow-up
	Seed  string `json:"seed,omitempty"`  // reproduce or repeat this task's program log
	// Schedule names the schedule that fired, for "compared with last time".
	Schedule string `json:"schedule,omitempty"`
	// DryRun has the request done as it would be at its Origin, rights and all,
	// and answered in Also alone, where its asker is; nothing shows elsewhere.
	DryRun bool `json:"dry_run,omitempty"`
	// KnownFailure is a failure that the places have been told already: the
	// same once more is recorded and not told again.
	KnownFailure string `json:"known_failure,omitempty"`
}

// Ticket is what Submit answers.
type Ticket struct {
	Task      string `json:"task,omitempty"` // id of the task the event made, joined or concerns
	Duplicate bool   `json:"duplicate,omitempty"`
	// Position counts the tasks that stand before it; 0 when it can start.
	Position int `json:"position,omitempty"`
	// Refused says why nothing was accepted; it is shown to the asker.
	Refused *Refusal `json:"refused,omitempty"`
	// Reply is the immediate answer of an Inline command, for the adapter to
	// show; empty where the outbox delivers it.
	Reply string `json:"reply,omitempty"`
}

// Refusal is a kind "no": what was refused, and what the asker can do.
type Refusal struct {
	Kind    string `json:"kind"` // "policy", "waiting", "paused", "daily_tasks", "actor_daily_tasks"
	Message string `json:"message"`
	// Told is true when this asker was told the same lately, or the outbox
	// tells it: the adapter stays silent.
	Told bool `json:"told,omitempty"`
}
