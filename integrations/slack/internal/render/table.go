package render

import (
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// table draws a table as aligned monospace text: numbers to the right, the
// head underlined.
func (r *renderer) table(t *east.Table) chunk {
	var rows [][]string
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.TrimSpace(unescapeText(r.cell(cell))))
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		return chunk{}
	}
	widths, right := columns(rows)
	for i, a := range t.Alignments {
		if i < len(right) && a != east.AlignNone {
			right[i] = a == east.AlignRight
		}
	}
	lines := make([]string, 0, len(rows)+1)
	for i, row := range rows {
		lines = append(lines, line(row, widths, right))
		if i == 0 {
			lines = append(lines, rule(widths))
		}
	}
	c := fenced(strings.Join(lines, "\n"), "")
	c.head = strings.Join(lines[:2], "\n")
	return c
}

// cell is a cell's text, with the addresses of links behind their labels.
func (r *renderer) cell(n ast.Node) string {
	text := r.plain(n)
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering && !strings.Contains(text, string(link.Destination)) {
			text += " (" + string(link.Destination) + ")"
		}
		return ast.WalkContinue, nil
	})
	return strings.ReplaceAll(text, "\n", " ")
}

// columns returns each column's width and whether it holds numbers only.
func columns(rows [][]string) (widths []int, right []bool) {
	widths = make([]int, len(rows[0]))
	right = make([]bool, len(rows[0]))
	for i := range right {
		right[i] = len(rows) > 1
	}
	for n, row := range rows {
		for i, cell := range row {
			if i >= len(widths) {
				break
			}
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
			if n > 0 && !numeric(cell) {
				right[i] = false
			}
		}
	}
	return widths, right
}

func numeric(s string) bool {
	digits := false
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits = true
		case strings.ContainsRune("+-−–.,'% €$£¥\u00a0\u202f", c):
		default:
			return false
		}
	}
	return digits || s == ""
}

func line(row []string, widths []int, right []bool) string {
	cells := make([]string, len(widths))
	for i := range widths {
		text := ""
		if i < len(row) {
			text = row[i]
		}
		if right[i] {
			cells[i] = runewidth.FillLeft(text, widths[i])
		} else {
			cells[i] = runewidth.FillRight(text, widths[i])
		}
	}
	return strings.TrimRight(strings.Join(cells, "  "), " ")
}

func rule(widths []int) string {
	cells := make([]string, len(widths))
	for i, w := range widths {
		cells[i] = strings.Repeat("─", w)
	}
	return strings.Join(cells, "──")
}
