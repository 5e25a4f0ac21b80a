package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
// answer, and on perturbed ones, where its figures must move.
func (a *Agent) prove(ctx context.Context, r SaveRequest, report saved.Report) (Saved, error) {
	out := Saved{Name: r.Name}
	same, err := a.tryReport(ctx, r, report, nil)
	if err != nil {
		return Saved{}, err
	}
	if len(report.Figures) > 0 && squeeze(same) != squeeze(withoutRestsOn(r.Task).Outcome.Message) {
		return Saved{}, fmt.Errorf("%w: run again on the same files, it gave another answer: %s", ErrNotSavable, difference(withoutRestsOn(r.Task).Outcome.Message, same))
	}
	other, unchanged, err := a.perturb(ctx, r)
	if err != nil {
		return Saved{}, err
	}
	out.Unperturbed = unchanged
	if len(other) > 0 {
		moved, err := a.tryReport(ctx, r, report, other)
		if err != nil {
			return Saved{}, err
		}
		out.Constants = unmoved(same, moved)
	}
	out.Constants = append(out.Constants, report.Loose...)
	slices.Sort(out.Constants)
	out.Constants = slices.Compact(out.Constants)
	if len(report.Figures) > 0 && len(out.Constants) > 0 && !r.Accept {
		return Saved{}, &ConstantsError{Constants: out.Constants}
	}
	return out, nil
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

// file is an input by content instead of by blob.
type file struct {
	name    string
	content []byte
}

// lendTrial leases a session for a trial and puts the inputs into it.
func (a *Agent) lendTrial(ctx context.Context, r SaveRequest, files []file) (Session, []string, error) {
	session, err := a.o.Sandbox.Lease(ctx, sandbox.LeaseOptions{Task: r.Task.ID + "-save"})
	if err != nil {
		return nil, nil, fmt.Errorf("lease session to try a report: %w", leaseError(err))
	}
	var names []string
	put := func(name string, size int64, content io.Reader) error {
		names = append(names, name)
		return session.Put(ctx, "workspace/in/"+name, size, content)
	}
	for _, f := range files {
		if err := put(f.name, int64(len(f.content)), bytes.NewReader(f.content)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("put %s: %w", f.name, err), session.Close())
		}
	}
	for _, in := range r.Task.Inputs {
		if in.Blob == "" || slices.ContainsFunc(files, func(f file) bool { return f.name == in.Name }) {
			continue
		}
		content, err := r.Blobs.Open(ctx, in.Blob)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%w: its file %s is no longer kept", ErrNotSavable, in.Name), session.Close())
		}
		err = put(in.Name, in.Size, content)
		content.Close()
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("put %s: %w", in.Name, err), session.Close())
		}
	}
	return session, names, nil
}

// endTrial ends a trial's session; what it found out stands all the same.
func (a *Agent) endTrial(session Session) {
	if err := session.Close(); err != nil {
		a.o.Log.Warn("close a trial's session", "error", err)
	}
}

// tryReport runs a report in a fresh session, on the task's files with those in
// place of which others are given, and returns its answer.
func (a *Agent) tryReport(ctx context.Context, r SaveRequest, report saved.Report, files []file) (string, error) {
	session, names, err := a.lendTrial(ctx, r, files)
	if err != nil {
		return "", err
	}
	defer a.endTrial(session)
	for name, content := range report.Files {
		if err := session.Put(ctx, "skills/"+r.Name+"/"+name, int64(len(content)), bytes.NewReader(content)); err != nil {
			return "", fmt.Errorf("put report: %w", err)
		}
	}
	asked, err := json.Marshal(request{
		Request: r.Task.Event.Text, Inputs: names, Language: textsFor(r.Task.Event.Text).Language, Skill: r.Name,
		Now: r.Task.Created.UTC().Format("2006-01-02T15:04:05Z"),
	})
	if err != nil {
		return "", fmt.Errorf("write request.json: %w", err)
	}
	if err := session.Put(ctx, "workspace/.sandpiper/request.json", int64(len(asked)), bytes.NewReader(asked)); err != nil {
		return "", fmt.Errorf("put request.json: %w", err)
	}
	script := "scripts/report.py"
	if len(report.Figures) == 0 {
		script = "scripts/saved_report.py"
	}
	code := fmt.Sprintf("import runpy\n_ = runpy.run_path(%q, run_name=\"__main__\")\n", "/skills/"+r.Name+"/"+script)
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil {
		return "", fmt.Errorf("try report: %w", err)
	}
	left, err := collectSmall(ctx, session, ".sandpiper")
	if err != nil {
		return "", err
	}
	if result.Verdict != sandbox.OK {
		why := lastLine(result.Stderr.Head + result.Stderr.Tail)
		var refusal struct{ Message string }
		if json.Unmarshal(left["refusal.json"], &refusal) == nil && refusal.Message != "" {
			why = refusal.Message
		}
		return "", fmt.Errorf("%w: run again in a fresh session it ended with %s: %s", ErrNotSavable, result.Verdict, why)
	}
	if text, ok := left["answer.md"]; ok {
		return string(text), nil
	}
	return whole(result.Stdout), nil
}

// perturb makes the task's files anew with other figures; unchanged are those
// of kinds that cannot be.
func (a *Agent) perturb(ctx context.Context, r SaveRequest) (files []file, unchanged []string, err error) {
	session, names, err := a.lendTrial(ctx, r, nil)
	if err != nil {
		return nil, nil, err
	}
	defer a.endTrial(session)
	if len(names) == 0 {
		return nil, nil, nil
	}
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: "from sandpiper import perturb\n_ = perturb.emit()\n"})
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
			files = append(files, file{name, content})
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
