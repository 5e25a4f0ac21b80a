package openai

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// readCall reads a call's arguments, mending what can be mended safely. What
// was cut off by the output limit is never completed by guessing: half a
// program would run.
func readCall(name, args string, finish agent.Finish) agent.Call {
	call := agent.Call{Name: strings.TrimSpace(name)}
	args = strings.TrimSpace(args)
	if args == "" || args == "null" {
		call.Arguments = json.RawMessage("{}")
		return call
	}
	if object, ok := asObject(args); ok {
		call.Arguments = object
		return call
	}
	if finish == agent.FinishLength {
		call.Problem = "the arguments were cut off by the output limit; send a shorter call, a long program in several parts"
		return call
	}
	if object, ok := asObject(mend(args)); ok {
		call.Arguments = object
		return call
	}
	call.Problem = "the arguments are no valid JSON object; send the call again with valid JSON"
	return call
}

// asObject reads s as a JSON object, or as a JSON text that holds one.
func asObject(s string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) == nil && object != nil {
		return json.RawMessage(s), true
	}
	var inner string
	if json.Unmarshal([]byte(s), &inner) == nil && json.Unmarshal([]byte(inner), &object) == nil && object != nil {
		return json.RawMessage(inner), true
	}
	return nil, false
}

// mend repairs the usual faults of written JSON: a code fence around it, text
// after it, raw line ends within strings, trailing commas, Python's words for
// true, false and null, and missing closing brackets.
func mend(s string) string {
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(s), "```json"), "```"), "```"))
	if i := strings.IndexByte(s, '{'); i > 0 {
		s = s[i:]
	}
	var out strings.Builder
	var open []byte // closing brackets still owed, innermost last
	inText := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if inText {
			switch {
			case c == '\\' && i+1 < len(s):
				out.WriteByte(c)
				i++
				out.WriteByte(s[i])
			case c == '\n':
				out.WriteString(`\n`)
			case c == '\r':
				out.WriteString(`\r`)
			case c == '\t':
				out.WriteString(`\t`)
			default:
				inText = c != '"'
				out.WriteByte(c)
			}
			continue
		}
		switch c {
		case '"':
			inText = true
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				continue // closes nothing
			}
			open = open[:len(open)-1]
		case ',':
			if rest := strings.TrimLeft(s[i+1:], " \t\r\n"); rest == "" || rest[0] == '}' || rest[0] == ']' {
				continue
			}
		case 'T', 'F', 'N':
			if word, json, ok := pythonWord(s[i:]); ok {
				out.WriteString(json)
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(c)
		if len(open) == 0 && c == '}' {
			return out.String() // text may follow
		}
	}
	if inText {
		return s // a text without end: nobody knows what it was to say
	}
	slices.Reverse(open)
	return out.String() + string(open)
}

// pythonWord knows Python's constants at the start of s.
func pythonWord(s string) (word, json string, ok bool) {
	for _, pair := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
		if strings.HasPrefix(s, pair[0]) {
			return pair[0], pair[1], true
		}
	}
	return "", "", false
}

// withoutThinking drops <think>…</think> blocks, one that was never closed,
// and one whose beginning the server ate.
func withoutThinking(text string) string {
	for {
		start := strings.Index(text, "<think>")
		end := strings.Index(text, "</think>")
		switch {
		case end >= 0 && (start < 0 || end < start):
			text = text[end+len("</think>"):]
		case start >= 0 && end > start:
			text = text[:start] + text[end+len("</think>"):]
		case start >= 0:
			return text[:start]
		default:
			return text
		}
	}
}

// callsInText finds calls that a server left in the text: only forms that no
// prose has, and only of tools that were offered. The text without them comes
// back too.
func callsInText(text string, tools []agent.ToolSpec, finish agent.Finish) (string, []agent.Call) {
	known := func(name string) bool {
		return slices.ContainsFunc(tools, func(t agent.ToolSpec) bool { return t.Name == name })
	}
	var calls []agent.Call
	rest := text
	for _, form := range callForms() {
		rest = form.pattern.ReplaceAllStringFunc(rest, func(found string) string {
			got := form.read(form.pattern.FindStringSubmatch(found), finish)
			if len(got) == 0 || len(calls)+len(got) > maxCalls || slices.ContainsFunc(got, func(c agent.Call) bool { return !known(c.Name) }) {
				return found
			}
			calls = append(calls, got...)
			return ""
		})
	}
	return rest, calls
}

// callForm is one way of writing calls into text.
type callForm struct {
	pattern *regexp.Regexp
	read    func(groups []string, finish agent.Finish) []agent.Call
}

// callForms lists the ways of Hermes and Qwen, Llama, Mistral, and of a
// fenced or bare JSON object that is the whole text.
func callForms() []callForm {
	return []callForm{
		{regexp.MustCompile(`(?s)<tool_call>\s*(\{.*?\})\s*(?:</tool_call>|$)`), readNamed},
		{regexp.MustCompile(`(?s)<function=([a-z_]+)>\s*(\{.*?\})\s*(?:</function>|$)`), func(g []string, f agent.Finish) []agent.Call {
			return []agent.Call{readCall(g[1], g[2], f)}
		}},
		{regexp.MustCompile(`(?s)\[TOOL_CALLS\]\s*(\[.*\])`), readNamed},
		{regexp.MustCompile("(?s)^\\s*```(?:json|tool_call)?\\s*(\\{.*\\})\\s*```\\s*$"), readNamed},
		{regexp.MustCompile(`(?s)^\s*(\{.*\})\s*$`), readNamed},
	}
}

// readNamed reads {"name": …, "arguments": …} or a list of such.
func readNamed(groups []string, finish agent.Finish) []agent.Call {
	raw := groups[1]
	if !json.Valid([]byte(raw)) {
		raw = mend(raw)
	}
	type named struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var list []named
	if json.Unmarshal([]byte(raw), &list) != nil {
		var one named
		if json.Unmarshal([]byte(raw), &one) != nil {
			return nil
		}
		list = []named{one}
	}
	var calls []agent.Call
	for _, n := range list {
		if n.Name == "" {
			return nil
		}
		args := n.Arguments
		if args == nil {
			args = n.Parameters
		}
		calls = append(calls, readCall(n.Name, string(args), finish))
	}
	return calls
}
