package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// Bounds on delegation.
const (
	mostSubtasks = 8
	mostDepth    = 2 // subagents below the lead, counted in levels
)

type delegateArgs struct {
	Subtasks []subtask `json:"subtasks" jsonschema:"parts that do not need each other"`
}

type subtask struct {
	Title        string   `json:"title" jsonschema:"a few words"`
	Instructions string   `json:"instructions" jsonschema:"all that the helper needs to know"`
	Inputs       []string `json:"inputs,omitempty" jsonschema:"input files, or files within /workspace"`
	Skills       []string `json:"skills,omitempty" jsonschema:"skills that the helper may read"`
}

func delegateTool() (*tool, error) {
	return makeTool("delegate", func(ctx context.Context, l *loop, args delegateArgs) (observation, error) {
		switch {
		case len(args.Subtasks) == 0:
			return failed("There is no subtask."), nil
		case len(args.Subtasks) > mostSubtasks:
			return failed("At most %d subtasks at once: join some.", mostSubtasks), nil
		}
		for i, s := range args.Subtasks {
			if strings.TrimSpace(s.Instructions) == "" {
				return failed("Subtask %d has no instructions.", i+1), nil
			}
		}
		if l.shares == nil {
			if o, err := l.part(ctx, args.Subtasks); err != nil || o.Failed {
				return o, err
			}
		}
		return l.runHelpers(ctx, args.Subtasks)
	})
}

// part gathers the inputs of subtasks and parts the budget, and records both:
// a later life gives the helpers the same.
func (l *loop) part(ctx context.Context, subtasks []subtask) (observation, error) {
	note := noteData{Kind: noteShared, spent: l.t.spent(0)}
	for i, s := range subtasks {
		inputs := []bot.Input{}
		for _, name := range s.Inputs {
			in, why, err := l.give(ctx, name)
			if errors.Is(err, errLost) {
				return l.lost(err)
			}
			if err != nil {
				return observation{}, err
			}
			if why != "" {
				return failed("Subtask %d: %s.", i+1, why), nil
			}
			inputs = append(inputs, in)
		}
		note.Given = append(note.Given, inputs)
		share := l.budget.share(len(subtasks) + 1).limit
		share.Wall = l.t.active() + l.wallLeft()*4/5
		note.Shares = append(note.Shares, share)
	}
	return observation{}, l.record(ctx, bot.StepNote, note)
}

// give finds a file for a helper: an input of our own, or a file of our
// session, which is then stored. why says in words what is wrong with it.
func (l *loop) give(ctx context.Context, name string) (in bot.Input, why string, err error) {
	clean, ok := l.resolve(name)
	if !ok {
		return in, cleanLine(name, 200) + " leads out of /workspace", nil
	}
	for _, in := range l.w.inputs {
		if "in/"+in.Name == clean && in.Blob != "" {
			return in, "", nil
		}
	}
	if err := l.w.open(ctx); err != nil {
		return in, "", err
	}
	// Copied aside, the file is collected alone.
	code := "rm -rf .sandpiper/give && mkdir -p .sandpiper/give && cp -- " + shellQuote("/workspace/"+clean) + " .sandpiper/give/"
	if _, _, err := l.w.exec(ctx, bot.Program{Language: string(sandbox.Bash), Code: code}); err != nil {
		return in, "", err
	}
	if l.w.session == nil {
		return in, "", errLost
	}
	_, err = l.w.session.Collect(ctx, sandbox.CollectOptions{
		Dir: ".sandpiper/give", MaxFiles: 1, MaxSize: l.t.a.o.Limits.ArtifactSize,
		Store: func(found string, size int64, content io.Reader) error {
			if found != path.Base(clean) {
				return nil
			}
			blob, err := l.t.run.Blobs.Put(ctx, content, l.t.a.o.Limits.ArtifactSize)
			in = bot.Input{Name: found, Size: blob.Size, Blob: blob.SHA256}
			return err
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			return in, "", context.Cause(ctx)
		}
		return in, "", fmt.Errorf("collect %s: %w", clean, errors.Join(errLost, err))
	}
	if in.Blob == "" {
		return in, "there is no file " + clean, nil
	}
	return in, "", nil
}

// helped is what came of one helper.
type helped struct {
	end   *ending
	files []bot.Artifact
	err   error
}

// runHelpers runs all helpers at once and waits for them. One that fails does
// not end the others.
func (l *loop) runHelpers(ctx context.Context, subtasks []subtask) (observation, error) {
	if l.depth == 0 {
		l.t.report(fmt.Sprintf(l.t.words.Delegating, len(subtasks)), nil)
	}
	steps, err := l.t.run.Journal.Steps(ctx)
	if err != nil {
		return observation{}, fmt.Errorf("read journal: %w", err)
	}
	results := make([]helped, len(subtasks))
	var wait sync.WaitGroup
	for i, s := range subtasks {
		wait.Go(func() { results[i] = l.helperPatiently(ctx, i, s, steps) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return observation{}, context.Cause(ctx)
	}
	o := observation{}
	var b strings.Builder
	bad := 0
	for i, r := range results {
		if r.err != nil && errors.Is(r.err, errJournal) {
			return o, r.err
		}
		number := l.helpers + i + 1
		fmt.Fprintf(&b, "## Helper %d: %s\n", number, cleanLine(subtasks[i].Title, 120))
		if r.err != nil {
			bad++
			l.t.log.Warn("helper failed", "agent", l.path, "helper", number, "error", r.err)
			fmt.Fprintf(&b, "It failed: %s. Do this part yourself or another way.\n", cleanLine(reason(r.err), 200))
			continue
		}
		if r.end.Partial != "" {
			fmt.Fprintf(&b, "It did not finish: %s. What it has:\n", r.end.Partial)
		}
		b.WriteString(l.t.frame(fmt.Sprintf("helper %d", number), cutText(orText(r.end.Message, "(nothing)"), 8<<10)) + "\n")
		if len(r.end.Unproven) > 0 {
			b.WriteString("Figures of it that no program printed: " + cleanLine(strings.Join(r.end.Unproven, "; "), 500) + "\n")
		}
		for _, f := range r.files {
			name := fmt.Sprintf("from/%d/%s", number, f.Name)
			o.Puts = append(o.Puts, putFile{Name: name, Blob: f.Blob, Size: f.Size})
			fmt.Fprintf(&b, "File: /workspace/%s (%s)\n", name, sizeText(f.Size))
		}
	}
	o.Result, o.Failed = strings.TrimRight(b.String(), "\n"), bad == len(results)
	return o, nil
}

func orText(s, standard string) string {
	if strings.TrimSpace(s) == "" {
		return standard
	}
	return s
}

// reason is a failure in words for the agent that delegated.
func reason(err error) string {
	var failed *ModelError
	var task *bot.TaskError
	switch {
	case errors.As(err, &failed):
		return failed.Message
	case errors.As(err, &task):
		return task.Message
	case errors.Is(err, errLost):
		return errLost.Error()
	}
	return "an error of the host"
}

// helperPatiently runs a helper, and once more when the sandbox and not the
// helper failed: what it recorded is not done again.
func (l *loop) helperPatiently(ctx context.Context, i int, s subtask, steps []bot.Step) helped {
	r := l.helper(ctx, i, s, steps)
	var missing *bot.TaskError
	if ctx.Err() != nil || !errors.Is(r.err, errLost) && !(errors.As(r.err, &missing) && missing.Kind == "engine") {
		return r
	}
	l.t.log.Warn("helper is run again", "agent", l.path, "helper", l.helpers+i+1, "error", r.err)
	steps, err := l.t.run.Journal.Steps(ctx)
	if err != nil {
		return helped{err: fmt.Errorf("read journal: %w", errors.Join(errJournal, err))}
	}
	return l.helper(ctx, i, s, steps)
}

// helper runs one subtask to its end, from a clean start or from where an
// earlier life left it.
func (l *loop) helper(ctx context.Context, i int, s subtask, steps []bot.Step) helped {
	share := l.shares[i]
	ctx, cancel := context.WithTimeoutCause(ctx, max(time.Second, share.Wall-l.t.active()), errWall)
	defer cancel()
	h := &loop{
		t: l.t, path: fmt.Sprintf("%s/%d", l.path, l.helpers+i+1), depth: l.depth + 1,
		budget: &budget{parent: l.budget, limit: share}, skills: []string{},
	}
	for _, name := range s.Skills {
		if l.maySkill(name) {
			h.skills = append(h.skills, name)
		}
	}
	for _, tool := range l.tools {
		if tool.spec.Name != "ask_user" && (tool.spec.Name != "delegate" || h.depth < mostDepth) {
			h.tools = append(h.tools, tool)
		}
	}
	h.w = &workspace{t: l.t, agent: h.path, inputs: l.given[i], image: l.w.image}
	defer h.w.close()
	if err := h.openHelper(ctx, s, steps, l.inventory); err != nil {
		return helped{err: err}
	}
	end, err := h.run(ctx)
	if err != nil {
		return helped{err: err}
	}
	late, done := grace(ctx)
	defer done()
	files, err := h.hand(late, steps)
	return helped{end: end, files: files, err: err}
}

// openHelper gives a helper its first messages: instructions and inputs, and
// nothing of what its maker knows.
func (l *loop) openHelper(ctx context.Context, s subtask, steps []bot.Step, inventory string) error {
	p := profileData{Inventory: inventory}
	if hasFiles(l.w.inputs) {
		var err error
		if p, err = l.t.intake(ctx, l.w, steps); err != nil {
			return err
		}
	}
	l.inventory = inventory
	system, err := render("helper.md", systemPrompt{Skills: l.t.index(l.skills), Inventory: inventory})
	if err != nil {
		return err
	}
	opening, err := render("opening.md", openingPrompt{Profile: l.t.profileText(p), Problem: p.Problem, Request: s.Instructions})
	if err != nil {
		return err
	}
	l.opening = []Message{{Role: RoleSystem, Content: system}, {Role: RoleUser, Content: opening}}
	return l.start(steps)
}

// hand stores the files that a helper made and records them, once.
func (l *loop) hand(ctx context.Context, steps []bot.Step) ([]bot.Artifact, error) {
	if s, ok, err := recordedArtifacts(steps, l.path); ok || err != nil {
		return s.files, err
	}
	if !slices.ContainsFunc(l.w.log, func(e entry) bool { return e.program != nil }) {
		return nil, nil
	}
	if err := l.w.open(ctx); err != nil {
		return nil, err
	}
	files, _, err := l.w.collect(ctx)
	if err != nil {
		return nil, err
	}
	_, err = l.t.record(ctx, bot.StepNote, l.path, noteData{Kind: noteArtifacts, Files: files, spent: l.t.spent(0)})
	return files, err
}
