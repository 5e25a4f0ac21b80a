package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// profileCode has the guest profile all inputs; what it finds lies in
// /workspace/.sandpiper.
const profileCode = `import sandpiper.profile
sandpiper.profile.emit()`

// IsIntake reports whether a program is the one that profiles inputs, which
// nobody wrote.
func IsIntake(p sandbox.Program) bool { return p.Code == profileCode }

// maxExchange bounds each file of the exchange folder, maxKept what of a
// profile is kept in the journal.
const (
	maxExchange = 4 << 20
	maxKept     = 512 << 10
)

// intake profiles an agent's inputs in its session, once: a later life takes
// the recorded profile.
func (t *task) intake(ctx context.Context, w *workspace, steps []bot.Step) (profileData, error) {
	for _, step := range steps {
		if step.Kind == bot.StepProfile && step.Agent == w.agent {
			return readStep[profileData](step)
		}
	}
	if w.agent == lead {
		t.report(t.words.Reading, nil)
	}
	if err := w.open(ctx); err != nil {
		return profileData{}, err
	}
	info := w.session.Info()
	p := profileData{
		Values: t.a.o.Values, Inputs: w.inputs, Inventory: inventory(info),
		ImageID: info.ImageID, Runtime: info.Runtime, Proof: info.Proof,
	}
	if hasFiles(w.inputs) {
		if err := t.profile(ctx, w, &p); err != nil {
			return profileData{}, err
		}
	}
	_, err := t.record(ctx, bot.StepProfile, w.agent, p)
	return p, err
}

// profile runs the guest's profiler and reads what it wrote. A profiler that
// fails leaves the inputs unprofiled, and says so.
func (t *task) profile(ctx context.Context, w *workspace, p *profileData) error {
	result, _, err := w.exec(ctx, bot.Program{Language: string(sandbox.Python), Code: profileCode})
	if err != nil {
		return fmt.Errorf("profile inputs: %w", err)
	}
	p.spent = t.spent(result.Wall)
	if result.Verdict != sandbox.OK {
		p.Problem = fmt.Sprintf("the inputs could not be profiled (%s)", result.Verdict)
		t.log.Warn("profile inputs", "verdict", result.Verdict, "detail", result.Detail)
		return nil
	}
	files, err := w.exchange(ctx)
	if err != nil {
		return err
	}
	name := map[Values]string{ValuesFull: "profile.txt", ValuesMasked: "profile-masked.txt", ValuesNone: "profile-none.txt"}[p.Values]
	p.Text = strings.ToValidUTF8(string(files[name]), "�")
	if raw := files["profile.json"]; len(raw) <= maxKept && json.Valid(raw) {
		p.Profile = raw
	}
	return nil
}

// exchange reads the files that the guest and runnable skills leave for the
// host in /workspace/.sandpiper.
func (w *workspace) exchange(ctx context.Context) (map[string][]byte, error) {
	files := map[string][]byte{}
	_, err := w.session.Collect(ctx, sandbox.CollectOptions{
		Dir: ".sandpiper", MaxFiles: 40, MaxSize: maxExchange,
		Store: func(name string, size int64, content io.Reader) error {
			raw, err := io.ReadAll(io.LimitReader(content, maxExchange))
			files[name] = raw
			return err
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("collect exchange: %w", errors.Join(errLost, err))
	}
	return files, nil
}

func hasFiles(inputs []bot.Input) bool {
	for _, in := range inputs {
		if in.Blob != "" {
			return true
		}
	}
	return false
}

// inventoryMost bounds the list of libraries in a prompt, in bytes.
const inventoryMost = 2 << 10

// inventory lists what the session's image has, as its label says: languages
// and libraries with their versions.
func inventory(info sandbox.Info) string {
	var groups map[string]json.RawMessage
	if json.Unmarshal(info.Inventory, &groups) != nil {
		return ""
	}
	var lines []string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		var versions map[string]string
		if json.Unmarshal(groups[group], &versions) != nil {
			continue
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			parts = append(parts, strings.TrimSpace(name+" "+versions[name]))
		}
		lines = append(lines, cutText(cleanLine(group+": "+strings.Join(parts, ", "), inventoryMost), inventoryMost))
	}
	return strings.Join(lines, "\n")
}
