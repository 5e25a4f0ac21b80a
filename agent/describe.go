package agent

import (
	"fmt"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// Describe tells one journaled step in a line or a few, as a part of the
// story of its run. What came from files and programs is cut and has no
// control characters.
func Describe(step bot.Step) string {
	text := string(step.Kind)
	switch step.Kind {
	case bot.StepProfile:
		if p, err := readStep[profileData](step); err == nil {
			text = describeProfile(p)
		}
	case bot.StepTurn:
		if turn, err := readStep[turnData](step); err == nil {
			text = describeTurn(turn)
		}
	case bot.StepTool:
		if tool, err := readStep[toolData](step); err == nil {
			text = describeTool(tool)
		}
	case bot.StepProgram:
		if p, err := readStep[bot.Program](step); err == nil {
			text = describeProgram(p)
		}
	case bot.StepNote:
		if note, err := readStep[noteData](step); err == nil {
			text = describeNote(note)
		}
	}
	if step.Agent != lead {
		text = step.Agent + ": " + text
	}
	return text
}

func describeProfile(p profileData) string {
	var names []string
	for _, in := range p.Inputs {
		if in.Blob != "" {
			names = append(names, cleanLine(in.Name, 80))
		}
	}
	if len(names) == 0 {
		return "no input files"
	}
	text := "read " + strings.Join(names, ", ")
	if p.Problem != "" {
		text += ": " + p.Problem
	}
	return text
}

func describeTurn(turn turnData) string {
	var parts []string
	if said := cleanLine(turn.Text, 160); said != "" {
		parts = append(parts, "said “"+said+"”")
	}
	for _, c := range turn.Calls {
		parts = append(parts, "calls "+cleanLine(c.Name, 60))
	}
	if len(parts) == 0 {
		parts = append(parts, "gave an empty answer")
	}
	text := fmt.Sprintf("model %s (%d + %d tokens)", strings.Join(parts, ", "), turn.Usage.Input, turn.Usage.Output)
	if turn.Finish == FinishLength {
		text += ", cut off by the output limit"
	}
	if turn.Retries > 0 {
		text += fmt.Sprintf(", after %d failed tries", turn.Retries)
	}
	return text
}

func describeTool(tool toolData) string {
	if tool.Todo != nil {
		return tool.Name + "\n" + todoText(tool.Todo)
	}
	word := "→"
	if tool.Failed {
		word = "→ failed:"
	}
	return tool.Name + " " + word + " " + cleanLine(tool.Result, 200)
}

func describeProgram(p bot.Program) string {
	text := fmt.Sprintf("ran %s: %s, %.1f s", p.Language, p.Verdict, p.Seconds)
	if p.Title != "" {
		text = fmt.Sprintf("ran %s (%s): %s, %.1f s", cleanLine(p.Title, 60), p.Language, p.Verdict, p.Seconds)
	}
	if len(p.Files) > 0 {
		text += ", wrote " + cleanLine(strings.Join(p.Files, ", "), 200)
	}
	if p.Verdict == string(sandbox.OK) {
		return text
	}
	for _, line := range lastLines(orText(strings.TrimSpace(p.Stderr), p.Stdout), 4) {
		text += "\n    " + line
	}
	return text
}

// lastLines gives the last lines of a program's output that are not empty, at
// most most of them, cut and without control characters.
func lastLines(output string, most int) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = cleanLine(line, 200); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-most):]
}

func describeNote(note noteData) string {
	switch note.Kind {
	case noteSay:
		return "told the model: " + cleanLine(note.Text, 160)
	case noteCompacted:
		return fmt.Sprintf("put the steps up to %d together, to save room", note.Upto)
	case noteShared:
		return fmt.Sprintf("parted the budget among %d helpers", len(note.Shares))
	case noteSkill:
		if len(note.Matched) > 0 {
			return "chose the skill " + cleanLine(note.Skill, 60) + ", because the request says " + cleanLine(strings.Join(note.Matched, ", "), 120)
		}
		return "took the skill " + cleanLine(note.Skill, 60)
	case noteImage:
		if note.Text == "" {
			return "compared the report " + cleanLine(note.Skill, 60) + " in this image: it gives what it gave"
		}
		return "compared the report " + cleanLine(note.Skill, 60) + " in this image: " + cleanLine(note.Text, 200)
	case noteEnded:
		return "ended: " + orText(cleanLine(note.Text, 200), "with text as its answer")
	case noteArtifacts:
		var names []string
		for _, f := range note.Files {
			names = append(names, cleanLine(f.Name, 80))
		}
		return fmt.Sprintf("stored %d files %s", len(names), strings.Join(names, ", "))
	}
	return string(note.Kind)
}
