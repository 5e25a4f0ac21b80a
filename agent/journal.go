package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// lead is the path of a task's first agent; a subagent's path is its
// maker's, a slash and its number.
const lead = "lead"

// profileData is a StepProfile: what intake read.
type profileData struct {
	// Text is what a model sees, by the values in force.
	Text   string `json:"text,omitempty"`
	Values Values `json:"values,omitempty"`
	// Profile is the whole profile.json, when it is not too large to keep.
	Profile json.RawMessage `json:"profile,omitempty"`
	// Inputs are the files that it is about.
	Inputs []bot.Input `json:"inputs,omitempty"`
	// Inventory, ImageID and Runtime describe the session it was made in.
	Inventory string          `json:"inventory,omitempty"`
	ImageID   string          `json:"image_id,omitempty"`
	Runtime   string          `json:"runtime,omitempty"`
	Proof     json.RawMessage `json:"proof,omitempty"`
	Problem   string          `json:"problem,omitempty"`
	spent
}

// turnData is a StepTurn: a model's answer as it is kept, its calls with ids
// of our own.
type turnData struct {
	Text   string     `json:"text,omitempty"`
	Calls  []Call     `json:"calls,omitempty"`
	Finish Finish     `json:"finish,omitempty"`
	Model  string     `json:"model,omitempty"`
	Usage  TokenUsage `json:"usage"` // as charged: the greater of reported and estimated
	// Reported is false where the server named no usage.
	Reported bool    `json:"reported,omitempty"`
	CostUSD  float64 `json:"cost_usd,omitempty"`
	Retries  int     `json:"retries,omitempty"`
	spent
}

// toolData is a StepTool: the observation that answers one call.
type toolData struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Result string `json:"result"`
	Failed bool   `json:"failed,omitempty"`
	// Remark is said behind the result, for instance that it repeats.
	Remark string `json:"remark,omitempty"`
	// Puts are files that the tool brought into the agent's session; a
	// rebuilt session gets them again.
	Puts []putFile `json:"puts,omitempty"`
	// Skill and Version name a skill that was read.
	Skill   string `json:"skill,omitempty"`
	Version string `json:"version,omitempty"`
	// Ending is set by finish once it is accepted.
	Ending *ending `json:"ending,omitempty"`
	// Mend marks a finish that was given back once.
	Mend bool `json:"mend,omitempty"`
	// Todo is the list after a tool that changes it.
	Todo []bot.TodoItem `json:"todo,omitempty"`
	spent
}

// putFile is a blob that was put into a session.
type putFile struct {
	Name string `json:"name"` // relative to /workspace
	Blob string `json:"blob"`
	Size int64  `json:"size"`
}

// ending is how an agent ended.
type ending struct {
	Message  string         `json:"message"`
	Order    []string       `json:"order,omitempty"`
	Partial  string         `json:"partial,omitempty"` // why it is partial; empty when it is not
	Unproven []string       `json:"unproven,omitempty"`
	Files    []bot.Artifact `json:"files,omitempty"` // of a subagent
}

// noteKind names what a note is about.
type noteKind string

// The kinds of notes.
const (
	noteSay       noteKind = "say"       // told to the model between turns
	noteCompacted noteKind = "compacted" // old turns became a summary
	noteEnded     noteKind = "ended"     // the agent was ended from outside
	noteArtifacts noteKind = "artifacts" // the files that were stored
	noteSkill     noteKind = "skill"     // the runnable skill that was chosen
	noteShared    noteKind = "shared"    // the budget was parted among subagents
	noteDrift     noteKind = "drift"     // a saved report's data has changed its shape, or its image what it gives
	noteImage     noteKind = "image"     // a saved report was compared in another image
)

// noteData is a StepNote.
type noteData struct {
	Kind noteKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// Wrapup marks a noteSay that asks to come to an end.
	Wrapup bool `json:"wrapup,omitempty"`
	// Mend marks a noteSay that gave an answer back once.
	Mend bool `json:"mend,omitempty"`
	// Shares and Given are what a noteShared gave: one each for each subagent.
	Shares []bot.Budgets `json:"shares,omitempty"`
	Given  [][]bot.Input `json:"given,omitempty"`
	// Upto is the last step that a noteCompacted stands for.
	Upto   uint64  `json:"upto,omitempty"`
	Ending *ending `json:"ending,omitempty"`
	// Files and Skipped belong to noteArtifacts.
	Files   []bot.Artifact    `json:"files,omitempty"`
	Skipped []bot.Undelivered `json:"skipped,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
	// Answer and Refusal are a runnable skill's own words.
	Answer  string `json:"answer,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Skill   string `json:"skill,omitempty"`
	Version string `json:"version,omitempty"`
	// Matched are the request's words that a noteSkill was chosen by.
	Matched []string `json:"matched,omitempty"`
	// ByImage marks a noteDrift that the image caused, not the data.
	ByImage bool `json:"by_image,omitempty"`
	spent
}

// spent is what a task had used up when a step was recorded, kept in each
// step so that a later life goes on counting.
type spent struct {
	// ActiveMS is the wall time that lives spent on the task up to here.
	ActiveMS int64 `json:"active_ms,omitempty"`
	// SandboxMS is the sandbox time of this step alone.
	SandboxMS int64 `json:"sandbox_ms,omitempty"`
}

// errJournal marks a step that could not be committed: no agent may go on.
var errJournal = errors.New("the journal does not take steps")

// append commits a step; it is known to the agent only afterwards.
func (t *task) append(ctx context.Context, kind bot.StepKind, agent string, data any) (bot.Step, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return bot.Step{}, fmt.Errorf("write %s step: %w", kind, err)
	}
	t.journal.Lock()
	step, err := t.run.Journal.Append(ctx, bot.Step{Kind: kind, Agent: agent, Data: raw})
	t.journal.Unlock()
	if err != nil {
		return bot.Step{}, fmt.Errorf("record %s: %w", kind, errors.Join(errJournal, err))
	}
	t.a.o.Point("step:" + string(kind))
	return step, nil
}

// active is the wall time spent on the task by all lives.
func (t *task) active() time.Duration {
	return t.before + t.a.o.Clock.Now().Sub(t.began)
}

func (t *task) spent(sandbox time.Duration) spent {
	return spent{ActiveMS: t.active().Milliseconds(), SandboxMS: sandbox.Milliseconds()}
}

// readStep reads a step's own data.
func readStep[T any](step bot.Step) (T, error) {
	var data T
	if err := json.Unmarshal(step.Data, &data); err != nil {
		return data, fmt.Errorf("read step %d: %w", step.Seq, err)
	}
	return data, nil
}

// Programs returns the program log among steps: the programs that one agent
// ran, in order. An empty agent takes the lead's.
func Programs(steps []bot.Step, agent string) ([]bot.Program, error) {
	if agent == "" {
		agent = lead
	}
	var programs []bot.Program
	for _, step := range steps {
		if step.Kind != bot.StepProgram || step.Agent != agent {
			continue
		}
		p, err := readStep[bot.Program](step)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return programs, nil
}
