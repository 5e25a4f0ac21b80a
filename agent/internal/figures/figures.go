// Package figures finds the numbers in an answer and looks for them in what
// was calculated.
//
// A figure is grounded when a calculated value equals it after rounding to
// the digits it shows, with its unit (k, million, %, тыс., млн…) taken into
// account. Where a text leaves open what it means ("1,234" is 1234 or 1.234),
// each meaning counts.
package figures

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Figure is a number as a text shows it.
type Figure struct {
	Text       string // as it stands, with sign and unit
	Start, End int    // bytes in the text
	meanings   []meaning
	percent    bool
}

// meaning is one value that a figure may stand for, and half of what its last
// digit is worth.
type meaning struct {
	value, slack float64
}

// number matches digits with any separators within them.
var number = regexp.MustCompile(`\b\d{1,3}(?: \d{3})+\b(?:[.,]\d+)?|\d(?:[\d.,'’\x{00a0}\x{202f}\x{2009}]*\d)?`)

// skipped matches what holds digits and is no figure: links, file names,
// dates, times, and the numbers of a list.
var skipped = regexp.MustCompile(
	`https?://\S+` +
		`|[\p{L}\p{N}_./-]*[\p{L}\p{N}_-]\.(?:csv|tsv|xlsx?|xlsm|ods|odt|docx?|pptx?|pdf|png|jpe?g|svg|gif|html?|md|txt|json|jsonl|parquet|zip|gz|py|js|sql|log|xml|ya?ml)\b` +
		`|\b\d{4}-\d{2}(?:-\d{2})?(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b` +
		`|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b` +
		`|\b\d{1,2}:\d{2}(?::\d{2})?\b` +
		`|(?m:^[\s>]*(?:#+\s*)?\d{1,3}[.)]\s)`)

// about stands before a figure that is rounded further than its digits show.
var about = regexp.MustCompile(`(?i)(?:about|around|roughly|approximately|approx\.|nearly|almost|over|more than|less than|under|some|~|≈|около|примерно|почти|более|менее|свыше|порядка)\s*[$€£₽]?\s*[-+−]?$`)

// Same reports whether two figures may stand for the same value, however they
// are written.
func (f Figure) Same(other Figure) bool {
	return f.percent == other.percent && slices.ContainsFunc(f.meanings, func(m meaning) bool {
		return slices.ContainsFunc(other.meanings, func(o meaning) bool { return m.value == o.value })
	})
}

// scales are the words after a number that multiply it.
var scales = regexp.MustCompile(`(?i)^[ \x{00a0}\x{202f}]?(?:(k|тыс\.?|thousand)|(m|mn|mio\.?|млн\.?|million|millions)|(b|bn|млрд\.?|billion|billions))(?:[^\p{L}\p{N}]|$)`)

// percents are the signs of a share in hundredths.
var percents = regexp.MustCompile(`(?i)^[ \x{00a0}\x{202f}]?(?:%|percent|per cent|процент|п\.\s?п\.|pp\b|percentage points?)`)

// In finds the figures of a text in their order.
func In(text string) []Figure {
	dead := skipped.FindAllStringIndex(text, -1)
	var out []Figure
	for _, at := range number.FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		if slices.ContainsFunc(dead, func(d []int) bool { return start < d[1] && end > d[0] }) {
			continue
		}
		if f, ok := read(text, start, end); ok {
			out = append(out, f)
		}
	}
	return out
}

// read makes a Figure of the digits at text[start:end].
func read(text string, start, end int) (Figure, bool) {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	if unicode.IsLetter(before) || before == '_' || before == '#' {
		return Figure{}, false // Q1, v2, sales_2024, #12
	}
	digits := text[start:end]
	f := Figure{Start: start, End: end}
	scale := 1.0
	rest := text[end:]
	if m := scales.FindStringSubmatchIndex(rest); m != nil {
		for group, factor := range []float64{1e3, 1e6, 1e9} {
			if m[2+2*group] >= 0 {
				scale = factor
				f.End = end + m[3+2*group]
			}
		}
	} else if m := percents.FindStringIndex(rest); m != nil {
		f.percent = true
		f.End = end + m[1]
	} else if after, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(after) || after == '_' {
		return Figure{}, false // 2nd, 3D
	}
	if scale == 1 && !f.percent && isYear(digits) {
		return Figure{}, false
	}
	rough := about.MatchString(text[max(0, start-24):start])
	f.meanings = meanings(digits, scale, rough)
	f.Text = text[f.Start:f.End]
	return f, len(f.meanings) > 0
}

// isYear tells a year from a number: four plain digits of our times.
func isYear(digits string) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && len(digits) == 4 && n >= 1990 && n <= 2040
}

// meanings reads digits with separators in every way that people write them.
func meanings(digits string, scale float64, rough bool) []meaning {
	plain := strings.Map(func(r rune) rune {
		switch r {
		case '\'', '’', '\u00a0', '\u202f', '\u2009', ' ':
			return -1
		}
		return r
	}, digits)
	last := strings.LastIndexAny(plain, ".,")
	forms := map[string]int{} // number text to its decimals
	whole := strings.NewReplacer(".", "", ",", "").Replace(plain)
	if last < 0 {
		forms[plain] = 0
	} else {
		tail := plain[last+1:]
		separator := plain[last : last+1]
		// A separator that stands once may be the decimal one; one that stands
		// before three digits may part thousands.
		if strings.Count(plain, separator) == 1 {
			head := strings.NewReplacer(".", "", ",", "").Replace(plain[:last])
			forms[head+"."+tail] = len(tail)
		}
		if len(tail) == 3 {
			forms[whole] = 0
		}
		if len(forms) == 0 {
			forms[whole] = 0
		}
	}
	var out []meaning
	for text, decimals := range forms {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		unit := math.Pow(10, -float64(decimals))
		if rough {
			unit = max(unit, roughUnit(text))
		}
		out = append(out, meaning{value: value * scale, slack: unit * scale / 2})
	}
	slices.SortFunc(out, func(a, b meaning) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	return out
}

// roughUnit is the worth of the last digit of text that is not 0.
func roughUnit(text string) float64 {
	if strings.Contains(text, ".") {
		return 0
	}
	return math.Pow(10, float64(len(text)-len(strings.TrimRight(text, "0"))))
}

// Evidence holds what was calculated.
type Evidence struct {
	values []float64
	sorted bool
}

// Add takes calculated values in.
func (e *Evidence) Add(values ...float64) {
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			e.values = append(e.values, math.Abs(v))
		}
	}
	e.sorted = false
}

// exponent matches numbers as programs print them, 1.2e+06 as well.
var exponent = regexp.MustCompile(`\d+(?:\.\d+)?[eE][-+]?\d{1,3}`)

// AddText takes in all numbers of a program's output.
func (e *Evidence) AddText(text string) {
	for _, s := range exponent.FindAllString(text, -1) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			e.Add(v)
		}
	}
	text = exponent.ReplaceAllString(text, " ")
	for _, at := range number.FindAllStringIndex(text, -1) {
		scale := 1.0
		if m := scales.FindStringSubmatchIndex(text[at[1]:]); m != nil {
			for group, factor := range []float64{1e3, 1e6, 1e9} {
				if m[2+2*group] >= 0 {
					scale = factor
				}
			}
		}
		digits := text[at[0]:at[1]]
		for _, m := range meanings(digits, scale, false) {
			e.Add(m.value)
		}
		if scale != 1 {
			for _, m := range meanings(digits, 1, false) {
				e.Add(m.value)
			}
		}
		// Columns of a printed table part by one blank: each is a number too.
		if strings.Contains(digits, " ") {
			for part := range strings.FieldsSeq(digits) {
				for _, m := range meanings(part, 1, false) {
					e.Add(m.value)
				}
			}
		}
	}
}

// Holds reports whether a calculated value rounds to the figure.
func (e *Evidence) Holds(f Figure) bool {
	if !e.sorted {
		slices.Sort(e.values)
		e.sorted = true
	}
	for _, m := range f.meanings {
		if e.near(m.value, m.slack) || f.percent && e.near(m.value/100, m.slack/100) {
			return true
		}
	}
	return false
}

// near reports whether a value lies within slack of v.
func (e *Evidence) near(v, slack float64) bool {
	slack += math.Abs(v) * 1e-9
	i, _ := slices.BinarySearch(e.values, v-slack)
	return i < len(e.values) && e.values[i] <= v+slack
}
