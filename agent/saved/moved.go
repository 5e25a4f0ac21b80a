package saved

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent/internal/figures"
)

// Shape is a file that a report made, as far as it must be the same on the same
// data: bytes differ from one library's version to the next.
type Shape struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Empty  bool         `json:"empty,omitempty"`
	Tables []ShapeTable `json:"tables,omitempty"`
}

// ShapeTable is a table of a file.
type ShapeTable struct {
	Name    string        `json:"name,omitempty"`
	Rows    int           `json:"rows"`
	Columns []ShapeColumn `json:"columns"`
}

// ShapeColumn is a column with the sum of its numbers, nil where it has none.
type ShapeColumn struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Sum  *float64 `json:"sum,omitempty"`
}

// MoveKind says what differs between two runs of a report.
type MoveKind string

// The kinds of moves.
const (
	MoveFigure  MoveKind = "figure"
	MoveWords   MoveKind = "words"   // a line of the answer
	MoveFile    MoveKind = "file"    // made before and not now, or the other way round
	MoveKindOf  MoveKind = "kind"    // a file's
	MoveRows    MoveKind = "rows"    // a table's
	MoveColumns MoveKind = "columns" // likewise
	MoveSum     MoveKind = "sum"     // a column's
	MoveFailed  MoveKind = "failed"  // the program ended without an answer
)

// Move is one difference. It holds what came out of a session.
type Move struct {
	Kind   MoveKind `json:"kind"`
	What   string   `json:"what,omitempty"`
	Before string   `json:"before"`
	After  string   `json:"after"`
}

// MostMoves bounds how many differences are told.
const MostMoves = 20

// Moves compares what a report gave on the same inputs before and now.
func Moves(template string, defined []Figure, before, after Trial) []Move {
	if after.Failed != "" {
		return []Move{{Kind: MoveFailed, After: after.Failed}}
	}
	var moves []Move
	if squeeze(before.Answer) != squeeze(after.Answer) {
		moves = answersMoved(template, defined, before.Answer, after.Answer)
	}
	moves = append(moves, filesMoved(before.Files, after.Files)...)
	return moves[:min(len(moves), MostMoves)]
}

// answersMoved compares answers figure by figure, where both are the report's
// own words, and line by line where they are not.
func answersMoved(template string, defined []Figure, before, after string) []Move {
	was, now := readBack(template, before), readBack(template, after)
	if was == nil || now == nil {
		return linesMoved(before, after)
	}
	var moves []Move
	for _, f := range defined {
		if was[f.ID] == now[f.ID] {
			continue
		}
		name := placeholder.ReplaceAllStringFunc(f.Name, func(m string) string { return now[m[2:len(m)-2]] })
		moves = append(moves, Move{Kind: MoveFigure, What: strings.TrimSpace(name), Before: was[f.ID], After: now[f.ID]})
	}
	return moves
}

var placeholder = regexp.MustCompile(`\{\{f\d+\}\}`)

// readBack reads the figures of an answer that was made from a template; nil
// where it was not.
func readBack(template, answer string) map[string]string {
	template = strings.TrimSpace(template)
	ids := placeholder.FindAllString(template, -1)
	if len(ids) == 0 {
		return nil
	}
	pattern := `(?s)`
	for i, part := range placeholder.Split(template, -1) {
		if i > 0 {
			pattern += "(.{1,60}?)"
		}
		pattern += regexp.QuoteMeta(part)
	}
	form, err := regexp.Compile(pattern + `\s*\z`)
	if err != nil {
		return nil
	}
	m := form.FindStringSubmatch(strings.TrimSpace(answer))
	if m == nil {
		return nil
	}
	out := map[string]string{}
	for i, id := range ids {
		out[id[2:len(id)-2]] = m[i+1]
	}
	return out
}

// linesMoved compares two texts line by line: those that stand in one of them
// alone are paired in their order.
func linesMoved(before, after string) []Move {
	was, now := alone(before, after), alone(after, before)
	var moves []Move
	for i := range max(len(was), len(now)) {
		var a, b string
		if i < len(was) {
			a = was[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if found := figuresMoved(a, b); found != nil {
			moves = append(moves, found...)
			continue
		}
		moves = append(moves, Move{Kind: MoveWords, Before: a, After: b})
	}
	return moves
}

// alone are the lines of one text that the other lacks.
func alone(text, other string) []string {
	has := map[string]int{}
	for line := range strings.Lines(other) {
		has[squeeze(line)]++
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = squeeze(line); line == "" {
			continue
		}
		if has[line] > 0 {
			has[line]--
			continue
		}
		out = append(out, line)
	}
	return out
}

// figuresMoved pairs the figures of two lines that differ in nothing else, and
// leaves out those that are only written otherwise; nil where words differ.
func figuresMoved(a, b string) []Move {
	was, now := figures.In(a), figures.In(b)
	if len(was) == 0 || len(was) != len(now) || without(a, was) != without(b, now) {
		return nil
	}
	moves := []Move{}
	for i := range was {
		if was[i].Same(now[i]) {
			continue
		}
		from := 0
		if i > 0 {
			from = was[i-1].End
		}
		label := strings.Trim(a[from:was[i].Start], " \t|*_`#>:=-–—,.()$€£")
		if r := []rune(label); len(r) > 60 {
			label = "…" + strings.TrimSpace(string(r[len(r)-60:]))
		}
		if label == "" || i > 0 && strings.HasPrefix(strings.TrimSpace(a), "|") {
			label = rowName(a)
		}
		moves = append(moves, Move{Kind: MoveFigure, What: label, Before: was[i].Text, After: now[i].Text})
	}
	return moves
}

// rowName is the first cell of a table's row.
func rowName(line string) string {
	cell, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(line), "|"), "|")
	return strings.Trim(cell, " *_`")
}

func without(line string, found []figures.Figure) string {
	for _, f := range slices.Backward(found) {
		line = line[:f.Start] + "\x00" + line[f.End:]
	}
	return line
}

func filesMoved(before, after []Shape) []Move {
	var moves []Move
	for _, was := range before {
		i := slices.IndexFunc(after, func(s Shape) bool { return s.Name == was.Name })
		if i < 0 {
			moves = append(moves, Move{Kind: MoveFile, What: was.Name, Before: was.Kind})
			continue
		}
		now := after[i]
		if was.Kind != now.Kind || was.Empty != now.Empty {
			moves = append(moves, Move{Kind: MoveKindOf, What: was.Name, Before: kindOf(was), After: kindOf(now)})
			continue
		}
		moves = append(moves, tablesMoved(was, now)...)
	}
	for _, now := range after {
		if !slices.ContainsFunc(before, func(s Shape) bool { return s.Name == now.Name }) {
			moves = append(moves, Move{Kind: MoveFile, What: now.Name, After: now.Kind})
		}
	}
	return moves
}

func kindOf(s Shape) string {
	if s.Empty {
		return s.Kind + ", empty"
	}
	return s.Kind
}

func tablesMoved(was, now Shape) []Move {
	var moves []Move
	for i, a := range was.Tables {
		name := was.Name
		if len(was.Tables) > 1 && a.Name != "" {
			name += ", " + a.Name
		}
		if i >= len(now.Tables) {
			moves = append(moves, Move{Kind: MoveRows, What: name, Before: strconv.Itoa(a.Rows), After: "0"})
			continue
		}
		b := now.Tables[i]
		if a.Rows != b.Rows {
			moves = append(moves, Move{Kind: MoveRows, What: name, Before: strconv.Itoa(a.Rows), After: strconv.Itoa(b.Rows)})
		}
		if x, y := columnsOf(a), columnsOf(b); x != y {
			moves = append(moves, Move{Kind: MoveColumns, What: name, Before: x, After: y})
			continue
		}
		for j, c := range a.Columns {
			if x, y := sumOf(c), sumOf(b.Columns[j]); x != y {
				moves = append(moves, Move{Kind: MoveSum, What: name + ", " + c.Name, Before: x, After: y})
			}
		}
	}
	return moves
}

func columnsOf(t ShapeTable) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Type))
	}
	return strings.Join(names, ", ")
}

// sumOf writes a sum with fewer digits than libraries differ in: additions in
// another order move the last ones.
func sumOf(c ShapeColumn) string {
	if c.Sum == nil {
		return ""
	}
	return strconv.FormatFloat(*c.Sum, 'g', 9, 64)
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
