package sandbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleaner turns the raw bytes of a stream, as they come, into text that is
// safe to show: valid UTF-8, without terminal escapes and control characters
// but newline and tab. A lone carriage return becomes a newline.
type cleaner struct {
	rest  []byte // the start of a rune or of "\r\n" that is not complete yet
	state escape
	seen  int // bytes looked at
	odd   int // bytes that no text has
}

// escape is where in a terminal's escape sequence the cleaner stands.
type escape int

const (
	plain     escape = iota
	afterESC         // ESC came
	inCSI            // ESC [ came: ends with a byte in @ to ~
	inString         // ESC ] P X ^ _ came: ends with BEL or ESC \
	stringESC        // ESC within such a string
)

// add cleans the next bytes.
func (c *cleaner) add(p []byte) string {
	if len(c.rest) > 0 {
		p = append(c.rest, p...)
		c.rest = nil
	}
	var out strings.Builder
	out.Grow(len(p))
	for len(p) > 0 {
		if !utf8.FullRune(p) || (p[0] == '\r' && len(p) == 1) {
			c.rest = append([]byte(nil), p...)
			break
		}
		r, n := utf8.DecodeRune(p)
		c.seen += n
		if r == utf8.RuneError && n == 1 || r == 0 {
			c.odd++
		}
		crlf := r == '\r' && p[1] == '\n'
		p = p[n:]
		if !crlf {
			c.step(r, &out)
		}
	}
	return out.String()
}

// end cleans what was still incomplete.
func (c *cleaner) end() string {
	var out strings.Builder
	for range c.rest {
		c.seen++
		c.odd++
	}
	if len(c.rest) > 0 && c.rest[0] == '\r' {
		c.odd--
		c.step('\r', &out)
	} else if len(c.rest) > 0 {
		c.step(utf8.RuneError, &out)
	}
	c.rest = nil
	return out.String()
}

// binary reports whether what was seen looks like no text.
func (c *cleaner) binary() bool { return c.odd > 0 && c.odd*20 >= c.seen }

func (c *cleaner) step(r rune, out *strings.Builder) {
	switch c.state {
	case plain:
		c.plain(r, out)
	case afterESC:
		switch {
		case r == '[':
			c.state = inCSI
		case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
			c.state = inString
		case r >= ' ' && r <= '/': // an intermediate byte: one more follows
		default:
			c.state = plain
		}
	case inCSI:
		if r >= '@' && r <= '~' || r == '\n' {
			c.state = plain
		}
	case inString:
		switch r {
		case '\a', 0x9c, '\n':
			c.state = plain
		case 0x1b:
			c.state = stringESC
		}
	case stringESC:
		c.state = inString
		if r == '\\' {
			c.state = plain
		}
	}
}

func (c *cleaner) plain(r rune, out *strings.Builder) {
	switch {
	case r == 0x1b:
		c.state = afterESC
	case r == 0x9b:
		c.state = inCSI
	case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
		c.state = inString
	case r == '\r':
		out.WriteByte('\n')
	case r == '\n' || r == '\t' || !unicode.IsControl(r):
		out.WriteRune(r)
	}
}

// printable makes one safe line of at most limit runes out of any text.
func printable(text string, limit int) string {
	var c cleaner
	text = c.add([]byte(text)) + c.end()
	var out strings.Builder
	count := 0
	for _, r := range text {
		if count == limit {
			out.WriteRune('…')
			break
		}
		if r == '\n' || r == '\t' {
			r = ' '
		}
		if bidirectional(r) {
			continue
		}
		out.WriteRune(r)
		count++
	}
	return out.String()
}

// bidirectional reports whether r steers the direction of text, and so can
// make a name look like another.
func bidirectional(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

const (
	maxName  = 255  // bytes of one part of a path
	maxPath  = 1024 // bytes of a path
	maxDepth = 8    // folders below the collected one
)

// unsafeName says why a path that the guest named cannot be used as the name
// of a file, or "".
func unsafeName(path string) string {
	switch {
	case path == "":
		return "no name"
	case !utf8.ValidString(path):
		return "a name that is no UTF-8"
	case len(path) > maxPath:
		return "a name that is too long"
	case strings.HasPrefix(path, "/"):
		return "an absolute path"
	}
	for _, r := range path {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "a name with control characters"
		}
		if bidirectional(r) {
			return "a name with bidirectional control characters"
		}
		if r == '\\' {
			return "a name with a backslash"
		}
	}
	parts := strings.Split(path, "/")
	if len(parts) > maxDepth+1 {
		return "nested too deep"
	}
	for _, part := range parts {
		switch {
		case part == "" || part == "." || part == "..":
			return "a path that leaves its folder"
		case len(part) > maxName:
			return "a name that is too long"
		}
	}
	return ""
}
