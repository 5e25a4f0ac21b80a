package bot

import "strings"

// CloseFence ends a fenced code block that markdown leaves open, so that what is
// appended to it is text again: models and programs forget the last fence.
func CloseFence(markdown string) string {
	open := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n")
		text := strings.TrimLeft(line, " ")
		if len(line)-len(text) > 3 {
			continue
		}
		// A fence inside a quote or a list ends with them; one that does not
		// begin its line is none.
		mark := fenceOf(text)
		rest := text[len(mark):]
		switch {
		case mark == "":
		case open == "" && (mark[0] == '~' || !strings.Contains(rest, "`")):
			open = mark
		case open != "" && mark[0] == open[0] && len(mark) >= len(open) && strings.TrimSpace(rest) == "":
			open = ""
		}
	}
	if open == "" {
		return markdown
	}
	return strings.TrimRight(markdown, "\n") + "\n" + open
}

// fenceOf is the run of at least three backticks or tildes that a line begins
// with, or "".
func fenceOf(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	mark := text[:len(text)-len(strings.TrimLeft(text, text[:1]))]
	if len(mark) < 3 {
		return ""
	}
	return mark
}
