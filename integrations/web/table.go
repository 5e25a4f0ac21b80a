package web

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Bounds on what of a table is shown on a task's page.
const (
	mostTables    = 4
	mostTableRead = 256 << 10 // bytes
	mostRows      = 12
	mostColumns   = 12
	mostCell      = 120 // characters
)

// tableView is the beginning of a table that a task produced, as text.
type tableView struct {
	Name, Link string
	Header     []cellView
	Rows       [][]cellView
	More       bool // rows or columns are left out
}

type cellView struct {
	Text   string
	Number bool
}

// table reads the beginning of an artifact that is a table of text.
func (s *Server) table(ctx context.Context, f bot.Artifact, link string) (tableView, bool) {
	view := tableView{Name: f.Name, Link: link}
	var comma rune
	kind, _, _ := strings.Cut(f.MediaType, ";")
	switch kind {
	case "text/csv":
		comma = ','
	case "text/tab-separated-values":
		comma = '\t'
	default:
		return view, false
	}
	content, err := s.opts.Blobs.Open(ctx, f.Blob)
	if err != nil {
		return view, false // the list of files says what became of it
	}
	defer content.Close()
	view.Header, view.Rows, view.More = readTable(io.LimitReader(content, mostTableRead), comma)
	return view, len(view.Header) > 0
}

// readTable reads at most what is shown. A table that it cannot read gives
// what came before the fault.
func readTable(r io.Reader, comma rune) (header []cellView, rows [][]cellView, more bool) {
	in := csv.NewReader(r)
	in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = comma, true, -1, true
	for first := true; ; first = false {
		record, err := in.Read()
		if err != nil {
			return header, rows, more || !errors.Is(err, io.EOF)
		}
		if len(rows) == mostRows {
			return header, rows, true
		}
		if len(record) > mostColumns {
			record, more = record[:mostColumns], true
		}
		var cells []cellView
		for _, text := range record {
			cells = append(cells, cell(text))
		}
		if first {
			header = cells
		} else {
			rows = append(rows, cells)
		}
	}
}

func cell(text string) cellView {
	text = strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "�")
	if utf8.RuneCountInString(text) > mostCell {
		text = string([]rune(text)[:mostCell]) + "…"
	}
	number := text != "" && strings.Trim(text, "0123456789.,-+eE% ") == ""
	return cellView{text, number}
}
