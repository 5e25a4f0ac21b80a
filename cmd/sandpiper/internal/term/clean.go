// Package term writes for people at a terminal: untrusted text made harmless,
// tables, live progress.
package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes untrusted text harmless for a terminal: escape sequences,
// control characters but newline and tab, and characters that change the
// direction or hide text are left out, invalid UTF-8 is replaced.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for len(s) > 0 {
		if n := escapeLength(s); n > 0 {
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if s = s[size:]; harmless(r) {
			out.WriteRune(r) // an invalid byte becomes U+FFFD
		}
	}
	return out.String()
}

// Line is Clean for what must stay on one line.
func Line(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

func harmless(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case unicode.IsControl(r): // C0, DEL, C1
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return false // direction
	case r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return false // invisible
	case r == 0x2028 || r == 0x2029:
		return false // line breaks that are not ours
	}
	return true
}

// escapeLength is the length of the escape sequence that s begins with, 0
// when it begins with none. An unfinished sequence reaches to the end of its
// line.
func escapeLength(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	var kind byte
	switch {
	case r == 0x1b && len(s) > size:
		kind = s[size]
		size++
	case r == 0x1b:
		return size
	case r == 0x9b:
		kind = '['
	case r == 0x9d || r == 0x90 || r == 0x98 || r == 0x9e || r == 0x9f:
		kind = ']'
	default:
		return 0
	}
	switch kind {
	case '[': // CSI: parameters, then one final byte
		for i := size; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // strings that end with BEL or ST
		for i := size; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			case strings.HasPrefix(s[i:], "\u009c"):
				return i + len("\u009c")
			}
		}
		return len(s)
	}
	return size
}
