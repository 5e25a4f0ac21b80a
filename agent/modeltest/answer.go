package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer writes one turn in the form its shape and fault ask for.
type answer struct {
	w      http.ResponseWriter
	r      *http.Request
	turn   Turn
	model  string
	fault  Fault
	stream bool

	events int
}

// failBefore meets the faults that leave no answer; true when one did.
func (a *answer) failBefore() bool {
	switch a.fault.Kind {
	case FaultStatus:
		if a.fault.RetryAfter != "" {
			a.w.Header().Set("Retry-After", a.fault.RetryAfter)
		}
		if a.fault.Body != "" {
			a.w.WriteHeader(a.fault.Status)
			_, _ = a.w.Write([]byte(a.fault.Body)) // the client may be gone
			return true
		}
		writeError(a.w, a.fault.Status, http.StatusText(a.fault.Status), "injected")
	case FaultHTML:
		a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = a.w.Write([]byte("<!doctype html><title>Sign in</title><p>Sign in to go on")) // the client may be gone
	case FaultHang:
		<-a.r.Context().Done()
	case FaultReset:
		panic(http.ErrAbortHandler)
	case FaultContext:
		writeContextError(a.w, 200000, 8192)
	default:
		return false
	}
	return true
}

// write sends the turn; true when all of it was sent.
func (a *answer) write(responses bool) bool {
	switch {
	case !a.stream && responses:
		writeJSON(a.w, http.StatusOK, a.response())
	case !a.stream:
		writeJSON(a.w, http.StatusOK, a.completion())
	default:
		a.w.Header().Set("Content-Type", "text/event-stream")
		for range a.turn.Shape.Comments {
			a.line(": still reading the prompt")
		}
		events := a.chunks()
		if responses {
			events = a.responseEvents()
		}
		return a.sendAll(events, responses)
	}
	return true
}

// sendAll streams events, meeting the faults of the middle.
func (a *answer) sendAll(events []any, responses bool) bool {
	middle := max(1, len(events)/2)
	for i, event := range events {
		if i == middle {
			switch a.fault.Kind {
			case FaultHalf:
				panic(http.ErrAbortHandler)
			case FaultEnd:
				return false
			case FaultStreamError:
				a.line(`data: {"error":{"code":500,"message":"injected in the stream","type":"server_error"}}`)
				return false
			case FaultStall:
				if a.fault.Delay == 0 {
					<-a.r.Context().Done()
					return false
				}
				if !sleep(a.r, a.fault.Delay) {
					return false
				}
			}
		}
		raw, err := json.Marshal(event)
		if err != nil {
			panic(fmt.Sprintf("modeltest: marshal event: %v", err)) // our own types
		}
		a.line("data: " + string(raw))
	}
	if !responses && !a.turn.Shape.NoDone {
		a.line("data: [DONE]")
	}
	return true
}

func (a *answer) line(s string) {
	end := "\n\n"
	if a.turn.Shape.CRLF {
		end = "\r\n\r\n"
	}
	_, _ = a.w.Write([]byte(s + end)) // the client may be gone
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (a *answer) callID(i int) string {
	switch {
	case a.turn.Shape.NoIDs:
		return ""
	case a.turn.Shape.SameIDs:
		return "call_same"
	case a.turn.Calls[i].ID != "":
		return a.turn.Calls[i].ID
	}
	return fmt.Sprintf("call_%d", i)
}

func (a *answer) args(i int) any {
	if a.turn.Shape.ObjectArgs && json.Valid([]byte(a.turn.Calls[i].Args)) {
		return json.RawMessage(a.turn.Calls[i].Args)
	}
	return a.turn.Calls[i].Args
}

// text is the content, with the calls written into it where the shape says so.
func (a *answer) text() string {
	if !a.turn.Shape.CallsAsText {
		return a.turn.Text
	}
	var b strings.Builder
	b.WriteString(a.turn.Text)
	for _, c := range a.turn.Calls {
		fmt.Fprintf(&b, "\n<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, c.Args)
	}
	return b.String()
}

func (a *answer) finish() string {
	switch {
	case a.turn.Finish != "":
		return a.turn.Finish
	case len(a.turn.Calls) > 0 && !a.turn.Shape.CallsAsText:
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) usage() map[string]any {
	return map[string]any{
		"prompt_tokens": a.turn.Usage.Input, "completion_tokens": a.turn.Usage.Output,
		"total_tokens":          a.turn.Usage.Input + a.turn.Usage.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.turn.Usage.Cached},
	}
}

// content gives text in the shape's form.
func (a *answer) content(s string) any {
	switch {
	case s == "" && a.turn.Shape.NullContent:
		return nil
	case a.turn.Shape.PartsContent:
		return []any{map[string]any{"type": "text", "text": s}}
	}
	return s
}
