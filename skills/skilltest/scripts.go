package skilltest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

//go:embed lint.py
var lintProgram string

// LintScripts looks at a skill's scripts with the image's own interpreters:
// Python, JavaScript and shell must parse, and what Python imports must be in
// the image. Nothing of the skill is run. Evals must be readable.
func LintScripts(ctx context.Context, session Session, s skills.Skill) ([]skills.Problem, error) {
	if err := send(ctx, session, s); err != nil {
		return nil, err
	}
	root, err := json.Marshal("/skills/" + s.Name)
	if err != nil {
		return nil, fmt.Errorf("encode folder: %w", err)
	}
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: "ROOT = " + string(root) + "\n" + lintProgram})
	if err != nil {
		return nil, fmt.Errorf("run lint: %w", err)
	}
	if result.Verdict != sandbox.OK || result.Stdout.Omitted > 0 {
		return nil, fmt.Errorf("run lint: it ended with %s: %s", result.Verdict, tail(result.Stderr.Head+result.Stderr.Tail, 2000))
	}
	var told []struct {
		Severity skills.Severity `json:"severity"`
		File     string          `json:"file"`
		Line     int             `json:"line"`
		Message  string          `json:"message"`
	}
	if err := json.Unmarshal([]byte(result.Stdout.Head), &told); err != nil {
		return nil, fmt.Errorf("read lint's result: %w", err)
	}
	found := make([]skills.Problem, 0, len(told))
	for _, t := range told {
		found = append(found, skills.Problem{
			Severity: t.Severity, Skill: s.Name, Source: s.Source, File: s.Where(t.File), Line: t.Line, Message: printable(t.Message),
		})
	}
	if _, err := Evals(s); err != nil {
		found = append(found, skills.Problem{Severity: skills.Broken, Skill: s.Name, Source: s.Source, File: s.Where("evals"), Message: err.Error()})
	}
	return found, nil
}
