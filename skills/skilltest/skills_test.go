package skilltest_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/skills"
	"github.com/sandpiper-bot/sandpiper/skills/skilltest"
)

// lessor gives sessions of a real sandbox.
func lessor(t *testing.T) func(context.Context, string) (skilltest.Session, error) {
	t.Helper()
	made := sandboxtest.New(t, sandbox.Options{Pool: sandbox.Pool{Size: 1}})
	return func(ctx context.Context, task string) (skilltest.Session, error) {
		return made.Lease(ctx, sandbox.LeaseOptions{Task: task})
	}
}

func load(t *testing.T, o skills.Options) []skills.Skill {
	t.Helper()
	catalogue, err := skills.Load(o)
	require.NoError(t, err)
	for _, p := range catalogue.Problems() {
		require.NotEqual(t, skills.Broken, p.Severity, p.String())
	}
	return catalogue.List()
}

func TestBuiltinSkillsPassTheirEvals(t *testing.T) {
	var runnable []skills.Skill
	for _, s := range load(t, skills.Options{Builtin: skills.Builtin()}) {
		if s.Runnable() {
			runnable = append(runnable, s)
		}
	}
	require.GreaterOrEqual(t, len(runnable), 7)
	lease := lessor(t)
	for _, s := range runnable {
		t.Run(s.Name, func(t *testing.T) {
			evals, err := skilltest.Evals(s)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(evals), 3, "each runnable skill has three evals")
			worked := 0
			for _, e := range evals {
				if e.Worked != "" {
					worked++
				}
			}
			require.GreaterOrEqual(t, worked, 3, "with figures worked out by another way")

			report, err := skilltest.Run(t.Context(), skilltest.Options{Skills: []skills.Skill{s}, Lease: lease, Now: time.Now})
			require.NoError(t, err)
			var table strings.Builder
			require.NoError(t, report.Table(&table))
			require.Zero(t, report.Failed(), table.String())
			require.Len(t, report.Results, len(evals))
		})
	}
}

func TestBuiltinSkillsLint(t *testing.T) {
	lease := lessor(t)
	for _, s := range load(t, skills.Options{Builtin: skills.Builtin()}) {
		require.Empty(t, skills.Lint(s), s.Name)
		session, err := lease(t.Context(), "lint-"+s.Name)
		require.NoError(t, err)
		found, err := skilltest.LintScripts(t.Context(), session, s)
		require.NoError(t, err)
		require.Empty(t, found, s.Name)
		require.NoError(t, session.Close())
	}
}

func TestNewSkillLintsAndPassesItsEval(t *testing.T) {
	dir := t.TempDir()
	_, err := skills.New(skills.NewOptions{Dir: dir, Name: "count-rows", Runnable: true})
	require.NoError(t, err)
	_, err = skills.New(skills.NewOptions{Dir: dir, Name: "write-letter", Description: "Writes letters: formal ones. Use when somebody wants a letter."})
	require.NoError(t, err)
	_, err = skills.New(skills.NewOptions{Dir: dir, Name: "count-rows"})
	require.Error(t, err, "a skill is never written over")

	list := load(t, skills.Options{Folders: []string{dir}})
	require.Len(t, list, 2)
	for _, s := range list {
		require.Empty(t, skills.Lint(s), s.Name)
	}
	lease := lessor(t)
	session, err := lease(t.Context(), "lint")
	require.NoError(t, err)
	found, err := skilltest.LintScripts(t.Context(), session, list[0])
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, session.Close())

	report, err := skilltest.Run(t.Context(), skilltest.Options{Skills: list, Lease: lease, Now: time.Now})
	require.NoError(t, err)
	var table strings.Builder
	require.NoError(t, report.Table(&table))
	require.Zero(t, report.Failed(), table.String())
	require.True(t, report.Results[0].Passed())
	require.NotEmpty(t, report.Results[1].Skipped)
}

// eval writes a skill and loads it.
func eval(t *testing.T, files map[string]string) []skills.Skill {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return load(t, skills.Options{Folders: []string{dir}})
}

func TestWrongFiguresFilesAndAnswersAreFound(t *testing.T) {
	list := eval(t, map[string]string{
		"wrong/SKILL.md": "---\nname: wrong\ndescription: Writes wrong figures, for a test. Use when testing.\nmetadata:\n  run: scripts/run.py\n---\n# Wrong\n",
		"wrong/scripts/run.py": `
import pandas, sys
from sandpiper import answer, excel, refuse, request
if "refuse" in request()["request"]:
    refuse("I will not.")
if "fall" in request()["request"]:
    raise ValueError("fell over")
with excel.Workbook("/workspace/out/a.xlsx") as book:
    book.table(pandas.DataFrame({"name": ["x"], "n": [3]}), sheet="S")
open("/workspace/out/a.png", "wb").write(b"no picture")
answer("Total: 1,234.50 €")
`,
		"wrong/evals/a-figures.yaml": `
request: go
expect:
  answer: {contains: [Sum], figures: [{after: "Total:", equals: 1234.6}]}
  files:
    - {name: absent.txt}
    - {name: a.png}
    - {name: a.xlsx, sheets: [T], rows: 2, figures: [{row: x, column: n, equals: 4}, {row: y, column: n, equals: 4}]}
`,
		"wrong/evals/b-fine.yaml":    "request: go\nexpect:\n  answer: {figures: [{after: \"Total:\", equals: 1234.5}]}\n",
		"wrong/evals/c-refused.yaml": "request: refuse it\nexpect:\n  answer: {contains: [Total]}\n",
		"wrong/evals/d-refusal.yaml": "request: refuse it\nexpect:\n  refused: will not\n",
		"wrong/evals/e-falls.yaml":   "request: fall over\nexpect:\n  answer: {contains: [Total]}\n",
	})
	report, err := skilltest.Run(t.Context(), skilltest.Options{Skills: list, Lease: lessor(t), Now: time.Now})
	require.NoError(t, err)
	require.Len(t, report.Results, 5)
	require.Equal(t, 3, report.Failed())
	told := strings.Join(report.Results[0].Failures, "\n")
	for _, part := range []string{"does not contain 'Sum'", "is 1234.5, expected 1234.6", "no file absent.txt", "a.png is not a PNG", "has the sheets", "has 1 rows", "x / n is 3, expected 4", "no row 'y'"} {
		require.Contains(t, told, part)
	}
	require.True(t, report.Results[1].Passed())
	require.Contains(t, report.Results[2].Failures[0], "I will not.")
	require.True(t, report.Results[3].Passed())
	require.Contains(t, report.Results[4].Failures[0], "fell over")

	var out bytes.Buffer
	require.NoError(t, report.JUnit(&out))
	var parsed struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(out.Bytes(), &parsed))
	require.Equal(t, 5, parsed.Suites[0].Tests)
	require.Equal(t, 3, parsed.Suites[0].Failures)
	require.NotNil(t, parsed.Suites[0].Cases[0].Failure)
	require.Nil(t, parsed.Suites[0].Cases[1].Failure)
	var table strings.Builder
	require.NoError(t, report.Table(&table))
	require.Contains(t, table.String(), "2 passed, 3 failed, 0 skipped")
}

// asker is a model that answers as it is told.
type asker map[string]skilltest.Answered

func (a asker) Ask(_ context.Context, skill, request string, inputs map[string][]byte) (skilltest.Answered, error) {
	answered, ok := a[request]
	if !ok || skill != "letters" || string(inputs["who.txt"]) != "Ann" {
		return skilltest.Answered{CostUSD: 0.5}, errors.New("no answer")
	}
	return answered, nil
}

func TestSkillsThatNeedAModelAreAskedOfOneWithItsCost(t *testing.T) {
	input := "inputs: [{name: who.txt, text: Ann}]\n"
	list := eval(t, map[string]string{
		"letters/SKILL.md":           "---\nname: letters\ndescription: Writes letters, for a test. Use when testing.\n---\n# Letters\n",
		"letters/evals/a-good.yaml":  "request: write\n" + input + "expect:\n  answer: {contains: [Dear Ann]}\n  files: [{name: letter.md, contains: [Ann], figures: [{after: owe, equals: 7}]}]\n",
		"letters/evals/b-wrong.yaml": "request: shout\n" + input + "expect:\n  answer: {contains: [Dear Ann]}\n",
		"letters/evals/c-no.yaml":    "request: refuse\n" + input + "expect:\n  refused: cannot\n",
		"letters/evals/d-none.yaml":  "request: nothing\n" + input + "expect:\n  refused: cannot\n",
	})
	model := asker{
		"write":  {Message: "Dear Ann", Files: map[string][]byte{"letter.md": []byte("Ann, you owe 7 cups.")}, CostUSD: 0.0123},
		"shout":  {Message: "ANN", CostUSD: 0.01},
		"refuse": {Refused: "I cannot write that."},
	}
	report, err := skilltest.Run(t.Context(), skilltest.Options{Skills: list, Lease: lessor(t), Now: time.Now, Asker: model})
	require.NoError(t, err)
	require.True(t, report.Results[0].Passed(), report.Results[0].Failures)
	require.InDelta(t, 0.0123, report.Results[0].CostUSD, 1e-9)
	require.Contains(t, report.Results[1].Failures[0], "does not contain 'Dear Ann'")
	require.True(t, report.Results[2].Passed(), report.Results[2].Failures)
	require.Contains(t, report.Results[3].Failures[0], "no answer")
	var table strings.Builder
	require.NoError(t, report.Table(&table))
	require.Contains(t, table.String(), "$0.0123")
	require.Contains(t, table.String(), "2 passed, 2 failed, 0 skipped, $0.5223")
}

func TestScriptsThatDoNotParseOrImportWhatIsAbsentAreNamed(t *testing.T) {
	list := eval(t, map[string]string{
		"poor/SKILL.md":           "---\nname: poor\ndescription: Has poor scripts, for a test. Use when testing.\n---\n# Poor\n",
		"poor/scripts/syntax.py":  "def f(:\n",
		"poor/scripts/imports.py": "import os\nimport pandas\nimport not_there.at_all\nfrom .other import x\nimport beside\ntry:\n    import optional_thing\nexcept ImportError:\n    optional_thing = None\n",
		"poor/scripts/beside.py":  "x = 1\n",
		"poor/scripts/bad.js":     "function (\n",
		"poor/scripts/good.js":    "console.log(1)\n",
		"poor/scripts/bad.sh":     "if true; then\n",
		"poor/evals/broken.yaml":  "request: x\nunknown: y\n",
	})
	session, err := lessor(t)(t.Context(), "lint")
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	found, err := skilltest.LintScripts(t.Context(), session, list[0])
	require.NoError(t, err)
	var told []string
	for _, p := range found {
		told = append(told, strings.TrimPrefix(p.String(), list[0].Dir+"/"))
	}
	require.Len(t, told, 5, strings.Join(told, "\n"))
	all := strings.Join(told, "\n")
	for _, part := range []string{"scripts/syntax.py:1: is not valid Python", "scripts/imports.py:3: warning: imports not_there", "scripts/bad.js: is not valid JavaScript", "scripts/bad.sh: is not valid shell", "evals/broken.yaml"} {
		require.Contains(t, all, part)
	}
}
