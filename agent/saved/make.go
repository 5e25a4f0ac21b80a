package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/internal/figures"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// Source is what a report is made from.
type Source struct {
	Name  string
	Owner string // actor, or place that shares it
	Task  bot.Task
	// Programs are the task's programs in order; those that failed are left out.
	Programs []bot.Program
	// Profile is the intake's profile.json.
	Profile json.RawMessage
	Now     time.Time
	Version int // counted from 1
}

// Report is a saved report as a skill's folder.
type Report struct {
	Files map[string][]byte // by slash-separated path
	// Figures are the parts of the answer that later runs fill in.
	Figures []Figure
	// Loose are numbers of the answer that no program printed: they stay as
	// they are unless their maker says otherwise.
	Loose []string
}

// Figure says where a part of the answer comes from: the Nth number of the line
// that begins with Label in a program's output, or, where no label tells lines
// apart, of line Line of Lines. A Label may hold the placeholder of a word: the
// number then follows the word ("{{f2}}" is whoever leads today).
type Figure struct {
	ID string `json:"id"`
	// Kind is "number", "word", or "guard": a word that the answer states in a
	// way that cannot be filled in, so that a run where it differs is refused.
	Kind    string `json:"kind"`
	Program int    `json:"program"` // counted from 1
	Label   string `json:"label"`
	Line    int    `json:"line"`
	Lines   int    `json:"lines"`
	Nth     int    `json:"nth"`
	// Factor, Decimals, Thousands and Decimal are how the answer writes it.
	Factor    float64 `json:"factor"`
	Decimals  int     `json:"decimals"`
	Thousands string  `json:"thousands"`
	Decimal   string  `json:"decimal"`
	Text      string  `json:"text"` // as it stood in the first answer
	// Name is what the printed line calls it, for "compared with last time".
	Name string `json:"name"`
}

// definition is assets/report.json, which the guest's saved.py reads.
type definition struct {
	Name     string   `json:"name"`
	Version  int      `json:"version"`
	Task     string   `json:"task"`
	Owner    string   `json:"owner"`
	Request  string   `json:"request"`
	Inputs   []input  `json:"inputs"`
	Figures  []Figure `json:"figures"`
	Programs int      `json:"programs"`
	Image    string   `json:"image"`
}

type input struct {
	Name   string  `json:"name"`
	Tables []table `json:"tables"`
}

type table struct {
	Kind    string   `json:"kind"`
	Columns []column `json:"columns"`
}

type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

var (
	// ErrNoPrograms is returned for a task whose answer rests on no program.
	ErrNoPrograms = errors.New("this task ran no program that ended well: there is nothing to run again")
	// ErrNoFigures is returned for an answer without a figure that a program printed.
	ErrNoFigures = errors.New("no figure of the answer was printed by a program: a report made of it would never change")
)

// Make writes the folder of a report. It runs nothing.
func Make(s Source) (Report, error) {
	programs := slices.DeleteFunc(slices.Clone(s.Programs), func(p bot.Program) bool { return p.Verdict != "ok" })
	if len(programs) == 0 {
		return Report{}, ErrNoPrograms
	}
	if s.Task.Outcome == nil {
		return Report{}, errors.New("make report: the task has no outcome")
	}
	inputs, words, err := shape(s.Profile)
	if err != nil {
		return Report{}, err
	}
	template, found, loose := templateOf(s.Task.Outcome.Message, programs, words)
	if !slices.ContainsFunc(found, func(f Figure) bool { return f.Kind == "number" }) {
		return Report{}, ErrNoFigures
	}
	def := definition{
		Name: s.Name, Version: max(s.Version, 1), Task: s.Task.ID, Owner: s.Owner, Request: s.Task.Event.Text,
		Inputs: inputs, Figures: found, Programs: len(programs), Image: s.Task.Outcome.Provenance.ImageID,
	}
	text, err := json.MarshalIndent(def, "", "  ")
	if err != nil {
		return Report{}, fmt.Errorf("write report.json: %w", err)
	}
	return Report{
		Files: map[string][]byte{
			"SKILL.md":           []byte(skillText(def, s.Now)),
			"scripts/report.py":  []byte(script(def, programs)),
			"assets/report.json": append(text, '\n'),
			"assets/answer.md":   []byte(template),
		},
		Figures: found,
		Loose:   loose,
	}, nil
}

// shape reads columns and types out of a profile, and the category values
// whose place in the answer may change.
func shape(profile json.RawMessage) ([]input, [][]string, error) {
	var p struct {
		Files []struct {
			Name    string
			Kind    string
			Columns []struct {
				Name, Type string
				Distinct   int
				Top        []struct{ Value any }
			}
		}
	}
	if len(profile) > 0 {
		if err := json.Unmarshal(profile, &p); err != nil {
			return nil, nil, fmt.Errorf("read profile: %w", err)
		}
	}
	var inputs []input
	var words [][]string // by column
	for _, f := range p.Files {
		t := table{Kind: f.Kind}
		for _, c := range f.Columns {
			t.Columns = append(t.Columns, column{c.Name, c.Type})
			var values []string
			for _, top := range c.Top {
				if w, ok := top.Value.(string); ok && c.Type == "text" && word.MatchString(w) {
					values = append(values, w)
				}
			}
			words = append(words, values)
		}
		if n := len(inputs); n > 0 && inputs[n-1].Name == f.Name {
			inputs[n-1].Tables = append(inputs[n-1].Tables, t)
			continue
		}
		inputs = append(inputs, input{Name: f.Name, Tables: []table{t}})
	}
	return inputs, words, nil
}

// word is a category value that stands as one word in outputs.
var word = regexp.MustCompile(`^\p{L}[\p{L}\p{N}_-]{1,40}$`)

// part is a piece of the answer that a program printed.
type part struct {
	start, end int
	figure     Figure
}

// templateOf replaces what programs printed by placeholders.
func templateOf(answer string, programs []bot.Program, columns [][]string) (string, []Figure, []string) {
	printed := read(programs)
	var parts []part
	var loose []string
	for _, f := range figures.In(answer) {
		shown := digits.FindString(answer[f.Start:f.End])
		start := f.Start + strings.Index(answer[f.Start:f.End], shown)
		if found, ok := printed.number(shown, strings.Contains(answer[f.Start:f.End], "%")); ok {
			parts = append(parts, part{start, start + len(shown), found})
			continue
		}
		loose = append(loose, f.Text)
	}
	words, guards := wordsOf(answer, printed, columns, parts)
	parts = append(parts, words...)
	slices.SortFunc(parts, func(a, b part) int { return a.start - b.start })

	var b strings.Builder
	var found []Figure
	last := 0
	for i, p := range parts {
		p.figure.ID, p.figure.Text = fmt.Sprintf("f%d", i+1), answer[p.start:p.end]
		b.WriteString(answer[last:p.start])
		b.WriteString("{{" + p.figure.ID + "}}")
		last = p.end
		found = append(found, p.figure)
	}
	b.WriteString(answer[last:])
	follow(found)
	for i := range guards {
		guards[i].ID = fmt.Sprintf("g%d", i+1)
	}
	return b.String(), append(found, guards...), loose
}

// wordsOf finds category values that programs printed as a result ("leader
// north"). Where the answer names no other value of the column, all its
// occurrences are that result and move with it. Where it names several, one
// cannot tell which of them would: the result is guarded instead.
func wordsOf(answer string, printed outputs, columns [][]string, taken []part) (words []part, guards []Figure) {
	for _, values := range columns {
		places := map[string][]int{}
		for _, w := range values {
			if at := wordIn(answer, w); len(at) > 0 {
				places[w] = at
			}
		}
		for _, w := range slices.Sorted(maps.Keys(places)) {
			found, ok := printed.word(w)
			if !ok {
				continue
			}
			if len(places) > 1 {
				found.Kind, found.Text = "guard", w
				guards = append(guards, found)
				continue
			}
			for _, at := range places[w] {
				if !slices.ContainsFunc(taken, func(p part) bool { return at < p.end && at+len(w) > p.start }) {
					words = append(words, part{at, at + len(w), found})
				}
			}
		}
	}
	return words, guards
}

// follow ties numbers to moving words: a line that is found by the leader's
// name is found by the name of today's leader.
func follow(found []Figure) {
	for i := range found {
		if found[i].Kind != "number" || found[i].Label == "" {
			continue
		}
		for _, w := range found {
			if w.Kind != "word" {
				continue
			}
			for _, at := range slices.Backward(wordIn(found[i].Label, w.Text)) {
				found[i].Label = found[i].Label[:at] + "{{" + w.ID + "}}" + found[i].Label[at+len(w.Text):]
				found[i].Name = found[i].Label
			}
		}
	}
}

// wordIn returns where w stands as a whole word.
func wordIn(text, w string) []int {
	var at []int
	for _, m := range regexp.MustCompile(`(?:^|[^\p{L}\p{N}_])(`+regexp.QuoteMeta(w)+`)(?:$|[^\p{L}\p{N}_])`).FindAllStringSubmatchIndex(text, -1) {
		at = append(at, m[2])
	}
	return at
}
