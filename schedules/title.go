package schedules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// maxTitle bounds a title with its words filled in, in characters. GitHub takes
// 256; the adapter needs some to make it inert.
const maxTitle = 200

// titleWord finds what a title's template may hold beside its text. It is all
// there is of a template: what people write is parsed as nothing else.
var titleWord = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// titleWords are the words a template knows, filled in for a due time in the
// schedule's zone.
func titleWords(name string, due time.Time) map[string]string {
	year, week := due.ISOWeek()
	return map[string]string{
		"name":    name,
		"date":    due.Format("2006-01-02"),
		"time":    due.Format("15:04"),
		"week":    fmt.Sprintf("%d-W%02d", year, week),
		"month":   due.Format("2006-01"),
		"quarter": fmt.Sprintf("%d-Q%d", due.Year(), (due.Month()+2)/3),
		"year":    due.Format("2006"),
	}
}

// titleOf fills a template in.
func titleOf(template, name string, due time.Time) string {
	words := titleWords(name, due)
	return titleWord.ReplaceAllStringFunc(template, func(found string) string {
		word, ok := words[strings.ToLower(titleWord.FindStringSubmatch(found)[1])]
		if !ok {
			return found // refused when it was made
		}
		return word
	})
}

// checkTitle refuses a template that would not become a title; "" is none.
func (s *Schedule) checkTitle(template string) error {
	if template == "" {
		return nil
	}
	known := titleWords("", time.Time{})
	for _, found := range titleWord.FindAllStringSubmatch(template, -1) {
		if _, ok := known[strings.ToLower(found[1])]; !ok {
			return wrongTitle("title %q: there is no {{%s}}; known are %s", template, found[1], titleVocabulary())
		}
	}
	text := titleWord.ReplaceAllString(template, "")
	filled := titleOf(template, s.Name, time.Date(2026, time.September, 30, 12, 0, 0, 0, time.UTC))
	switch {
	case strings.Contains(text, "{{") || strings.Contains(text, "}}"):
		return wrongTitle("title %q: write {{word}}, where the word is one of %s", template, titleVocabulary())
	case strings.ContainsFunc(template, unicode.IsControl):
		return wrongTitle("title %q: it is one line", template)
	case strings.TrimSpace(filled) == "":
		return wrongTitle("title %q: it says nothing", template)
	case utf8.RuneCountInString(filled) > maxTitle:
		return wrongTitle("title %q: it has %d characters, and %d are the most", template, utf8.RuneCountInString(filled), maxTitle)
	}
	return nil
}

func wrongTitle(format string, args ...any) error {
	return &DeniedError{Reason: fmt.Sprintf(format, args...)}
}

func titleVocabulary() string {
	var words []string
	for word := range titleWords("", time.Time{}) {
		words = append(words, "{{"+word+"}}")
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// places are the schedule's destinations for a due time: their titles are
// filled in, so that each try of one delivery has the same.
func (s *Schedule) places(due time.Time) []bot.Origin {
	loc, err := loadZone(s.Zone)
	if err != nil {
		loc = time.UTC // a line that cannot be read is paused elsewhere
	}
	to := slices.Clone(s.To)
	for i := range to {
		if to[i].Title != "" {
			to[i].Title = titleOf(to[i].Title, s.Name, due.In(loc))
		}
	}
	return to
}

// placeName is a destination as people name it.
func placeName(to bot.Origin) string {
	return strings.TrimPrefix(to.Place, to.Adapter+":")
}
