package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// makeRoom turns old turns into a summary, so that about keep tokens of the
// newest ones stay as they were. The summary is made from the journal without
// asking a model: it keeps the plan, what the agent said, each call with the
// beginning of its result, and the files.
func (l *loop) makeRoom(ctx context.Context, keep int) error {
	upto := l.boundary(keep)
	if upto <= l.through {
		return nil // nothing old is left
	}
	text, err := l.summary(upto, l.window*15/100)
	if err != nil {
		return err
	}
	return l.record(ctx, bot.StepNote, noteData{Kind: noteCompacted, Text: text, Upto: upto, spent: l.t.spent(0)})
}

// boundary finds the last step to compact: turns with their results stay
// together, and the newest one stays unless it alone is too long.
func (l *loop) boundary(keep int) uint64 {
	kept, upto := 0, uint64(0)
	size := 0
	for i := len(l.steps) - 1; i >= 0; i-- {
		step := l.steps[i]
		size += stepTokens(step)
		if step.Kind != bot.StepTurn {
			continue
		}
		newest := kept == 0
		if kept+size > keep && !(newest && size < l.window/2) {
			upto = l.lastOf(i)
			break
		}
		kept, size = kept+size, 0
	}
	return upto
}

// lastOf is the last step that belongs to the turn at index i.
func (l *loop) lastOf(i int) uint64 {
	last := l.steps[i].Seq
	for _, step := range l.steps[i+1:] {
		if step.Kind == bot.StepTurn {
			break
		}
		last = step.Seq
	}
	return last
}

// stepTokens guesses what a step's message costs.
func stepTokens(step bot.Step) int {
	switch step.Kind {
	case bot.StepTurn:
		if turn, err := readStep[turnData](step); err == nil {
			return messageTokens(Message{Content: turn.Text, Calls: turn.Calls})
		}
	case bot.StepTool:
		if tool, err := readStep[toolData](step); err == nil {
			return messageTokens(tool.message())
		}
	}
	return 0
}

// summary tells the steps up to upto in at most budget tokens; the older a
// turn, the less of it stays when room is short.
func (l *loop) summary(upto uint64, budget int) (string, error) {
	var story []string
	var files []string
	names := map[string]Call{}
	for _, step := range l.steps {
		if step.Seq > upto {
			break
		}
		switch step.Kind {
		case bot.StepTurn:
			turn, err := readStep[turnData](step)
			if err != nil {
				return "", err
			}
			if said := cleanLine(turn.Text, 400); said != "" {
				story = append(story, "You said: "+said)
			}
			for _, c := range turn.Calls {
				names[c.ID] = c
			}
		case bot.StepTool:
			tool, err := readStep[toolData](step)
			if err != nil {
				return "", err
			}
			call := names[tool.CallID]
			story = append(story, "- "+tool.Name+" "+cutText(cleanLine(string(call.Arguments), 240), 240)+"\n  → "+headTail(tool.Result, 700))
		case bot.StepProgram:
			if p, err := readStep[bot.Program](step); err == nil {
				for _, f := range p.Files {
					if !slices.Contains(files, f) {
						files = append(files, f)
					}
				}
			}
		case bot.StepNote:
			if note, err := readStep[noteData](step); err == nil && note.Kind == noteSay {
				story = append(story, "You were told: "+cleanLine(note.Text, 200))
			}
		}
	}
	return render("compacted.md", compactedPrompt{
		Todo: todoText(l.todo), Files: cleanLine(strings.Join(files, ", "), 2000), Story: fit(story, budget),
	})
}

// headTail keeps the beginning and the end of a result, where the figures are.
func headTail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return cutText(s, most*2/3) + " […] " + tailOf(s, most/3)
}

// fit shortens a story to budget tokens: first every line from the oldest on
// to its beginning, then the oldest are left out.
func fit(story []string, budget int) string {
	size := func(s string) int { return skills.EstimateTokens(s) + 1 }
	total := 0
	for _, s := range story {
		total += size(s)
	}
	for i := 0; i < len(story) && total > budget; i++ {
		short := cutText(story[i], 160)
		total -= size(story[i]) - size(short)
		story[i] = short
	}
	dropped := 0
	for len(story) > 1 && total > budget {
		total -= size(story[0])
		story = story[1:]
		dropped++
	}
	if dropped > 0 {
		story = append([]string{fmt.Sprintf("[%d older entries left out]", dropped)}, story...)
	}
	return strings.Join(story, "\n")
}
