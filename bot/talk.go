package bot

import (
	"slices"
	"strings"
	"unicode"
)

// Talk is a Channel where people talk: an answer's files interrupt them there,
// so those that merely accompany it (Artifact.Auxiliary) are left out and named
// instead. They go along where the request asks for them, and where the answer
// cannot be shown whole without them.
type Talk interface {
	// Fits reports whether message can be shown whole.
	Fits(message string) bool
}

// filesFor sorts the files of an outcome into those that go to a place and those
// that are only named there.
func (o *Orchestrator) filesFor(t *Task, place Origin, message string) (sent, named []Artifact) {
	talk, ok := o.opts.Channels[place.Adapter].(Talk)
	if !ok || !talk.Fits(message) {
		return t.Outcome.Files, nil
	}
	for _, f := range t.Outcome.Files {
		if f.Auxiliary && !t.asksFor(f.Name) {
			named = append(named, f)
		} else {
			sent = append(sent, f)
		}
	}
	return sent, named
}

// asksFor reports whether the request names a file, or its kind: "as JSON".
func (t *Task) asksFor(name string) bool {
	texts := []string{t.Event.Text}
	for _, a := range t.Answers {
		texts = append(texts, a.Text)
	}
	name = strings.ToLower(name)
	_, kind, _ := cutLast(name, '.')
	kinds := []string{kind}
	if kind == "md" {
		kinds = append(kinds, "markdown")
	}
	for _, text := range texts {
		text = strings.ToLower(text)
		words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if strings.Contains(text, name) || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(kinds, w) }) {
			return true
		}
	}
	return false
}

// cutLast is strings.Cut around the last sep.
func cutLast(s string, sep byte) (before, after string, found bool) {
	if at := strings.LastIndexByte(s, sep); at >= 0 {
		return s[:at], s[at+1:], true
	}
	return s, "", false
}

// remarkNamed is the line that names files that were made and are not sent.
func remarkNamed(files []Artifact) string {
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, "`"+strings.ReplaceAll(f.Name, "`", "'")+"`")
	}
	return "Also made: " + strings.Join(names, ", ") + ". Ask for one by its name to get it here."
}
