package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools are what the tests offer.
var tools = []agent.ToolSpec{
	{Name: "execute_code", Description: "Run code.", Schema: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}`)},
	{Name: "finish", Description: "End.", Schema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
}

func question(text string) agent.Request {
	return agent.Request{
		Messages:  []agent.Message{{Role: agent.RoleSystem, Content: "You test."}, {Role: agent.RoleUser, Content: text}},
		Tools:     tools,
		MaxOutput: 500,
	}
}

// client asks srv with pauses too short to notice.
func client(t *testing.T, srv *modeltest.Server, change func(*openai.Options)) *openai.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := openai.Options{
		BaseURL: srv.URL(), Model: "scripted", FirstWait: time.Millisecond,
		FirstToken: 10 * time.Second, TurnTimeout: 20 * time.Second, HTTP: &http.Client{Transport: transport},
	}
	if change != nil {
		change(&o)
	}
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func one(turn modeltest.Turn) modeltest.Script {
	return modeltest.Script{Agents: []modeltest.Agent{{Turns: []modeltest.Turn{turn}}}}
}

// TestQuirks meets what real servers do, over HTTP, by both interfaces.
func TestQuirks(t *testing.T) {
	run := modeltest.Use("execute_code", map[string]string{"code": "print(1)\nprint('ü')"})
	end := modeltest.Use("finish", map[string]string{"message": "ok"})
	type want struct {
		text   string
		calls  []string // name and arguments
		finish agent.Finish
		input  int64
	}
	runWant := "execute_code " + run.Args
	cases := []struct {
		name     string
		turn     modeltest.Turn
		want     want
		chatOnly bool
	}{
		{name: "plain text", turn: modeltest.Turn{Text: "The answer is 42.", Usage: &modeltest.Usage{Input: 7, Output: 3}}, want: want{text: "The answer is 42.", finish: agent.FinishStop, input: 7}},
		{name: "one call", turn: modeltest.Turn{Calls: []modeltest.Call{run}}, want: want{calls: []string{runWant}, finish: agent.FinishCalls}},
		{name: "parallel calls", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "text beside a call", turn: modeltest.Turn{Text: "Let me see.", Calls: []modeltest.Call{run}}, want: want{text: "Let me see.", calls: []string{runWant}, finish: agent.FinishCalls}},
		{name: "missing ids", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}, Shape: modeltest.Shape{NoIDs: true}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "duplicate ids", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}, Shape: modeltest.Shape{SameIDs: true}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "no index", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}, Shape: modeltest.Shape{NoIndex: true}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "no index, no ids", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}, Shape: modeltest.Shape{NoIndex: true, NoIDs: true}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "no index, same id", turn: modeltest.Turn{Calls: []modeltest.Call{run, end}, Shape: modeltest.Shape{NoIndex: true, SameIDs: true}}, want: want{calls: []string{runWant, `finish {"message":"ok"}`}, finish: agent.FinishCalls}},
		{name: "arguments as an object", turn: modeltest.Turn{Calls: []modeltest.Call{run}, Shape: modeltest.Shape{ObjectArgs: true}}, want: want{calls: []string{runWant}, finish: agent.FinishCalls}, chatOnly: true},
		{name: "whole calls in one fragment", turn: modeltest.Turn{Calls: []modeltest.Call{run}, Shape: modeltest.Shape{WholeCalls: true}}, want: want{calls: []string{runWant}, finish: agent.FinishCalls}},
		{name: "no arguments", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "execute_code"}}}, want: want{calls: []string{"execute_code {}"}, finish: agent.FinishCalls}},
		{name: "trailing comma", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: `{"message":"a",}`}}}, want: want{calls: []string{`finish {"message":"a"}`}, finish: agent.FinishCalls}},
		{name: "missing bracket", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: `{"message":"a"`}}}, want: want{calls: []string{`finish {"message":"a"}`}, finish: agent.FinishCalls}},
		{name: "raw line end in a text", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: "{\"message\":\"a\nb\"}"}}}, want: want{calls: []string{`finish {"message":"a\nb"}`}, finish: agent.FinishCalls}},
		{name: "fenced arguments", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: "```json\n{\"message\":\"a\"}\n```"}}}, want: want{calls: []string{`finish {"message":"a"}`}, finish: agent.FinishCalls}},
		{name: "hopeless arguments", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: `message: a`}}}, want: want{calls: []string{"finish !no valid JSON"}, finish: agent.FinishCalls}},
		{name: "cut off by length", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "execute_code", Args: `{"code":"rm -r`}}, Finish: "length"}, want: want{calls: []string{"execute_code !cut off"}, finish: agent.FinishLength}},
		{name: "length with a bracket missing", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "execute_code", Args: `{"code":"rm -r /"`}}, Finish: "length"}, want: want{calls: []string{"execute_code !cut off"}, finish: agent.FinishLength}},
		{name: "null content", turn: modeltest.Turn{Calls: []modeltest.Call{run}, Shape: modeltest.Shape{NullContent: true}}, want: want{calls: []string{runWant}, finish: agent.FinishCalls}, chatOnly: true},
		{name: "content as parts", turn: modeltest.Turn{Text: "in parts", Shape: modeltest.Shape{PartsContent: true}}, want: want{text: "in parts", finish: agent.FinishStop}, chatOnly: true},
		{name: "thinking in the content", turn: modeltest.Turn{Text: "<think>12 or 13?\n</think>\nIt is 13."}, want: want{text: "It is 13.", finish: agent.FinishStop}},
		{name: "thinking without a beginning", turn: modeltest.Turn{Text: "hm</think>It is 13."}, want: want{text: "It is 13.", finish: agent.FinishStop}},
		{name: "thinking without an end", turn: modeltest.Turn{Text: "<think>for ever"}, want: want{finish: agent.FinishStop}},
		{name: "reasoning apart", turn: modeltest.Turn{Text: "13", Reasoning: "let me think"}, want: want{text: "13", finish: agent.FinishStop}},
		{name: "call as text, Hermes", turn: modeltest.Turn{Text: "I run it.", Calls: []modeltest.Call{run}, Shape: modeltest.Shape{CallsAsText: true}}, want: want{text: "I run it.", calls: []string{runWant}, finish: agent.FinishCalls}},
		{name: "call as text, Llama", turn: modeltest.Turn{Text: `<function=finish>{"message":"x"}</function>`}, want: want{calls: []string{`finish {"message":"x"}`}, finish: agent.FinishCalls}},
		{name: "call as text, Mistral", turn: modeltest.Turn{Text: `[TOOL_CALLS][{"name":"finish","arguments":{"message":"x"}}]`}, want: want{calls: []string{`finish {"message":"x"}`}, finish: agent.FinishCalls}},
		{name: "call as text, fenced", turn: modeltest.Turn{Text: "```json\n{\"name\":\"finish\",\"parameters\":{\"message\":\"x\"}}\n```"}, want: want{calls: []string{`finish {"message":"x"}`}, finish: agent.FinishCalls}},
		{name: "text of an unknown tool stays text", turn: modeltest.Turn{Text: `<tool_call>{"name":"shell","arguments":{}}</tool_call>`}, want: want{text: `<tool_call>{"name":"shell","arguments":{}}</tool_call>`, finish: agent.FinishStop}},
		{name: "unknown tool", turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "shell", Args: "{}"}}}, want: want{calls: []string{"shell {}"}, finish: agent.FinishCalls}},
		{name: "empty choices", turn: modeltest.Turn{Shape: modeltest.Shape{EmptyChoices: true}}, want: want{finish: agent.FinishStop}, chatOnly: true},
		{name: "empty answer", turn: modeltest.Turn{}, want: want{finish: agent.FinishStop}},
		{name: "length", turn: modeltest.Turn{Text: "and so", Finish: "length"}, want: want{text: "and so", finish: agent.FinishLength}},
		{name: "no usage", turn: modeltest.Turn{Text: "x", Shape: modeltest.Shape{NoUsage: true}}, want: want{text: "x", finish: agent.FinishStop}},
		{name: "usage beside the choice", turn: modeltest.Turn{Text: "x", Usage: &modeltest.Usage{Input: 9}, Shape: modeltest.Shape{UsageWithChoice: true}}, want: want{text: "x", finish: agent.FinishStop, input: 9}},
		{name: "many comments", turn: modeltest.Turn{Text: "x", Shape: modeltest.Shape{Comments: 2000}}, want: want{text: "x", finish: agent.FinishStop}},
		{name: "no [DONE]", turn: modeltest.Turn{Text: "x", Shape: modeltest.Shape{NoDone: true}}, want: want{text: "x", finish: agent.FinishStop}},
		{name: "plain JSON to a stream request", turn: modeltest.Turn{Text: "x", Calls: []modeltest.Call{run}, Shape: modeltest.Shape{Plain: true}}, want: want{text: "x", calls: []string{runWant}, finish: agent.FinishCalls}},
		{name: "unknown fields, CRLF", turn: modeltest.Turn{Text: "x", Shape: modeltest.Shape{Extra: true, CRLF: true}}, want: want{text: "x", finish: agent.FinishStop}},
	}
	for _, tc := range cases {
		for _, via := range []openai.API{openai.Chat, openai.Responses} {
			if via == openai.Responses && tc.chatOnly {
				continue
			}
			t.Run(tc.name+"/"+string(via), func(t *testing.T) {
				srv := modeltest.Start(t, one(tc.turn))
				reply, err := client(t, srv, func(o *openai.Options) { o.API = via }).Complete(t.Context(), question("hello"))
				if err != nil {
					t.Fatal(err)
				}
				if reply.Text != tc.want.text || reply.Finish != tc.want.finish {
					t.Errorf("got text %q, finish %q; want %q, %q", reply.Text, reply.Finish, tc.want.text, tc.want.finish)
				}
				if len(reply.Calls) != len(tc.want.calls) {
					t.Fatalf("got calls %v, want %v", reply.Calls, tc.want.calls)
				}
				for i, call := range reply.Calls {
					name, args, _ := strings.Cut(tc.want.calls[i], " ")
					if problem, ok := strings.CutPrefix(args, "!"); ok {
						if !strings.Contains(call.Problem, problem) {
							t.Errorf("call %d: problem %q, want %q", i, call.Problem, problem)
						}
					} else if string(call.Arguments) != args || call.Problem != "" {
						t.Errorf("call %d: arguments %s, problem %q, want %s", i, call.Arguments, call.Problem, args)
					}
					if call.Name != name {
						t.Errorf("call %d: name %q, want %q", i, call.Name, name)
					}
				}
				if tc.want.input != 0 && reply.Usage.Input != tc.want.input {
					t.Errorf("input tokens %d, want %d", reply.Usage.Input, tc.want.input)
				}
			})
		}
	}
}

// TestFaults meets what breaks: passing faults are tried again, lasting ones
// end classed, and no remote text is passed on.
func TestFaults(t *testing.T) {
	times := func(n int, f modeltest.Fault) []modeltest.Fault {
		var out []modeltest.Fault
		for range n {
			out = append(out, f)
		}
		return out
	}
	status := func(code int, after string) modeltest.Fault {
		return modeltest.Fault{Kind: modeltest.FaultStatus, Status: code, RetryAfter: after}
	}
	cases := []struct {
		name   string
		faults []modeltest.Fault
		kind   agent.ModelErrorKind // empty: succeeds
		tries  int
	}{
		{"429 then well", times(1, status(429, "0.01")), "", 2},
		{"429 without a header", times(2, status(429, "")), "", 3},
		{"429 that asks for an hour", times(1, status(429, "3600")), agent.ModelUnavailable, 1},
		{"500 twice", times(2, status(500, "")), "", 3},
		{"503 while loading", times(3, modeltest.Fault{Kind: modeltest.FaultStatus, Status: 503, Body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`}), "", 4},
		{"502 with a page for ever", times(9, modeltest.Fault{Kind: modeltest.FaultStatus, Status: 502, Body: "<html>secret-of-the-proxy"}), agent.ModelUnavailable, 4},
		{"half a stream", times(1, modeltest.Fault{Kind: modeltest.FaultHalf}), "", 2},
		{"a stream that just ends", times(1, modeltest.Fault{Kind: modeltest.FaultEnd}), "", 2},
		{"an error within the stream", times(1, modeltest.Fault{Kind: modeltest.FaultStreamError}), "", 2},
		{"connection reset", times(1, modeltest.Fault{Kind: modeltest.FaultReset}), "", 2},
		{"no first token", times(1, modeltest.Fault{Kind: modeltest.FaultHang}), "", 2},
		{"a stall in the middle", times(1, modeltest.Fault{Kind: modeltest.FaultStall}), "", 2},
		{"half a stream for ever", times(9, modeltest.Fault{Kind: modeltest.FaultHalf}), agent.ModelUnavailable, 4},
		{"HTML for ever", times(9, modeltest.Fault{Kind: modeltest.FaultHTML}), agent.ModelProtocol, 4},
		{"HTML once", times(1, modeltest.Fault{Kind: modeltest.FaultHTML}), "", 2},
		{"401", times(9, status(401, "")), agent.ModelDenied, 1},
		{"404", times(9, status(404, "")), agent.ModelBadRequest, 1},
		{"400", times(9, status(400, "")), agent.ModelBadRequest, 1},
		{"context exceeded", times(9, modeltest.Fault{Kind: modeltest.FaultContext}), agent.ModelContext, 1},
	}
	for _, tc := range cases {
		for _, via := range []openai.API{openai.Chat, openai.Responses} {
			t.Run(tc.name+"/"+string(via), func(t *testing.T) {
				turn := modeltest.Turn{Text: "the answer", Calls: []modeltest.Call{modeltest.Use("finish", map[string]string{"message": "m"})}, Faults: tc.faults}
				srv := modeltest.Start(t, one(turn))
				c := client(t, srv, func(o *openai.Options) { o.API, o.FirstToken = via, 500*time.Millisecond })
				reply, err := c.Complete(t.Context(), question("hello"))
				var failed *agent.ModelError
				switch {
				case tc.kind == "" && err != nil:
					t.Fatal(err)
				case tc.kind == "" && (reply.Text != "the answer" || len(reply.Calls) != 1):
					t.Errorf("got %+v", reply)
				case tc.kind != "" && (!errors.As(err, &failed) || failed.Kind != tc.kind):
					t.Fatalf("got %v, want kind %s", err, tc.kind)
				}
				if got := len(srv.Requests()); got != tc.tries {
					t.Errorf("asked %d times, want %d", got, tc.tries)
				}
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("remote text in %q", err)
				}
				if tc.kind != "" && tc.kind != agent.ModelContext && failed.Hint == "" {
					t.Errorf("%q says nothing of what to do", err)
				}
				if tc.kind == agent.ModelContext && failed.Window != 0 && failed.Window != 8192 {
					t.Errorf("window %d", failed.Window)
				}
			})
		}
	}
}

func TestFallback(t *testing.T) {
	srv := modeltest.Start(t, modeltest.Script{Answer: func(r modeltest.Request) modeltest.Turn {
		if r.Model == "first" {
			return modeltest.Turn{Faults: []modeltest.Fault{{Kind: modeltest.FaultStatus, Status: 500}, {Kind: modeltest.FaultStatus, Status: 500}}}
		}
		return modeltest.Turn{Text: "from " + r.Model, Usage: &modeltest.Usage{Input: 1_000_000, Output: 100_000, Cached: 500_000}}
	}})
	c := client(t, srv, func(o *openai.Options) {
		o.Model, o.Fallbacks, o.Tries = "first", []string{"second"}, 2
		o.Prices = map[string]agent.Price{"second": {Input: 2, Cached: 1, Output: 10}}
	})
	reply, err := c.Complete(t.Context(), question("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "from second" || reply.Model != "second" || reply.Retries == 0 {
		t.Errorf("got %+v", reply)
	}
	req := question("hello")
	req.Model = "third"
	if named, err := c.Complete(t.Context(), req); err != nil || named.Text != "from third" {
		t.Errorf("a policy's model: %+v, %v", named, err)
	}
	if cost := reply.Price.Cost(reply.Usage); cost != 2.5 { // 0.5 M at 2, 0.5 M at 1, 0.1 M at 10
		t.Errorf("cost %v, want 2.5", cost)
	}
}

// TestAdapts learns from refusals which fields a server takes, once.
func TestAdapts(t *testing.T) {
	srv := modeltest.Start(t, modeltest.Script{
		Agents: []modeltest.Agent{{Turns: []modeltest.Turn{{Text: "x"}}}},
		Reject: []string{"stream_options", "max_tokens", "tool_choice"},
	})
	c := client(t, srv, nil)
	req := question("hello")
	req.Force = "finish"
	for range 2 {
		if _, err := c.Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(srv.Requests()); got != 5 {
		t.Errorf("asked %d times, want 3 refusals and 2 answers", got)
	}
}

// TestResponsesWhereNeeded: a model that refuses tools on chat completions is
// asked by the Responses API without being told to.
func TestResponsesWhereNeeded(t *testing.T) {
	srv := modeltest.Start(t, modeltest.Script{Answer: func(r modeltest.Request) modeltest.Turn {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			return modeltest.Turn{Faults: []modeltest.Fault{{
				Kind: modeltest.FaultStatus, Status: 404,
				Body: `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","type":"invalid_request_error"}}`,
			}}}
		}
		return modeltest.Turn{Text: "by responses", Calls: []modeltest.Call{modeltest.Use("finish", map[string]string{"message": "m"})}}
	}})
	reply, err := client(t, srv, nil).Complete(t.Context(), question("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "by responses" || len(reply.Calls) != 1 {
		t.Errorf("got %+v", reply)
	}
}

// TestHistory: what is sent is valid whatever was answered before.
func TestHistory(t *testing.T) {
	for _, via := range []openai.API{openai.Chat, openai.Responses} {
		srv := modeltest.Start(t, one(modeltest.Say("ok")))
		req := question("hello")
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "abcdefghi", Name: "finish", Problem: "broken"}}},
			agent.Message{Role: agent.RoleTool, CallID: "abcdefghi"},
			agent.Message{Role: agent.RoleAssistant},
			agent.Message{Role: agent.RoleUser, Content: "go on"},
		)
		if _, err := client(t, srv, func(o *openai.Options) { o.API = via }).Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		got := srv.Requests()[0]
		if len(got.Messages) != 6 {
			t.Fatalf("%s: got %d messages", via, len(got.Messages))
		}
		if c := got.Messages[2].Calls; len(c) != 1 || c[0].Args != "{}" || c[0].ID != "abcdefghi" {
			t.Errorf("%s: calls %+v", via, c)
		}
		if got.Messages[3].Content == "" || got.Messages[4].Content == "" {
			t.Errorf("%s: empty content was sent", via)
		}
	}
}

// TestCancel: a cancelled turn closes the stream and returns the cause.
func TestCancel(t *testing.T) {
	srv := modeltest.Start(t, one(modeltest.Turn{Text: "a long answer", Faults: []modeltest.Fault{{Kind: modeltest.FaultStall}}}))
	cause := errors.New("the user gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	req := question("hello")
	req.OnText = func(string) { cancel(cause) }
	if _, err := client(t, srv, nil).Complete(ctx, req); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no model":     {BaseURL: "http://localhost/v1"},
		"no URL":       {Model: "m", BaseURL: "localhost:8080"},
		"other scheme": {Model: "m", BaseURL: "file:///etc/passwd"},
	} {
		if _, err := openai.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	srv := modeltest.Start(t, one(modeltest.Say("ok")))
	if err := client(t, srv, nil).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRealServer runs the wire against a server that is at hand.
func TestRealServer(t *testing.T) {
	base, model := os.Getenv("OPENAI_BASE_URL"), os.Getenv("SANDPIPER_MODEL")
	if base == "" {
		t.Skip("no OPENAI_BASE_URL: the wire is tested against modeltest alone")
	}
	if model == "" {
		model = "default"
	}
	c, err := openai.New(openai.Options{BaseURL: base, APIKey: func() string { return os.Getenv("OPENAI_API_KEY") }, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	req := question("Call the tool finish with the message ok.")
	reply, err := c.Complete(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("text %q, calls %d, usage %+v", reply.Text, len(reply.Calls), reply.Usage)
	// The history of a tool's turn is taken back.
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "abcdefghi", Name: "finish", Arguments: json.RawMessage(`{"message":"ok"}`)}}},
		agent.Message{Role: agent.RoleTool, CallID: "abcdefghi", Content: "ended"},
		agent.Message{Role: agent.RoleUser, Content: "Say goodbye in one word."})
	if _, err := c.Complete(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}
