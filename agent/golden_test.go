package agent_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/golden/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s changed (go test ./agent -update writes it anew):\n%s", name, got)
	}
}

// TestPrompts holds what a model sees: rules, opening, tools, and what is said
// between turns. A change of a prompt shows in a diff.
func TestPrompts(t *testing.T) {
	w, srv := loopWorld(t, modeltest.Script{Agents: []modeltest.Agent{
		{Match: "Sum up the north.", Turns: []modeltest.Turn{end("North is summed up.")}},
		{Turns: []modeltest.Turn{
			modeltest.Do("delegate", args{"subtasks": []args{{"title": "North", "instructions": "Sum up the north.", "skills": []string{"skill-001"}}}}),
			modeltest.Say("I am done."),
			{},
			end("Done."),
		}},
	}})
	w.options.Skills = manySkills(t, 2)
	w.options.Budgets = bot.Budgets{Turns: 5}
	history := done(w.task("01A", "Make the weekly numbers."), bot.Outcome{
		State: bot.TaskDone, Message: "North sold 30.", Files: []bot.Artifact{{Name: "summary.xlsx"}},
	})
	w.must(w.task("01B", "And now by month, {{.Secret}} please."), history)
	first := srv.Of("by month")[0]
	golden(t, "lead-rules.txt", first.Messages[0].Content)
	golden(t, "lead-opening.txt", first.Messages[1].Content)
	helper := srv.Of("Sum up the north.")[0]
	golden(t, "helper-rules.txt", helper.Messages[0].Content)
	golden(t, "helper-opening.txt", helper.Messages[1].Content)

	var body struct {
		Tools json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(first.Body, &body); err != nil {
		t.Fatal(err)
	}
	var tools bytes.Buffer
	if err := json.Indent(&tools, body.Tools, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", tools.String()+"\n")

	all := srv.Of("by month")
	var said []string
	for _, m := range all[len(all)-1].Messages[2:] {
		said = append(said, m.Role+": "+m.Content)
	}
	golden(t, "conversation.txt", strings.Join(said, "\n---\n")+"\n")
}

// TestPromptsAreShort: a person reads the folder in ten minutes.
func TestPromptsAreShort(t *testing.T) {
	words := 0
	files, err := filepath.Glob("prompts/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	tools, err := filepath.Glob("tool_*.md")
	if err != nil || len(tools) != 10 {
		t.Fatal(tools, err)
	}
	for _, name := range append(files, tools...) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(raw)))
	}
	t.Logf("%d words", words)
	if words > 2000 {
		t.Errorf("%d words are more than ten minutes", words)
	}
}

// TestCatalogues: each language has each sentence, with the same verbs.
func TestCatalogues(t *testing.T) {
	read := func(language string) map[string]string {
		raw, err := os.ReadFile("texts/" + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]string
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	verbs := func(s string) (list []string) {
		for i := range len(s) - 1 {
			if s[i] == '%' {
				list = append(list, s[i:i+2])
			}
		}
		return list
	}
	en, ru := read("en"), read("ru")
	for key, text := range en {
		if ru[key] == "" || !reflect.DeepEqual(verbs(text), verbs(ru[key])) {
			t.Errorf("%s: %q and %q", key, text, ru[key])
		}
	}
	if len(en) != len(ru) {
		t.Errorf("%d and %d sentences", len(en), len(ru))
	}
}
