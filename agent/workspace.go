package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// replayable are the verdicts of programs whose effect a rebuilt session
// needs. A program that was stopped at a limit is not run into it again.
func replayable(verdict string) bool {
	return verdict == string(sandbox.OK) || verdict == string(sandbox.Exit)
}

// entry is one thing that made a session what it is, in its order: a program
// that ran, or files that were put.
type entry struct {
	program *bot.Program
	puts    []putFile
	skill   string
	// request is the request.json of a runnable skill that ran.
	request  string
	runnable bool
	// settle moves what an earlier task left in out/ aside.
	settle bool
}

// workspace is the session of one agent. It is leased when it is first
// needed, and made anew from its log when it is lost.
type workspace struct {
	t      *task
	agent  string
	inputs []bot.Input
	log    []entry
	// image is the recorded id of the image to lease; empty takes the newest.
	image   string
	session Session
	// seen counts the entries that the live session knows.
	seen int
	// wall bounds the next recorded program; 0 leaves the session's own limit.
	wall time.Duration
	// recorded, when set, is told of each program's step.
	recorded func(bot.Step)
	// outputs counts the long outputs that were kept as files.
	outputs int
}

// open leases a session and brings it to where the log stands.
func (w *workspace) open(ctx context.Context) error {
	if w.session == nil {
		session, err := w.lease(ctx)
		if err != nil {
			return err
		}
		w.session, w.seen, w.outputs = session, 0, 0
		if err := w.putInputs(ctx); err != nil {
			return err
		}
	}
	for w.seen < len(w.log) {
		e := w.log[w.seen]
		w.seen++
		if err := w.replay(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// lease gets a session. An image that is recorded and gone gives way to the
// one of today.
func (w *workspace) lease(ctx context.Context) (Session, error) {
	t := w.t
	o := sandbox.LeaseOptions{Task: t.run.Task.ID, Image: w.image, Runtime: t.run.Task.Allowed.Runtime}
	session, err := t.a.o.Sandbox.Lease(ctx, o)
	var refused *sandbox.Error
	if o.Image != "" && errors.As(err, &refused) && refused.Verdict == sandbox.Image {
		t.log.Warn("the recorded image is gone", "image", o.Image)
		o.Image = ""
		session, err = t.a.o.Sandbox.Lease(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("lease session for %s: %w", w.agent, leaseError(err))
	}
	return session, nil
}

// leaseError gives a refused session the task's own words.
func leaseError(err error) error {
	var refused *sandbox.Error
	if !errors.As(err, &refused) {
		return err
	}
	kind := map[sandbox.Verdict]string{sandbox.Image: "image", sandbox.Engine: "engine", sandbox.Disk: "sandbox"}[refused.Verdict]
	if kind == "" {
		return err
	}
	return &bot.TaskError{Kind: kind, Message: refused.Message, Hint: refused.Hint}
}

// close ends the session; the workspace can be opened again.
func (w *workspace) close() {
	if w.session == nil {
		return
	}
	if err := w.session.Close(); err != nil {
		w.t.log.Warn("close session", "agent", w.agent, "error", err)
	}
	w.session = nil
}

func (w *workspace) putInputs(ctx context.Context) error {
	for _, in := range w.inputs {
		if in.Blob == "" {
			continue
		}
		if err := w.putBlob(ctx, "workspace/in/"+in.Name, in.Blob, in.Size); err != nil {
			return err
		}
	}
	return nil
}

// putBlob streams a stored blob into the session.
func (w *workspace) putBlob(ctx context.Context, name, blob string, size int64) error {
	content, err := w.t.run.Blobs.Open(ctx, blob)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer content.Close()
	if err := w.session.Put(ctx, name, size, content); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return nil
}

// putText puts a small text into the session.
func (w *workspace) putText(ctx context.Context, name string, text []byte) error {
	if err := w.session.Put(ctx, name, int64(len(text)), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return nil
}

// replay does one entry of the log again.
func (w *workspace) replay(ctx context.Context, e entry) error {
	switch {
	case e.program != nil:
		if !replayable(e.program.Verdict) {
			return nil
		}
		result, out, err := w.exec(ctx, *e.program)
		if err != nil {
			return fmt.Errorf("replay program: %w", err)
		}
		if string(result.Verdict) != e.program.Verdict {
			w.t.log.Warn("a replayed program ended otherwise", "agent", w.agent, "was", e.program.Verdict, "is", result.Verdict)
		}
		return w.keepLong(ctx, out)
	case e.skill != "":
		skill, err := w.t.skills().Get(e.skill)
		if err != nil {
			return nil // it was removed since: programs that need it say so
		}
		if err := w.putSkill(ctx, skill); err != nil || e.request == "" {
			return err
		}
		return w.putText(ctx, "workspace/.sandpiper/request.json", []byte(e.request))
	case e.settle:
		_, _, err := w.exec(ctx, bot.Program{Language: string(sandbox.Bash), Code: settleCode})
		return err
	}
	for _, f := range e.puts {
		if err := w.putBlob(ctx, "workspace/"+f.Name, f.Blob, f.Size); err != nil {
			return err
		}
	}
	return nil
}

// settleCode keeps an earlier task's files at hand without delivering them
// again.
const settleCode = `mkdir -p /workspace/previous
if [ -d /workspace/out ]; then find /workspace/out -mindepth 1 -maxdepth 1 -exec cp -r -- {} /workspace/previous/ \; ; find /workspace/out -mindepth 1 -delete; fi`

// putSkill puts a skill's folder into the session.
func (w *workspace) putSkill(ctx context.Context, skill skills.Skill) error {
	for _, name := range skill.Files {
		content, err := fs.ReadFile(skill.FS, name)
		if err != nil {
			return fmt.Errorf("read skill %s: %w", skill.Name, err)
		}
		if err := w.putText(ctx, path.Join("skills", skill.Name, name), content); err != nil {
			return err
		}
	}
	return nil
}

// errLost is a session that ended without a verdict on the program.
var errLost = errors.New("the session was lost")

// exec runs a program in the open session, without recording it. What it
// writes is kept up to a bound in output, for a file.
func (w *workspace) exec(ctx context.Context, p bot.Program) (sandbox.Result, *longOutput, error) {
	return w.execWithin(ctx, p, 0)
}

// execWithin is exec with a wall-clock limit of its own; 0 takes the session's.
func (w *workspace) execWithin(ctx context.Context, p bot.Program, wall time.Duration) (sandbox.Result, *longOutput, error) {
	out := &longOutput{}
	result, err := w.session.Run(ctx, sandbox.Program{
		Language: sandbox.Language(p.Language), Code: p.Code, Wall: wall,
		Output: func(_ string, chunk []byte) { out.add(chunk) },
	})
	if err != nil {
		w.close()
		if ctx.Err() != nil {
			return result, out, context.Cause(ctx)
		}
		return result, out, fmt.Errorf("run program: %w", errors.Join(errLost, err))
	}
	switch result.Verdict {
	case sandbox.Engine, sandbox.Internal, sandbox.Cancelled:
		w.close()
		if ctx.Err() != nil {
			return result, out, context.Cause(ctx)
		}
	}
	return result, out, nil
}

// run runs a program and records it.
func (w *workspace) run(ctx context.Context, p bot.Program) (bot.Program, sandbox.Result, error) {
	if err := w.open(ctx); err != nil {
		return p, sandbox.Result{}, err
	}
	result, out, err := w.execWithin(ctx, p, w.wall)
	if err != nil {
		return p, result, err
	}
	if result.Verdict == sandbox.Engine {
		return p, result, fmt.Errorf("run program: %w: %s", errLost, result.Detail)
	}
	p.Verdict, p.ExitCode, p.Seconds = string(result.Verdict), result.ExitCode, result.Wall.Seconds()
	p.Stdout, p.Stderr = kept(whole(result.Stdout)), kept(whole(result.Stderr))
	p.Started = w.t.active()
	for _, f := range result.Changed {
		p.Files = append(p.Files, f.Path)
	}
	step, err := w.t.record(ctx, bot.StepProgram, w.agent, p)
	if err != nil {
		return p, result, err
	}
	if w.recorded != nil {
		w.recorded(step)
	}
	w.log = append(w.log, entry{program: &p})
	if w.session == nil {
		return p, result, nil
	}
	w.seen = len(w.log)
	return p, result, w.keepLong(ctx, out)
}

// whole writes a capped stream as one text.
func whole(s sandbox.Stream) string {
	switch {
	case s.Binary:
		return fmt.Sprintf("[%d bytes that are no text]", s.Total)
	case s.Omitted == 0:
		return s.Head
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s.Head, s.Omitted, s.Tail)
}

// kept cuts what a journal holds of an output.
func kept(text string) string {
	if len(text) <= keptMost {
		return text
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", cutText(text, keptMost/2), len(text)-keptMost, tailOf(text, keptMost/2))
}

// longOutput keeps a program's output up to a bound.
type longOutput struct {
	text []byte
}

// Output over longAt enters the conversation as head, tail and size; up to
// longMost of it are kept in a file.
const (
	longAt   = 6 << 10
	longMost = 1 << 20
	keptMost = 256 << 10
)

func (l *longOutput) add(chunk []byte) {
	l.text = append(l.text, chunk[:min(len(chunk), longMost-len(l.text))]...)
}

// keepLong puts a long output into the session as a file, so that it can be
// read in ranges. Names count up, in replays as at first.
func (w *workspace) keepLong(ctx context.Context, out *longOutput) error {
	if len(out.text) <= longAt || w.session == nil {
		return nil
	}
	w.outputs++
	return w.putText(ctx, "workspace/"+w.longName(), out.text)
}

func (w *workspace) longName() string {
	return fmt.Sprintf(".sandpiper/output-%d.txt", w.outputs)
}

// inside cleans a path that a model or a program named to one within
// /workspace, relative to it; ok is false when it leads elsewhere.
func inside(name string) (string, bool) {
	name = strings.TrimPrefix(name, "/workspace/")
	if path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return "", false
	}
	clean := path.Clean(name)
	if clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false
	}
	return clean, true
}
