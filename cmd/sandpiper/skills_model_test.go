package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
)

// totals is what a model writes for code-template's eval.
const totals = `#!/usr/bin/env python3
"""Totals in cents by branch of fixed-width lines, as JSON."""
import argparse
import json
from collections import defaultdict

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file")
sums = defaultdict(int)
with open(parser.parse_args().file, encoding="utf-8") as lines:
    for line in lines:
        sums[line[8:12]] += int(line[12:20])
print(json.dumps(sums))
`

// TestSkillsTestAsksTheModel runs the eval of a skill that needs a model
// through the binary: the model reads the skill, runs its script on the
// sample, and hands it over; the table shows what that cost.
func TestSkillsTestAsksTheModel(t *testing.T) {
	h := newHome(t)
	h.write("conf.yaml", "listen: 127.0.0.1:0\nmodel: {prices: {scripted: {input: 2, output: 10}}}\n")
	used := modeltest.Usage{Input: 10_000, Output: 1_000}
	turns := []modeltest.Turn{
		modeltest.Do("read_skill", map[string]any{"name": "code-template"}),
		modeltest.Do("execute_code", map[string]any{"language": "python", "code": "import os, subprocess, sys\nos.makedirs('out', exist_ok=True)\nopen('out/totals.py', 'w').write(" + quote(totals) + ")\nprint(subprocess.run([sys.executable, 'out/totals.py', 'in/sample.txt'], capture_output=True, text=True, check=True).stdout)"}),
		modeltest.Do("finish", map[string]any{"message": "totals.py adds up the sample: B001 1000 cents, B002 200.", "files": []string{"totals.py"}}),
	}
	for i := range turns {
		turns[i].Usage = &used
	}
	srv := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Turns: turns}}})
	env := []string{"OPENAI_BASE_URL=" + srv.URL(), "SANDPIPER_MODEL=scripted"}

	p := h.start(env, "skills", "test", "code-template", "--junit", "junit.xml")
	if status := p.wait(); status != 0 {
		t.Fatalf("exit status %d\n%s\n%s", status, p.out.String(), p.err.String())
	}
	// Three turns of 10,000 tokens at $2 and 1,000 at $10 a million.
	table := p.out.String()
	for _, want := range []string{"code-template", "fixed-width", "passed", "$0.0900", "1 passed, 0 failed, 0 skipped, $0.0900"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	junit, err := os.ReadFile(filepath.Join(h.dir, "junit.xml"))
	if err != nil || !strings.Contains(string(junit), `<testsuite name="code-template" tests="1" failures="0" skipped="0"`) {
		t.Errorf("junit.xml is %s, %v", junit, err)
	}
	if texts := srv.Requests()[0].Text(); !strings.Contains(texts, "code-template") || !strings.Contains(texts, "sample.txt") {
		t.Errorf("the model was asked without the skill's name or the sample:\n%s", texts)
	}
	if told := srv.Requests()[2].Last().Content; !strings.Contains(told, `{"B001": 1000, "B002": 200}`) {
		t.Errorf("the script did not run on the sample: %s", told)
	}

	// A model that hands over nothing fails the eval, and the cost is shown all the same.
	idle := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Turns: []modeltest.Turn{
		{Calls: []modeltest.Call{modeltest.Use("finish", map[string]any{"message": "I have no script."})}, Usage: &used},
	}}}})
	p = h.start([]string{"OPENAI_BASE_URL=" + idle.URL(), "SANDPIPER_MODEL=scripted"}, "skills", "test", "code-template")
	if status := p.wait(); status != 1 || !strings.Contains(p.out.String(), "there is no file *.py") || !strings.Contains(p.out.String(), "$0.0300") {
		t.Errorf("exit status %d\n%s\n%s", status, p.out.String(), p.err.String())
	}

	// Without one it is skipped, and says so.
	p = h.run(0, "skills", "test", "code-template")
	if !strings.Contains(p.out.String(), "skipped: needs a model and none is configured") {
		t.Errorf("printed\n%s", p.out.String())
	}
}

// quote writes a text as a Python string.
func quote(text string) string {
	return "'''" + strings.ReplaceAll(text, `\`, `\\`) + "'''"
}
