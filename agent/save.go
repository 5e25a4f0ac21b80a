package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/internal/figures"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// SaveRequest asks to make a finished task a report that runs without a model.
type SaveRequest struct {
	Name string
	// Owner is the actor it belongs to, or the place that shares it.
	Owner string
	Task  bot.Task
	Steps []bot.Step
	Blobs bot.Blobs
	Into  *saved.Store
	// Accept says that figures which do not depend on the inputs may stay.
	Accept bool
}

// Saved says what was saved.
type Saved struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Constants are figures that stay as they are on other data.
	Constants []string `json:"constants,omitempty"`
	// Unperturbed are inputs whose kind cannot be perturbed: what rests on
	// them was run again, and not put to the test.
	Unperturbed []string `json:"unperturbed,omitempty"`
}

// ConstantsError says that figures of an answer do not move with its inputs,
// and have to be accepted as constants before the report is saved.
type ConstantsError struct{ Constants []string }

// Error implements error.
func (e *ConstantsError) Error() string {
	return "these figures stay the same on other data, as if they were typed in: " + strings.Join(e.Constants, "; ")
}

// ErrNotSavable marks a task that cannot become a report.
var ErrNotSavable = errors.New("this task cannot be saved as a report")

// Save makes a task a report: it is written, run again on the same inputs,
// where it must give the same answer, and run on perturbed inputs, where its
// figures must move. Nothing is kept of a report that fails there.
func (a *Agent) Save(ctx context.Context, r SaveRequest) (Saved, error) {
	report, version, err := a.makeReport(r)
	if err != nil {
		return Saved{}, err
	}
	out, err := a.prove(ctx, r, report)
	if err != nil {
		return Saved{}, err
	}
	out.Version = version
	if err := r.Into.Save(r.Name, version, report); err != nil {
		return Saved{}, err
	}
	return out, nil
}

// prove runs a report again on the task's files, where it must give the task's
// answer, and on perturbed ones, where its figures must move. What it gave there
// is kept with the report, to be compared with when the sandbox changes.
func (a *Agent) prove(ctx context.Context, r SaveRequest, report saved.Report) (Saved, error) {
	out := Saved{Name: r.Name}
	same, place, err := a.tryReport(ctx, r, report, nil)
	if err != nil {
		return Saved{}, err
	}
	if len(report.Figures) > 0 && squeeze(same.Answer) != squeeze(withoutRestsOn(r.Task).Outcome.Message) {
		return Saved{}, fmt.Errorf("%w: run again on the same files, it gave another answer: %s", ErrNotSavable, difference(withoutRestsOn(r.Task).Outcome.Message, same.Answer))
	}
	other, unchanged, err := a.perturb(ctx, r, 1)
	if err != nil {
		return Saved{}, err
	}
	out.Unperturbed = unchanged
	var moved saved.Trial
	if len(other) > 0 {
		if moved, _, err = a.tryReport(ctx, r, report, other); err != nil {
			return Saved{}, err
		}
		out.Constants = unmoved(same.Answer, moved.Answer)
	}
	out.Constants = append(out.Constants, report.Loose...)
	slices.Sort(out.Constants)
	out.Constants = slices.Compact(out.Constants)
	if len(report.Figures) > 0 && len(out.Constants) > 0 && !r.Accept {
		return Saved{}, &ConstantsError{Constants: out.Constants}
	}
	return out, a.keepCheck(ctx, r, report, checked{place: place, same: same, moved: moved, other: other})
}

// makeReport writes the report's folder and numbers its version.
func (a *Agent) makeReport(r SaveRequest) (saved.Report, int, error) {
	if !saved.NameForm.MatchString(r.Name) || len(r.Name) > 64 {
		return saved.Report{}, 0, fmt.Errorf("%w: the name %q must be lower-case letters, digits and single dashes, at most 64", ErrNotSavable, r.Name)
	}
	if r.Task.State != bot.TaskDone || r.Task.Outcome == nil || r.Task.Outcome.Partial {
		return saved.Report{}, 0, fmt.Errorf("%w: only one that is done, and whole, can be", ErrNotSavable)
	}
	version, owner, err := r.Into.Version(r.Name)
	if err != nil {
		return saved.Report{}, 0, err
	}
	if skill, err := a.o.Skills.Get(r.Name); version > 0 && owner != r.Owner || version == 0 && err == nil && skill.Name != "" {
		return saved.Report{}, 0, saved.ErrTaken
	}
	source := saved.Source{Name: r.Name, Owner: r.Owner, Task: withoutRestsOn(r.Task), Now: a.o.Clock.Now(), Version: version + 1}
	log, err := logOf(r.Steps)
	if err != nil {
		return saved.Report{}, 0, err
	}
	runnable := ""
	for _, e := range log {
		if e.program != nil {
			source.Programs = append(source.Programs, *e.program)
		}
		if e.runnable {
			runnable = e.skill
		}
	}
	for _, step := range r.Steps {
		if step.Kind == bot.StepProfile && step.Agent == lead {
			p, err := readStep[profileData](step)
			if err != nil {
				return saved.Report{}, 0, err
			}
			source.Profile = p.Profile
		}
	}
	var report saved.Report
	if runnable != "" {
		skill, err := a.o.Skills.Get(runnable)
		if err != nil {
			return saved.Report{}, 0, fmt.Errorf("%w: its skill %s is gone", ErrNotSavable, runnable)
		}
		report, err = saved.MakeAgain(source, skill)
		if err != nil {
			return saved.Report{}, 0, fmt.Errorf("%w: %w", ErrNotSavable, err)
		}
		return report, source.Version, nil
	}
	if report, err = saved.Make(source); err != nil {
		return saved.Report{}, 0, fmt.Errorf("%w: %w", ErrNotSavable, err)
	}
	return report, source.Version, nil
}

// withoutRestsOn is a task whose answer lacks the lines that say what it rests
// on and why its skill was chosen: they are written anew for each answer.
func withoutRestsOn(t bot.Task) bot.Task { return answerAlone(t, textsFor(t.Event.Text)) }

// answerAlone is withoutRestsOn for an answer in the language of words.
func answerAlone(t bot.Task, words texts) bot.Task {
	outcome := *t.Outcome
	outcome.Message = withoutChoice(outcome.Message, words)
	if at := strings.LastIndex(outcome.Message, "\n\n*"+words.BasedOn+": "); at >= 0 {
		outcome.Message = outcome.Message[:at]
	}
	t.Outcome = &outcome
	return t
}

// withoutChoice cuts the last line off that says why a skill was chosen.
func withoutChoice(message string, words texts) string {
	at := strings.LastIndex(message, "\n\n*"+words.ChosenSkill+": ")
	if at < 0 || strings.Contains(message[at+2:], "\n") {
		return message
	}
	return message[:at]
}

// inputsOf are a task's files, those in place of which others are given by
// content, and the others by blob.
func inputsOf(task bot.Task, given []file) []file {
	files := slices.Clone(given)
	for _, in := range task.Inputs {
		if in.Blob != "" && !slices.ContainsFunc(given, func(f file) bool { return f.name == in.Name }) {
			files = append(files, file{name: in.Name, blob: in.Blob, size: in.Size})
		}
	}
	return files
}

// tryReport runs a report in a fresh session, on the task's files with those in
// place of which others are given.
func (a *Agent) tryReport(ctx context.Context, r SaveRequest, report saved.Report, given []file) (saved.Trial, saved.Place, error) {
	files := inputsOf(r.Task, given)
	ask := request{
		Request: r.Task.Event.Text, Inputs: []string{}, Language: textsFor(r.Task.Event.Text).Language, Skill: r.Name,
		Now: r.Task.Created.UTC().Format(time.RFC3339),
	}
	for _, f := range files {
		ask.Inputs = append(ask.Inputs, f.name)
	}
	asked, err := json.Marshal(ask)
	if err != nil {
		return saved.Trial{}, saved.Place{}, fmt.Errorf("write request.json: %w", err)
	}
	got, err := a.try(ctx, trial{lease: r.lease(), blobs: r.Blobs, name: r.Name, report: report.Files, asked: asked, files: files})
	var failed *trialError
	switch {
	case errors.As(err, &failed):
		return saved.Trial{}, got.place, fmt.Errorf("%w: run again in a fresh session %w", ErrNotSavable, err)
	case errors.Is(err, errGone):
		return saved.Trial{}, got.place, fmt.Errorf("%w: %w", ErrNotSavable, err)
	}
	return saved.Trial{Asked: asked, Answer: got.answer, Files: got.shapes}, got.place, err
}

func (r SaveRequest) lease() sandbox.LeaseOptions {
	return sandbox.LeaseOptions{Task: r.Task.ID + "-save", Runtime: r.Task.Allowed.Runtime}
}

// perturb makes the task's files anew with other figures, of which it takes the
// first share of the rows; unchanged are those of kinds that cannot be.
func (a *Agent) perturb(ctx context.Context, r SaveRequest, share float64) (files []file, unchanged []string, err error) {
	inputs := inputsOf(r.Task, nil)
	if len(inputs) == 0 {
		return nil, nil, nil
	}
	session, err := a.lend(ctx, trial{lease: r.lease(), blobs: r.Blobs, files: inputs})
	if err != nil {
		return nil, nil, err
	}
	defer a.endTrial(session)
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.name
	}
	code := fmt.Sprintf("from sandpiper import perturb\n_ = perturb.emit(share=%g)\n", share)
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil {
		return nil, nil, fmt.Errorf("perturb inputs: %w", err)
	}
	if result.Verdict != sandbox.OK {
		a.o.Log.Warn("perturb inputs", "task", r.Task.ID, "verdict", result.Verdict, "detail", result.Detail)
		return nil, names, nil
	}
	made, err := collectSmall(ctx, session, "out")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if content, ok := made[name]; ok {
			files = append(files, file{name: name, content: content})
			continue
		}
		unchanged = append(unchanged, name)
	}
	return files, unchanged, nil
}

// collectSmall reads a folder of a session into memory.
func collectSmall(ctx context.Context, session Session, dir string) (map[string][]byte, error) {
	const most = 64 << 20
	files := map[string][]byte{}
	_, err := session.Collect(ctx, sandbox.CollectOptions{Dir: dir, MaxFiles: 40, MaxSize: most, Store: func(name string, _ int64, content io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(content, most))
		files[name] = data
		return err
	}})
	if err != nil {
		return nil, fmt.Errorf("collect %s: %w", dir, err)
	}
	return files, nil
}

// unmoved lists the figures that two answers have in common, place by place:
// what was computed from the inputs differs.
func unmoved(same, moved string) []string {
	a, b := figures.In(same), figures.In(moved)
	var out []string
	for i := range a {
		if i < len(b) && len(a) == len(b) && a[i].Text == b[i].Text {
			out = append(out, a[i].Text)
		}
	}
	return out
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// difference quotes where two answers begin to differ.
func difference(a, b string) string {
	x, y := []rune(squeeze(a)), []rune(squeeze(b))
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	cut := func(r []rune) string { return string(r[max(0, i-20):min(len(r), i+40)]) }
	return fmt.Sprintf("“…%s…” instead of “…%s…”", cut(y), cut(x))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return cutText(lines[len(lines)-1], 200)
}
