package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// frame marks text of files, programs and skills as data. The mark holds a
// number that is the task's own, so that the text cannot pretend to end it.
func (t *task) frame(source, text string) string {
	mark := t.mark()
	text = strings.ReplaceAll(harmless(text), mark, "")
	return "<data-" + mark + " from=\"" + strings.ReplaceAll(cleanLine(source, 120), `"`, "'") + "\">\n" +
		strings.TrimRight(text, "\n") + "\n</data-" + mark + ">"
}

// mark is the same in each life of the task, for prompts must not change.
func (t *task) mark() string {
	sum := sha256.Sum256([]byte("frame " + t.run.Task.ID))
	return hex.EncodeToString(sum[:4])
}

// harmless takes out what only deceives eyes and terminals: control and
// bidirectional characters, and invisible tags.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r >= 0xe0000 && r <= 0xe007f, r == '\u200b', r == '\ufeff':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}
