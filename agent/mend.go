package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Bounds on what a drifted report tells.
const (
	mostChanges = 20
	changeMost  = 300 // characters
	answerShown = 6 << 10
)

// mendPrompt fills mend.md.
type mendPrompt struct {
	Name, Changes, Script, Answer, Request string

	ByImage bool
}

// readDrift reads what a report found changed. It comes out of the sandbox:
// only short lines of it are taken.
func readDrift(raw []byte) []string {
	var d struct {
		Changes []string `json:"changes"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	var out []string
	for _, c := range d.Changes[:min(len(d.Changes), mostChanges)] {
		if c = cleanLine(c, changeMost); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// recordedDrift finds that an earlier life saw the data drift, and the steps
// of mending: the profile and what came after. nil: no drift was seen.
func recordedDrift(steps []bot.Step) (drift []string, rest []bot.Step, err error) {
	at := -1
	for i, step := range steps {
		if step.Kind != bot.StepNote || step.Agent != lead {
			continue
		}
		note, err := readStep[noteData](step)
		if err != nil {
			return nil, nil, err
		}
		if note.Kind == noteDrift {
			at, drift = i, note.Notes
		}
	}
	if at < 0 {
		return nil, nil, nil
	}
	for i, step := range steps {
		if i > at || step.Kind == bot.StepProfile {
			rest = append(rest, step)
		}
	}
	return drift, rest, nil
}

// mendFirst records that the data drifted, so that no later life runs the old
// program again, and mends.
func (t *task) mendFirst(ctx context.Context, skill skills.Skill, s stored) (bot.Outcome, error) {
	note := noteData{Kind: noteDrift, Skill: skill.Name, Version: skill.Version, Notes: s.drift, Refusal: s.refusal, ByImage: s.byImage, spent: t.spent(0)}
	if _, err := t.record(ctx, bot.StepNote, lead, note); err != nil {
		return bot.Outcome{}, err
	}
	steps, err := t.run.Journal.Steps(ctx)
	if err != nil {
		return bot.Outcome{}, fmt.Errorf("read journal: %w", err)
	}
	drift, rest, err := recordedDrift(steps)
	if err != nil {
		return bot.Outcome{}, err
	}
	return t.mend(ctx, skill, drift, rest)
}

// mend has the model write a drifted report's programs anew, with the old ones
// at hand, and proposes them as a new version. Nothing of earlier runs is in
// the session: what is mended must stand on its own.
func (t *task) mend(ctx context.Context, skill skills.Skill, drift []string, steps []bot.Step) (bot.Outcome, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, max(time.Second, t.budget.limit.Wall-t.active()), errWall)
	defer cancel()
	t.report(fmt.Sprintf(t.words.Mending, skill.Name), nil)
	w := &workspace{t: t, agent: lead, inputs: t.reportInputs(skill), image: t.image, log: []entry{{skill: skill.Name}}}
	defer w.close()
	p, err := t.intake(bounded, w, steps)
	if err != nil {
		return bot.Outcome{}, err
	}
	l := &loop{t: t, path: lead, budget: t.budget, w: w, tools: t.a.tools, inventory: p.Inventory}
	if l.opening, err = t.mendOpening(skill, drift, p); err != nil {
		return bot.Outcome{}, err
	}
	if err := l.start(steps); err != nil {
		return bot.Outcome{}, err
	}
	end, err := l.run(bounded)
	var failed *ModelError
	switch {
	case errors.Is(err, errAsked):
		return l.waiting()
	case errors.As(err, &failed):
		// Without the model it is what it would be without any: drift, said.
		return bot.Outcome{}, &bot.TaskError{
			Kind: "input", Message: t.drifted(skill, drift),
			Hint: fmt.Sprintf(t.words.ModelFailed, failed.Message),
		}
	case err != nil:
		return bot.Outcome{}, err
	}
	o, err := l.deliver(ctx, end, steps)
	if err != nil {
		return o, err
	}
	parts := []string{t.drifted(skill, drift)}
	if !o.Partial {
		line, err := t.propose(ctx, skill, o)
		if err != nil {
			return bot.Outcome{}, err
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	o.Message = strings.Join(append(parts, o.Message), "\n\n")
	return o, nil
}

// drifted says why a report is mended.
func (t *task) drifted(skill skills.Skill, drift []string) string {
	words := t.words.Drifted
	if t.byImage {
		words = t.words.ImageDrifted
	}
	return fmt.Sprintf(words, strings.Join(drift, "; "), skill.Name)
}

// mendOpening makes the first messages: the rules, what changed, the old words.
func (t *task) mendOpening(skill skills.Skill, drift []string, p profileData) ([]Message, error) {
	opening, err := t.opening(skills.Skill{}, p, earlier{inputs: t.reportInputs(skill)})
	if err != nil {
		return nil, err
	}
	answer, _ := fs.ReadFile(skill.FS, "assets/answer.md")
	text, err := render("mend.md", mendPrompt{
		Name: skill.Name, Changes: t.frame("what changed", "- "+strings.Join(drift, "\n- ")),
		Script: path.Join("/skills", skill.Name, skill.Run),
		Answer: t.frame("the old words", cutText(string(answer), answerShown)), Request: madeFor(skill), ByImage: t.byImage,
	})
	if err != nil {
		return nil, err
	}
	last := &opening[len(opening)-1]
	last.Content = strings.TrimSpace(last.Content + "\n\n" + text)
	return opening, nil
}

// madeFor is the request that a saved report was made for; empty for another
// skill.
func madeFor(skill skills.Skill) string {
	var made struct {
		Request string `json:"request"`
	}
	raw, err := fs.ReadFile(skill.FS, "assets/report.json")
	if skill.Source != skills.SourceSaved || err != nil || json.Unmarshal(raw, &made) != nil {
		return ""
	}
	return made.Request
}

// propose makes the mended programs a version that waits to be taken. It says
// what became of that; a report that cannot be proven is not proposed.
func (t *task) propose(ctx context.Context, skill skills.Skill, o bot.Outcome) (string, error) {
	into := t.a.o.Reports
	if into == nil || skill.Source != skills.SourceSaved {
		return "", nil
	}
	all, err := t.run.Journal.Steps(ctx)
	if err != nil {
		return "", fmt.Errorf("read journal: %w", err)
	}
	_, steps, err := recordedDrift(all)
	if err != nil {
		return "", err
	}
	mended := t.run.Task
	o.Provenance = t.provenance()
	mended.State, mended.Outcome = bot.TaskDone, &o
	mended = answerAlone(mended, t.words)
	if made := madeFor(skill); made != "" {
		mended.Event.Text = made
	}
	r := SaveRequest{Name: skill.Name, Owner: skill.Metadata["owner"], Task: mended, Steps: steps, Blobs: t.run.Blobs, Into: into}
	report, version, err := t.a.makeReport(r)
	if err == nil {
		_, err = t.a.prove(ctx, r, report)
	}
	if err == nil {
		err = into.Propose(skill.Name, report)
	}
	compared := ""
	if err == nil && t.byImage {
		compared, err = t.mendedMoves(ctx, skill.Name, report)
	}
	var constants *ConstantsError
	switch {
	case err == nil:
		return strings.TrimSpace(fmt.Sprintf(t.words.Proposed, version, skill.Name) + " " + compared), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &constants), errors.Is(err, ErrNotSavable), errors.Is(err, saved.ErrTaken):
		return fmt.Sprintf(t.words.NotProposed, err.Error()+"."), nil
	}
	t.log.Warn("a mended report is not proposed", "report", skill.Name, "error", err)
	return "", nil
}
