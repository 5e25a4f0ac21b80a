package agent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// instant is a model without a wire: what is left is the loop's own work.
type instant struct{ turns int }

func (m *instant) Info() agent.ModelInfo { return agent.ModelInfo{Name: "instant", Window: 1 << 20} }

func (m *instant) Complete(_ context.Context, req agent.Request) (agent.Reply, error) {
	turn := 0
	for _, message := range req.Messages {
		if message.Role == agent.RoleAssistant {
			turn++
		}
	}
	name, raw := "execute_code", fmt.Appendf(nil, `{"language":"python","code":"print(%d)"}`, turn)
	if turn >= m.turns {
		name, raw = "finish", []byte(`{"message":"done"}`)
	}
	return agent.Reply{Calls: []agent.Call{{Name: name, Arguments: raw}}, Finish: agent.FinishCalls}, nil
}

// memory is a journal that costs nothing, so that the loop alone is measured.
type memory struct{ steps []bot.Step }

func (m *memory) Steps(context.Context) ([]bot.Step, error)      { return m.steps, nil }
func (m *memory) Of(context.Context, string) ([]bot.Step, error) { return nil, nil }
func (m *memory) Append(_ context.Context, s bot.Step) (bot.Step, error) {
	s.Seq = uint64(len(m.steps)) + 1
	m.steps = append(m.steps, s)
	return s, nil
}

// verdict prints a measured value against the project's goal.
func verdict(b *testing.B, what string, got, goal float64, unit string) {
	b.Helper()
	word := "met"
	if got > goal {
		word = "missed"
	}
	b.Logf("%s: %.2f %s, goal %.2f %s: %s", what, got, unit, goal, unit, word)
}

// BenchmarkLoopTurn measures the loop without model and sandbox time.
func BenchmarkLoopTurn(b *testing.B) {
	const turns = 40
	w := bareWorld(b, "")
	w.options.Sandbox, w.options.Model = printer{}, &instant{turns: turns}
	w.options.Budgets = bot.Budgets{Turns: turns + 5, Tokens: 1 << 40}
	a, err := agent.New(w.options)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := a.Run(b.Context(), bot.Run{Task: w.task("01A", "count"), Journal: &memory{}, Blobs: w.blobs, Meter: w.meter})
		if err != nil || o.Partial {
			b.Fatal(err, o.Message)
		}
	}
	each := float64(b.Elapsed().Microseconds()) / float64(b.N) / (turns + 1) / 1000
	b.ReportMetric(each, "ms/turn")
	verdict(b, "the loop's own time a turn", each, 5, "ms")
}

// BenchmarkDelegation compares four equal subtasks delegated together with
// one, at 300 ms a turn of the model.
func BenchmarkDelegation(b *testing.B) {
	delegate := func(n int) modeltest.Script {
		var parts []args
		for i := range n {
			parts = append(parts, args{"title": fmt.Sprint(i), "instructions": fmt.Sprintf("PART number %d", i)})
		}
		note := modeltest.Do("create_todo_list", args{"items": []string{"think"}})
		return modeltest.Script{Latency: 300 * time.Millisecond, Agents: []modeltest.Agent{
			{Match: "PART number", Turns: []modeltest.Turn{note, modeltest.Do("complete_todo", args{"item": "1"}), end("thought")}},
			{Turns: []modeltest.Turn{modeltest.Do("delegate", args{"subtasks": parts}), end("all done")}},
		}}
	}
	took := func(n int) time.Duration {
		w := bareWorld(b, "")
		w.options.Sandbox = printer{}
		w.model(modeltest.Start(b, delegate(n)))
		began := time.Now()
		if o := w.must(w.task("01A", "delegate")); o.Partial {
			b.Fatal(o.Message)
		}
		return time.Since(began)
	}
	var one, four time.Duration
	for b.Loop() {
		one += took(1)
		four += took(4)
	}
	ratio := float64(four) / float64(one)
	b.ReportMetric(ratio, "four/one")
	verdict(b, "four subtasks against one", ratio, 1.3, "times")
}
