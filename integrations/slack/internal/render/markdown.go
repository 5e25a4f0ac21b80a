package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Markdown renders source as parts of harmless Markdown, each at most limit
// runes long and whole by itself: a part never ends inside a code fence, and a
// table's head stands again on each part. links are the exact addresses that
// stay links.
func Markdown(source string, links []string, limit int) []string {
	r := &renderer{source: []byte(source), links: links}
	doc := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).
		Parser().Parse(text.NewReader(r.source))
	return pack(r.blocks(doc), limit)
}

// Plain renders source as harmless text of at most limit runes for a
// notification, where no formatting is shown.
func Plain(source string, limit int) string {
	r := &renderer{source: []byte(source)}
	doc := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).
		Parser().Parse(text.NewReader(r.source))
	var lines []string
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if line := strings.TrimSpace(r.plain(n)); line != "" {
			lines = append(lines, line)
		}
	}
	return Inert(strings.Join(lines, "\n"), limit)
}

type renderer struct {
	source []byte
	links  []string
}

// chunk is one block of the document, with what splitting it needs to know.
type chunk struct {
	text string
	// fence is the opening fence of a code block, head the lines that stand
	// again on each part of a drawn table.
	fence string
	head  string
}

// blocks renders the children of a container.
func (r *renderer) blocks(parent ast.Node) []chunk {
	var out []chunk
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.List:
			out = append(out, r.list(n)...)
		case *ast.Blockquote:
			out = append(out, quote(r.blocks(n))...)
		default:
			if c := r.block(n); c.text != "" {
				out = append(out, c)
			}
		}
	}
	return out
}

func (r *renderer) block(n ast.Node) chunk {
	switch n := n.(type) {
	case *ast.Heading:
		return chunk{text: strings.Repeat("#", min(n.Level, 3)) + " " + strings.ReplaceAll(r.inlines(n), "\n", " ")}
	case *ast.ThematicBreak:
		return chunk{text: "---"}
	case *ast.FencedCodeBlock:
		return r.code(n, string(n.Language(r.source)))
	case *ast.CodeBlock:
		return r.code(n, "")
	case *ast.HTMLBlock:
		html := r.lines(n)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(r.source))
		}
		return fenced(html, "")
	case *east.Table:
		return r.table(n)
	case *ast.LinkReferenceDefinition:
		return chunk{}
	}
	return chunk{text: r.inlines(n)}
}

// list renders a list. Code in an item stands behind it at the margin: a fence
// inside of a list is shown by some clients only, and could not be split.
func (r *renderer) list(n *ast.List) []chunk {
	var out []chunk
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		first, rest := mark, strings.Repeat(" ", len(mark))
		for _, c := range r.blocks(item) {
			if c.fence != "" {
				out = append(out, c)
				continue
			}
			c.text, first = prefix(c.text, first, rest), rest
			out = appendText(out, c, n.IsTight)
		}
	}
	return out
}

// appendText adds c to the text chunk before it, so that a list stays in one,
// or as a chunk of its own behind code.
func appendText(out []chunk, c chunk, tight bool) []chunk {
	if len(out) == 0 || out[len(out)-1].fence != "" {
		return append(out, c)
	}
	separator := "\n\n"
	if tight {
		separator = "\n"
	}
	out[len(out)-1].text += separator + c.text
	return out
}

// quote puts a bar before each line of text; code stands at the margin.
func quote(chunks []chunk) []chunk {
	for i, c := range chunks {
		if c.fence == "" {
			chunks[i].text = prefix(c.text, "> ", "> ")
		}
	}
	return chunks
}

func (r *renderer) code(n ast.Node, language string) chunk {
	return fenced(r.lines(n), language)
}

// word is what a fence may name as its language: nothing that Slack links.
var word = regexp.MustCompile(`^[A-Za-z0-9+#-]{1,20}$`)

// fenced wraps code in a fence that is longer than any in it. Runs of ten
// backticks and more are no fence of anybody's and become apostrophes.
func fenced(code, language string) chunk {
	const longest = "``````````"
	mark := "```"
	for strings.Contains(code, mark) && len(mark) < len(longest) {
		mark += "`"
	}
	code = strings.ReplaceAll(code, longest, strings.Repeat("'", len(longest)))
	if !word.MatchString(language) {
		language = ""
	}
	return chunk{text: mark + language + "\n" + strings.TrimRight(code, "\n") + "\n" + mark, fence: mark + language}
}

func (r *renderer) lines(n ast.Node) string {
	var out strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out.Write(segment.Value(r.source))
	}
	return out.String()
}

// inlines renders the inline children of n.
func (r *renderer) inlines(n ast.Node) string {
	var out, raw strings.Builder
	flush := func() {
		writeSpan(&out, r.text(raw.String()))
		raw.Reset()
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			// What stands around a "<" comes in several pieces: joined, so that
			// nothing dangerous hides between them.
			raw.WriteString(unescapeText(string(c.Segment.Value(r.source))))
			if c.HardLineBreak() || c.SoftLineBreak() {
				raw.WriteByte('\n')
			}
			continue
		case *ast.String:
			raw.WriteString(string(c.Value))
			continue
		}
		flush()
		writeSpan(&out, r.inline(c))
	}
	flush()
	return strings.TrimRight(out.String(), "\n")
}

func (r *renderer) inline(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CodeSpan:
		return codeSpan(r.plain(n))
	case *ast.Emphasis:
		mark := strings.Repeat("*", n.Level)
		if n.Level == 1 {
			mark = "_"
		}
		return surround(r.inlines(n), mark)
	case *east.Strikethrough:
		return surround(r.inlines(n), "~~")
	case *ast.Link:
		return r.link(n, string(n.Destination))
	case *ast.Image:
		return r.link(n, string(n.Destination))
	case *ast.AutoLink:
		return r.text(string(n.URL(r.source)))
	case *ast.RawHTML:
		var html strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			html.Write(segment.Value(r.source))
		}
		return codeSpan(html.String())
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "☑ "
		}
		return "☐ "
	}
	return r.text(r.plain(n))
}

// link renders a link or an image: live where the asker typed its address,
// otherwise the label and the address as code.
func (r *renderer) link(n ast.Node, destination string) string {
	label := strings.TrimSpace(r.plain(n))
	if _, image := n.(*ast.Image); !image && slices.Contains(r.links, destination) && !strings.ContainsAny(destination, "()<> ") {
		if label == destination || label == "" {
			return destination
		}
		if slices.ContainsFunc(pieces(label, nil), func(p piece) bool { return p.code }) {
			// A label that is itself an address could promise another place.
			return r.text(label) + " (" + destination + ")"
		}
		return "[" + escapeMarkdown(label) + "](" + destination + ")"
	}
	switch {
	case destination == "" || strings.HasPrefix(destination, "#"):
		return r.text(label)
	case label == "" || label == destination:
		return codeSpan(destination)
	}
	return r.text(label) + " (" + codeSpan(destination) + ")"
}

// text renders literal text: escaped, with what is dangerous as code.
func (r *renderer) text(s string) string {
	var out strings.Builder
	for _, p := range pieces(s, r.links) {
		switch {
		case p.code:
			writeSpan(&out, codeSpan(p.text))
		case p.live:
			out.WriteString(p.text)
		default:
			out.WriteString(escapeMarkdown(p.text))
		}
	}
	return out.String()
}

// plain is the bare text below n.
func (r *renderer) plain(n ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				out.Write(n.Segment.Value(r.source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					out.WriteByte('\n')
				}
			}
		case *ast.String:
			if entering {
				out.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				out.Write(n.URL(r.source))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				out.WriteString(r.lines(n))
			}
		case *ast.ListItem, *ast.Paragraph, *ast.TextBlock, *east.TableRow, *east.TableHeader:
			if !entering && !strings.HasSuffix(out.String(), "\n") {
				out.WriteByte('\n')
			}
		case *east.TableCell:
			if !entering && n.NextSibling() != nil {
				out.WriteString("  ")
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// codeSpan wraps s in backticks. Backticks in it become apostrophes: a span
// that is cut into two parts can then be closed and opened again safely.
func codeSpan(s string) string {
	s = strings.TrimSpace(strings.NewReplacer("\n", " ", "`", "'").Replace(s))
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// writeSpan appends s. Two code spans that touch would become one with other
// ends: a blank keeps them apart.
func writeSpan(out *strings.Builder, s string) {
	if strings.HasPrefix(s, "`") && strings.HasSuffix(out.String(), "`") {
		out.WriteByte(' ')
	}
	out.WriteString(s)
}

// surround puts mark around text, leaving blanks outside.
func surround(s, mark string) string {
	inner := strings.TrimSpace(s)
	if inner == "" {
		return s
	}
	at := strings.Index(s, inner)
	return s[:at] + mark + inner + mark + s[at+len(inner):]
}

// unescapeText takes away the backslashes of Markdown's escapes.
func unescapeText(s string) string {
	if !strings.Contains(s, `\`) && !strings.Contains(s, "&") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			continue
		}
		out.WriteByte(s[i])
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&nbsp;", " ", "&amp;", "&").Replace(out.String())
}

// escapeMarkdown makes literal text show as it is in Slack's Markdown.
func escapeMarkdown(s string) string {
	var out strings.Builder
	start := true // of a line
	for i, c := range s {
		switch {
		case c == '&':
			out.WriteString("&amp;")
		case c == '<':
			out.WriteString("&lt;")
		case c == '>':
			out.WriteString("&gt;")
		case strings.ContainsRune("\\`*_~[]|", c):
			out.WriteString("\\" + string(c))
		case start && strings.ContainsRune("#+-=", c):
			out.WriteString("\\" + string(c))
		case (c == '.' || c == ')') && numbered(s[:i]):
			out.WriteString("\\" + string(c))
		default:
			out.WriteRune(c)
		}
		start = c == '\n' || start && c == ' '
	}
	return out.String()
}

// numbered reports whether the last line of s is only digits, as of a list.
func numbered(s string) bool {
	line := strings.TrimLeft(s[strings.LastIndexByte(s, '\n')+1:], " ")
	return line != "" && len(line) < 10 && strings.Trim(line, "0123456789") == ""
}

func prefix(s, first, rest string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = first + line
		case line == "" && strings.TrimSpace(rest) == "":
		default:
			lines[i] = strings.TrimRight(rest+line, " ")
		}
	}
	return strings.Join(lines, "\n")
}
