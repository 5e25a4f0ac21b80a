package inert

import (
	"strings"
	"unicode/utf8"
)

// Split joins blocks into parts of at most limit characters each. A part ends
// between two blocks where it can; a block that is larger alone is cut at a
// line, and a fenced one is closed and opened again.
func Split(blocks []string, limit int) []string {
	var parts []string
	var part strings.Builder
	size := 0
	flush := func() {
		if size > 0 {
			parts = append(parts, part.String())
			part.Reset()
			size = 0
		}
	}
	for _, block := range blocks {
		for _, piece := range cut(block, limit) {
			n := utf8.RuneCountInString(piece)
			if size > 0 && size+2+n > limit {
				flush()
			}
			if size > 0 {
				part.WriteString("\n\n")
				size += 2
			}
			part.WriteString(piece)
			size += n
		}
	}
	flush()
	return parts
}

func cut(block string, limit int) []string {
	if utf8.RuneCountInString(block) <= limit {
		return []string{block}
	}
	open, shut := "", ""
	lines := strings.Split(block, "\n")
	if fence := fenceOf(lines[0]); fence != "" && len(lines) > 1 {
		open, shut = lines[0]+"\n", "\n"+fence
		lines = lines[1 : len(lines)-1]
	}
	room := max(limit-utf8.RuneCountInString(open)-utf8.RuneCountInString(shut), 1)
	var pieces, held []string
	size := 0
	for _, line := range lines {
		for _, piece := range chop(line, room) {
			n := utf8.RuneCountInString(piece)
			if len(held) > 0 && size+1+n > room {
				pieces = append(pieces, open+strings.Join(held, "\n")+shut)
				held, size = nil, 0
			}
			held = append(held, piece)
			size += n + 1
		}
	}
	if len(held) > 0 {
		pieces = append(pieces, open+strings.Join(held, "\n")+shut)
	}
	return pieces
}

// fenceOf returns the back-ticks that open a fenced block at the margin.
func fenceOf(line string) string {
	rest := strings.TrimLeft(line, "`")
	if n := len(line) - len(rest); n >= 3 {
		return line[:n]
	}
	return ""
}

// chop cuts one line into pieces of at most room characters.
func chop(line string, room int) []string {
	var out []string
	for utf8.RuneCountInString(line) > room {
		at := 0
		for range room {
			_, n := utf8.DecodeRuneInString(line[at:])
			at += n
		}
		out = append(out, line[:at])
		line = line[at:]
	}
	return append(out, line)
}
