package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// stored is what a run leaves behind, safe in the blobs and in the journal.
type stored struct {
	files   []bot.Artifact
	skipped []bot.Undelivered
	// notes tell the person what was changed in files.
	notes []string
	// answer and refusal are a runnable skill's words, auxiliary the files that
	// only accompany its answer.
	answer, refusal string
	auxiliary       []string
	// drift is what a saved report found changed in its data, or, byImage, what
	// the image changed in the report.
	drift   []string
	byImage bool
}

// recordedArtifacts finds what an earlier life stored for an agent already.
func recordedArtifacts(steps []bot.Step, agent string) (stored, bool, error) {
	for _, step := range steps {
		if step.Kind != bot.StepNote || step.Agent != agent {
			continue
		}
		note, err := readStep[noteData](step)
		if err != nil {
			return stored{}, false, err
		}
		if note.Kind == noteArtifacts {
			return stored{files: note.Files, skipped: note.Skipped, notes: note.Notes, answer: note.Answer, refusal: note.Refusal}, true, nil
		}
	}
	return stored{}, false, nil
}

// store collects /workspace/out, has it checked in a fresh session, and
// records what is kept. Once that is committed, no later life does it again.
func (t *task) store(ctx context.Context, w *workspace, s stored) (stored, error) {
	t.report(t.words.StoringFiles, nil)
	files, skipped, err := w.collect(ctx)
	if err != nil {
		return stored{}, err
	}
	s.skipped = append(s.skipped, skipped...)
	if s.files, err = t.checkFiles(ctx, files, &s); err != nil {
		return stored{}, err
	}
	for i := range s.files {
		s.files[i].Auxiliary = slices.Contains(s.auxiliary, s.files[i].Name)
	}
	if err := t.describePictures(ctx, &s); err != nil {
		return stored{}, err
	}
	note := noteData{Kind: noteArtifacts, Files: s.files, Skipped: s.skipped, Notes: s.notes, Answer: s.answer, Refusal: s.refusal, spent: t.spent(0)}
	if _, err := t.record(ctx, bot.StepNote, lead, note); err != nil {
		return stored{}, err
	}
	t.a.o.Point("artifacts-stored")
	return s, nil
}

// collect brings /workspace/out into the blobs.
func (w *workspace) collect(ctx context.Context) ([]bot.Artifact, []bot.Undelivered, error) {
	if w.session == nil {
		return nil, nil, nil
	}
	blobs := map[string]bot.Blob{}
	limits := w.t.a.o.Limits
	got, err := w.session.Collect(ctx, sandbox.CollectOptions{
		MaxFiles: limits.Artifacts, MaxSize: limits.ArtifactSize,
		Store: func(name string, size int64, content io.Reader) error {
			blob, err := w.t.run.Blobs.Put(ctx, content, limits.ArtifactSize)
			if err != nil {
				return fmt.Errorf("store %s: %w", name, err)
			}
			blobs[name] = blob
			return nil
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, fmt.Errorf("collect artifacts: %w", errors.Join(errLost, err))
	}
	var files []bot.Artifact
	for _, f := range got.Files {
		blob, ok := blobs[f.Name]
		if !ok {
			continue
		}
		files = append(files, bot.Artifact{Name: f.Name, MediaType: f.MediaType, Size: blob.Size, Blob: blob.SHA256})
	}
	slices.SortFunc(files, func(a, b bot.Artifact) int { return strings.Compare(a.Name, b.Name) })
	var skipped []bot.Undelivered
	for _, s := range got.Skipped {
		skipped = append(skipped, bot.Undelivered{Name: s.Name, Reason: s.Reason})
	}
	return files, skipped, nil
}

// order puts the files that finish named first, in its order.
func order(files []bot.Artifact, named []string) []bot.Artifact {
	rank := func(a bot.Artifact) int {
		for i, name := range named {
			clean, ok := inside(name)
			if ok && (clean == a.Name || strings.TrimPrefix(clean, "out/") == a.Name || path.Base(clean) == a.Name) {
				return i
			}
		}
		return len(named)
	}
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b bot.Artifact) int { return rank(a) - rank(b) })
	return sorted
}
