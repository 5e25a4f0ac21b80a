package inert

import (
	"html"
	"strings"
)

// unescape takes the backslashes and entities out of a piece of source, so
// that what it shows is what is judged: "&#64;name" is a mention, too.
func unescape(source []byte) []byte {
	text := string(source)
	if strings.Contains(text, `\`) {
		var out strings.Builder
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", text[i+1]) >= 0 {
				i++
				if text[i] == '&' {
					out.WriteString("&amp;")
					continue
				}
			}
			out.WriteByte(text[i])
		}
		text = out.String()
	}
	// An encoded line break must not begin a line.
	return []byte(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' {
			return ' '
		}
		return r
	}, html.UnescapeString(text)))
}
