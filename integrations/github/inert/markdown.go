package inert

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxDepth bounds nested lists and quotes; deeper ones are flattened.
const maxDepth = 12

// Markdown rewrites source and returns its top-level blocks, to be joined by
// blank lines. links are the exact URLs that stay live.
func Markdown(source string, links []string) []string {
	source = strings.ToValidUTF8(strings.ReplaceAll(source, "\r\n", "\n"), "\uFFFD")
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	w := &writer{source: []byte(source), live: map[string]bool{}}
	for _, link := range links {
		w.live[link] = true
	}
	document := parser.Parse(text.NewReader(w.source))
	var blocks []string
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		if block := w.block(node, 0); strings.TrimSpace(block) != "" {
			blocks = append(blocks, disarmLines(block))
		}
	}
	return blocks
}

type writer struct {
	source  []byte
	live    map[string]bool
	inTable bool
}

func (w *writer) block(node ast.Node, depth int) string {
	if depth > maxDepth {
		return lineStart(w.text(w.plain(node)))
	}
	switch n := node.(type) {
	case *ast.Heading:
		return strings.Repeat("#", max(n.Level, 2)) + " " + strings.ReplaceAll(w.inline(n), "\n", " ")
	case *ast.Paragraph, *ast.TextBlock:
		return lineStart(w.inline(n))
	case *ast.ThematicBreak:
		return "***"
	case *ast.FencedCodeBlock:
		return Fence(string(n.Language(w.source)), string(w.lines(n)))
	case *ast.CodeBlock:
		return Fence("", string(w.lines(n)))
	case *ast.HTMLBlock:
		return lineStart(w.text(string(w.lines(n))))
	case *ast.Blockquote:
		return prefix(w.children(n, depth), "> ", "> ")
	case *ast.List:
		return w.list(n, depth)
	case *east.Table:
		return w.table(n)
	}
	return w.children(node, depth)
}

func (w *writer) children(node ast.Node, depth int) string {
	var out []string
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		out = append(out, w.block(child, depth+1))
	}
	return strings.Join(out, "\n\n")
}

func (w *writer) list(list *ast.List, depth int) string {
	var out []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		var parts []string
		for child := item.FirstChild(); child != nil; child = child.NextSibling() {
			parts = append(parts, w.block(child, depth+1))
		}
		between := "\n\n"
		if list.IsTight {
			between = "\n"
		}
		out = append(out, prefix(strings.Join(parts, between), mark, strings.Repeat(" ", len(mark))))
	}
	if list.IsTight {
		return strings.Join(out, "\n")
	}
	return strings.Join(out, "\n\n")
}

func prefix(text, first, rest string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		with := rest
		if i == 0 {
			with = first
		}
		lines[i] = strings.TrimRight(with+line, " ")
	}
	return strings.Join(lines, "\n")
}

func (w *writer) table(table *east.Table) string {
	w.inTable = true
	defer func() { w.inTable = false }()
	var out []string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells, rule []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.ReplaceAll(w.inline(cell), "\n", " "))
			rule = append(rule, "---")
			if c, ok := cell.(*east.TableCell); ok && c.Alignment == east.AlignRight {
				rule[len(rule)-1] = "--:"
			}
		}
		out = append(out, "| "+strings.Join(cells, " | ")+" |")
		if row.Kind() == east.KindTableHeader {
			out = append(out, "| "+strings.Join(rule, " | ")+" |")
		}
	}
	return strings.Join(out, "\n")
}

func (w *writer) lines(node ast.Node) []byte {
	var out []byte
	for i := range node.Lines().Len() {
		line := node.Lines().At(i)
		out = append(out, line.Value(w.source)...)
	}
	return out
}

// inline writes what stands inside a block. Runs of text are gathered first,
// for goldmark cuts them where a URL or a mention does not end.
func (w *writer) inline(parent ast.Node) string {
	var out strings.Builder
	run := ""
	flush := func() { join(&out, w.text(run)); run = "" }
	for child := parent.FirstChild(); child != nil; child = child.NextSibling() {
		switch n := child.(type) {
		case *ast.Text:
			run += string(unescape(n.Segment.Value(w.source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				run += "\n"
			}
			continue
		case *ast.String:
			run += string(n.Value)
			continue
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				run += string(segment.Value(w.source))
			}
			continue
		}
		flush()
		join(&out, w.span(child))
	}
	flush()
	return out.String()
}

// join appends next so that no two pieces that were judged alone become a
// mention, a reference or a URL together.
func join(out *strings.Builder, next string) {
	if next == "" {
		return
	}
	if last, _ := utf8.DecodeLastRuneInString(out.String()); out.Len() > 0 && !unicode.IsSpace(last) && !strings.ContainsRune("*`<[~ \n", rune(next[0])) {
		out.WriteString(joiner)
	}
	out.WriteString(next)
}

func (w *writer) span(node ast.Node) string {
	switch n := node.(type) {
	case *ast.CodeSpan:
		return w.code(w.plain(n))
	case *ast.Emphasis:
		inner := strings.TrimSpace(w.inline(n))
		if inner == "" {
			return ""
		}
		mark := strings.Repeat("*", n.Level)
		return mark + inner + mark
	case *east.Strikethrough:
		return "~~" + strings.TrimSpace(w.inline(n)) + "~~"
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "[x] "
		}
		return "[ ] "
	case *ast.AutoLink:
		return w.link("", string(n.URL(w.source)))
	case *ast.Link:
		return w.link(w.plain(n), string(n.Destination))
	case *ast.Image:
		alt := strings.TrimSpace(w.plain(n))
		return w.text("[image: ") + w.link(alt, string(n.Destination)) + w.text("]")
	}
	return w.inline(node)
}

// link is live where its exact URL was given, else text and a code span.
func (w *writer) link(label, url string) string {
	label = strings.TrimSpace(label)
	if w.live[url] && plainURL(url) {
		if label == "" || label == url {
			return "<" + url + ">"
		}
		// A label that is itself a URL would show one place and lead to another.
		return "[" + strings.ReplaceAll(w.text(urlPattern.ReplaceAllString(label, "link")), "\n", " ") + "](<" + url + ">)"
	}
	if label == "" || label == url {
		return w.code(url)
	}
	return w.text(label) + " (" + w.code(url) + ")"
}

// plainURL says that url can stand between angle brackets.
func plainURL(url string) bool {
	return (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")) && !strings.ContainsAny(url, " <>\\\"`|\n\t")
}

// code is a code span; in a table no bar in it may end its cell, for then its
// content would be text.
func (w *writer) code(text string) string {
	if w.inTable {
		return pipePattern.ReplaceAllString(Code(text), `\|`)
	}
	return Code(text)
}

// plain is the text inside a node without any mark-up.
func (w *writer) plain(node ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(w.source)
			if _, code := n.Parent().(*ast.CodeSpan); !code {
				value = unescape(value)
			}
			out.Write(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.URL(w.source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// text writes a run of plain text: URLs in it become code spans (or stay live),
// all else is escaped and disarmed.
func (w *writer) text(run string) string {
	var out strings.Builder
	for {
		at := urlPattern.FindStringIndex(run)
		if at == nil {
			break
		}
		url := strings.TrimRight(run[at[0]:at[1]], `.,;:!?'")]}*_~|`)
		if url == "" {
			url = run[at[0]:at[1]]
		}
		out.WriteString(escape(disarm(run[:at[0]])))
		out.WriteString(w.link("", url))
		run = run[at[0]+len(url):]
	}
	out.WriteString(escape(disarm(run)))
	return out.String()
}
