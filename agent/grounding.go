package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent/internal/figures"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// proofs gathers what was calculated in a task: outputs of programs and the
// numbers of profiles. It is guarded by its task's mu.
type proofs struct {
	outputs []string
	// codes are the programs themselves, and the arguments of calls that read
	// files: what they do not name, they did not use.
	codes []string
	// cells are texts of the inputs that hold digits: a number that only
	// stands in such a text proves nothing.
	cells  []string
	values []float64
	files  []profiledFile
	rows   map[string]rowsUsed
	order  []string // files of rows, as they were first named
}

// profile is what is read of profile.json.
type profile struct {
	Files []profiledFile `json:"files"`
}

type profiledFile struct {
	Name    string           `json:"name"`
	Rows    int64            `json:"rows"`
	Columns []profiledColumn `json:"columns"`
	Sheets  []profiledFile   `json:"sheets"`
}

type profiledColumn struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Missing  *float64 `json:"missing"`
	Distinct *float64 `json:"distinct"`
	Sum      *float64 `json:"sum"`
	Mean     *float64 `json:"mean"`
	Min      any      `json:"min"`
	Max      any      `json:"max"`
	Top      []struct {
		Value any     `json:"value"`
		Count float64 `json:"count"`
	} `json:"top"`
}

// rowsUsed is what a program said of a file: the line ROWS.
type rowsUsed struct {
	used, leftOut int64
	reason        string
	lead          bool // said by the lead's own program
}

// rowsLine is how programs tell which rows they used.
var rowsLine = regexp.MustCompile(`(?m)^\s*ROWS\s+(.{1,200}?)\s+used=(\d{1,15})(?:\s+left_out=(\d{1,15}))?(?:\s+reason=(.{0,200}))?\s*$`)

// program takes a program's output in. What the lead says of a file's rows
// counts before what helpers say of their parts of it, and of those the one
// that used most, in whatever order they came.
func (p *proofs) program(agent string, prog bot.Program) {
	p.outputs = append(p.outputs, prog.Stdout)
	p.codes = append(p.codes, prog.Code)
	for _, m := range rowsLine.FindAllStringSubmatch(prog.Stdout, -1) {
		name := strings.TrimPrefix(strings.TrimPrefix(m[1], "/workspace/"), "in/")
		r := rowsUsed{lead: agent == lead}
		r.used, _ = strconv.ParseInt(m[2], 10, 64) // digits by the pattern
		if m[3] != "" {
			r.leftOut, _ = strconv.ParseInt(m[3], 10, 64)
		}
		r.reason = cleanLine(m[4], 120)
		if p.rows == nil {
			p.rows = map[string]rowsUsed{}
		}
		before, ok := p.rows[name]
		if !ok {
			p.order = append(p.order, name)
		}
		if !ok || r.lead || !before.lead && r.used > before.used {
			p.rows[name] = r
		}
	}
}

// profile takes the numbers of a profile in, and remembers its texts.
func (p *proofs) profile(raw json.RawMessage) {
	var got profile
	if len(raw) == 0 || json.Unmarshal(raw, &got) != nil {
		return
	}
	p.files = append(p.files, got.Files...)
	for _, f := range got.Files {
		p.file(f)
	}
}

func (p *proofs) file(f profiledFile) {
	p.values = append(p.values, float64(f.Rows), float64(len(f.Columns)))
	for _, sheet := range f.Sheets {
		p.file(sheet)
	}
	for _, c := range f.Columns {
		for _, v := range []*float64{c.Missing, c.Distinct, c.Sum, c.Mean} {
			if v != nil {
				p.values = append(p.values, *v)
			}
		}
		for _, v := range []any{c.Min, c.Max} {
			if n, ok := v.(float64); ok && c.Type != "text" {
				p.values = append(p.values, n)
			}
		}
		for _, top := range c.Top {
			p.values = append(p.values, top.Count)
			if text, ok := top.Value.(string); ok && c.Type == "text" && strings.ContainsAny(text, "0123456789") {
				p.cells = append(p.cells, text)
			}
		}
	}
}

// evidence is all that was calculated so far.
func (t *task) evidence() *figures.Evidence {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &figures.Evidence{}
	e.Add(t.proofs.values...)
	for _, out := range t.proofs.outputs {
		for _, cell := range t.proofs.cells {
			if len(cell) > 3 {
				out = strings.ReplaceAll(out, cell, " ")
			}
		}
		e.AddText(out)
	}
	return e
}

// turn remembers what a model's calls read by themselves.
func (p *proofs) turn(turn turnData) {
	for _, c := range turn.Calls {
		var args readArgs
		if c.Name == "read_file_content" && json.Unmarshal(c.Arguments, &args) == nil && args.As != "profile" {
			p.codes = append(p.codes, args.File)
		}
	}
}

// wholeFolder matches programs that take files without naming them.
var wholeFolder = regexp.MustCompile(`\b(glob|rglob|listdir|iterdir|scandir|readdir|readdirSync|ls)\b|/workspace/in\b/?[^/\w]|\bin/\*|os\.walk|sandpiper\.request`)

// uses reports whether one of codes uses a file.
func uses(codes []string, name string) bool {
	return slices.ContainsFunc(codes, func(c string) bool { return strings.Contains(c, name) || wholeFolder.MatchString(c) })
}

// restsOn is the answer's last line: files, rows used, rows left out. A file
// that no program and no call named was seen by its profile alone.
func (l *loop) restsOn() string {
	t := l.t
	t.mu.Lock()
	defer t.mu.Unlock()
	total := map[string]int64{}
	for _, f := range t.proofs.files {
		total[f.Name] = f.Rows
		for _, s := range f.Sheets {
			total[f.Name] += s.Rows
		}
	}
	codes := slices.Clone(t.proofs.codes)
	if l.made() { // it may go on from what programs of earlier tasks left
		for _, e := range l.w.log {
			if e.program != nil {
				codes = append(codes, e.program.Code)
			}
		}
	}
	var parts []string
	said := map[string]bool{}
	describe := func(name string) {
		if said[name] {
			return
		}
		said[name] = true
		r, counted := t.proofs.rows[name]
		rows := total[name]
		var facts []string
		switch {
		case counted && rows > 0:
			facts = append(facts, fmt.Sprintf(numbered(t.words.RowsUsed, rows), grouped(r.used), grouped(rows)))
		case counted:
			facts = append(facts, fmt.Sprintf(numbered(t.words.RowsUsedOnly, r.used), grouped(r.used)))
		case rows > 0:
			facts = append(facts, fmt.Sprintf(numbered(t.words.Rows, rows), grouped(rows)))
		}
		if r.leftOut > 0 {
			left := fmt.Sprintf(t.words.RowsLeftOut, grouped(r.leftOut))
			if r.reason != "" {
				left += " (" + r.reason + ")"
			}
			facts = append(facts, left)
		}
		text := code(name)
		if !counted && !uses(codes, name) {
			if _, ok := total[name]; !ok {
				return
			}
			text = fmt.Sprintf(t.words.ProfileOf, text)
		}
		if len(facts) > 0 {
			text += " (" + strings.Join(facts, ", ") + ")"
		}
		parts = append(parts, text)
	}
	for _, in := range l.w.inputs {
		if in.Problem == "" {
			describe(in.Name)
		}
	}
	for _, name := range t.proofs.order {
		describe(name)
	}
	if len(parts) == 0 {
		parts = append(parts, t.words.NoFiles)
	}
	return "*" + t.words.BasedOn + ": " + strings.Join(parts, "; ") + "*"
}

// numbered gives a text's nouns their number: "row(s)" is "row" for one.
func numbered(text string, n int64) string {
	if n == 1 {
		return strings.ReplaceAll(text, "(s)", "")
	}
	return strings.ReplaceAll(text, "(s)", "s")
}

// grouped writes a whole number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
