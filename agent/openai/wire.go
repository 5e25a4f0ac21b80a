package openai

import (
	"context"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// empty stands where a server needs text and there is none: go-openai drops
// empty content, and servers refuse messages without any.
const empty = "(empty)"

// chat asks by a chat completion.
func (c *Client) chat(ctx context.Context, model string, req agent.Request, d *doer) (agent.Reply, error) {
	habit := c.habit(model)
	wire := api.ChatCompletionRequest{Model: model, Messages: chatMessages(req.Messages), Tools: chatTools(req.Tools)}
	if !habit.noStreamOptions {
		wire.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	switch {
	case req.MaxOutput == 0 || habit.noMax:
	case c.newName(model) != habit.otherMax:
		wire.MaxCompletionTokens = req.MaxOutput
	default:
		wire.MaxTokens = req.MaxOutput //nolint:staticcheck // the name that servers of one's own know
	}
	if req.Force != "" && !habit.noToolChoice {
		wire.ToolChoice = api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: req.Force}}
	}
	stream, err := c.client(d).CreateChatCompletionStream(ctx, wire)
	if err != nil {
		return agent.Reply{}, err
	}
	defer func() { _ = stream.Close() }() // read to its end, or given up
	return readChat(stream.RecvRaw, req, d)
}

// newName reports whether model takes max_completion_tokens: OpenAI does, own
// servers know the old name best, and the library refuses it for some names.
func (c *Client) newName(model string) bool {
	if strings.HasSuffix(c.host, "openai.com") || strings.HasSuffix(c.host, "openai.azure.com") {
		return true
	}
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func chatMessages(messages []agent.Message) []api.ChatCompletionMessage {
	out := make([]api.ChatCompletionMessage, 0, len(messages))
	for _, m := range messages {
		w := api.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			w.ToolCalls = append(w.ToolCalls, api.ToolCall{
				ID: call.ID, Type: api.ToolTypeFunction,
				Function: api.FunctionCall{Name: call.Name, Arguments: arguments(call)},
			})
		}
		if w.Content == "" && len(w.ToolCalls) == 0 {
			w.Content = empty
		}
		out = append(out, w)
	}
	return out
}

// arguments gives a call's arguments as valid JSON: some servers answer 500
// to a history with broken ones.
func arguments(call agent.Call) string {
	if len(call.Arguments) == 0 {
		return "{}"
	}
	return string(call.Arguments)
}

func chatTools(tools []agent.ToolSpec) []api.Tool {
	var out []api.Tool
	for _, t := range tools {
		out = append(out, api.Tool{Type: api.ToolTypeFunction, Function: &api.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	return out
}
