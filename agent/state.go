package agent

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// state is what a conversation has come to: folded from its steps alone, so
// that a life that goes on knows what the one before knew.
type state struct {
	messages []Message
	tokens   int // estimate over messages
	steps    []bot.Step

	pending []Call       // calls without a result, in order
	orphan  *bot.Program // ran for pending[0], whose result is missing
	todo    []bot.TodoItem

	turns    int
	answered int // questions that were answered
	helpers  int // subagents made so far
	mended   bool
	warned   bool // told to wrap up
	idle     int  // turns in a row without a call
	useless  int  // turns in a row whose calls all failed
	cut      bool // the last turn was cut off by the output limit
	lastText string
	seen     map[string]int // call and result, counted
	repeated int            // most often that one pair was seen
	shares   []bot.Budgets  // of the delegation under way
	given    [][]bot.Input  // its inputs
	through  uint64         // last step that a summary stands for
	ended    *ending
}

// message adds one message to the conversation. What is said after something
// was said joins it: some servers insist that speakers take turns.
func (s *state) message(m Message) {
	if n := len(s.messages); n > 0 && m.Role == RoleUser && s.messages[n-1].Role == RoleUser {
		s.messages[n-1].Content += "\n\n" + m.Content
		s.tokens += messageTokens(m)
		return
	}
	s.messages = append(s.messages, m)
	s.tokens += messageTokens(m)
}

// messageTokens guesses what a message costs, rather too high.
func messageTokens(m Message) int {
	n := 6 + skills.EstimateTokens(m.Content)
	for _, c := range m.Calls {
		n += 12 + skills.EstimateTokens(c.Name) + skills.EstimateTokens(string(c.Arguments))
	}
	return n
}

// apply takes a step of this agent in. live is false when an earlier life
// recorded it: the workspace then learns of programs that it has not run.
func (l *loop) apply(step bot.Step, live bool) error {
	s := &l.state
	switch step.Kind {
	case bot.StepTurn:
		turn, err := readStep[turnData](step)
		if err != nil {
			return err
		}
		l.applyTurn(turn)
	case bot.StepTool:
		tool, err := readStep[toolData](step)
		if err != nil {
			return err
		}
		l.applyTool(tool)
	case bot.StepProgram:
		p, err := readStep[bot.Program](step)
		if err != nil {
			return err
		}
		if !live {
			l.w.log = append(l.w.log, entry{program: &p})
			s.orphan = &p
		}
	case bot.StepNote:
		note, err := readStep[noteData](step)
		if err != nil {
			return err
		}
		l.applyNote(note)
	}
	s.steps = append(s.steps, step)
	return nil
}

func (l *loop) applyTurn(turn turnData) {
	s := &l.state
	s.turns++
	s.pending, s.orphan = turn.Calls, nil
	s.message(Message{Role: RoleAssistant, Content: turn.Text, Calls: turn.Calls})
	if strings.TrimSpace(turn.Text) != "" {
		s.lastText = turn.Text
	}
	s.cut = turn.Finish == FinishLength
	if len(turn.Calls) == 0 {
		s.idle++
	} else {
		s.idle = 0
	}
	s.useless++ // until a call of it succeeds
	for _, share := range l.budget.shares() {
		share.bookTurn(turn.Usage, turn.CostUSD)
	}
}

func (l *loop) applyTool(tool toolData) {
	s := &l.state
	for i, c := range s.pending {
		if c.ID == tool.CallID {
			pair := fingerprint(c, tool.Result)
			s.seen[pair]++
			s.repeated = max(s.repeated, s.seen[pair])
			s.pending = append(s.pending[:i:i], s.pending[i+1:]...)
			s.helpers += len(s.shares)
			break
		}
	}
	s.orphan, s.shares = nil, nil
	s.message(tool.message())
	if tool.Todo != nil {
		s.todo = tool.Todo
	}
	if !tool.Failed {
		s.useless = 0
		if tool.Name == "ask_user" {
			s.answered++
		}
	}
	s.mended = s.mended || tool.Mend
	if len(tool.Puts) > 0 {
		l.w.log = append(l.w.log, entry{puts: tool.Puts})
	}
	if tool.Skill != "" {
		l.w.log = append(l.w.log, entry{skill: tool.Skill})
	}
	if tool.Ending != nil {
		s.ended = tool.Ending
	}
}

// message is the observation as the model reads it.
func (t toolData) message() Message {
	text := t.Result
	if t.Remark != "" {
		text += "\n" + t.Remark
	}
	return Message{Role: RoleTool, CallID: t.CallID, Content: text}
}

func (l *loop) applyNote(note noteData) {
	s := &l.state
	switch note.Kind {
	case noteSay:
		s.message(Message{Role: RoleUser, Content: note.Text})
		s.warned = s.warned || note.Wrapup
		s.mended = s.mended || note.Mend
	case noteCompacted:
		l.compact(note)
	case noteShared:
		s.shares, s.given = note.Shares, note.Given
	case noteEnded:
		s.ended = note.Ending
	}
}

// compact rebuilds the conversation: its opening, the summary, and what came
// after the steps that the summary stands for.
func (l *loop) compact(note noteData) {
	s := &l.state
	s.messages, s.tokens, s.through = nil, 0, note.Upto
	for _, m := range l.opening {
		s.message(m)
	}
	s.message(Message{Role: RoleUser, Content: note.Text})
	for _, step := range s.steps {
		if step.Seq <= note.Upto {
			continue
		}
		switch step.Kind {
		case bot.StepTurn:
			if turn, err := readStep[turnData](step); err == nil {
				s.message(Message{Role: RoleAssistant, Content: turn.Text, Calls: turn.Calls})
			}
		case bot.StepTool:
			if tool, err := readStep[toolData](step); err == nil {
				s.message(tool.message())
			}
		case bot.StepNote:
			if say, err := readStep[noteData](step); err == nil && say.Kind == noteSay {
				s.message(Message{Role: RoleUser, Content: say.Text})
			}
		}
	}
}

// fingerprint tells whether a call and its result were there before.
func fingerprint(c Call, result string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", c.Name, c.Arguments, withoutTimes(result)))
	return string(sum[:12])
}

// withoutTimes drops the line that says how long a program ran.
func withoutTimes(result string) string {
	if rest, ok := strings.CutPrefix(result, "verdict: "); ok {
		if head, tail, ok := strings.Cut(rest, "\n"); ok {
			verdict, _, _ := strings.Cut(head, ",")
			return verdict + "\n" + tail
		}
	}
	return result
}

// callID makes the id of a turn's call: nine letters and digits, which every
// server takes, and the same in each life.
func callID(agent string, turn, call int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", agent, turn, call))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:9]
}
