package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// chooseSkill gives the skill that a task runs or starts from: the one the
// request names, or, without a model, the one that fits. A life that goes on
// takes the one that was chosen first.
func (t *task) chooseSkill(steps []bot.Step) (skills.Skill, error) {
	name := t.named()
	if missing, near := t.misnamed(); name == "" && missing != "" {
		return skills.Skill{}, t.unknownSkill(missing, near...)
	}
	if name == "" {
		name, t.matched = recordedSkill(steps)
	}
	if name != "" {
		skill, err := t.skills().Get(name)
		if err != nil {
			return skill, t.unknownSkill(name)
		}
		if !skill.Runnable() && t.a.o.Model == nil {
			return skill, &bot.TaskError{Kind: "model", Message: fmt.Sprintf(t.words.SkillNeedsModel, code(name)), Hint: t.words.NoModelHint}
		}
		return skill, nil
	}
	if t.a.o.Model != nil {
		return skills.Skill{}, nil
	}
	var inputs []skills.Input
	for _, in := range t.skillInputs() {
		if in.Problem == "" {
			inputs = append(inputs, skills.Input{Name: in.Name, MediaType: in.MediaType})
		}
	}
	choice := t.skills().Choose(t.run.Task.Event.Text, inputs)
	if choice.Skill.Name != "" && !choice.Unsure {
		t.matched = choice.Matched
		return choice.Skill, nil
	}
	hint := t.words.NoModelHint
	var names []string
	for _, s := range choice.Candidates {
		names = append(names, s.Name)
	}
	if len(names) > 0 {
		hint += " " + fmt.Sprintf(t.words.SkillsThatFit, strings.Join(names, ", "))
	}
	message := t.words.NoModel
	if choice.Why != "" && t.words.Language == "en" { // that sentence is English
		message += " " + choice.Why
	}
	return skills.Skill{}, &bot.TaskError{Kind: "model", Message: message, Hint: hint}
}

// recordedSkill names the runnable skill that an earlier life began, and the
// request's words that it was chosen by.
func recordedSkill(steps []bot.Step) (name string, matched []string) {
	for _, step := range steps {
		if step.Kind != bot.StepNote || step.Agent != lead {
			continue
		}
		if note, err := readStep[noteData](step); err == nil && note.Kind == noteSkill {
			return note.Skill, note.Matched
		}
	}
	return "", nil
}

// choiceLine is the answer's last line where the skill was chosen by the
// request's words: which one, and why. It is empty where the person named it.
func (t *task) choiceLine(skill skills.Skill) string {
	if t.named() != "" || len(t.matched) == 0 {
		return ""
	}
	return "*" + t.words.ChosenSkill + ": " + code(skill.Name) + t.because() + "*"
}

// because tells the words that a skill was chosen by; empty where it was named.
func (t *task) because() string {
	if len(t.matched) == 0 {
		return ""
	}
	var quoted []string
	for _, word := range t.matched {
		quoted = append(quoted, "“"+cleanLine(word, 40)+"”")
	}
	return fmt.Sprintf(t.words.ChosenBecause, strings.Join(quoted, ", "))
}

// runSkill runs a runnable skill: no model is asked.
func (t *task) runSkill(ctx context.Context, skill skills.Skill, steps []bot.Step) (bot.Outcome, error) {
	if strings.TrimSpace(t.run.Task.Event.Text) == "" {
		t.words = textsFor(madeFor(skill)) // a report speaks the language it was made in
	}
	w := &workspace{t: t, agent: lead, inputs: t.reportInputs(skill), image: t.image}
	defer w.close()
	if drift, rest, err := recordedDrift(steps); err != nil || drift != nil {
		if err != nil {
			return bot.Outcome{}, err
		}
		return t.mend(ctx, skill, drift, rest)
	}
	result, done, err := recordedArtifacts(steps, lead)
	if err != nil {
		return bot.Outcome{}, err
	}
	switch {
	case done:
	case t.mendAsked():
		if result, err = t.mendRequested(skill); err != nil {
			return bot.Outcome{}, err
		}
	default:
		if result, err = t.runSkillProgram(ctx, w, skill, steps); err != nil {
			return bot.Outcome{}, err
		}
	}
	if len(result.drift) > 0 && t.a.o.Model != nil {
		w.close()
		return t.mendFirst(ctx, skill, result)
	}
	if result.refusal != "" {
		return bot.Outcome{}, t.unbelieved(&bot.TaskError{Kind: "input", Message: result.refusal})
	}
	message := result.answer
	if strings.TrimSpace(message) == "" {
		message = fmt.Sprintf(t.words.NoAnswer, code(skill.Name))
	}
	o := t.outcome(message, result, nil)
	if line := t.choiceLine(skill); line != "" {
		o.Message += "\n\n" + line
	}
	if t.unaccepted != "" {
		o.Message = t.unaccepted + "\n\n" + o.Message
	}
	return o, nil
}

// unbelieved tells beside a failure that the report has moved: it may be why.
func (t *task) unbelieved(err *bot.TaskError) error {
	if t.unaccepted != "" {
		err.Message += "\n\n" + t.unaccepted
	}
	return err
}

// runSkillProgram runs the skill's program and stores what it left.
func (t *task) runSkillProgram(ctx context.Context, w *workspace, skill skills.Skill, steps []bot.Step) (stored, error) {
	asked, err := t.skillRequest(ctx, w, skill.Name, steps)
	if err != nil {
		return stored{}, err
	}
	if name, _ := recordedSkill(steps); name == "" {
		note := noteData{Kind: noteSkill, Skill: skill.Name, Matched: t.matched, Version: skill.Version, Text: string(asked), spent: t.spent(0)}
		if _, err := t.record(ctx, bot.StepNote, lead, note); err != nil {
			return stored{}, err
		}
	}
	if _, err := t.intake(ctx, w, steps); err != nil {
		return stored{}, err
	}
	moved, err := t.believe(ctx, w, skill)
	if err != nil {
		return stored{}, err
	}
	if moved != nil && moved.Failed() && t.a.o.Model != nil {
		return stored{drift: t.words.moves(moved.Moves), byImage: true}, nil
	}
	if w.session == nil { // an earlier life profiled in a session that is gone
		if err := w.open(ctx); err != nil {
			return stored{}, err
		}
		if _, _, err := w.exec(ctx, bot.Program{Language: string(sandbox.Python), Code: profileCode}); err != nil {
			return stored{}, err
		}
	}
	if err := w.putSkill(ctx, skill); err != nil {
		return stored{}, err
	}
	if err := w.putText(ctx, "workspace/.sandpiper/request.json", asked); err != nil {
		return stored{}, err
	}
	t.report(fmt.Sprintf(t.words.RunningSkill, skill.Name)+t.because(), nil)
	t.spare = t.prepare(ctx)
	defer t.spare.end(t)
	program := bot.Program{Language: string(sandbox.Python), Code: skillCode(skill), Title: skill.Name}
	program, _, err = w.run(ctx, program)
	if err != nil {
		return stored{}, err
	}
	if w.session == nil {
		return stored{}, fmt.Errorf("run skill %s: %w", skill.Name, errLost)
	}
	files, err := w.exchange(ctx)
	if err != nil {
		return stored{}, err
	}
	s := stored{auxiliary: skill.Auxiliary()}
	if raw, ok := files["refusal.json"]; ok {
		var refusal struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(raw, &refusal) == nil {
			s.refusal = strings.TrimSpace(refusal.Message)
		}
	}
	if raw, ok := files["drift.json"]; ok && s.refusal != "" {
		s.drift = readDrift(raw)
	}
	if program.Verdict != string(sandbox.OK) && s.refusal == "" {
		return stored{}, t.unbelieved(&bot.TaskError{
			Kind: "skill", Message: fmt.Sprintf(t.words.SkillFailed, code(skill.Name), program.Verdict),
			Hint: fmt.Sprintf(t.words.SkillFailedHint, t.run.Task.ID),
		})
	}
	s.answer = strings.ToValidUTF8(string(files["answer.md"]), "�")
	if s.answer == "" {
		s.answer = program.Stdout
	}
	if s.refusal != "" {
		return s, nil
	}
	return t.store(ctx, w, s)
}

// skillCode runs a skill's program as its author runs it by hand.
func skillCode(skill skills.Skill) string {
	program, err := json.Marshal(path.Join("/skills", skill.Name, skill.Run)) // JSON text is Python text
	if err != nil {
		panic("agent: marshal a string: " + err.Error())
	}
	folder, _ := json.Marshal(path.Dir(path.Join("/skills", skill.Name, skill.Run)))
	return fmt.Sprintf("import runpy, sys\nsys.argv = [%s]\nsys.path.insert(0, %s)\n_ = runpy.run_path(%s, run_name=\"__main__\")\n", program, folder, program)
}
