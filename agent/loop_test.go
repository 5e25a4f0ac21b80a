package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// printer is a sandbox for tests of the loop alone: its programs print their
// own text, at once.
type printer struct{}

func (printer) Lease(context.Context, sandbox.LeaseOptions) (agent.Session, error) {
	return printer{}, nil
}

func (printer) Put(_ context.Context, _ string, _ int64, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (printer) Run(_ context.Context, p sandbox.Program) (sandbox.Result, error) {
	p.Output("stdout", []byte(p.Code))
	return sandbox.Result{Verdict: sandbox.OK, Stdout: sandbox.Stream{Head: p.Code, Total: int64(len(p.Code))}, Wall: time.Millisecond}, nil
}

func (printer) Collect(context.Context, sandbox.CollectOptions) (sandbox.Collected, error) {
	return sandbox.Collected{}, nil
}

func (printer) Info() sandbox.Info { return sandbox.Info{ImageID: "sha256:printer", Runtime: "none"} }
func (printer) Close() error       { return nil }

// loopWorld is a world whose programs cost nothing.
func loopWorld(t testing.TB, script modeltest.Script) (*world, *modeltest.Server) {
	t.Helper()
	w := bareWorld(t, "")
	w.options.Sandbox = printer{}
	srv := modeltest.Start(t, script)
	w.model(srv)
	return w, srv
}

func lead(turns ...modeltest.Turn) modeltest.Script {
	return modeltest.Script{Agents: []modeltest.Agent{{Turns: turns}}}
}

func run(code string) modeltest.Turn {
	return modeltest.Do("execute_code", args{"language": "python", "code": code})
}

func end(message string) modeltest.Turn {
	return modeltest.Do("finish", args{"message": message})
}

// TestPrefix: what turn n+1 sends begins with what turn n sent.
func TestPrefix(t *testing.T) {
	turns := make([]modeltest.Turn, 0, 21)
	for i := range 20 {
		turns = append(turns, run(fmt.Sprintf("step %d: %s", i, strings.Repeat("figure 1234 ", 30))))
	}
	w, srv := loopWorld(t, lead(append(turns, end("done"))...))
	w.options.Budgets = bot.Budgets{Turns: 30}
	w.must(w.task("01A", "twenty steps"))
	requests := srv.Requests()
	if len(requests) < 21 {
		t.Fatalf("only %d turns", len(requests))
	}
	worst := 1.0
	for i := 1; i < len(requests); i++ {
		before, now := requests[i-1].Body, requests[i].Body
		same := 0
		for same < min(len(before), len(now)) && before[same] == now[same] {
			same++
		}
		worst = min(worst, float64(same)/float64(len(before)))
	}
	t.Logf("the least shared prefix of turn n+1 with turn n over %d turns: %.2f %% of turn n's bytes", len(requests), worst*100)
	if worst < 0.95 {
		t.Errorf("less than 95 %%")
	}
}

// TestRubbish: a model that answers rubbish for ever ends within its budget,
// with a clear partial answer.
func TestRubbish(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	rubbish := func(modeltest.Request) modeltest.Turn {
		switch random.Intn(7) {
		case 0:
			return modeltest.Turn{}
		case 1:
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "fly", Args: "{}"}}}
		case 2:
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: `{"message":`}}}
		case 3:
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "complete_todo", Args: fmt.Sprintf(`{"item":"%d"}`, random.Int())}}}
		case 4:
			return modeltest.Turn{Shape: modeltest.Shape{EmptyChoices: true}}
		case 5:
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "read_skill", Args: `{"name":["x"]}`}}, Finish: "length"}
		}
		return modeltest.Turn{Calls: []modeltest.Call{{Name: "execute_code", Args: `{"code":5}`}}}
	}
	w, srv := loopWorld(t, modeltest.Script{Answer: rubbish})
	w.options.Budgets = bot.Budgets{Turns: 40, Tokens: 200_000}
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "do something"))
	if o.State != bot.TaskDone || !o.Partial || !strings.Contains(o.Message, "This answer is partial") {
		t.Errorf("state %s, partial %v: %s", o.State, o.Partial, o.Message)
	}
	if n := len(srv.Requests()); n > 40 {
		t.Errorf("%d turns", n)
	}
	t.Logf("after %d turns: %s", len(srv.Requests()), o.Message)
}

// TestTextRubbish: other text each time is no answer, however often it comes.
func TestTextRubbish(t *testing.T) {
	n := 0
	w, _ := loopWorld(t, modeltest.Script{Answer: func(modeltest.Request) modeltest.Turn {
		n++
		return modeltest.Say(strings.Repeat("lorem ipsum ", n))
	}})
	o := w.must(w.task("01A", "do something"))
	if !o.Partial || !strings.Contains(o.Message, "partial") {
		t.Errorf("got %s", o.Message)
	}
}

func TestPlainText(t *testing.T) {
	w, srv := loopWorld(t, lead(modeltest.Say("Paris.")))
	o := w.must(w.task("01A", "What is the capital of France?"))
	if o.Partial || !strings.HasPrefix(o.Message, "Paris.") {
		t.Errorf("partial %v: %s", o.Partial, o.Message)
	}
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d turns", n)
	}
}

// TestLoop: the same call with the same result is noticed, then broken.
func TestLoop(t *testing.T) {
	w, srv := loopWorld(t, lead(run("print(1)")))
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "loop"))
	if !o.Partial || !strings.Contains(o.Message, "repeated the same step") {
		t.Errorf("got %s", o.Message)
	}
	if n := len(srv.Requests()); n != 6 {
		t.Errorf("%d turns", n)
	}
	if !strings.Contains(srv.Requests()[3].Text(), "This is the same call with the same result") {
		t.Error("the model was not told")
	}
}

func TestBudgets(t *testing.T) {
	i := 0
	endless := func(modeltest.Request) modeltest.Turn {
		i++
		turn := run(fmt.Sprintf("print(%d)", i))
		turn.Text = fmt.Sprintf("So far %d.", i)
		return turn
	}
	for name, tc := range map[string]struct {
		budgets bot.Budgets
		says    string
		lies    *modeltest.Usage
	}{
		"turns":            {bot.Budgets{Turns: 5}, "limit of model turns (5)", nil},
		"tokens":           {bot.Budgets{Tokens: 30_000}, "limit of model tokens (30000)", nil},
		"tokens, by lies":  {bot.Budgets{Tokens: 30_000}, "limit of model tokens (30000)", &modeltest.Usage{Input: 1, Output: 1}},
		"tokens, reported": {bot.Budgets{Tokens: 100_000}, "limit of model tokens (100000)", &modeltest.Usage{Input: 40_000, Output: 1}},
		"money":            {bot.Budgets{USD: 0.05}, "limit of model costs ($0.05)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, srv := loopWorld(t, modeltest.Script{Answer: func(r modeltest.Request) modeltest.Turn {
				turn := endless(r)
				turn.Usage = tc.lies
				return turn
			}})
			w.options.Budgets = tc.budgets
			o := w.must(w.task("01A", "for ever"))
			if !o.Partial || !strings.Contains(o.Message, tc.says) || !strings.Contains(o.Message, "So far") {
				t.Errorf("got %s", o.Message)
			}
			u := o.Usage
			if b := tc.budgets; b.Turns > 0 && u.Turns > b.Turns || b.Tokens > 0 && tc.lies == nil && u.InputTokens+u.OutputTokens > b.Tokens || b.USD > 0 && u.CostUSD > b.USD {
				t.Errorf("spent %+v of %+v", u, tc.budgets)
			}
			requests := srv.Requests()
			if !strings.Contains(requests[len(requests)-1].Text(), "Start nothing new") {
				t.Error("the model was not told to wrap up")
			}
		})
	}
}

func TestDailyBudget(t *testing.T) {
	w, srv := loopWorld(t, lead(end("x")))
	w.meter.deny = &bot.BudgetError{Budget: "actor_daily_tokens", Limit: "5 tokens a day"}
	o := w.must(w.task("01A", "x"))
	if !o.Partial || !strings.Contains(o.Message, "the daily limit (5 tokens a day) was reached") || len(srv.Requests()) != 0 {
		t.Errorf("got %s after %d requests", o.Message, len(srv.Requests()))
	}
}

func TestWallTime(t *testing.T) {
	w, _ := loopWorld(t, lead(run("print(7)"), modeltest.Turn{Text: "x", Faults: []modeltest.Fault{{Kind: modeltest.FaultHang}}}))
	w.options.Budgets = bot.Budgets{Wall: 2 * time.Second}
	o := w.must(w.task("01A", "wait"))
	if !o.Partial || !strings.Contains(o.Message, "the time limit (2s) was reached") {
		t.Errorf("got %s", o.Message)
	}
}

// TestModelGone: a model that stops answering leaves what there is; one that
// never answered fails the task.
func TestModelGone(t *testing.T) {
	down := []modeltest.Fault{{Kind: modeltest.FaultStatus, Status: 500}, {Kind: modeltest.FaultStatus, Status: 500}}
	w, _ := loopWorld(t, lead(run("print(7)"), modeltest.Turn{Faults: down}))
	o := w.must(w.task("01A", "x"))
	if !o.Partial || !strings.Contains(o.Message, "the model stopped answering") {
		t.Errorf("got %s", o.Message)
	}
	w, _ = loopWorld(t, lead(modeltest.Turn{Faults: down}))
	if o = w.must(w.task("01B", "x")); o.State != bot.TaskFailed || o.Error.Kind != "model" {
		t.Errorf("got %s %+v", o.State, o.Error)
	}
}

// TestAsk: a question makes the task wait; its answer goes on in the same
// journal without asking a turn again.
func TestAsk(t *testing.T) {
	w, srv := loopWorld(t, lead(
		modeltest.Do("ask_user", args{"question": "Which sheet?", "choices": []string{"2023", "2024"}}),
		run("print('chosen')"), modeltest.Do("ask_user", args{"question": "Net or gross?"}), end("Done it.")))
	defer dump(t, w, "01A")
	task := w.task("01A", "sum up the sheet")
	o := w.must(task)
	if o.State != bot.TaskWaiting || o.Question == nil || o.Question.Text != "Which sheet?" || len(o.Question.Choices) != 2 {
		t.Fatalf("got %s %+v", o.State, o.Question)
	}
	if again := w.must(task); again.State != bot.TaskWaiting {
		t.Errorf("a later life says %s", again.State)
	}
	task.Answers = append(task.Answers, bot.Answer{Text: "the 2024 one"})
	if o = w.must(task); o.State != bot.TaskWaiting || o.Question.Text != "Net or gross?" {
		t.Fatalf("got %s %+v", o.State, o.Question)
	}
	task.Answers = append(task.Answers, bot.Answer{Text: "gross"})
	if o = w.must(task); o.State != bot.TaskDone || !strings.HasPrefix(o.Message, "Done it.") {
		t.Fatalf("got %s %s", o.State, o.Message)
	}
	if srv.Repeated() != 0 || len(srv.Requests()) != 4 {
		t.Errorf("%d requests, %d repeated", len(srv.Requests()), srv.Repeated())
	}
	last := srv.Requests()[3].Text()
	if !strings.Contains(last, "the 2024 one") || !strings.Contains(last, "gross") {
		t.Error("the answers did not reach the model")
	}
}

// TestAskOnASchedule: a scheduled run has nobody to ask, and is done all the same.
func TestAskOnASchedule(t *testing.T) {
	w, srv := loopWorld(t, lead(
		modeltest.Do("ask_user", args{"question": "Net or gross?"}), run("print('gross')"), end("Done, of gross amounts.")))
	defer dump(t, w, "01A")
	task := w.task("01A", "sum up the sheet")
	task.Event.Options.Schedule = "weekly"
	if o := w.must(task); o.State != bot.TaskDone || !strings.HasPrefix(o.Message, "Done, of gross amounts.") {
		t.Fatalf("got %s %s %+v", o.State, o.Message, o.Question)
	}
	if !strings.Contains(srv.Requests()[1].Text(), "nobody is there to answer") {
		t.Error("the model was not told why")
	}
}

// TestContextExceeded: a server that refuses a long conversation gets a
// shorter one, which keeps plan, files and figures.
func TestContextExceeded(t *testing.T) {
	var turns []modeltest.Turn
	turns = append(turns, modeltest.Do("create_todo_list", args{"items": []string{"Measure", "Report"}}))
	for i := range 12 {
		turns = append(turns, run(fmt.Sprintf("reading %d: total=%d\n%s", i, 1000+i, strings.Repeat("noise ", 800))))
	}
	counter := 0
	script := modeltest.Script{Window: 9000, Answer: func(modeltest.Request) modeltest.Turn {
		counter++
		if counter <= len(turns) {
			return turns[counter-1]
		}
		return end("The totals ran from 1000 to 1011.")
	}}
	w, srv := loopWorld(t, script)
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "Measure twelve times"))
	if o.Partial || !strings.HasPrefix(o.Message, "The totals ran from 1000 to 1011.") || strings.Contains(o.Message, "unconfirmed") {
		t.Fatalf("partial %v: %s", o.Partial, o.Message)
	}
	last := srv.Requests()[len(srv.Requests())-1]
	for _, want := range []string{"Measure twelve times", "The plan:", "[ ] Measure", "total=1000", "put together to save room"} {
		if !strings.Contains(last.Text(), want) {
			t.Errorf("the last request lacks %q", want)
		}
	}
	// A later life folds the same conversation out of the journal.
	if again := w.must(w.task("01A", "Measure twelve times")); again.Message != o.Message {
		t.Error("a later life ends otherwise")
	}
}

// TestWindow: where the window is known, no request is estimated beyond it.
func TestWindow(t *testing.T) {
	i := 0
	script := modeltest.Script{Window: 8000, Answer: func(modeltest.Request) modeltest.Turn {
		if i++; i > 20 {
			return end("done")
		}
		return run(fmt.Sprintf("%d %s", i, strings.Repeat("word ", 500)))
	}}
	w, srv := loopWorld(t, script)
	w.modelAt(srv.URL(), func(o *openai.Options) { o.Window = 8000 })
	o := w.must(w.task("01A", "x"))
	if o.Partial {
		t.Errorf("partial: %s", o.Message)
	}
	if n := len(srv.Requests()); n != 21 {
		t.Errorf("%d requests: some were refused", n)
	}
}

// TestHelpersFail: helpers that stall, overspend or break do not sink the rest.
func TestHelpersFail(t *testing.T) {
	hang := modeltest.Turn{Faults: []modeltest.Fault{{Kind: modeltest.FaultHang}}}
	broken := modeltest.Turn{Faults: []modeltest.Fault{{Kind: modeltest.FaultStatus, Status: 500}, {Kind: modeltest.FaultStatus, Status: 500}}}
	n := 0
	script := modeltest.Script{Agents: []modeltest.Agent{
		{Match: "PART-STALL", Turns: []modeltest.Turn{hang}},
		{Match: "PART-BROKEN", Turns: []modeltest.Turn{broken}},
		{Match: "PART-WELL", Turns: []modeltest.Turn{run("print(77)"), end("It is 77.")}},
		{Match: "all parts", Turns: []modeltest.Turn{
			modeltest.Do("delegate", args{"subtasks": []args{
				{"title": "a", "instructions": "PART-STALL"},
				{"title": "b", "instructions": "PART-BROKEN"},
				{"title": "c", "instructions": "PART-WELL"},
				{"title": "d", "instructions": "PART-SPEND"},
			}}),
			end("One part came: 77."),
		}},
	}}
	inner := script
	script.Answer = func(r modeltest.Request) modeltest.Turn {
		if strings.Contains(r.Opening, "PART-SPEND") {
			n++
			return run(fmt.Sprintf("print(%d)", n))
		}
		for _, a := range inner.Agents {
			if strings.Contains(r.Opening, a.Match) {
				return a.Turns[min(r.Turn, len(a.Turns)-1)]
			}
		}
		return modeltest.Turn{}
	}
	w, srv := loopWorld(t, script)
	w.options.Budgets = bot.Budgets{Wall: 10 * time.Second, Turns: 40}
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "all parts"))
	if o.State != bot.TaskDone || !strings.HasPrefix(o.Message, "One part came: 77.") || strings.Contains(o.Message, "unconfirmed") {
		t.Errorf("got %s: %s", o.State, o.Message)
	}
	requests := srv.Of("all parts")
	told := requests[len(requests)-1].Text()
	for _, want := range []string{"the time limit", "It failed: the model's server failed (500)", "It is 77.", "limit of model turns"} {
		if !strings.Contains(told, want) {
			t.Errorf("the lead was not told %q: %s", want, told)
		}
	}
	if n > 8 {
		t.Errorf("the spender had %d turns of 40 shared by five", n)
	}
}

// TestDepth: helpers may delegate once more, and theirs may not.
func TestDepth(t *testing.T) {
	delegate := func(to string) modeltest.Turn {
		return modeltest.Do("delegate", args{"subtasks": []args{{"title": "t", "instructions": to}}})
	}
	w, srv := loopWorld(t, modeltest.Script{Agents: []modeltest.Agent{
		{Match: "LEVEL-TWO", Turns: []modeltest.Turn{delegate("LEVEL-THREE"), end("no deeper")}},
		{Match: "LEVEL-ONE", Turns: []modeltest.Turn{delegate("LEVEL-TWO"), end("one")}},
		{Match: "the top", Turns: []modeltest.Turn{delegate("LEVEL-ONE"), end("top")}},
	}})
	o := w.must(w.task("01A", "the top"))
	if !strings.HasPrefix(o.Message, "top") {
		t.Errorf("got %s", o.Message)
	}
	if len(srv.Of("LEVEL-THREE")) != 0 {
		t.Error("a helper's helper delegated")
	}
	if last := srv.Of("LEVEL-TWO")[1].Last().Content; !strings.Contains(last, "There is no tool `delegate`") {
		t.Errorf("it was told %s", last)
	}
}

// TestGrounding: figures that nothing calculated are given back once, then
// marked; a number that only stands in the request proves nothing.
func TestGrounding(t *testing.T) {
	w, srv := loopWorld(t, lead(run("print('sum 1234.5678, share 0.256')"),
		end("The sum is 1,234.57, 25.6 % of it, 99999 in the request, 777 made up."),
		end("The sum is 1.2 thousand (1,234.57), 99999 in the request.")))
	o := w.must(w.task("01A", "is it 99999?"))
	if got := srv.Requests()[2].Last().Content; !strings.Contains(got, "99999; 777") || strings.Contains(got, "1,234.57") {
		t.Errorf("given back: %s", got)
	}
	if !strings.Contains(o.Message, "99999 [unconfirmed] in the request.") || !strings.Contains(o.Message, "Not confirmed by any calculation: 99999.") {
		t.Errorf("got %s", o.Message)
	}
}

// TestAbsentFiles: files that an answer names and nobody made.
func TestAbsentFiles(t *testing.T) {
	w, srv := loopWorld(t, lead(end("See report.xlsx."), end("See report.xlsx still.")))
	o := w.must(w.task("01A", "x"))
	if got := srv.Requests()[1].Last().Content; !strings.Contains(got, "report.xlsx") || !strings.Contains(got, "Not sent yet") {
		t.Errorf("told %s", got)
	}
	if !strings.Contains(o.Message, "mentions `report.xlsx`, but no such file was made") {
		t.Errorf("got %s", o.Message)
	}
}

// TestCutAtEachStep refuses each append in turn: a later life ends the same
// and asks no answered turn again but the one that was not recorded.
func TestCutAtEachStep(t *testing.T) {
	for cut := 1; ; cut++ {
		w, srv := loopWorld(t, lead(
			modeltest.Do("create_todo_list", args{"items": []string{"a", "b"}}), run("print(41)"),
			modeltest.Turn{Calls: []modeltest.Call{run("print(42)").Calls[0], modeltest.Use("complete_todo", args{"item": "a"})}},
			modeltest.Say("I think it is 42."), end("It is 42.")))
		task := w.task("01A", "x")
		j := &journal{dir: w.dir, task: "01A", failAt: cut}
		_, err := w.runOn(t.Context(), j, task)
		if err != nil && !errors.Is(err, bot.ErrReadOnly) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		o := w.must(task)
		if !strings.HasPrefix(o.Message, "It is 42.") || o.Partial || strings.Contains(o.Message, "unconfirmed") {
			t.Fatalf("cut at %d: %s", cut, o.Message)
		}
		if n := srv.Repeated(); n > 1 {
			t.Errorf("cut at %d: %d turns asked again", cut, n)
		}
		if err == nil {
			if cut < 10 {
				t.Errorf("only %d steps", cut-1)
			}
			return
		}
	}
}

// TestLanguage: fixed texts are in the language of the request.
func TestLanguage(t *testing.T) {
	w, _ := loopWorld(t, lead(end("Итого 5.")))
	o := w.must(w.task("01A", "Сколько всего?"))
	if !strings.Contains(o.Message, "На основе") || !strings.Contains(o.Message, "не подтверждено") {
		t.Errorf("got %s", o.Message)
	}
}

// TestTwoHundredSkills: the index stays small, and a skill's text enters only
// when it is read.
func TestTwoHundredSkills(t *testing.T) {
	w, srv := loopWorld(t, lead(modeltest.Do("read_skill", args{"name": "skill-007"}), end("done")))
	w.options.Skills = manySkills(t, 200)
	o := w.must(w.task("01A", "x"))
	first := srv.Requests()[0]
	if n := len(first.Messages[0].Content); n > 8000*4+6000 {
		t.Errorf("the rules with the index have %d bytes", n)
	}
	if !strings.Contains(first.Messages[0].Content, "skill-199") || strings.Contains(first.Text(), "BODY-OF-7") {
		t.Error("the index lacks a skill, or holds a skill's text")
	}
	if !strings.Contains(srv.Requests()[1].Text(), "BODY-OF-7") || o.Provenance.Skills["skill-007"] == "" || len(o.Provenance.Skills) != 1 {
		t.Errorf("read: %v", o.Provenance.Skills)
	}
}
