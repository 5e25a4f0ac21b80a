package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Model answers a conversation. Implementations retry and fall back by
// themselves; what they return is final for the turn.
type Model interface {
	// Info describes the model that answers unless a fallback must.
	Info() ModelInfo
	// Complete answers req. Failures are *ModelError.
	Complete(ctx context.Context, req Request) (Reply, error)
}

// ModelInfo describes a model.
type ModelInfo struct {
	Name string
	// Window is the context in tokens; 0 takes 128,000.
	Window int
	// MaxOutput bounds the tokens of one answer; 0 takes 8,192.
	MaxOutput int
	Price     Price
}

// Price is a model's price in USD per million tokens; the zero value is free
// or unknown.
type Price struct {
	Input  float64 `json:"input"  yaml:"input"`
	Cached float64 `json:"cached" yaml:"cached"` // input that the server had cached; 0 takes Input
	Output float64 `json:"output" yaml:"output"`
}

// Cost gives the price of used tokens in USD.
func (p Price) Cost(u TokenUsage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Input
	}
	hit := min(u.Cached, u.Input)
	return (float64(u.Input-hit)*p.Input + float64(hit)*cached + float64(u.Output)*p.Output) / 1e6
}

// Role says who speaks in a Message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content,omitempty"`
	// Calls are an assistant's tool calls.
	Calls []Call `json:"calls,omitempty"`
	// CallID names the call that a tool message answers.
	CallID string `json:"call_id,omitempty"`
}

// Call is one tool call of a model.
type Call struct {
	// ID is unique within the conversation the agent keeps; what servers send
	// is not, and is replaced.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object, or empty where Problem is set.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Problem says why the arguments could not be read, for the model.
	Problem string `json:"problem,omitempty"`
}

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, always the same bytes.
	Schema json.RawMessage
}

// Request is one turn asked of a model.
type Request struct {
	Messages []Message
	Tools    []ToolSpec
	// Model is asked instead of the first one, where a policy names it.
	Model string
	// Force names the one tool that must be called; empty leaves the choice.
	Force string
	// MaxOutput bounds the answer in tokens.
	MaxOutput int
	// CacheKey groups requests that share a prefix.
	CacheKey string
	// OnText, when set, receives text while it is written; it must not block.
	OnText func(text string)
	// OnFirst, when set, is told of every try whose answer begins; it must not
	// block.
	OnFirst func()
}

// Finish says why an answer ended.
type Finish string

// The ways an answer ends.
const (
	FinishStop   Finish = "stop"
	FinishCalls  Finish = "calls"
	FinishLength Finish = "length" // cut off by a limit
	FinishFilter Finish = "filter" // withheld by the server
)

// Reply is a model's answer.
type Reply struct {
	Text   string     `json:"text,omitempty"`
	Calls  []Call     `json:"calls,omitempty"`
	Finish Finish     `json:"finish,omitempty"`
	Usage  TokenUsage `json:"usage"`
	// Model is the one that answered, a fallback perhaps.
	Model string `json:"model,omitempty"`
	// Price is that model's.
	Price Price `json:"price,omitzero"`
	// Retries counts the tries that failed before this answer.
	Retries int `json:"retries,omitempty"`
}

// TokenUsage is what a server says it used; all zero where it says nothing.
type TokenUsage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	Cached int64 `json:"cached,omitempty"`
}

// ModelErrorKind classes a model's failure by what can be done about it.
type ModelErrorKind string

// The kinds of model failures.
const (
	ModelContext     ModelErrorKind = "context"     // the conversation does not fit: compact and go on
	ModelBadRequest  ModelErrorKind = "bad_request" // refused as asked
	ModelDenied      ModelErrorKind = "denied"      // key or right missing
	ModelUnavailable ModelErrorKind = "unavailable" // no answer after all tries
	ModelProtocol    ModelErrorKind = "protocol"    // what answers is no OpenAI-compatible server
)

// ModelError is a failed turn.
type ModelError struct {
	Kind ModelErrorKind
	// Message is for people; it never holds a remote body.
	Message string
	Hint    string
	// Window is the context in tokens where a ModelContext error named it.
	Window int
	// After is how long the server asked to wait; 0 where it did not.
	After time.Duration
	Err   error
}

// Error implements error.
func (e *ModelError) Error() string { return fmt.Sprintf("ask model: %s", e.Message) }

// Unwrap implements errors.Unwrap.
func (e *ModelError) Unwrap() error { return e.Err }
