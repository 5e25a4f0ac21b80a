package agent

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// outcome makes the answer of a message and what was stored: files that could
// not be read, were changed or are not delivered are named in it.
func (t *task) outcome(message string, s stored, end *ending) bot.Outcome {
	parts := []string{bot.CloseFence(strings.TrimSpace(message))}
	if unread := problems(unmade(t.run.Task.Inputs, s.files)); unread != "" {
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

// unmade leaves out the inputs that the text may have meant as names of files
// to be made, and that were made.
func unmade(inputs []bot.Input, made []bot.Artifact) []bot.Input {
	return slices.DeleteFunc(slices.Clone(inputs), func(in bot.Input) bool {
		return in.Maybe && slices.ContainsFunc(made, func(f bot.Artifact) bool {
			return strings.EqualFold(path.Base(f.Name), in.Name)
		})
	})
}

// naming names the inputs that could not be read in a failure, too: they may be
// why it failed.
func (t *task) naming(err error) error {
	var failed *bot.TaskError
	unread := problems(t.run.Task.Inputs)
	if unread == "" || !errors.As(err, &failed) || strings.Contains(failed.Message, unread) {
		return err
	}
	told := *failed
	told.Message += "\n\n" + t.words.Unread + "\n" + unread
	return &told
}
