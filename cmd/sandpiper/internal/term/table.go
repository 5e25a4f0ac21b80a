package term

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// Table is text in columns. Cells may be untrusted.
type Table struct {
	Header []string
	rows   [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = Line(cell)
	}
	t.rows = append(t.rows, clean)
}

// Write prints the table. On a terminal the last column is cut at its width.
func (t *Table) Write(to io.Writer) error {
	rows := append([][]string{t.Header}, t.rows...)
	widths := make([]int, len(t.Header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	limit := Width(to)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell)+2))
			}
		}
		text := line.String()
		if limit > 0 {
			text = runewidth.Truncate(text, limit, "…")
		}
		if _, err := fmt.Fprintln(to, strings.TrimRight(text, " ")); err != nil {
			return err
		}
	}
	return nil
}

// Width is a terminal's width in columns; 0 where to is none.
func Width(to io.Writer) int {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 20 {
		return 0
	}
	return width
}
