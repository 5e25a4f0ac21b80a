package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// Bounds on one answer.
const (
	maxText      = 1 << 20
	maxArguments = 512 << 10
	maxCalls     = 32
)

// chunk is a chat completion or a piece of one, read as leniently as servers
// write them.
type chunk struct {
	Choices []struct {
		Delta   *delta `json:"delta"`
		Message *delta `json:"message"`
		Finish  string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type delta struct {
	Content   json.RawMessage `json:"content"` // text, null, or a list of parts
	Refusal   string          `json:"refusal"`
	ToolCalls []fragment      `json:"tool_calls"`
}

type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // text, or an object
	} `json:"function"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    *struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// collector puts a streamed answer together.
type collector struct {
	onText func(string)
	text   strings.Builder
	calls  []*partial
	finish string
	usage  agent.TokenUsage
}

// partial is a call while its fragments come.
type partial struct {
	index int
	id    string
	name  string
	args  strings.Builder
}

// readChat reads a stream to its end. next gives the data of one event, d says
// whether the server said it was done.
func readChat(next func() ([]byte, error), req agent.Request, d *doer) (agent.Reply, error) {
	c := &collector{onText: req.OnText}
	for first := true; ; first = false {
		raw, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return agent.Reply{}, streamError(err)
		}
		if first && req.OnFirst != nil {
			req.OnFirst()
		}
		var ch chunk
		if err := json.Unmarshal(raw, &ch); err != nil {
			return agent.Reply{}, fmt.Errorf("read answer: %w", errBroken)
		}
		if len(ch.Error) > 0 && !bytes.Equal(ch.Error, []byte("null")) {
			return agent.Reply{}, &errStream{said: string(ch.Error)}
		}
		if err := c.add(ch); err != nil {
			return agent.Reply{}, err
		}
	}
	// Some servers never name a reason, some never say that they are done; a
	// stream with neither broke off, and so did one that ends within a call.
	if c.finish == "" && (!d.done || !c.whole()) {
		return agent.Reply{}, errBroken
	}
	return c.reply(req), nil
}

// streamError gives the library's in-stream errors our own type.
func streamError(err error) error {
	var said *api.APIError
	if errors.As(err, &said) {
		return &errStream{said: fmt.Sprint(said.Type, " ", said.Code, " ", said.Message)}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errBroken
	}
	return err
}

func (c *collector) add(ch chunk) error {
	if u := ch.Usage; u != nil {
		c.usage.Input, c.usage.Output = max(c.usage.Input, u.Prompt), max(c.usage.Output, u.Completion)
		if u.Details != nil {
			c.usage.Cached = max(c.usage.Cached, u.Details.Cached)
		}
	}
	if len(ch.Choices) == 0 {
		return nil
	}
	choice := ch.Choices[0]
	d := choice.Delta
	if d == nil {
		d = choice.Message
	}
	if choice.Finish != "" {
		c.finish = choice.Finish
	}
	if d == nil {
		return nil
	}
	if text := content(d.Content) + d.Refusal; text != "" {
		if c.text.Len()+len(text) > maxText {
			return errTooLarge
		}
		c.text.WriteString(text)
		if c.onText != nil {
			c.onText(text)
		}
	}
	for _, f := range d.ToolCalls {
		if err := c.fragment(f); err != nil {
			return err
		}
	}
	return nil
}

// fragment adds a piece of a call. A piece belongs to the call of its index;
// without one, an id or a name begins a new call.
func (c *collector) fragment(f fragment) error {
	var call *partial
	if f.Index != nil {
		for _, p := range c.calls {
			if p.index == *f.Index {
				call = p
			}
		}
		// One index with two names is two calls of a careless server.
		if call != nil && f.Function.Name != "" && call.name != "" && call.args.Len() > 0 && json.Valid([]byte(call.args.String())) {
			call = nil
		}
	} else if n := len(c.calls); n > 0 && f.Function.Name == "" && (f.ID == "" || f.ID == c.calls[n-1].id) {
		call = c.calls[n-1]
	}
	if call == nil {
		if len(c.calls) >= maxCalls {
			return errTooLarge
		}
		call = &partial{index: len(c.calls), id: f.ID}
		if f.Index != nil {
			call.index = *f.Index
		}
		c.calls = append(c.calls, call)
	}
	if call.name == "" {
		call.name = f.Function.Name
	}
	args := string(f.Function.Arguments)
	var text string
	if json.Unmarshal(f.Function.Arguments, &text) == nil {
		args = text
	}
	if call.args.Len()+len(args) > maxArguments {
		return errTooLarge
	}
	call.args.WriteString(args)
	return nil
}

// whole reports whether all calls have arguments that can be read.
func (c *collector) whole() bool {
	for _, p := range c.calls {
		if s := p.args.String(); s != "" && !json.Valid([]byte(s)) {
			return false
		}
	}
	return true
}

// reply makes the answer of what was collected.
func (c *collector) reply(req agent.Request) agent.Reply {
	text := withoutThinking(c.text.String())
	finish := finishOf(c.finish)
	var calls []agent.Call
	for _, p := range c.calls {
		calls = append(calls, readCall(p.name, p.args.String(), finish))
	}
	if len(calls) == 0 {
		text, calls = callsInText(text, req.Tools, finish)
	}
	if len(calls) > 0 && finish == agent.FinishStop {
		finish = agent.FinishCalls
	}
	return agent.Reply{Text: strings.TrimSpace(text), Calls: calls, Finish: finish, Usage: c.usage}
}

func finishOf(reason string) agent.Finish {
	switch reason {
	case "length", "max_tokens", "max_output_tokens":
		return agent.FinishLength
	case "content_filter":
		return agent.FinishFilter
	case "tool_calls", "function_call":
		return agent.FinishCalls
	}
	return agent.FinishStop
}

// content reads text, null or a list of parts.
func content(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
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
