package agent

import (
	"strings"
	"unicode"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// mostDetail bounds what Detail gives, in bytes.
const mostDetail = 64 << 10

// Plan returns the lead's todo list as it last stood; nil where it made none.
func Plan(steps []bot.Step) []bot.TodoItem {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Kind != bot.StepTool || steps[i].Agent != lead {
			continue
		}
		if tool, err := readStep[toolData](steps[i]); err == nil && tool.Todo != nil {
			return tool.Todo
		}
	}
	return nil
}

// Detail tells what Describe leaves out of a step: the profile that a model
// saw, all that it said and with which arguments it called, a tool's whole
// result. It has no control characters but line ends and tabs; empty where
// there is nothing more to tell.
func Detail(step bot.Step) string {
	var text string
	switch step.Kind {
	case bot.StepProfile:
		if p, err := readStep[profileData](step); err == nil {
			text = p.Text
		}
	case bot.StepTurn:
		if turn, err := readStep[turnData](step); err == nil {
			text = detailTurn(turn)
		}
	case bot.StepTool:
		if tool, err := readStep[toolData](step); err == nil {
			text = tool.Result
			if tool.Remark != "" {
				text += "\n" + tool.Remark
			}
		}
	case bot.StepNote:
		if note, err := readStep[noteData](step); err == nil {
			text = strings.Join(append([]string{note.Text}, note.Notes...), "\n")
		}
	case bot.StepProgram: // a Program, which everybody can read
	}
	return cleanText(text, mostDetail)
}

// detailTurn leaves out code, which the program's own step tells.
func detailTurn(turn turnData) string {
	parts := []string{turn.Text}
	for _, c := range turn.Calls {
		if c.Name != "execute_code" {
			parts = append(parts, c.Name+" "+string(c.Arguments)+c.Problem)
		}
	}
	return strings.Join(parts, "\n")
}

// cleanText cuts text and drops what steers terminals and readers.
func cleanText(s string, most int) string {
	cut := len(s) > most
	if cut {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if cut {
		s += "…"
	}
	return strings.TrimSpace(s)
}
