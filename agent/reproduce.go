package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// compareProgram compares pairs of files, Office files by their members.
//
//go:embed checks/compare.py
var compareProgram string

// seed is what is read of the task that is to be run again.
type seed struct {
	log    []entry
	inputs []bot.Input
	image  string
	files  []bot.Artifact
}

func readSeed(steps []bot.Step) (seed, error) {
	var s seed
	var err error
	if s.log, err = logOf(steps); err != nil {
		return s, err
	}
	for _, step := range steps {
		if step.Kind == bot.StepProfile && step.Agent == lead {
			p, err := readStep[profileData](step)
			if err != nil {
				return s, err
			}
			s.inputs, s.image = p.Inputs, p.ImageID
		}
	}
	made, _, err := recordedArtifacts(steps, lead)
	s.files = made.files
	return s, err
}

// reproduce runs another task's program log again in a fresh session on the
// recorded image, with the same inputs, and compares verdicts and files.
func (t *task) reproduce(ctx context.Context, steps []bot.Step) (bot.Outcome, error) {
	id := t.run.Task.Event.Options.Seed
	old, err := t.run.Journal.Of(ctx, id)
	if err != nil {
		return bot.Outcome{}, fmt.Errorf("read journal of %s: %w", id, err)
	}
	s, err := readSeed(old)
	if err != nil {
		return bot.Outcome{}, err
	}
	w := &workspace{t: t, agent: lead, inputs: s.inputs, image: s.image}
	if hasFiles(t.run.Task.Inputs) {
		w.inputs = t.run.Task.Inputs
	}
	defer w.close()
	if _, err := t.intake(ctx, w, steps); err != nil {
		return bot.Outcome{}, err
	}
	programs, same, err := t.runAgain(ctx, w, s.log, steps)
	if err != nil {
		return bot.Outcome{}, err
	}
	if programs == 0 {
		return bot.Outcome{}, &bot.TaskError{Kind: "input", Message: fmt.Sprintf(t.words.ReproducedNothing, code(id))}
	}
	made, done, err := recordedArtifacts(steps, lead)
	if err != nil {
		return bot.Outcome{}, err
	}
	if !done {
		if made, err = t.store(ctx, w, stored{}); err != nil {
			return bot.Outcome{}, err
		}
	}
	rows, alike, err := t.compare(ctx, s.files, made.files)
	if err != nil {
		return bot.Outcome{}, err
	}
	message := fmt.Sprintf(t.words.Reproduced, code(id), same, programs, alike, len(s.files))
	if len(rows) > 0 {
		message += "\n\n" + strings.Join(rows, "\n")
	}
	if p := t.provenance(); s.image != "" && p.ImageID != s.image {
		message += "\n\n" + t.words.ReproducedImage
	}
	return t.outcome(message, made, nil), nil
}

// runAgain runs a program log and counts the programs that end as recorded.
// What an earlier life of this task ran already is only replayed.
func (t *task) runAgain(ctx context.Context, w *workspace, log []entry, steps []bot.Step) (programs, same int, err error) {
	mine, err := Programs(steps, lead)
	if err != nil {
		return 0, 0, err
	}
	profiled := false
	for _, e := range log {
		if e.program == nil {
			if e.runnable && !profiled {
				profiled = true
				w.log = append(w.log, entry{program: &bot.Program{Language: string(sandbox.Python), Code: profileCode, Verdict: string(sandbox.OK)}})
			}
			w.log = append(w.log, e)
			continue
		}
		programs++
		if programs <= len(mine) {
			w.log = append(w.log, entry{program: &mine[programs-1]})
			if mine[programs-1].Verdict == e.program.Verdict {
				same++
			}
			continue
		}
		t.report(t.words.RunningProgram, nil)
		p, _, err := w.run(ctx, bot.Program{Language: e.program.Language, Code: e.program.Code, Title: e.program.Title})
		if err != nil {
			return programs, same, err
		}
		if p.Verdict == e.program.Verdict {
			same++
		}
	}
	return programs, same, w.open(ctx)
}

// compare says of each file whether it came out the same.
func (t *task) compare(ctx context.Context, old, made []bot.Artifact) (rows []string, alike int, err error) {
	byName := map[string]bot.Artifact{}
	for _, f := range made {
		byName[f.Name] = f
	}
	verdict := map[string]bool{}
	var pairs [][2]bot.Artifact
	for _, f := range old {
		g, ok := byName[f.Name]
		switch {
		case ok && g.Blob == f.Blob:
			verdict[f.Name] = true
		case ok:
			pairs = append(pairs, [2]bot.Artifact{f, g})
		}
	}
	if len(pairs) > 0 {
		if err := t.compareInside(ctx, pairs, verdict); err != nil {
			return nil, 0, err
		}
	}
	known := map[string]bool{}
	for _, f := range old {
		known[f.Name] = true
		word := t.words.Different
		if _, ok := byName[f.Name]; !ok {
			word = t.words.Missing
		} else if verdict[f.Name] {
			word = t.words.Same
			alike++
		}
		rows = append(rows, "- "+code(f.Name)+": "+word)
	}
	for _, f := range made {
		if !known[f.Name] {
			rows = append(rows, "- "+code(f.Name)+": "+t.words.New)
		}
	}
	return rows, alike, nil
}

// compareInside compares pairs in a fresh session.
func (t *task) compareInside(ctx context.Context, pairs [][2]bot.Artifact, verdict map[string]bool) error {
	w := &workspace{t: t, agent: lead}
	defer w.close()
	if err := w.open(ctx); err != nil {
		return err
	}
	for i, pair := range pairs {
		for side, f := range map[string]bot.Artifact{"a": pair[0], "b": pair[1]} {
			if err := w.putBlob(ctx, fmt.Sprintf("workspace/in/%s%d", side, i), f.Blob, f.Size); err != nil {
				return err
			}
		}
	}
	result, _, err := w.exec(ctx, bot.Program{Language: string(sandbox.Python), Code: compareProgram})
	if err != nil {
		return fmt.Errorf("compare files: %w", err)
	}
	if result.Verdict != sandbox.OK || w.session == nil {
		return nil // what could not be compared counts as different
	}
	said, err := w.exchange(ctx)
	if err != nil {
		return err
	}
	var same []bool
	if json.Unmarshal(said["compare.json"], &same) != nil || len(same) != len(pairs) {
		return nil
	}
	for i, pair := range pairs {
		verdict[pair[0].Name] = same[i]
	}
	return nil
}
