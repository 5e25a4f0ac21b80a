package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Script is what a server answers.
type Script struct {
	// Agents are tried in order; the first whose Match stands in the
	// conversation's opening (all before the first assistant message) speaks.
	Agents []Agent `json:"agents"`
	// Answer, when set, decides instead of Agents.
	Answer func(Request) Turn `json:"-"`
	// Latency passes before each answer begins.
	Latency time.Duration `json:"latency,omitempty"`
	// Reject answers 400 where a request's top level has one of these fields,
	// as servers do that do not know it.
	Reject []string `json:"reject,omitempty"`
	// Window answers 400 (context exceeded) where a request is estimated over
	// this many tokens, at four bytes each; 0 is endless.
	Window int `json:"window,omitempty"`
}

// Agent is one conversation's answers in order. Past the last one the server
// answers with the last one again.
type Agent struct {
	Match string `json:"match"`
	Turns []Turn `json:"turns"`
}

// Turn is one answer.
type Turn struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"` // as reasoning_content
	Calls     []Call `json:"calls,omitempty"`
	// Finish overrides the finish reason: "stop", "tool_calls", "length", …
	Finish string `json:"finish,omitempty"`
	Usage  *Usage `json:"usage,omitempty"` // nil: counted at four bytes a token
	Shape  Shape  `json:"shape,omitzero"`
	// Faults meet the first tries of this turn, one each.
	Faults []Fault `json:"faults,omitempty"`
}

// Call is one tool call.
type Call struct {
	ID   string `json:"id,omitempty"` // empty: made up, unless Shape says otherwise
	Name string `json:"name"`
	// Args are sent as they stand, valid JSON or not.
	Args string `json:"args"`
}

// Usage is what the server says it used.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached"`
}

// Shape lists ways in which servers differ in the form of an answer.
type Shape struct {
	NoIDs           bool `json:"no_ids,omitempty"`        // calls without an id
	SameIDs         bool `json:"same_ids,omitempty"`      // all calls carry one id
	NoIndex         bool `json:"no_index,omitempty"`      // streamed calls without an index
	ObjectArgs      bool `json:"object_args,omitempty"`   // arguments as an object
	CallsAsText     bool `json:"calls_as_text,omitempty"` // <tool_call>{…}</tool_call> in the content
	NullContent     bool `json:"null_content,omitempty"`  // content null in deltas and beside calls
	EmptyChoices    bool `json:"empty_choices,omitempty"` // no choice at all
	NoUsage         bool `json:"no_usage,omitempty"`      // never says what it used
	UsageWithChoice bool `json:"usage_with_choice"`       // usage in the last choice's chunk
	Comments        int  `json:"comments,omitempty"`      // ":" lines before the first chunk
	NoDone          bool `json:"no_done,omitempty"`       // ends without [DONE]
	Plain           bool `json:"plain,omitempty"`         // answers a stream request with one JSON
	Extra           bool `json:"extra,omitempty"`         // unknown objects such as timings
	PartsContent    bool `json:"parts_content,omitempty"` // content as a list of parts
	CRLF            bool `json:"crlf,omitempty"`          // CRLF line ends
	WholeCalls      bool `json:"whole_calls,omitempty"`   // each call in one fragment
}

// Fault is what goes wrong with one try.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Status and RetryAfter belong to FaultStatus.
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	// Body replaces the error's JSON body.
	Body string `json:"body,omitempty"`
	// Delay passes before a FaultStall goes on; 0 waits until the client goes.
	Delay time.Duration `json:"delay,omitempty"`
}

// FaultKind names a fault.
type FaultKind string

// The faults.
const (
	FaultStatus      FaultKind = "status"       // an HTTP error with a JSON body
	FaultHTML        FaultKind = "html"         // 200 with a web page
	FaultHalf        FaultKind = "half"         // the connection breaks in the middle
	FaultEnd         FaultKind = "end"          // the stream just ends, without finish or [DONE]
	FaultStreamError FaultKind = "stream_error" // 200, then an error line
	FaultHang        FaultKind = "hang"         // accepts and says nothing
	FaultStall       FaultKind = "stall"        // stops in the middle for Delay
	FaultReset       FaultKind = "reset"        // closes without an answer
	FaultContext     FaultKind = "context"      // 400: the context is exceeded
)

// Read reads a Script from JSON.
func Read(r io.Reader) (Script, error) {
	var s Script
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	return s, nil
}

// turn picks the answer to req.
func (s Script) turn(req Request) (Turn, error) {
	if s.Answer != nil {
		return s.Answer(req), nil
	}
	for _, agent := range s.Agents {
		if !strings.Contains(req.Opening, agent.Match) || len(agent.Turns) == 0 {
			continue
		}
		return agent.Turns[min(req.Turn, len(agent.Turns)-1)], nil
	}
	return Turn{}, fmt.Errorf("no agent of the script matches the opening %.200q", req.Opening)
}

// Do makes a turn with one call; args is marshalled.
func Do(name string, args any) Turn {
	return Turn{Calls: []Call{Use(name, args)}}
}

// Say makes a turn of text alone.
func Say(text string) Turn { return Turn{Text: text} }

// Use makes a call; args is marshalled.
func Use(name string, args any) Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("modeltest: marshal arguments of %s: %v", name, err)) // the test's own fault
	}
	return Call{Name: name, Args: string(raw)}
}
