package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Bounds on a conversation that gets nowhere.
const (
	mostIdle    = 3 // turns in a row without a call
	mostUseless = 8 // turns in a row whose calls all failed
	warnRepeat  = 3 // times that one call gave one result: told
	mostRepeat  = 6 // times that end the run
	// leastAnswer is the least room for an answer in tokens, worth a turn.
	leastAnswer = 400
	// usualAnswer is what a turn's answer costs in tokens, by experience.
	usualAnswer = 500
)

// loop is one agent's conversation: the lead's or a subagent's.
type loop struct {
	t       *task
	path    string // "lead", "lead/1", …
	depth   int    // 0 for the lead
	budget  *budget
	w       *workspace
	tools   []*tool
	skills  []string // that may be read; nil: all
	opening []Message
	// inventory is the lead's: helpers without inputs open no session for it.
	inventory string
	window    int // tokens; smaller once a server said so
	state
	specs []ToolSpec
	fixed int // estimate of the tools' descriptions
}

// start makes a loop from its opening messages and the steps recorded for it.
func (l *loop) start(steps []bot.Step) error {
	l.seen = map[string]int{}
	for _, tool := range l.tools {
		l.specs = append(l.specs, tool.spec)
		l.fixed += 20 + skills.EstimateTokens(tool.spec.Description) + skills.EstimateTokens(string(tool.spec.Schema))
	}
	l.window = l.t.a.o.Model.Info().Window
	if l.window == 0 {
		l.window = 128_000
	}
	for _, m := range l.opening {
		l.message(m)
	}
	l.w.recorded = func(step bot.Step) { l.steps = append(l.steps, step) }
	for _, step := range steps {
		if step.Agent != l.path || step.Kind == bot.StepProfile {
			continue
		}
		if err := l.apply(step, false); err != nil {
			return err
		}
	}
	return nil
}

// errAsked ends a run because a question went out.
var errAsked = errors.New("waiting for an answer")

// run goes on until the agent ends: build request, call model, record, act,
// record, check budget. What comes next is read from the state alone, so a
// life that goes on does what the one before was about to do.
func (l *loop) run(ctx context.Context) (*ending, error) {
	for l.ended == nil {
		err := l.next(ctx)
		if end, ok := l.outOf(ctx, err); ok {
			return l.end(ctx, end)
		}
		if err != nil {
			return nil, err
		}
	}
	return l.ended, nil
}

// next does one thing: a call that has no result yet, what must be said to an
// answer without calls, or a turn of the model.
func (l *loop) next(ctx context.Context) error {
	if len(l.pending) > 0 {
		return l.act(ctx, l.pending[0])
	}
	if last := l.messages[len(l.messages)-1]; last.Role == RoleAssistant {
		return l.answerText(ctx, last.Content)
	}
	if why := l.stuck(); why != "" {
		_, err := l.end(ctx, &ending{Partial: why})
		return err
	}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	turn, err := l.ask(ctx)
	if err != nil {
		return err
	}
	return l.record(ctx, bot.StepTurn, turn)
}

// record commits a step of this agent, then takes it in.
func (l *loop) record(ctx context.Context, kind bot.StepKind, data any) error {
	step, err := l.t.record(ctx, kind, l.path, data)
	if err != nil {
		return err
	}
	return l.apply(step, true)
}

// end records an ending from outside and returns it.
func (l *loop) end(ctx context.Context, e *ending) (*ending, error) {
	// The time may be what is out: the ending is recorded all the same.
	ctx, cancel := grace(ctx)
	defer cancel()
	err := l.record(ctx, bot.StepNote, noteData{Kind: noteEnded, Text: e.Partial, Ending: e, spent: l.t.spent(0)})
	return e, err
}

// act makes one call and records what came of it.
func (l *loop) act(ctx context.Context, call Call) error {
	o, err := l.call(ctx, call)
	if err != nil {
		return err
	}
	if o.asked {
		return errAsked
	}
	o.CallID, o.Name = call.ID, call.Name
	if l.seen[fingerprint(call, o.Result)] >= warnRepeat-1 && o.Ending == nil {
		if o.Remark, err = render("repeat.md", nil); err != nil {
			return err
		}
		o.Failed = true
	}
	o.spent = spent{ActiveMS: l.t.active().Milliseconds(), SandboxMS: o.SandboxMS}
	if err := l.record(ctx, bot.StepTool, o.toolData); err != nil {
		return err
	}
	if l.depth == 0 && o.Todo != nil {
		l.t.report("", o.Todo)
	}
	return nil
}

// call finds a call's tool and runs it.
func (l *loop) call(ctx context.Context, call Call) (observation, error) {
	for _, tool := range l.tools {
		if tool.spec.Name == call.Name {
			return tool.run(ctx, l, call)
		}
	}
	var names []string
	for _, tool := range l.tools {
		names = append(names, tool.spec.Name)
	}
	return failed("There is no tool %s. The tools are: %s.", code(cleanLine(call.Name, 60)), strings.Join(names, ", ")), nil
}

// stuck says why the conversation must end, or nothing.
func (l *loop) stuck() string {
	switch {
	case l.repeated >= mostRepeat:
		return l.t.words.Looping
	case l.useless >= mostUseless, l.idle >= mostIdle:
		return l.t.words.Rubbish
	}
	return ""
}

// prepare says what must be said before the next turn: that budgets near
// their end, that a call repeats; and makes room where the conversation fills
// the window.
func (l *loop) prepare(ctx context.Context) error {
	if !l.warned {
		usage := TokenUsage{Input: int64(l.estimate()), Output: usualAnswer}
		next := hold{tokens: usage.Input + usage.Output, usd: l.t.a.o.Model.Info().Price.Cost(usage)}
		if left := l.budget.low(next, l.wallLeft()); left != "" {
			text, err := render("wrapup.md", map[string]string{"Left": left})
			if err != nil {
				return err
			}
			if err := l.record(ctx, bot.StepNote, noteData{Kind: noteSay, Text: text, Wrapup: true, spent: l.t.spent(0)}); err != nil {
				return err
			}
		}
	}
	if l.estimate() > l.window*7/10 {
		return l.makeRoom(ctx, l.window*3/10)
	}
	return nil
}

// estimate guesses the tokens of the next request, rather too high.
func (l *loop) estimate() int { return l.tokens + l.fixed }

func (l *loop) wallLeft() time.Duration { return max(0, l.budget.limit.Wall-l.t.active()) }

// ask asks the model for the next turn, within the budgets.
func (l *loop) ask(ctx context.Context) (turnData, error) {
	for try := 0; ; try++ {
		turn, err := l.askOnce(ctx)
		var failed *ModelError
		if err == nil || !errors.As(err, &failed) || failed.Kind != ModelContext || try == 3 {
			return turn, err
		}
		// The server knows its window better than we do.
		window := min(l.window, l.estimate())
		if failed.Window > 0 {
			window = min(window, failed.Window)
		}
		l.window = window * 9 / 10
		if err := l.makeRoom(ctx, l.window*3/(10+10*try)); err != nil {
			return turn, err
		}
	}
}

func (l *loop) askOnce(ctx context.Context) (turnData, error) {
	info := l.t.a.o.Model.Info()
	most := info.MaxOutput
	if most == 0 {
		most = 8192
	}
	input := l.estimate()
	most = min(most, l.window-input)
	left := l.budget.left()
	if room := left.Tokens - int64(input); room < int64(most) {
		most = int(max(0, room))
	}
	// Money bounds the answer too, so that the last cents still buy a turn.
	if info.Price.Output > 0 {
		rest := left.USD - info.Price.Cost(TokenUsage{Input: int64(input)})
		if room := rest * 1e6 / info.Price.Output; room < float64(most) {
			if most = int(max(0, room)); most < leastAnswer {
				return turnData{}, &bot.BudgetError{Budget: "usd", Limit: fmt.Sprintf("$%.2f", l.budget.limit.USD)}
			}
		}
	}
	if most < leastAnswer {
		if l.window-input < leastAnswer {
			return turnData{}, &ModelError{Kind: ModelContext, Message: "the conversation fills the model's context"}
		}
		return turnData{}, &bot.BudgetError{Budget: "tokens", Limit: fmt.Sprint(l.budget.limit.Tokens)}
	}
	h := hold{tokens: int64(input + most)}
	h.usd = info.Price.Cost(TokenUsage{Input: int64(input), Output: int64(most)})
	if err := l.budget.reserve(h); err != nil {
		return turnData{}, err
	}
	defer l.budget.release(h)
	reserved, err := l.t.run.Meter.Reserve(ctx, h.tokens, h.usd)
	if err != nil {
		return turnData{}, fmt.Errorf("reserve budget: %w", err)
	}
	if l.depth == 0 {
		l.t.report(l.t.words.Thinking, nil)
	}
	req := Request{Model: l.t.run.Task.Allowed.Model, Messages: l.messages, Tools: l.specs, MaxOutput: most, CacheKey: l.t.run.Task.ID + "/" + l.path}
	if left.Turns <= 1 {
		req.Force = "finish"
	}
	reply, err := l.t.a.o.Model.Complete(ctx, req)
	turn := turnData{}
	if err == nil {
		turn = l.turn(reply, input)
	}
	settle, cancel := grace(ctx)
	defer cancel()
	if e := reserved.Settle(settle, turn.Usage.Input+turn.Usage.Output, turn.CostUSD); e != nil && err == nil {
		return turnData{}, fmt.Errorf("settle budget: %w", e)
	}
	return turn, err
}

// turn makes the step of a reply: ids of our own, and usage as charged: the
// greater of reported and estimated.
func (l *loop) turn(reply Reply, input int) turnData {
	turn := turnData{Text: reply.Text, Calls: reply.Calls, Finish: reply.Finish, Model: reply.Model, Retries: reply.Retries, spent: l.t.spent(0)}
	for i := range turn.Calls {
		turn.Calls[i].ID = callID(l.path, l.turns, i)
	}
	output := messageTokens(Message{Content: reply.Text, Calls: reply.Calls})
	turn.Reported = reply.Usage.Input > 0
	turn.Usage = TokenUsage{Input: max(reply.Usage.Input, int64(input)), Output: max(reply.Usage.Output, int64(output)), Cached: reply.Usage.Cached}
	turn.CostUSD = reply.Price.Cost(turn.Usage)
	return turn
}

// answerText deals with a turn without calls: the model is asked once to call
// a tool; text that it insists on is its answer.
func (l *loop) answerText(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" || l.idle < 2 || l.cut {
		say, err := render("nudge.md", map[string]string{"Text": text})
		if err != nil {
			return err
		}
		return l.record(ctx, bot.StepNote, noteData{Kind: noteSay, Text: say, spent: l.t.spent(0)})
	}
	o := l.finish(finishArgs{Message: text})
	if o.Ending == nil { // given back for mending
		return l.record(ctx, bot.StepNote, noteData{Kind: noteSay, Text: o.Result, Mend: true, spent: l.t.spent(0)})
	}
	if !l.worked() {
		o.Ending.Partial = l.t.words.Unfinished
	}
	_, err := l.end(ctx, o.Ending)
	return err
}

// worked reports whether text without finish is a whole answer: the plan is
// done, and the model either used a tool well or, where no files came with the
// request, said the same twice.
func (l *loop) worked() bool {
	for _, item := range l.todo {
		if !item.Done {
			return false
		}
	}
	texts := map[string]int{}
	for _, m := range l.messages {
		if l.depth == 0 && len(l.t.run.Task.Inputs) > 0 {
			break
		}
		if m.Role == RoleAssistant && len(m.Calls) == 0 {
			texts[m.Content]++
			if texts[m.Content] > 1 {
				return true
			}
		}
	}
	for _, step := range l.steps {
		if step.Kind != bot.StepTool {
			continue
		}
		if tool, err := readStep[toolData](step); err == nil && !tool.Failed {
			return true
		}
	}
	return false
}

// errWall is the cause of a context whose task is out of time.
var errWall = errors.New("the task is out of time")

// outOf makes an ending of what stops an agent for good: a budget or the
// model. Other errors stay errors.
func (l *loop) outOf(ctx context.Context, err error) (*ending, bool) {
	var budget *bot.BudgetError
	var failed *ModelError
	switch {
	case err == nil:
		return nil, false
	case errors.Is(context.Cause(ctx), errWall):
		return &ending{Message: l.lastText, Partial: fmt.Sprintf(l.t.words.OutOfWall, durationText(l.budget.limit.Wall))}, true
	case ctx.Err() != nil:
		return nil, false
	case errors.As(err, &budget):
		return &ending{Message: l.lastText, Partial: l.t.words.outOf(budget)}, true
	case errors.As(err, &failed) && l.turns > 0:
		return &ending{Message: l.lastText, Partial: fmt.Sprintf(l.t.words.ModelGone, failed.Message)}, true
	}
	return nil, false
}

// grace gives what must still be recorded a little time after ctx has ended.
func grace(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
}
