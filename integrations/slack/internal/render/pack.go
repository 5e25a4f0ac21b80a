package render

import (
	"strings"
	"unicode/utf8"
)

// pack puts chunks into parts of at most limit runes, splitting only those
// that do not fit a part by themselves.
func pack(chunks []chunk, limit int) []string {
	var parts []string
	var current strings.Builder
	flush := func() {
		if current.Len() > 0 {
			parts = append(parts, current.String())
			current.Reset()
		}
	}
	for _, c := range chunks {
		for _, piece := range split(c, limit) {
			if current.Len() > 0 && length(current.String())+2+length(piece) > limit {
				flush()
			}
			if current.Len() > 0 {
				current.WriteString("\n\n")
			}
			current.WriteString(piece)
		}
	}
	flush()
	return parts
}

// split cuts one chunk into pieces of at most limit runes: code between its
// lines with the fence closed and opened again, other text between lines, or
// words where a line is too long.
func split(c chunk, limit int) []string {
	if length(c.text) <= limit {
		return []string{c.text}
	}
	if c.fence == "" {
		return splitText(c.text, limit)
	}
	closing := c.fence[:len(c.fence)-len(strings.TrimLeft(c.fence, "`"))]
	body := strings.TrimSuffix(strings.TrimPrefix(c.text, c.fence+"\n"), "\n"+closing)
	room := limit - length(c.fence) - length(closing) - 2
	head := ""
	if c.head != "" && length(c.head)+1 < room/2 {
		head = c.head + "\n"
		body = strings.TrimPrefix(body, head)
		room -= length(head)
	}
	var out []string
	for _, piece := range cutLines(body, room) {
		out = append(out, c.fence+"\n"+head+strings.Trim(piece, "\n")+"\n"+closing)
	}
	return out
}

// splitText cuts text that is no code, and mends code spans that were cut.
func splitText(text string, limit int) []string {
	const ticks = 2 // what balanced may add
	return balanced(cutLines(text, limit-ticks))
}

// cutLines cuts text at line ends, else at blanks, else anywhere.
func cutLines(text string, limit int) []string {
	var out []string
	limit = max(limit, 1)
	for length(text) > limit {
		at := byteAt(text, limit)
		head := text[:at]
		switch {
		case strings.LastIndexByte(head, '\n') > 0:
			at = strings.LastIndexByte(head, '\n')
		case strings.LastIndexByte(head, ' ') > at/2:
			at = strings.LastIndexByte(head, ' ')
		}
		// A backslash stays with what it escapes.
		if back := at - len(strings.TrimRight(text[:at], `\`)); back%2 == 1 && at > 1 {
			at--
		}
		out = append(out, text[:at])
		text = strings.TrimPrefix(strings.TrimPrefix(text[at:], "\n"), " ")
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// balanced closes a code span that was cut and opens it again on the next
// piece, so that nothing in it comes to life.
func balanced(pieces []string) []string {
	open := false
	for i, p := range pieces {
		if open {
			p = reopen(p)
		}
		if open = oddTicks(p); open {
			p = shut(p)
		}
		pieces[i] = p
	}
	return pieces
}

// reopen begins a code span again, or ends it where nothing of it is left: two
// backticks that touch would be another mark.
func reopen(p string) string {
	if strings.HasPrefix(p, "`") {
		return p[1:]
	}
	return "`" + p
}

// shut ends an open code span, or leaves it to the next piece where it has only
// begun.
func shut(p string) string {
	if strings.HasSuffix(p, "`") {
		return p[:len(p)-1]
	}
	return p + "`"
}

// oddTicks reports whether s ends inside a code span. Backslashes escape
// outside of spans only.
func oddTicks(s string) bool {
	open := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && !open:
			i++
		case s[i] == '`':
			open = !open
		}
	}
	return open
}

func length(s string) int { return utf8.RuneCountInString(s) }

// byteAt is the byte offset of the n-th rune.
func byteAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Code wraps code in mrkdwn's fences, in parts of at most limit runes.
func Code(code string, limit int) []string {
	code = escape(strings.ReplaceAll(code, "```", "'''"))
	var out []string
	for _, part := range cutLines(strings.TrimRight(code, "\n"), limit-8) {
		out = append(out, "```\n"+part+"\n```")
	}
	return out
}
