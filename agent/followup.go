package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Bounds on what a follow-up takes from its conversation.
const (
	mostEarlier   = 10      // tasks told to the model
	mostReplayed  = 5       // tasks whose programs are run again
	answerMost    = 3 << 10 // bytes of an earlier answer
	replaySeconds = 60.0    // sandbox time that a rebuilt session may take
)

// earlier is what a conversation gives to its next task.
type earlier struct {
	tasks   []earlierTask
	inputs  []bot.Input // of this task and of those before it
	log     []entry     // the program log that rebuilds the session
	image   string      // the image that it ran on last
	rebuilt bool
}

// earlier reads the conversation: earlier requests, answers, files, and the
// program log, so that the session can be rebuilt.
func (t *task) earlier(ctx context.Context) (earlier, error) {
	e := earlier{inputs: slices.Clone(t.run.Task.Inputs)}
	history := t.run.History
	for _, task := range history[max(0, len(history)-mostEarlier):] {
		told := earlierTask{Request: task.Event.Text}
		for _, a := range task.Answers {
			told.Request += "\n" + a.Text
		}
		if task.Outcome != nil {
			told.Answer = cutText(task.Outcome.Message, answerMost)
			var names []string
			for _, f := range task.Outcome.Files {
				names = append(names, f.Name)
			}
			told.Files = strings.Join(names, ", ")
		}
		e.tasks = append(e.tasks, told)
	}
	taken := map[string]string{} // name to blob
	for _, in := range e.inputs {
		taken[in.Name] = in.Blob
	}
	var log []entry
	seconds, clash := 0.0, false
	for _, task := range history[max(0, len(history)-mostReplayed):] {
		for _, in := range task.Inputs {
			blob, there := taken[in.Name]
			clash = clash || there && blob != in.Blob
			if !there && in.Blob != "" {
				taken[in.Name] = in.Blob
				e.inputs = append(e.inputs, in)
			}
		}
		entries, image, took, err := t.programLog(ctx, task.ID)
		if err != nil {
			return e, err
		}
		log, seconds = append(log, entries...), seconds+took
		if len(entries) > 0 {
			e.image = image
		}
	}
	// Programs that would meet another file under the old name, or would take
	// too long, are not run again: the work starts from the files.
	if len(log) > 0 && !clash && seconds <= replaySeconds {
		e.log, e.rebuilt = log, true
	} else {
		e.image = ""
	}
	return e, nil
}

// programLog reads what made the session of another task's lead, ending with
// its files put aside, the image it ran on, and the time its programs took.
// Its outputs count as calculated.
func (t *task) programLog(ctx context.Context, id string) (log []entry, image string, seconds float64, err error) {
	steps, err := t.run.Journal.Of(ctx, id)
	if errors.Is(err, bot.ErrNotFound) {
		return nil, "", 0, nil // forgotten by retention
	}
	if err != nil {
		return nil, "", 0, fmt.Errorf("read journal of %s: %w", id, err)
	}
	s, err := readSeed(steps)
	if err != nil {
		return nil, "", 0, err
	}
	log = s.log
	programs := false
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range log {
		if e.program != nil {
			seconds += e.program.Seconds
			programs = true
			t.proofs.program(lead, *e.program)
		}
		if e.runnable {
			return nil, "", 0, nil // a runnable skill's memory is of no use
		}
	}
	if !programs {
		return nil, "", 0, nil
	}
	return append(log, entry{settle: true}), s.image, seconds, nil
}

// logOf reads the lead's part of a journal as the log of its session.
func logOf(steps []bot.Step) ([]entry, error) {
	var log []entry
	for _, step := range steps {
		if step.Agent != lead {
			continue
		}
		switch step.Kind {
		case bot.StepProgram:
			p, err := readStep[bot.Program](step)
			if err != nil {
				return nil, err
			}
			log = append(log, entry{program: &p})
		case bot.StepTool:
			tool, err := readStep[toolData](step)
			if err != nil {
				return nil, err
			}
			if len(tool.Puts) > 0 {
				log = append(log, entry{puts: tool.Puts})
			}
			if tool.Skill != "" {
				log = append(log, entry{skill: tool.Skill})
			}
		case bot.StepNote:
			note, err := readStep[noteData](step)
			if err != nil {
				return nil, err
			}
			if note.Kind == noteSkill {
				log = append(log, entry{skill: note.Skill, request: note.Text, runnable: true})
			}
		}
	}
	return log, nil
}

// earlierFiles are the names of files that answers of the conversation
// brought: an answer may mention them.
func (t *task) earlierFiles() []string {
	var names []string
	for _, task := range t.run.History {
		for _, in := range task.Inputs {
			names = append(names, in.Name)
		}
		if task.Outcome == nil {
			continue
		}
		for _, f := range task.Outcome.Files {
			names = append(names, f.Name)
		}
	}
	return names
}

// attached are the files that came with this request itself, not those that
// its conversation had before.
func (t *task) attached() []bot.Input {
	var out []bot.Input
	refs := t.run.Task.Event.Inputs
	for i, in := range t.run.Task.Inputs {
		if in.Blob != "" && i < len(refs) && !refs[i].Around {
			out = append(out, in)
		}
	}
	return out
}

// reportInputs are what a skill works on: for a saved report the files that came
// with the request, where they are as many as it needs. Beside a new file, the
// one that it was made of would be taken for its own.
func (t *task) reportInputs(skill skills.Skill) []bot.Input {
	var made struct {
		Inputs []json.RawMessage `json:"inputs"`
	}
	raw, err := fs.ReadFile(skill.FS, "assets/report.json")
	own := t.attached()
	if skill.Source != skills.SourceSaved || err != nil || json.Unmarshal(raw, &made) != nil || len(own) == 0 || len(own) < len(made.Inputs) {
		return t.skillInputs()
	}
	return own
}

// skillInputs are what a runnable skill works on: this request's files, or
// those of the newest request of the conversation that had any.
func (t *task) skillInputs() []bot.Input {
	if hasFiles(t.run.Task.Inputs) {
		return t.run.Task.Inputs
	}
	for i := len(t.run.History) - 1; i >= 0; i-- {
		if hasFiles(t.run.History[i].Inputs) {
			return t.run.History[i].Inputs
		}
	}
	return t.run.Task.Inputs
}
