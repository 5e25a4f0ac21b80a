package skilltest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Result is how one eval went: it passed when it was neither skipped nor has
// failures.
type Result struct {
	Skill    string   `json:"skill"`
	Eval     string   `json:"eval"`
	Model    bool     `json:"model"` // a model was asked
	Skipped  string   `json:"skipped,omitempty"`
	Failures []string `json:"failures,omitempty"`
	Seconds  float64  `json:"seconds"`
	CostUSD  float64  `json:"cost_usd,omitempty"`
}

// Passed reports whether everything held.
func (r Result) Passed() bool { return r.Skipped == "" && len(r.Failures) == 0 }

// Report is how all evals went, in the order they ran.
type Report struct {
	Results []Result `json:"results"`
}

// Failed counts the evals that failed.
func (r Report) Failed() int {
	n := 0
	for _, one := range r.Results {
		if len(one.Failures) > 0 {
			n++
		}
	}
	return n
}

// Table writes the results as a table for people, failures below their line,
// and the sum of costs at the end.
func (r Report) Table(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SKILL\tEVAL\tRESULT\tTIME\tCOST")
	var passed, skipped int
	var cost float64
	for _, one := range r.Results {
		word := "passed"
		switch {
		case len(one.Failures) > 0:
			word = "FAILED"
		case one.Skipped != "":
			word, skipped = "skipped: "+one.Skipped, skipped+1
		default:
			passed++
		}
		price := "-"
		if one.Model && one.Skipped == "" {
			price = fmt.Sprintf("$%.4f", one.CostUSD)
		}
		cost += one.CostUSD
		fmt.Fprintf(out, "%s\t%s\t%s\t%.1f s\t%s\n", one.Skill, one.Eval, word, one.Seconds, price)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	var b strings.Builder
	for _, one := range r.Results {
		for _, failure := range one.Failures {
			fmt.Fprintf(&b, "\n%s/%s: %s", one.Skill, one.Eval, printable(failure))
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %d skipped", passed, r.Failed(), skipped)
	if cost > 0 {
		fmt.Fprintf(&b, ", $%.4f", cost)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []*suite `xml:"testsuite"`
}

type suite struct {
	Name     string  `xml:"name,attr"`
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Time     string  `xml:"time,attr"`
	Cases    []kase  `xml:"testcase"`
	seconds  float64 // sum of the cases
}

type kase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
}

type message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the results as JUnit XML, one suite a skill.
func (r Report) JUnit(w io.Writer) error {
	var all suites
	byName := map[string]*suite{}
	for _, one := range r.Results {
		s := byName[one.Skill]
		if s == nil {
			s = &suite{Name: one.Skill}
			byName[one.Skill] = s
			all.Suites = append(all.Suites, s)
		}
		k := kase{Class: "skills." + one.Skill, Name: one.Eval, Time: fmt.Sprintf("%.3f", one.Seconds)}
		switch {
		case len(one.Failures) > 0:
			k.Failure = &message{Message: firstLine(printable(one.Failures[0])), Text: printable(strings.Join(one.Failures, "\n"))}
			s.Failures++
		case one.Skipped != "":
			k.Skipped = &message{Message: one.Skipped}
			s.Skipped++
		}
		s.Tests++
		s.seconds += one.Seconds
		s.Time = fmt.Sprintf("%.3f", s.seconds)
		s.Cases = append(s.Cases, k)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// printable takes control characters out of what came from a container.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, text)
}
