package modeltest

// completion is the plain form of a chat completion.
func (a *answer) completion() map[string]any {
	message := map[string]any{"role": "assistant", "content": a.content(a.text())}
	if a.turn.Reasoning != "" {
		message["reasoning_content"] = a.turn.Reasoning
	}
	if len(a.turn.Calls) > 0 && !a.turn.Shape.CallsAsText {
		var calls []any
		for i, c := range a.turn.Calls {
			calls = append(calls, a.withID(i, map[string]any{
				"type": "function", "function": map[string]any{"name": c.Name, "arguments": a.args(i)},
			}))
		}
		message["tool_calls"] = calls
	}
	choices := []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}}
	if a.turn.Shape.EmptyChoices {
		choices = []any{}
	}
	out := map[string]any{"id": "chatcmpl-scripted", "object": "chat.completion", "created": 1, "model": a.model, "choices": choices}
	if !a.turn.Shape.NoUsage {
		out["usage"] = a.usage()
	}
	return out
}

func (a *answer) withID(i int, call map[string]any) map[string]any {
	if id := a.callID(i); id != "" {
		call["id"] = id
	}
	return call
}

// chunks is the streamed form.
func (a *answer) chunks() []any {
	var out []any
	add := func(delta map[string]any, finish any) map[string]any {
		c := map[string]any{
			"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": a.model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
		if a.turn.Shape.Extra {
			c["timings"] = map[string]any{"prompt_ms": 1.5}
		}
		out = append(out, c)
		return c
	}
	if a.turn.Shape.EmptyChoices {
		c := add(nil, nil)
		c["choices"] = []any{}
		return out
	}
	add(map[string]any{"role": "assistant", "content": a.content("")}, nil)
	for _, part := range pieces(a.turn.Reasoning) {
		add(map[string]any{"reasoning_content": part}, nil)
	}
	for _, part := range pieces(a.text()) {
		add(map[string]any{"content": a.content(part)}, nil)
	}
	if !a.turn.Shape.CallsAsText {
		for i := range a.turn.Calls {
			for _, fragment := range a.fragments(i) {
				add(map[string]any{"content": a.content(""), "tool_calls": []any{fragment}}, nil)
			}
		}
	}
	last := add(map[string]any{}, a.finish())
	switch {
	case a.turn.Shape.NoUsage:
	case a.turn.Shape.UsageWithChoice:
		last["usage"] = a.usage()
	default:
		add(nil, nil)["choices"] = []any{}
		out[len(out)-1].(map[string]any)["usage"] = a.usage()
	}
	return out
}

// fragments cuts a call as servers stream it: the first fragment has id and
// name and may already carry the opening brace.
func (a *answer) fragments(i int) []any {
	call := a.turn.Calls[i]
	index := func(m map[string]any) map[string]any {
		if !a.turn.Shape.NoIndex {
			m["index"] = i
		}
		return m
	}
	if a.turn.Shape.ObjectArgs || a.turn.Shape.WholeCalls {
		return []any{index(a.withID(i, map[string]any{
			"type": "function", "function": map[string]any{"name": call.Name, "arguments": a.args(i)},
		}))}
	}
	parts := pieces(call.Args)
	first := ""
	if len(parts) > 0 {
		first, parts = parts[0], parts[1:]
	}
	out := []any{index(a.withID(i, map[string]any{
		"type": "function", "function": map[string]any{"name": call.Name, "arguments": first},
	}))}
	for _, part := range parts {
		out = append(out, index(map[string]any{"function": map[string]any{"arguments": part}}))
	}
	return out
}

// pieces cuts s in up to four, at rune borders.
func pieces(s string) []string {
	runes := []rune(s)
	if len(runes) == 0 {
		return nil
	}
	size := max(1, (len(runes)+3)/4)
	var out []string
	for start := 0; start < len(runes); start += size {
		out = append(out, string(runes[start:min(len(runes), start+size)]))
	}
	return out
}
