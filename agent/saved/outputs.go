package saved

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// number matches what programs print as numbers; saved.py has the same.
var number = regexp.MustCompile(`[-+−]?\d+(?:[.,\x{00a0}\x{202f}' ]\d{3})*(?:[.,]\d+)?(?:[eE][-+]?\d+)?`)

// digits are the digits of a shown figure, without sign and unit.
var digits = regexp.MustCompile(`\d(?:[\d.,'’ \x{00a0}\x{202f}\x{2009}]*\d)?`)

// separators part the words of a line; saved.py splits the same way.
var separators = regexp.MustCompile(`[\s,;:|()\[\]]+`)

// plainNumber is a word that is only a number.
var plainNumber = regexp.MustCompile(`^[-+.\d%$€£]+$`)

// line is one printed line with what can be read of it.
type line struct {
	program, at, of int
	label           string
	unique          bool // no other line of the program has this label
	values          []float64
	words           []string
}

type outputs []line

// read takes the programs' outputs apart.
func read(programs []bot.Program) outputs {
	var out outputs
	for i, p := range programs {
		texts := strings.Split(p.Stdout, "\n")
		labels := map[string]int{}
		for _, text := range texts {
			labels[labelOf(text)]++
		}
		for at, text := range texts {
			l := line{program: i + 1, at: at, of: len(texts), label: labelOf(text)}
			l.unique = l.label != "" && labels[l.label] == 1
			for _, m := range number.FindAllString(text, -1) {
				if v, ok := value(m); ok {
					l.values = append(l.values, v)
				}
			}
			for _, w := range separators.Split(text, -1) {
				if w != "" && !plainNumber.MatchString(w) {
					l.words = append(l.words, w)
				}
			}
			out = append(out, l)
		}
	}
	return out
}

var labelEnd = regexp.MustCompile(`[\s:=|,.]+$`)

// labelOf is what stands before the first number of a line.
func labelOf(text string) string {
	if m := number.FindStringIndex(text); m != nil {
		text = text[:m[0]]
	}
	return strings.TrimSpace(labelEnd.ReplaceAllString(text, ""))
}

var grouped = regexp.MustCompile(`^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$`)

// value reads a printed number: a point for decimals, marks for thousands.
func value(text string) (float64, bool) {
	text = strings.NewReplacer("−", "-", "\u00a0", "", "\u202f", "", "'", "", " ", "").Replace(text)
	if grouped.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// anchor makes a figure of a place in a line.
func (l line) anchor(kind string, nth int) Figure {
	f := Figure{Kind: kind, Program: l.program, Line: l.at, Lines: l.of, Nth: nth, Decimal: ".", Factor: 1}
	f.Name = l.label
	if l.unique {
		f.Label = l.label
	}
	return f
}

// number looks for the printed value that a shown figure rounds: lines with a
// label before others, later programs before earlier ones.
func (o outputs) number(shown string, percent bool) (Figure, bool) {
	factors := []float64{1, 1e-3, 1e-6, 1e-9}
	if percent {
		factors = []float64{1, 100}
	}
	for _, labelled := range []bool{true, false} {
		for i := len(o) - 1; i >= 0; i-- {
			l := o[i]
			if l.unique != labelled {
				continue
			}
			for nth, v := range l.values {
				if f, ok := fits(l.anchor("number", nth), v, shown, factors); ok {
					return f, true
				}
			}
		}
	}
	return Figure{}, false
}

// fits reports whether v, scaled, is written as shown.
func fits(f Figure, v float64, shown string, factors []float64) (Figure, bool) {
	for _, form := range forms(shown) {
		for _, factor := range factors {
			if strconv.FormatFloat(math.Abs(v)*factor, 'f', form.decimals, 64) == form.plain {
				f.Factor, f.Decimals, f.Thousands, f.Decimal = factor, form.decimals, form.thousands, form.decimal
				if v < 0 {
					f.Factor = -factor // the answer writes its sign itself
				}
				return f, true
			}
		}
	}
	return f, false
}

// form is one way to read a shown figure.
type form struct {
	plain              string // digits with a point
	decimals           int
	thousands, decimal string
}

// forms lists the ways to read a shown figure, "1,234" being two of them.
func forms(shown string) []form {
	var out []form
	marks := strings.FieldsFunc(shown, func(r rune) bool { return r >= '0' && r <= '9' })
	if len(marks) == 0 {
		return []form{{plain: shown, decimal: "."}}
	}
	last := marks[len(marks)-1]
	tail := shown[strings.LastIndex(shown, last)+len(last):]
	strip := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, s)
	}
	if len(tail) == 3 {
		out = append(out, form{plain: strip(shown), thousands: last, decimal: "."})
	}
	if (last == "." || last == ",") && strings.Count(shown, last) == 1 {
		head := shown[:strings.LastIndex(shown, last)]
		thousands := ""
		if len(marks) > 1 {
			thousands = marks[0]
		}
		out = append(out, form{plain: strip(head) + "." + tail, decimals: len(tail), thousands: thousands, decimal: last})
	}
	return out
}

// word looks for a category value in lines that say which one it is: those with
// a label that does not hold the value itself.
func (o outputs) word(w string) (Figure, bool) {
	for i := len(o) - 1; i >= 0; i-- {
		l := o[i]
		for nth, have := range l.words {
			// "top region: North 1234": the label would move with the value, so
			// that only the words before it may anchor it; those are its place.
			if have == w && nth > 0 {
				f := l.anchor("word", nth)
				f.Label, f.Name = "", strings.Join(l.words[:nth], " ")
				return f, true
			}
		}
	}
	return Figure{}, false
}
