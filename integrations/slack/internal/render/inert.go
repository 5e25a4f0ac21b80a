package render

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Inert makes text harmless and legible for a mrkdwn object or a message's
// text: addresses and mentions stand in code spans, &, < and > are escaped, and
// code spans stay. Markdown's bold and list marks, which mrkdwn does not know,
// become its own. It is cut to limit runes.
func Inert(text string, limit int) string {
	var out strings.Builder
	code := func(s string) {
		if s = strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")); s == "" {
			return
		}
		if at := out.String(); strings.HasSuffix(at, "`") || strings.HasSuffix(at, `\`) {
			out.WriteByte(' ')
		}
		out.WriteString("`" + escape(s) + "`")
	}
	for i, part := range spans(Cut(text, limit)) {
		if i%2 == 1 {
			code(part)
			continue
		}
		for _, p := range pieces(part, nil) {
			if p.code {
				code(p.text)
				continue
			}
			out.WriteString(escape(p.text))
		}
	}
	return cutEscaped(marks(out.String()), limit)
}

var (
	// bold finds bold text, which may hold code spans, and passes over code.
	bold   = regexp.MustCompile("`[^`]*`|\\*\\*((?:`[^`\n]*`|[^*`\n])+)\\*\\*")
	bullet = regexp.MustCompile(`(?m)^( *)[-*] `)
)

// marks turns Markdown's bold and list marks into those of mrkdwn. Within a
// word there is no bold: 2**3**4 stays what it is.
func marks(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range bold.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		if m[2] < 0 || wordAt(text[:start], text[end:]) || strings.TrimSpace(text[m[2]:m[3]]) != text[m[2]:m[3]] {
			continue
		}
		out.WriteString(text[at:start] + "*" + text[m[2]:m[3]] + "*")
		at = end
	}
	out.WriteString(text[at:])
	return bullet.ReplaceAllString(out.String(), "$1• ")
}

// wordAt reports whether a word touches the place between before and after.
func wordAt(before, after string) bool {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '*' }
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return word(last) || word(first)
}

// spans splits text at its backticks: every second part is a code span. A
// backtick without its like becomes an apostrophe, for mrkdwn has no escape.
func spans(text string) []string {
	parts := strings.Split(text, "`")
	if last := len(parts) - 1; last%2 == 1 {
		parts = append(parts[:last-1], parts[last-1]+"'"+parts[last])
	}
	return parts
}

// Cut shortens text to at most limit runes, with an ellipsis where it was cut.
func Cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimRight(string(runes[:limit-1]), " \n") + "…"
}

// cutEscaped shortens escaped text without leaving half an entity or an open
// code span.
func cutEscaped(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	cut := string(runes[:limit-2])
	if amp := strings.LastIndexByte(cut, '&'); amp >= 0 && !strings.Contains(cut[amp:], ";") {
		cut = cut[:amp]
	}
	cut += "…"
	if strings.Count(cut, "`")%2 == 1 {
		cut += "`"
	}
	return cut
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// piece is a run of text that is shown as it is, as code, or as a live link.
type piece struct {
	text string
	code bool
	live bool
}

// dangerous finds what Slack would make a link or a ping of: addresses with
// and without a scheme, mail addresses, Slack's own control sequences and the
// mentions of whole channels.
var dangerous = regexp.MustCompile(`(?i)` +
	`<[@!#][^>\s]*>` +
	`|[a-z][a-z0-9+.-]{1,20}:(?://|\\\\)[^\s<>"'` + "`" + `|]+` +
	`|(?:mailto:|tel:|sms:|data:|javascript:|www\.)[^\s<>"'` + "`" + `|]+` +
	`|[\w.+-]+@[\w-]+(?:\.[\w-]+)+` +
	`|@(?:channel|here|everyone)` +
	`|(?:[\p{L}\p{N}_-]+\.)+[a-z]{2,24}(?::\d+)?(?:[/?#][^\s<>"'` + "`" + `|]*)?`)

// pieces splits text into harmless runs and what must be shown as code; the
// exact addresses in links stay live.
func pieces(text string, links []string) []piece {
	var out []piece
	at := 0
	for _, span := range dangerous.FindAllStringIndex(text, -1) {
		start, end := span[0], span[1]
		found := strings.TrimRight(text[start:end], ".,;:!?)*_~")
		if found == "" || start < at {
			continue
		}
		end = start + len(found)
		if start > at {
			out = append(out, piece{text: text[at:start]})
		}
		live := slices.Contains(links, found)
		out = append(out, piece{text: found, code: !live, live: live})
		at = end
	}
	if at < len(text) {
		out = append(out, piece{text: text[at:]})
	}
	return out
}
