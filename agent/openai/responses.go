package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	api "github.com/sashabaranov/go-openai"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// responses asks by the Responses API, without anything kept at the server:
// the whole conversation is sent each time, as with chat completions.
func (c *Client) responses(ctx context.Context, model string, req agent.Request, d *doer) (agent.Reply, error) {
	keep := false
	wire := api.CreateResponseRequest{
		Model: model, Input: responseInput(req.Messages), Store: &keep,
		MaxOutputTokens: req.MaxOutput, PromptCacheKey: req.CacheKey,
	}
	for _, m := range req.Messages {
		if m.Role == agent.RoleSystem {
			wire.Instructions = m.Content
			break
		}
	}
	for _, t := range req.Tools {
		wire.Tools = append(wire.Tools, api.NewResponseFunctionTool(api.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}))
	}
	if req.Force != "" && !c.habit(model).noToolChoice {
		wire.ToolChoice = map[string]string{"type": "function", "name": req.Force}
	}
	stream, err := c.client(d).CreateResponseStream(ctx, wire)
	if err != nil {
		return agent.Reply{}, err
	}
	defer func() { _ = stream.Close() }() // read to its end, or given up
	return readResponse(stream.RecvRaw, req)
}

// responseInput writes a conversation as input items; the first system
// message goes into the instructions instead.
func responseInput(messages []agent.Message) []any {
	out := []any{}
	instructed := false
	for _, m := range messages {
		switch {
		case m.Role == agent.RoleSystem && !instructed:
			instructed = true
			continue
		case m.Role == agent.RoleTool:
			output := m.Content
			if output == "" {
				output = empty
			}
			out = append(out, api.ResponseFunctionCallOutput{Type: "function_call_output", CallID: m.CallID, Output: output})
			continue
		case m.Content != "" || len(m.Calls) == 0:
			text := m.Content
			if text == "" {
				text = empty
			}
			out = append(out, api.ResponseInputMessage{Role: string(m.Role), Content: text})
		}
		for _, call := range m.Calls {
			out = append(out, map[string]any{
				"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": arguments(call),
			})
		}
	}
	return out
}

// responseEvent is what is wanted of the stream's events; the final one
// repeats the whole answer, and a plain answer is that object itself.
type responseEvent struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Response *responseBody   `json:"response"`
	Error    json.RawMessage `json:"error"`
	Message  string          `json:"message"`
	responseBody
}

type responseBody struct {
	Object     string `json:"object"`
	Status     string `json:"status"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Failure *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Output []struct {
		Type      string          `json:"type"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Content   json.RawMessage `json:"content"`
	} `json:"output"`
	Usage *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details *struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// readResponse reads a stream up to its final event.
func readResponse(next func() ([]byte, error), req agent.Request) (agent.Reply, error) {
	for first := true; ; first = false {
		raw, err := next()
		if errors.Is(err, io.EOF) {
			return agent.Reply{}, errBroken
		}
		if err != nil {
			return agent.Reply{}, streamError(err)
		}
		if first && req.OnFirst != nil {
			req.OnFirst()
		}
		var event responseEvent
		if err := json.Unmarshal(raw, &event); err != nil {
			return agent.Reply{}, fmt.Errorf("read answer: %w", errBroken)
		}
		switch event.Type {
		case "response.output_text.delta":
			if req.OnText != nil {
				req.OnText(content(event.Delta))
			}
		case "response.completed", "response.incomplete", "response.failed":
			if event.Response == nil {
				return agent.Reply{}, errBroken
			}
			return event.Response.reply(req)
		case "error":
			return agent.Reply{}, &errStream{said: event.Message + string(event.Error)}
		case "":
			if event.Object == "response" {
				return event.reply(req)
			}
		}
	}
}

func (b *responseBody) reply(req agent.Request) (agent.Reply, error) {
	if b.Status == "failed" {
		said := ""
		if b.Failure != nil {
			said = b.Failure.Code + " " + b.Failure.Message
		}
		return agent.Reply{}, &errStream{said: said}
	}
	c := &collector{finish: "stop"}
	if b.Incomplete != nil && b.Incomplete.Reason != "" {
		c.finish = b.Incomplete.Reason
	}
	if u := b.Usage; u != nil {
		c.usage = agent.TokenUsage{Input: u.Input, Output: u.Output}
		if u.Details != nil {
			c.usage.Cached = u.Details.Cached
		}
	}
	for _, item := range b.Output {
		switch item.Type {
		case "message":
			c.text.WriteString(content(item.Content))
		case "function_call":
			f := fragment{}
			f.Function.Name, f.Function.Arguments = item.Name, item.Arguments
			index := len(c.calls)
			f.Index = &index
			if err := c.fragment(f); err != nil {
				return agent.Reply{}, err
			}
		}
	}
	return c.reply(req), nil
}
