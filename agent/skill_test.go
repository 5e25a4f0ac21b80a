package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

func TestMain(m *testing.M) {
	if os.Getenv(lifeVariable) != "" {
		os.Exit(life())
	}
	goleak.VerifyTestMain(m)
}

// skillFolder writes a runnable skill and gives its catalogue.
func skillFolder(t *testing.T, name, program string) *skills.Catalogue {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"SKILL.md":       "---\nname: " + name + "\ndescription: A skill for tests.\nmetadata:\n  run: scripts/run.py\n  words: total\n  inputs: table\n---\nRun it.\n",
		"scripts/run.py": program, "scripts/lib.py": "def double(x):\n    return 2 * x\n",
	}
	for file, text := range files {
		path := filepath.Join(dir, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRunnableSkill(t *testing.T) {
	w := newWorld(t, "")
	w.options.Skills = skillFolder(t, "totals", `import os, sandpiper, lib
from sandpiper import read
r = sandpiper.request()
df = read("in/" + r["inputs"][0])
total = df["amount"].sum()
os.makedirs("out", exist_ok=True)
df.groupby("region")["amount"].sum().to_csv("out/totals.csv")
sandpiper.answer(f"Total {total} ({lib.double(2)}), asked: {r['request']}, {r['language']}, {r['skill']}, previous {r.get('previous', {}).get('answer')}")
`)
	defer dump(t, w, "01A")
	task := w.task("01A", "the total please", w.input("sales.csv", []byte(sales)))
	o := w.must(task)
	if o.State != bot.TaskDone || !strings.Contains(o.Message, "Total 42.5 (4), asked: the total please, en, totals, previous None") {
		t.Fatalf("got %s: %s", o.State, o.Message)
	}
	if got := string(w.content(o, "totals.csv")); got != "region,amount\nnorth,30.0\nsouth,12.5\n" {
		t.Errorf("totals.csv: %q", got)
	}
	if p := o.Provenance; p.ImageID == "" || p.Runtime == "" || len(p.Proof) == 0 || p.Skills["totals"] == "" || len(p.Programs) != 1 || p.Programs[0].Verdict != "ok" {
		t.Errorf("provenance %+v", p)
	}
	if o.Usage.SandboxSeconds == 0 || o.Usage.Turns != 0 {
		t.Errorf("usage %+v", o.Usage)
	}

	t.Run("resumed", func(t *testing.T) {
		before := len(w.steps("01A"))
		again := w.must(task)
		if again.Message != o.Message || again.Files[0].Blob != o.Files[0].Blob {
			t.Errorf("a later life says %q", again.Message)
		}
		if after := len(w.steps("01A")); after != before {
			t.Errorf("a later life recorded %d further steps", after-before)
		}
	})
	t.Run("follow-up uses the earlier files", func(t *testing.T) {
		o := w.must(w.task("01B", "итог ещё раз: total"), done(task, o))
		if !strings.Contains(o.Message, "Total 42.5") || !strings.Contains(o.Message, "previous Total 42.5") {
			t.Errorf("got %s", o.Message)
		}
	})
	t.Run("reproduced", func(t *testing.T) {
		again := w.task("01C", "reproduce")
		again.Event.Options.Seed = "01A"
		o := w.must(again)
		if !strings.Contains(o.Message, "1 of 1 programs ended as recorded, 1 of 1 files are the same") {
			t.Errorf("got %s", o.Message)
		}
	})
}

// TestResumeAfterEachStep cuts a run off at each append and lets another life
// go on: the answer is the same.
func TestResumeAfterEachStep(t *testing.T) {
	w := newWorld(t, "")
	w.options.Skills = skillFolder(t, "totals", "import os\nos.makedirs('out', exist_ok=True)\nopen('out/a.txt', 'w').write('a')\nprint('done')\n")
	task := w.task("01A", "total", w.input("sales.csv", []byte(sales)))
	for cut := 1; ; cut++ {
		task.ID = "01A" + strings.Repeat("x", cut)
		j := &journal{dir: w.dir, task: task.ID, failAt: cut}
		_, err := w.runOn(t.Context(), j, task)
		j.failAt = 0
		o := w.must(task)
		if o.Message != "done\n\n*Skill: `totals`, because the request says “total”*" || len(o.Files) != 1 {
			t.Fatalf("cut at %d: %q, files %v", cut, o.Message, names(o))
		}
		if err == nil {
			break // it had fewer steps than that
		}
		if !errors.Is(err, bot.ErrReadOnly) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestSkillEndings(t *testing.T) {
	for name, tc := range map[string]struct {
		program, kind, message string
	}{
		"refuses":    {"import sandpiper\nsandpiper.refuse('The file has no numbers.')", "input", "The file has no numbers."},
		"fails":      {"raise ValueError('no')", "skill", "`totals` ended with an error (exit)"},
		"no answer":  {"pass", "", "wrote no answer"},
		"prints":     {"print('**42**')", "", "**42**"},
		"exits well": {"import sys\nprint('ok')\nsys.exit(0)", "", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			w.options.Skills = skillFolder(t, "totals", tc.program)
			defer dump(t, w, "01A")
			o := w.must(w.task("01A", "total", w.input("sales.csv", []byte(sales))))
			kind := ""
			if o.Error != nil {
				kind = o.Error.Kind
			}
			steps := w.steps("01A")
			if told := agent.Describe(steps[len(steps)-1]); name == "fails" && !strings.HasSuffix(told, "\n    ValueError: no") {
				t.Errorf("the story lacks the error: %s", told)
			}
			if kind != tc.kind || !strings.Contains(o.Message, tc.message) {
				t.Errorf("kind %q, message %q", kind, o.Message)
			}
		})
	}
}

func TestNoSkillFits(t *testing.T) {
	w := bareWorld(t, "")
	w.options.Sandbox = noSandbox{}
	for name, tc := range map[string]struct {
		task       bot.Task
		kind, hint string
	}{
		"nothing fits":      {w.task("01A", "write me a poem"), "model", "OPENAI_API_KEY"},
		"words fit nothing": {w.task("01B", "hm", w.input("a.csv", []byte(sales))), "model", "csv-report"},
		"unknown skill":     {func() bot.Task { t := w.task("01C", "x"); t.Event.Options.Skill = "nope"; return t }(), "skill", "skills list"},
		"unreadable files":  {w.task("01D", "report", bot.Input{Name: "a.csv", Problem: "too large"}), "input", "again"},
	} {
		o := w.must(tc.task)
		if o.State != bot.TaskFailed || o.Error == nil || o.Error.Kind != tc.kind || !strings.Contains(o.Error.Hint, tc.hint) {
			t.Errorf("%s: got %s %+v", name, o.State, o.Error)
		}
	}
}

// TestCancelled ends a run whose context was cancelled by request.
func TestCancelled(t *testing.T) {
	w := newWorld(t, "")
	w.options.Skills = skillFolder(t, "totals", "import time\ntime.sleep(60)")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.options.Point = func(name string) {
		if name == "step:profile" {
			cancel(bot.ErrCancelled)
		}
	}
	o, err := w.runOn(ctx, &journal{dir: w.dir, task: "01A"}, w.task("01A", "total", w.input("sales.csv", []byte(sales))))
	if err != nil || o.State != bot.TaskCancelled {
		t.Errorf("got %s, %v", o.State, err)
	}
}

// noSandbox fails a test that should not need one.
type noSandbox struct{ agent.Sandbox }

func dump(t *testing.T, w *world, task string) {
	t.Helper()
	if t.Failed() {
		t.Logf("journal of %s:\n%s", task, story(w.steps(task)))
	}
}

// manySkills makes skills that need a model, skill-000 and so on.
func manySkills(t *testing.T, n int) *skills.Catalogue {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("skill-%03d", i)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBODY-OF-%d\n", name, strings.Repeat("What it is good for. ", 20), i)
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
