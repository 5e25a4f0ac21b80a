package web

import (
	"bytes"
	"html/template"
	"regexp"
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var urlForm = regexp.MustCompile(`https?://[^\s<>"')\]]+`)

// typedLinks returns the exact URLs that the asker typed: only these stay live.
func typedLinks(request string) []string { return urlForm.FindAllString(request, -1) }

// renderMarkdown turns an answer into HTML that carries no raw HTML, no
// picture and no link but those in live: what a model or a file wrote must not
// reach out or lead away.
func renderMarkdown(source string, live []string) template.HTML {
	md := goldmark.New(
		goldmark.WithExtensions(
			// As an attribute: the policy of our pages lets no style through.
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList,
		),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(inert{live}, 100))),
	)
	var b bytes.Buffer
	if err := md.Convert([]byte(source), &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(source) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(b.String()) //nolint:gosec // goldmark drops raw HTML, inert drops the rest
}

// inert replaces pictures and foreign links by code spans that show their
// address.
type inert struct{ live []string }

// Transform implements parser.ASTTransformer.
func (t inert) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var dead []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			dead = append(dead, n)
		case *ast.Link:
			if !slices.Contains(t.live, string(n.Destination)) {
				dead = append(dead, n)
			}
		case *ast.AutoLink:
			if !slices.Contains(t.live, string(n.URL(reader.Source()))) {
				dead = append(dead, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range dead {
		unlink(n, reader.Source())
	}
}

// unlink puts a link's text and its address, as code, in its place.
func unlink(n ast.Node, source []byte) {
	parent := n.Parent()
	if parent == nil {
		return
	}
	var address []byte
	switch n := n.(type) {
	case *ast.Image:
		address = n.Destination
	case *ast.Link:
		address = n.Destination
	case *ast.AutoLink:
		address = n.Label(source)
	}
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		parent.InsertBefore(parent, n, c)
		c = next
	}
	if len(address) > 0 {
		code := ast.NewString([]byte("<code>" + template.HTMLEscapeString(string(address)) + "</code>"))
		code.SetCode(true) // written as it is; the library's own code span takes nothing but source text
		if n.PreviousSibling() != nil {
			parent.InsertBefore(parent, n, ast.NewString([]byte(" ")))
		}
		parent.InsertBefore(parent, n, code)
	}
	parent.RemoveChild(parent, n)
}
