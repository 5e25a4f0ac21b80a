package modeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Request is one recorded request.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time

	Model    string
	Stream   bool
	Messages []Message
	Tools    []string // names, in the order sent
	// Opening is all text before the first assistant message.
	Opening string
	// Turn counts the assistant messages already in the conversation.
	Turn int
	// Key identifies the conversation so far: the same Key is the same turn
	// asked again.
	Key string
	// Try counts earlier requests with the same Key.
	Try int
	// Answered is set once a whole answer was written.
	Answered bool
}

// Message is one message of a request, whichever API it came by.
type Message struct {
	Role    string
	Content string
	Calls   []Call
	CallID  string
}

// Text joins everything that the conversation holds, for searching.
func (r Request) Text() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Content)
		b.WriteByte('\n')
		for _, c := range m.Calls {
			b.WriteString(c.Name + " " + c.Args + "\n")
		}
	}
	return b.String()
}

// Last is the newest message.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

type wireRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []wireMessage     `json:"messages"`
	Input    json.RawMessage   `json:"input"`
	System   string            `json:"instructions"`
	Tools    []json.RawMessage `json:"tools"`
}

type wireMessage struct {
	Type       string          `json:"type"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	// The Responses API's items.
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// parse reads a request of either API.
func parse(path string, header http.Header, body []byte) (Request, error) {
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("parse request: %w", err)
	}
	req := Request{Path: path, Header: header, Body: body, Model: wire.Model, Stream: wire.Stream}
	items := wire.Messages
	if wire.Input != nil {
		if err := json.Unmarshal(wire.Input, &items); err != nil {
			return Request{}, fmt.Errorf("parse input: %w", err)
		}
	}
	if wire.System != "" {
		req.Messages = append(req.Messages, Message{Role: "system", Content: wire.System})
	}
	for _, item := range items {
		req.add(item)
	}
	for _, raw := range wire.Tools {
		req.Tools = append(req.Tools, toolName(raw))
	}
	var opening strings.Builder
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			req.Turn++
		} else if req.Turn == 0 {
			opening.WriteString(m.Content + "\n")
		}
	}
	req.Opening = opening.String()
	sum := sha256.Sum256([]byte(req.Text()))
	req.Key = hex.EncodeToString(sum[:8])
	return req, nil
}

// add appends one wire item; function calls that follow each other belong to
// one assistant message.
func (r *Request) add(item wireMessage) {
	switch item.Type {
	case "function_call":
		call := Call{ID: item.CallID, Name: item.Name, Args: item.Arguments}
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == "assistant" {
			r.Messages[n-1].Calls = append(r.Messages[n-1].Calls, call)
			return
		}
		r.Messages = append(r.Messages, Message{Role: "assistant", Calls: []Call{call}})
	case "function_call_output":
		r.Messages = append(r.Messages, Message{Role: "tool", CallID: item.CallID, Content: text(item.Output)})
	default:
		m := Message{Role: item.Role, Content: text(item.Content), CallID: item.ToolCallID}
		for _, c := range item.ToolCalls {
			m.Calls = append(m.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, m)
	}
}

func toolName(raw json.RawMessage) string {
	var tool struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &tool) != nil {
		return ""
	}
	if tool.Function.Name != "" {
		return tool.Function.Name
	}
	return tool.Name
}

// text reads content that is a string, null or a list of parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
