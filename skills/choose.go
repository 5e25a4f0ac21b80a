package skills

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Kinds of inputs, as a runnable skill's metadata names them.
const (
	KindTable    = "table"    // rows and columns: CSV, spreadsheets, JSON
	KindLog      = "log"      // lines with times
	KindText     = "text"     // prose, Markdown
	KindDocument = "document" // word processing, PDF
	KindCode     = "code"     // a program's source
	KindOther    = "other"
)

// Input is what choosing needs to know of a request's file.
type Input struct {
	Name      string
	MediaType string // may be empty
}

// Choice is which runnable skill a request without a model should use.
type Choice struct {
	// Skill is the one to run. It is the zero Skill when Unsure is true or
	// nothing fits.
	Skill Skill
	// Why is one sentence for the person: why this one, or why none.
	Why string
	// Matched are the request's words that speak for Skill.
	Matched []string
	// Unsure asks the person to pick one of Candidates (with --skill).
	Unsure bool
	// Candidates are the runnable skills that take these inputs, best first.
	Candidates []Skill
}

// scored is a runnable skill held against a request.
type scored struct {
	skill   Skill
	points  int
	rank    int // how far down the skill names its inputs' kinds: 0 where it is made for them
	matched []string
	misses  string // what its inputs lack; empty when they fit
}

// Choose picks the runnable skill that fits the request's words and the
// inputs' kinds. A skill says what it listens to in its metadata:
//
//	words:  comma-separated words and phrases; a * at the end of a word matches any ending, =N at the end of a phrase is its worth
//	inputs: the kinds it takes, comma-separated, of which each input must be one (table, log, text, document, code); none: it needs no file
//	needs:  the kinds of which at least one input must be, comma-separated
//	min-inputs, max-inputs: how many files it needs and takes (1 and any number, 0 and any when inputs is empty)
//
// Each phrase found counts its worth (its number of words), and one more when it stands
// among the first two words of the request. The skill's own name is one more
// phrase, and counts 5 more beside the word "skill". The best one is taken when
// it is ahead; else the person is asked, with the skills made for these kinds
// first.
func (c *Catalogue) Choose(request string, inputs []Input) Choice {
	words := tokenize(request)
	var fits, lacking []scored
	for _, s := range c.List() {
		// Saved reports are run by their names, by those whose they are.
		if !s.Runnable() || s.Source == SourceSaved {
			continue
		}
		r := score(s, words, inputs)
		if r.misses == "" {
			fits = append(fits, r)
		} else {
			lacking = append(lacking, r)
		}
	}
	byPoints := func(a, b scored) int { return cmp.Or(b.points-a.points, a.rank-b.rank) }
	slices.SortStableFunc(fits, byPoints)
	slices.SortStableFunc(lacking, byPoints)

	var choice Choice
	for _, r := range fits {
		choice.Candidates = append(choice.Candidates, r.skill)
	}
	best := 0
	if len(fits) > 0 {
		best = fits[0].points
	}
	switch {
	case len(lacking) > 0 && lacking[0].points > best && (len(fits) == 0 || best == 0):
		choice.Why = fmt.Sprintf("%s fits the request's words (%s), but %s.", lacking[0].skill.Name, quoteAll(lacking[0].matched), lacking[0].misses)
		choice.Unsure = len(fits) > 0
	case len(fits) == 0:
		choice.Why = "No runnable skill takes these inputs."
	case best == 0:
		choice.Unsure = true
		choice.Why = "The request names nothing that a runnable skill listens to."
	case len(fits) > 1 && fits[1].points == best:
		choice.Unsure = true
		choice.Why = fmt.Sprintf("%s and %s fit the request equally well.", fits[0].skill.Name, fits[1].skill.Name)
	default:
		choice.Skill, choice.Matched = fits[0].skill, fits[0].matched
		choice.Why = fmt.Sprintf("%s fits best: the request says %s%s.", fits[0].skill.Name, quoteAll(fits[0].matched), inputsPhrase(inputs))
	}
	return choice
}

func score(s Skill, words []string, inputs []Input) scored {
	r := scored{skill: s, misses: lacks(s, inputs), rank: rank(s, inputs)}
	for phrase := range strings.SplitSeq(s.Metadata["words"], ",") {
		phrase, weight, weighed := strings.Cut(strings.ToLower(phrase), "=")
		pattern := strings.Fields(phrase)
		if at := findPhrase(words, pattern); at >= 0 {
			worth := len(pattern)
			if n, err := strconv.Atoi(strings.TrimSpace(weight)); weighed && err == nil {
				worth = n
			}
			r.points += worth
			if at < 2 {
				r.points++
			}
			r.matched = append(r.matched, strings.Join(words[at:at+len(pattern)], " "))
		}
	}
	name := tokenize(s.Name)
	if findPhrase(words, name) >= 0 {
		r.points += len(name)
		r.matched = append(r.matched, strings.Join(name, " "))
		if findPhrase(words, append([]string{"skill"}, name...)) >= 0 || findPhrase(words, append(slices.Clone(name), "skill")) >= 0 {
			r.points += 5
		}
	}
	sort.Strings(r.matched)
	r.matched = slices.Compact(r.matched)
	return r
}

// rank adds up where in the skill's list of kinds each input's kind stands.
func rank(s Skill, inputs []Input) int {
	takes, sum := splitList(s.Metadata["inputs"]), 0
	if len(takes) == 0 && len(inputs) > 0 {
		return len(inputs) // it needs no file, and has no use for these
	}
	for _, in := range inputs {
		kinds := Kinds(in)
		sum += max(slices.IndexFunc(takes, func(k string) bool { return slices.Contains(kinds, k) }), 0)
	}
	return sum
}

// lacks says in words why a skill cannot take these inputs; empty when it can.
func lacks(s Skill, inputs []Input) string {
	takes := splitList(s.Metadata["inputs"])
	least, most := 1, len(inputs)
	if len(takes) == 0 {
		least = 0
	}
	if _, err := fmt.Sscanf(s.Metadata["min-inputs"], "%d", &least); err != nil && s.Metadata["min-inputs"] != "" {
		return "its metadata min-inputs is no number"
	}
	if _, err := fmt.Sscanf(s.Metadata["max-inputs"], "%d", &most); err != nil && s.Metadata["max-inputs"] != "" {
		return "its metadata max-inputs is no number"
	}
	switch {
	case len(inputs) < least:
		return fmt.Sprintf("it needs %s and there %s", count(least, "file"), are(len(inputs)))
	case len(inputs) > most:
		return fmt.Sprintf("it takes at most %s and there %s", count(most, "file"), are(len(inputs)))
	}
	for _, in := range inputs {
		if len(takes) > 0 && !slices.ContainsFunc(Kinds(in), func(k string) bool { return slices.Contains(takes, k) }) {
			return fmt.Sprintf("it takes %s, and %q is not one", strings.Join(takes, " or "), clip(in.Name, 60))
		}
	}
	needs := splitList(s.Metadata["needs"])
	if len(needs) > 0 && !slices.ContainsFunc(inputs, func(in Input) bool {
		return slices.ContainsFunc(Kinds(in), func(k string) bool { return slices.Contains(needs, k) })
	}) {
		return fmt.Sprintf("it needs a file of %s and there is none", strings.Join(needs, " or "))
	}
	return ""
}

// Kinds says what a file may be, by its name and media type: a .txt may hold
// a table, a log or prose. It never looks inside.
func Kinds(in Input) []string {
	name := strings.ToLower(in.Name)
	for _, packed := range []string{".gz", ".bz2", ".xz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	switch path.Ext(name) {
	case ".csv", ".tsv", ".tab", ".psv", ".xlsx", ".xls", ".xlsm", ".ods", ".json", ".jsonl", ".ndjson", ".parquet", ".zip":
		if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson") {
			return []string{KindTable, KindLog}
		}
		return []string{KindTable}
	case ".log", ".out", ".err":
		return []string{KindLog}
	case ".txt", ".dat", "":
		if strings.Contains(name, "log") {
			return []string{KindLog, KindTable, KindText}
		}
		return []string{KindTable, KindText, KindLog}
	case ".md", ".markdown", ".rst":
		return []string{KindText}
	case ".py", ".js", ".ts", ".go", ".sql", ".sh", ".r", ".c", ".cpp", ".java", ".rs":
		return []string{KindCode, KindText}
	case ".docx", ".odt", ".pdf", ".rtf", ".pptx":
		return []string{KindDocument}
	}
	switch {
	case strings.HasPrefix(in.MediaType, "text/csv"), strings.Contains(in.MediaType, "spreadsheet"), strings.Contains(in.MediaType, "json"):
		return []string{KindTable}
	case strings.Contains(name, ".log."): // access.log.1
		return []string{KindLog}
	case strings.HasPrefix(in.MediaType, "text/"):
		return []string{KindTable, KindText, KindLog}
	}
	return []string{KindOther}
}

// tokenize gives the lower-case words of a text, with ё as е.
func tokenize(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "ё", "е")
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// findPhrase gives where a phrase first stands in words, -1 when nowhere.
func findPhrase(words, pattern []string) int {
	if len(pattern) == 0 {
		return -1
	}
	for at := 0; at+len(pattern) <= len(words); at++ {
		all := true
		for i, p := range pattern {
			stem, open := strings.CutSuffix(p, "*")
			if open && !strings.HasPrefix(words[at+i], stem) || !open && words[at+i] != p {
				all = false
				break
			}
		}
		if all {
			return at
		}
	}
	return -1
}

func splitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "“" + clip(s, 40) + "”"
	}
	return strings.Join(quoted, ", ")
}

func inputsPhrase(inputs []Input) string {
	if len(inputs) == 0 {
		return ""
	}
	return fmt.Sprintf(", with %s", count(len(inputs), "file"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func are(n int) string {
	switch n {
	case 0:
		return "is none"
	case 1:
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}
