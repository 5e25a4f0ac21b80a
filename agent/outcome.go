package agent

import (
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// outcome makes the answer of a message and what was stored: files that could
// not be read, were changed or are not delivered are named in it.
func (t *task) outcome(message string, s stored, end *ending) bot.Outcome {
	parts := []string{bot.CloseFence(strings.TrimSpace(message))}
	if unread := problems(t.run.Task.Inputs); unread != "" {
		parts = append(parts, t.words.Unread+"\n"+unread)
	}
	if len(s.notes) > 0 {
		parts = append(parts, t.words.FileNotes+"\n- "+strings.Join(s.notes, "\n- "))
	}
	o := bot.Outcome{State: bot.TaskDone, Files: s.files, Undelivered: s.skipped}
	if end != nil {
		o.Files = order(s.files, end.Order)
		o.Partial = end.Partial != ""
	}
	o.Message = strings.Join(parts, "\n\n")
	return o
}
