package modeltest

import "fmt"

// response is the plain form of the Responses API.
func (a *answer) response() map[string]any {
	status, incomplete := "completed", any(nil)
	if a.turn.Finish == "length" {
		status, incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	out := map[string]any{
		"id": "resp_scripted", "object": "response", "created_at": 1, "model": a.model,
		"status": status, "incomplete_details": incomplete, "output": a.items(),
	}
	if !a.turn.Shape.NoUsage {
		out["usage"] = map[string]any{
			"input_tokens": a.turn.Usage.Input, "output_tokens": a.turn.Usage.Output,
			"total_tokens":         a.turn.Usage.Input + a.turn.Usage.Output,
			"input_tokens_details": map[string]any{"cached_tokens": a.turn.Usage.Cached},
		}
	}
	return out
}

// items are the output items: reasoning, a message, calls.
func (a *answer) items() []any {
	items := []any{}
	if a.turn.Reasoning != "" {
		items = append(items, map[string]any{"id": "rs_1", "type": "reasoning", "summary": []any{}})
	}
	if text := a.text(); text != "" {
		items = append(items, map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
		})
	}
	if a.turn.Shape.CallsAsText {
		return items
	}
	for i, c := range a.turn.Calls {
		items = append(items, map[string]any{
			"id": fmt.Sprintf("fc_%d", i), "type": "function_call", "status": "completed",
			"call_id": a.callID(i), "name": c.Name, "arguments": c.Args,
		})
	}
	return items
}

// responseEvents is the streamed form.
func (a *answer) responseEvents() []any {
	var out []any
	add := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, a.events
		a.events++
		out = append(out, fields)
	}
	add("response.created", map[string]any{"response": map[string]any{"id": "resp_scripted", "status": "in_progress", "output": []any{}}})
	for i, item := range a.items() {
		m := item.(map[string]any)
		add("response.output_item.added", map[string]any{"output_index": i, "item": map[string]any{
			"id": m["id"], "type": m["type"], "call_id": m["call_id"], "name": m["name"],
		}})
		switch m["type"] {
		case "message":
			for _, part := range pieces(a.text()) {
				add("response.output_text.delta", map[string]any{"output_index": i, "delta": part})
			}
		case "function_call":
			for _, part := range pieces(m["arguments"].(string)) {
				add("response.function_call_arguments.delta", map[string]any{"output_index": i, "item_id": m["id"], "delta": part})
			}
		}
		add("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	final := a.response()
	kind := "response.completed"
	if final["status"] == "incomplete" {
		kind = "response.incomplete"
	}
	add(kind, map[string]any{"response": final})
	return out
}
