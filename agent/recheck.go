package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// copiesMost bounds what is kept of the files with other figures that a report
// was put to the test on.
const copiesMost = 4 << 20

// checked is what proving a report found.
type checked struct {
	place       saved.Place
	same, moved saved.Trial
	other       []file // what moved was given, by content
}

// keepCheck keeps with a report what it gave and on what. Of people's own files
// nothing is kept beyond their retention: they are named by their blobs. The
// copies with other figures in them stay with the report.
func (a *Agent) keepCheck(ctx context.Context, r SaveRequest, report saved.Report, c checked) error {
	c.same.Inputs = inputsTried(inputsOf(r.Task, nil), nil)
	check := saved.Check{Trials: []saved.Trial{c.same}, Trusted: []saved.Place{c.place}}
	var size int64
	for _, f := range c.other {
		size += int64(len(f.content))
	}
	if size > copiesMost {
		var err error
		if c.other, _, err = a.perturb(ctx, r, 0.9*copiesMost/float64(size)); err != nil {
			return err
		}
		c.moved, _, err = a.tryReport(ctx, r, report, c.other)
		if errors.Is(err, ErrNotSavable) { // it needs rows that the first ones are not
			c.other = nil
		} else if err != nil {
			return err
		}
	}
	copies := map[string][]byte{}
	if len(c.other) > 0 {
		c.moved.Inputs = inputsTried(inputsOf(r.Task, c.other), copies)
		check.Trials = append(check.Trials, c.moved)
	}
	return report.Attach(check, copies)
}

// inputsTried names a trial's files; those by content go into copies.
func inputsTried(files []file, copies map[string][]byte) []saved.TrialInput {
	out := make([]saved.TrialInput, len(files))
	for i, f := range files {
		out[i] = saved.TrialInput{Name: f.name, Blob: f.blob, Size: f.size}
		if f.blob == "" {
			out[i].Copy = saved.CopyName(len(copies))
			copies[out[i].Copy] = f.content
		}
	}
	return out
}

// Rechecked is what running a saved report again on the files it was checked on
// found.
type Rechecked struct {
	Place saved.Place
	// Moved is nil where it gives what it gave.
	Moved *saved.Moved
	// Ran is how many of its trials could be run.
	Ran  int
	took time.Duration
}

// Recheck runs a saved report again on the files it was checked on and compares
// what it gives. It records nothing.
func (a *Agent) Recheck(ctx context.Context, k saved.Kept, blobs bot.Blobs, lease sandbox.LeaseOptions) (Rechecked, error) {
	var out Rechecked
	moved := saved.Moved{At: a.o.Clock.Now().UTC()}
	var trials []saved.Trial
	if k.Check != nil {
		trials = k.Check.Trials
	}
	for _, before := range trials {
		files, ok := filesOf(k, before)
		if !ok {
			continue
		}
		r := trial{lease: lease, blobs: blobs, name: k.Name, report: k.Runs(), asked: before.Asked, files: files}
		after, place, took, err := a.tryAgain(ctx, r, before)
		out.took += took
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Place = place
		out.Ran++
		moves := saved.Moves(k.Template, k.Figures, before, after)
		if len(moves) > 0 {
			moves, took = a.withoutToday(ctx, k, r, place, before, after, moves)
			out.took += took
		}
		if len(moved.Moves) == 0 { // one list of figures is enough to read
			moved.Moves = moves
		}
		moved.Trials = append(moved.Trials, after)
	}
	moved.Place = out.Place
	if out.Ran > 0 && len(moved.Moves) == 0 {
		return out, nil
	}
	out.Moved = &moved
	return out, nil
}

// filesOf are the files of a trial; not ok where a copy is no longer there.
func filesOf(k saved.Kept, t saved.Trial) ([]file, bool) {
	files := make([]file, len(t.Inputs))
	for i, in := range t.Inputs {
		files[i] = file{name: in.Name, blob: in.Blob, size: in.Size}
		if in.Copy == "" {
			continue
		}
		content, ok := k.Copy(in.Copy)
		if !ok {
			return nil, false
		}
		files[i].content = content
	}
	return files, true
}

// tryAgain runs a trial once more. That the report fails is what it found.
func (a *Agent) tryAgain(ctx context.Context, r trial, before saved.Trial) (saved.Trial, saved.Place, time.Duration, error) {
	got, err := a.try(ctx, r)
	after := saved.Trial{Asked: before.Asked, Inputs: before.Inputs, Answer: got.answer, Files: got.shapes}
	var failed *trialError
	if errors.As(err, &failed) {
		after.Failed, err = failed.Error(), nil
	}
	return after, got.place, got.took, err
}

// withoutToday drops moves that the old image shows today as well, where it is
// still there: a report that counts the days until now moves by itself.
func (a *Agent) withoutToday(ctx context.Context, k saved.Kept, r trial, place saved.Place, before, after saved.Trial, moves []saved.Move) ([]saved.Move, time.Duration) {
	if len(k.Check.Trusted) == 0 {
		return moves, 0
	}
	old := k.Check.Trusted[len(k.Check.Trusted)-1]
	if old.Image == "" || old.Image == place.Image || old.Guest != place.Guest {
		return moves, 0
	}
	r.lease.Image = old.Image
	today, _, took, err := a.tryAgain(ctx, r, before)
	if err != nil || today.Failed != "" {
		return moves, took // the old image is gone, or no help
	}
	return saved.Moves(k.Template, k.Figures, today, after), took
}

// believe finds out whether a saved report gives, in the image and with the
// guest of today, what it gave when it was saved, and records what it found: a
// later life takes that. Where it had to run the report, w's session is gone.
func (t *task) believe(ctx context.Context, w *workspace, skill skills.Skill) (*saved.Moved, error) {
	into := t.a.o.Reports
	if into == nil || skill.Source != skills.SourceSaved || t.believed {
		return nil, nil
	}
	k, err := into.Open(skill.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strconv.Itoa(k.Version) != skill.Metadata["version"] {
		return nil, nil // it was replaced while this task waited
	}
	if err != nil {
		return nil, err
	}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	place := placeOf(w.session.Info())
	if k.Trusts(place) {
		return nil, nil
	}
	if k.Check != nil && k.Check.Moved != nil && k.Check.Moved.Place == place {
		return k.Check.Moved, t.recordMoved(ctx, skill, k.Check.Moved, false, 0)
	}
	t.report(fmt.Sprintf(t.words.ImageChecking, skill.Name), nil)
	w.close()
	lease := sandbox.LeaseOptions{Task: t.run.Task.ID + "-check", Image: w.image, Runtime: t.run.Task.Allowed.Runtime}
	got, err := t.a.Recheck(ctx, k, t.run.Blobs, lease)
	if err != nil {
		return nil, fmt.Errorf("check report %s in another image: %w", skill.Name, err)
	}
	if got.Moved == nil {
		err = into.Trust(k.Name, k.Version, place)
	} else {
		got.Moved.Place = place
		err = into.Move(k.Name, k.Version, *got.Moved)
	}
	if errors.Is(err, saved.ErrReplaced) {
		t.log.Info("a report was replaced while it was checked", "report", k.Name)
	} else if err != nil {
		return nil, err
	}
	return got.Moved, t.recordMoved(ctx, skill, got.Moved, true, got.took)
}

// recordMoved records what believe found, in the words that open the answer.
func (t *task) recordMoved(ctx context.Context, skill skills.Skill, moved *saved.Moved, first bool, took time.Duration) error {
	note := noteData{Kind: noteImage, Skill: skill.Name, Version: skill.Version, spent: t.spent(took)}
	if moved != nil {
		note.Text = t.words.moved(skill.Name, *moved, first, t.a.o.Model != nil)
	}
	_, err := t.record(ctx, bot.StepNote, lead, note)
	return err
}

// movesTold bounds how many moves a run tells that is not the first.
const movesTold = 3

// moved says what a report gives otherwise than it did: in full the first time,
// in a line from then on.
func (w texts) moved(name string, m saved.Moved, first, model bool) string {
	if m.Unchecked() {
		return fmt.Sprintf(w.ImageUnchecked, name)
	}
	rows := w.moves(m.Moves)
	if m.Failed() {
		return fmt.Sprintf(w.ImageFailed, strings.Join(rows, "; "))
	}
	mend := ""
	if model {
		mend = fmt.Sprintf(w.ImageMend, name)
	}
	if first {
		return fmt.Sprintf(w.ImageMoved, "- "+strings.Join(rows, "\n- "), name, mend)
	}
	if left := len(rows) - movesTold; left > 0 {
		rows = append(rows[:movesTold:movesTold], fmt.Sprintf("+%d", left))
	}
	return fmt.Sprintf(w.ImageAgain, strings.Join(rows, "; "), name, mend)
}

// moves words differences. What they hold came out of a session.
func (w texts) moves(list []saved.Move) []string {
	forms := map[saved.MoveKind]string{
		saved.MoveFigure: "%s: %s → %s", saved.MoveWords: "%s“%s” → “%s”", saved.MoveKindOf: "%s: %s → %s",
		saved.MoveRows: w.MovedRows, saved.MoveColumns: w.MovedColumns, saved.MoveSum: w.MovedSum,
	}
	var rows []string
	for _, m := range list {
		what, before, after := cleanLine(m.What, 80), cleanLine(m.Before, 120), cleanLine(m.After, 120)
		switch {
		case m.Kind == saved.MoveFailed:
			rows = append(rows, fmt.Sprintf(w.MovedFailed, cleanLine(m.After, changeMost)))
		case m.Kind == saved.MoveFile && m.After == "":
			rows = append(rows, fmt.Sprintf(w.MovedGone, what))
		case m.Kind == saved.MoveFile:
			rows = append(rows, fmt.Sprintf(w.MovedNew, what))
		default:
			rows = append(rows, fmt.Sprintf(forms[m.Kind], what, before, after))
		}
	}
	return rows[:min(len(rows), mostChanges)]
}

// Told words a report's moves for a person, in English.
func Told(moves []saved.Move) []string { return textsFor("").moves(moves) }

// mendRequested is what a request to mend a report mends.
func (t *task) mendRequested(skill skills.Skill) (stored, error) {
	if t.a.o.Model == nil {
		return stored{}, &bot.TaskError{Kind: "model", Message: fmt.Sprintf(t.words.SkillNeedsModel, code(skill.Name)), Hint: t.words.NoModelHint}
	}
	nothing := &bot.TaskError{Kind: "input", Message: fmt.Sprintf(t.words.NothingMoved, code(skill.Name))}
	if t.a.o.Reports == nil || skill.Source != skills.SourceSaved {
		return stored{}, nothing
	}
	k, err := t.a.o.Reports.Open(skill.Name)
	if err != nil {
		return stored{}, err
	}
	if k.Check == nil || k.Check.Moved == nil || k.Check.Moved.Unchecked() {
		return stored{}, nothing
	}
	return stored{drift: t.words.moves(k.Check.Moved.Moves), byImage: true}, nil
}

// mendedMoves says whether a mended report gives, on the files that the old one
// was checked on, what that gave.
func (t *task) mendedMoves(ctx context.Context, name string, report saved.Report) (string, error) {
	k, err := t.a.o.Reports.Open(name)
	if err != nil || k.Check == nil {
		return "", err
	}
	files := report.Runs()
	for file, content := range k.Files {
		if saved.IsCheck(file) {
			files[file] = content // what its trials are run on
		}
	}
	k.Report, k.Template = saved.Report{Files: files}, ""
	k.Check.Trusted = nil
	got, err := t.a.Recheck(ctx, k, t.run.Blobs, sandbox.LeaseOptions{Task: t.run.Task.ID + "-check", Runtime: t.run.Task.Allowed.Runtime})
	switch {
	case err != nil:
		return "", err
	case got.Ran == 0:
		return "", nil
	case got.Moved == nil:
		return t.words.MendedSame, nil
	}
	return fmt.Sprintf(t.words.MendedOther, strings.Join(t.words.moves(got.Moved.Moves), "; ")), nil
}
