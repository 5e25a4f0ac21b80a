package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// task is one run of one task: what its agents share.
type task struct {
	a      *Agent
	run    bot.Run
	log    *slog.Logger
	words  texts
	budget *budget
	image  string // image id that the task's first session had

	matched []string // the request's words that the skill was chosen by; none when it was named

	believed   bool   // a saved report was compared in this image
	unaccepted string // what opens the answer of one that has moved
	byImage    bool   // it is mended for that, not for its data

	spare *spare // for the check of files; nil when none was prepared

	began  time.Time
	before time.Duration // wall time that earlier lives spent

	journal sync.Mutex // serializes appends of agents that run at once

	mu       sync.Mutex // guards the fields below
	progress bot.Progress
	from     provenance
	proofs   proofs
}

// Run implements bot.Runner.
func (a *Agent) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	t, steps, err := a.begin(ctx, run)
	if err != nil {
		return bot.Outcome{}, ended(ctx, err)
	}
	outcome, err := t.do(ctx, steps)
	if err != nil && errors.Is(context.Cause(ctx), bot.ErrCancelled) {
		outcome, err = bot.Outcome{State: bot.TaskCancelled, Message: t.words.Cancelled}, nil
	}
	var failed *bot.TaskError
	if err != nil && ctx.Err() == nil && errors.As(err, &failed) {
		outcome, err = bot.Outcome{State: bot.TaskFailed, Message: failed.Message, Error: failed}, nil
	}
	if err != nil {
		return bot.Outcome{}, ended(ctx, err)
	}
	if note := t.sameData(); note != "" && outcome.State == bot.TaskDone {
		outcome.Message = note + "\n\n" + outcome.Message
	}
	outcome.Usage = t.budget.usage()
	outcome.Provenance = t.provenance()
	return outcome, nil
}

// ended gives a context's cause where that is why err came.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("run task: %w", err)
}

// begin reads what earlier lives recorded and spent.
func (a *Agent) begin(ctx context.Context, run bot.Run) (*task, []bot.Step, error) {
	steps, err := run.Journal.Steps(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read journal: %w", err)
	}
	t := &task{
		a: a, run: run, log: a.o.Log.With("task", run.Task.ID),
		words: textsFor(run.Task.Event.Text), budget: newBudget(a.budgets(run.Task.Budgets)),
		began:    a.o.Clock.Now(),
		progress: bot.Progress{Task: run.Task.ID, State: bot.TaskRunning, Started: run.Task.Started},
	}
	for _, step := range steps {
		common, err := readStep[spent](step)
		if err != nil {
			return nil, nil, err
		}
		t.before = max(t.before, time.Duration(common.ActiveMS)*time.Millisecond)
		if err := t.account(step); err != nil {
			return nil, nil, err
		}
	}
	return t, steps, nil
}

// account books what a recorded step spent and what it says of provenance.
func (t *task) account(step bot.Step) error {
	common, err := readStep[spent](step)
	if err != nil {
		return err
	}
	t.budget.bookSandbox(time.Duration(common.SandboxMS) * time.Millisecond)
	switch step.Kind {
	case bot.StepTurn:
		turn, err := readStep[turnData](step)
		if err != nil {
			return err
		}
		t.budget.bookTurn(turn.Usage, turn.CostUSD)
		t.from.turn(turn)
		t.proofs.turn(turn)
	case bot.StepProgram:
		p, err := readStep[bot.Program](step)
		if err != nil {
			return err
		}
		t.budget.bookSandbox(time.Duration(p.Seconds * float64(time.Second)))
		t.from.program(p)
		t.proofs.program(step.Agent, p)
	case bot.StepProfile:
		p, err := readStep[profileData](step)
		if err != nil {
			return err
		}
		t.from.profile(p)
		t.proofs.profile(p.Profile)
		if t.image == "" {
			t.image = p.ImageID
		}
	case bot.StepTool:
		tool, err := readStep[toolData](step)
		if err != nil {
			return err
		}
		t.from.skill(tool.Skill, tool.Version)
	case bot.StepNote:
		note, err := readStep[noteData](step)
		if err != nil {
			return err
		}
		t.from.skill(note.Skill, note.Version)
		switch note.Kind {
		case noteImage:
			t.believed, t.unaccepted = true, note.Text
		case noteDrift:
			t.byImage = note.ByImage
		}
	}
	return nil
}

// record commits a step and books it.
func (t *task) record(ctx context.Context, kind bot.StepKind, agent string, data any) (bot.Step, error) {
	step, err := t.append(ctx, kind, agent, data)
	if err != nil {
		return step, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return step, t.account(step)
}

// do takes the way that the request asks for.
func (t *task) do(ctx context.Context, steps []bot.Step) (bot.Outcome, error) {
	outcome, err := t.way(ctx, steps)
	return outcome, t.naming(err)
}

func (t *task) way(ctx context.Context, steps []bot.Step) (bot.Outcome, error) {
	if err := t.readable(); err != nil {
		return bot.Outcome{}, err
	}
	options := t.run.Task.Event.Options
	if options.Seed != "" {
		return t.reproduce(ctx, steps)
	}
	skill, err := t.chooseSkill(steps)
	if err != nil {
		return bot.Outcome{}, err
	}
	if skill.Runnable() && (t.named() != "" || t.a.o.Model == nil) {
		return t.runSkill(ctx, skill, steps)
	}
	return t.runLead(ctx, skill, steps)
}

// readable fails a task none of whose files could be read. Words that may name
// a file to be made do not count.
func (t *task) readable() error {
	inputs := t.run.Task.Inputs
	meant := false
	for _, in := range inputs {
		if in.Problem == "" {
			return nil
		}
		meant = meant || !in.Maybe
	}
	if !meant {
		return nil
	}
	hint := t.words.SendAgain
	if t.run.Task.Event.Scheduled {
		hint = t.words.NextLooksAgain
	}
	return &bot.TaskError{Kind: "input", Message: t.words.unreadable(inputs), Hint: hint}
}

// report shows progress: the running step in words, and the plan when it has
// one.
func (t *task) report(now string, todo []bot.TodoItem) {
	if t.run.Report == nil {
		return
	}
	t.mu.Lock()
	t.progress.Now = now
	if todo != nil {
		t.progress.Todo = todo
	}
	t.progress.Usage = t.budget.usage()
	p := t.progress
	t.mu.Unlock()
	t.run.Report(p)
}
