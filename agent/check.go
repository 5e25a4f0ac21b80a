package agent

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// checkProgram looks into deliverables; it says how in its head.
//
//go:embed checks/check.py
var checkProgram string

// checkVerdict is what the check says of one file.
type checkVerdict struct {
	Index  int      `json:"index"`
	Action string   `json:"action"` // pass, defuse, withhold
	Found  []string `json:"found"`
}

// plain are kinds of files that cannot call home or run, whatever they hold:
// a program that opens them by their name shows text, numbers or a picture.
func plain(a bot.Artifact) bool {
	switch strings.ToLower(path.Ext(a.Name)) {
	case ".csv", ".tsv", ".txt", ".json", ".jsonl", ".log", ".yaml", ".yml", ".sql", ".parquet", ".ndjson":
		return !strings.Contains(a.MediaType, "html") && !strings.Contains(a.MediaType, "svg")
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return strings.HasPrefix(a.MediaType, "image/") && !strings.Contains(a.MediaType, "svg")
	}
	return false
}

// checkFiles has files looked into by a session that never ran the task's own
// programs. What calls home or runs is defused or withheld, and named. A file
// that could not be looked into is withheld.
func (t *task) checkFiles(ctx context.Context, files []bot.Artifact, s *stored) ([]bot.Artifact, error) {
	var suspects []int
	for i, f := range files {
		if !plain(f) {
			suspects = append(suspects, i)
		}
	}
	if len(suspects) == 0 {
		return files, nil
	}
	t.report(t.words.CheckingFiles, nil)
	verdicts, mended, err := t.check(ctx, files, suspects)
	if err != nil {
		return nil, err
	}
	kept := slices.Clone(files)
	drop := map[int]bool{}
	for n, i := range suspects {
		found := make([]string, 0, 4)
		for _, what := range verdicts[n].Found[:min(4, len(verdicts[n].Found))] {
			found = append(found, cleanLine(what, 80))
		}
		blob, ok := mended[n]
		switch {
		case verdicts[n].Action == "pass":
		case verdicts[n].Action == "defuse" && ok:
			kept[i].Blob, kept[i].Size = blob.SHA256, blob.Size
			s.notes = append(s.notes, fmt.Sprintf(t.words.Defused, code(files[i].Name), strings.Join(found, ", ")))
		default:
			drop[i] = true
			reason := "it could not be checked for contents that call home or run"
			if len(found) > 0 {
				reason = "it holds " + strings.Join(found, ", ")
			}
			s.skipped = append(s.skipped, bot.Undelivered{Name: files[i].Name, Reason: reason})
		}
	}
	out := kept[:0]
	for i, f := range kept {
		if !drop[i] {
			out = append(out, f)
		}
	}
	return out, nil
}

// check runs the check program over files[suspects…]. Its verdicts come in
// the order of suspects; one that is missing withholds.
func (t *task) check(ctx context.Context, files []bot.Artifact, suspects []int) ([]checkVerdict, map[int]bot.Blob, error) {
	w := &workspace{t: t, agent: lead, session: t.spare.take()}
	defer w.close()
	if err := w.open(ctx); err != nil {
		return nil, nil, err
	}
	var names []string
	for n, i := range suspects {
		names = append(names, files[i].Name)
		if err := w.putBlob(ctx, "workspace/in/"+strconv.Itoa(n), files[i].Blob, files[i].Size); err != nil {
			return nil, nil, err
		}
	}
	raw, err := json.Marshal(names)
	if err != nil {
		return nil, nil, fmt.Errorf("write names: %w", err)
	}
	if err := w.putText(ctx, "workspace/in/names.json", raw); err != nil {
		return nil, nil, err
	}
	verdicts := make([]checkVerdict, len(suspects))
	mended := map[int]bot.Blob{}
	result, _, err := w.exec(ctx, bot.Program{Language: string(sandbox.Python), Code: checkProgram})
	if err != nil {
		return nil, nil, fmt.Errorf("check files: %w", err)
	}
	if result.Verdict != sandbox.OK || w.session == nil {
		t.log.Warn("check files", "verdict", result.Verdict, "detail", result.Detail)
		return verdicts, mended, nil
	}
	said, err := w.exchange(ctx)
	if err != nil {
		return nil, nil, err
	}
	var list []checkVerdict
	if err := json.NewDecoder(bytes.NewReader(said["check.json"])).Decode(&list); err != nil {
		return verdicts, mended, nil
	}
	for _, v := range list {
		if v.Index >= 0 && v.Index < len(verdicts) {
			verdicts[v.Index] = v
		}
	}
	_, err = w.session.Collect(ctx, sandbox.CollectOptions{
		MaxFiles: len(suspects), MaxSize: t.a.o.Limits.ArtifactSize,
		Store: func(name string, _ int64, content io.Reader) error {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(suspects) {
				return nil
			}
			blob, err := t.run.Blobs.Put(ctx, content, t.a.o.Limits.ArtifactSize)
			mended[n] = blob
			return err
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("collect checked files: %w", errors.Join(errLost, err))
	}
	return verdicts, mended, nil
}

// cleanLine makes one bounded line of hostile text.
func cleanLine(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '`' {
			return ' '
		}
		return r
	}, s)
}
