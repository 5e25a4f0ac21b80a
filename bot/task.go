package bot

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TaskState is where a task stands.
type TaskState string

// The states of a task; see transitions.go for the moves between them.
const (
	TaskQueued    TaskState = "queued"
	TaskRunning   TaskState = "running"
	TaskWaiting   TaskState = "waiting" // asked its person something
	TaskDone      TaskState = "done"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "cancelled"
	TaskRefused   TaskState = "refused" // a right was asked for and denied
)

// Task is the durable unit of work that an event became.
type Task struct {
	ID       string    `json:"task"` // ULID: sorts by time
	Revision uint64    `json:"revision"`
	State    TaskState `json:"state"`
	Title    string    `json:"title"`
	Event    Event     `json:"event"`
	// Expanded is set once the channel has said which further files the
	// request names.
	Expanded bool `json:"expanded,omitempty"`
	// Inputs are the request's files after they were fetched.
	Inputs []Input `json:"inputs,omitempty"`
	// Answers are what the asker replied to the task's questions, in order.
	Answers []Answer `json:"answers,omitempty"`
	// Budgets hold what policy allowed, the configuration's defaults filled in.
	Budgets Budgets `json:"budgets,omitzero"`
	// Allowed is the policy's decision as it was last taken: it may narrow
	// model, runtime and destinations.
	Allowed Decision `json:"allowed,omitzero"`
	// Deleted holds the sources (messages, files) that are gone: what came
	// from them is forgotten.
	Deleted []string `json:"deleted,omitempty"`
	// Claim says which process works on it.
	Claim *Claim `json:"claim,omitempty"`
	// Cancel is set as soon as somebody asked to cancel the task.
	Cancel *CancelRequest `json:"cancel,omitempty"`

	Created     time.Time    `json:"created"`
	Started     time.Time    `json:"started,omitzero"`
	Ended       time.Time    `json:"ended,omitzero"`
	Transitions []Transition `json:"transitions,omitempty"`
	// Attempts counts the lives that began to run it; Fruitless counts those
	// since a step was last journaled.
	Attempts  int `json:"attempts,omitempty"`
	Fruitless int `json:"fruitless,omitempty"`

	// Progress is the receipt of the progress message, so that a later life
	// edits the same one.
	Progress *Receipt `json:"progress,omitempty"`
	Outcome  *Outcome `json:"outcome,omitempty"`
}

// Answer is a reply to a Question: it goes on in the same task.
type Answer struct {
	Text   string    `json:"text"`
	Actor  Actor     `json:"actor"`
	At     time.Time `json:"at"`
	Source string    `json:"source,omitempty"`
}

// CancelRequest says who wanted a task to end.
type CancelRequest struct {
	By  Actor     `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Transition records one move between states.
type Transition struct {
	To  TaskState `json:"to"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Input is a file of a request after it was fetched: it has a Blob, or a
// Problem that says why it could not be read.
type Input struct {
	Name      string `json:"name"` // safe to use as a file name
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size"`
	Blob      string `json:"blob,omitempty"`   // SHA-256, hex
	Source    string `json:"source,omitempty"` // where it came from, pinned (a commit, a file id)
	Problem   string `json:"problem,omitempty"`
	Maybe     bool   `json:"maybe,omitempty"` // see InputRef.Maybe
}

// Artifact is a file a task produced.
type Artifact struct {
	Name      string `json:"name"`
	MediaType string `json:"type"`
	Size      int64  `json:"size"`
	Blob      string `json:"sha256"`
	// Alt describes a picture for people who cannot see it.
	Alt string `json:"alt,omitempty"`
	// Auxiliary files accompany an answer, for programs or for a closer look: a
	// Talk is spared them.
	Auxiliary bool `json:"auxiliary,omitempty"`
}

// Undelivered names a declared file that is not delivered, and why.
type Undelivered struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Outcome is how a run ended, and what it owes to the origin.
type Outcome struct {
	State   TaskState `json:"state"` // TaskDone, TaskFailed, TaskCancelled or TaskWaiting
	Partial bool      `json:"partial,omitempty"`
	// Message is the answer as Markdown.
	Message     string        `json:"message"`
	Files       []Artifact    `json:"files,omitempty"`
	Undelivered []Undelivered `json:"undelivered,omitempty"`
	// Question is set when State is TaskWaiting.
	Question   *Question  `json:"question,omitempty"`
	Error      *TaskError `json:"error,omitempty"`
	Usage      Usage      `json:"usage"`
	Provenance Provenance `json:"provenance,omitzero"`
}

// Question is what the agent asks back.
type Question struct {
	Text    string   `json:"text"`
	Choices []string `json:"choices,omitempty"`
}

// TaskError is the failure of a task as its person reads it.
type TaskError struct {
	// Kind is stable and lower-case: "input", "engine", "image", "model",
	// "budget", "policy", "sandbox", "skill", "internal". Kinds "engine",
	// "image" and "model" mean that something needed is missing.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // the next thing to do
}

// Error implements error.
func (e *TaskError) Error() string { return e.Message }

// Advice is the hint as the beginning of a sentence, for it stands behind the
// message in a chat. No full stop is added: some end with a command to copy.
func (e *TaskError) Advice() string {
	first, size := utf8.DecodeRuneInString(e.Hint)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + e.Hint[size:]
}

// Told is the message and the advice behind it.
func (e *TaskError) Told() string {
	message := strings.TrimSpace(e.Message)
	last, size := utf8.DecodeLastRuneInString(message)
	if e.Hint == "" || size == 0 {
		return message + e.Advice()
	}
	if !strings.ContainsRune(".!?…:", last) {
		message += "."
	}
	return message + " " + e.Advice()
}

// Usage is what a task has spent.
type Usage struct {
	Turns          int     `json:"turns"`
	InputTokens    int64   `json:"input_tokens"`
	OutputTokens   int64   `json:"output_tokens"`
	CachedTokens   int64   `json:"cached_tokens"`
	CostUSD        float64 `json:"cost_usd"`
	SandboxSeconds float64 `json:"sandbox_seconds"`
}

// Budgets bound what a task, an actor and a day may cost; 0 is no limit of
// that kind, except where the configuration's default fills it in; a negative
// number is no limit there either.
type Budgets struct {
	Turns            int           `json:"turns,omitempty"`
	Tokens           int64         `json:"tokens,omitempty"`
	USD              float64       `json:"usd,omitempty"`
	Wall             time.Duration `json:"wall,omitempty"`
	Sandbox          time.Duration `json:"sandbox,omitempty"`
	ActorDailyTasks  int           `json:"actor_daily_tasks,omitempty"`
	DailyTasks       int           `json:"daily_tasks,omitempty"`
	ActorDailyTokens int64         `json:"actor_daily_tokens,omitempty"`
	ActorDailyUSD    float64       `json:"actor_daily_usd,omitempty"`
	DailyTokens      int64         `json:"daily_tokens,omitempty"`
	DailyUSD         float64       `json:"daily_usd,omitempty"`
}

// StepKind says what a Step records.
type StepKind string

// The kinds of steps.
const (
	StepProfile StepKind = "profile" // intake's reading of the inputs
	StepTurn    StepKind = "turn"    // a model's answer
	StepTool    StepKind = "tool"    // a tool's result
	StepProgram StepKind = "program" // a Program the sandbox ran
	StepNote    StepKind = "note"    // a decision worth telling: compaction, fallback, policy
)

// Step is one journaled thing inside a task. It is committed before it is
// acted on.
type Step struct {
	Seq  uint64    `json:"seq"` // counted from 1 within the task
	At   time.Time `json:"at"`
	Kind StepKind  `json:"kind"`
	// Agent is "lead", or the path of a subagent: "lead/2".
	Agent string `json:"agent"`
	// Data is the step's own JSON; its shape belongs to the Runner, but for
	// StepProgram, which holds a Program.
	Data json.RawMessage `json:"data"`
}

// Program is code that the sandbox ran. The programs of a task in their order
// are its program log: it resumes, reproduces, follows up and repeats.
type Program struct {
	Language string        `json:"language"` // python, javascript, bash, sql
	Code     string        `json:"code"`
	Verdict  string        `json:"verdict"`
	ExitCode int           `json:"exit_code"`
	Stdout   string        `json:"stdout,omitempty"` // capped
	Stderr   string        `json:"stderr,omitempty"` // capped
	Seconds  float64       `json:"seconds"`
	Files    []string      `json:"files,omitempty"` // new or changed under /workspace
	Title    string        `json:"title,omitempty"`
	Started  time.Duration `json:"started,omitempty"` // since the task's start
}

// Provenance says what an answer rests on.
type Provenance struct {
	ImageID  string            `json:"image_id,omitempty"`
	Runtime  string            `json:"runtime,omitempty"`
	Model    string            `json:"model,omitempty"`
	Skills   map[string]string `json:"skills,omitempty"` // name to version
	Values   string            `json:"values,omitempty"` // model.values in force: full, masked, none
	Programs []ProgramVerdict  `json:"programs,omitempty"`
	Proof    json.RawMessage   `json:"proof,omitempty"` // the sandbox's proof of enforcement
}

// ProgramVerdict is the short form of a Program.
type ProgramVerdict struct {
	Language string  `json:"language"`
	Verdict  string  `json:"verdict"`
	Seconds  float64 `json:"seconds"`
}
