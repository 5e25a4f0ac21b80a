package schedules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Phrase is what was understood of a person's words about time.
type Phrase struct {
	Cron string // five fields
	// Zone is the time zone the words named, empty when they named none.
	Zone string
	// Rest is the text without the words about time: the request itself.
	Rest string
}

// AskBackError says why words about time are not enough, as a question for
// whoever wrote them.
type AskBackError struct{ Question string }

// Error implements error.
func (e *AskBackError) Error() string { return e.Question }

func askBack(format string, args ...any) error {
	return &AskBackError{Question: fmt.Sprintf(format, args...)}
}

// Understand reads words about time, English or Russian, out of text. Words
// that may mean two things, or that a cron line cannot say, give an
// *AskBackError and never a guess.
func Understand(text string) (Phrase, error) {
	p := &phraseParser{text: text, tokens: tokenize(text)}
	if err := p.scan(); err != nil {
		return Phrase{}, err
	}
	line, err := p.cron()
	if err != nil {
		return Phrase{}, err
	}
	return Phrase{Cron: line, Zone: p.zone, Rest: p.rest()}, nil
}

// clock is a time of day.
type clock struct{ hour, minute int }

// phraseParser collects what the tokens say. A field that stays nil was not
// spoken of.
type phraseParser struct {
	text   string
	tokens []token
	used   []bool

	weekdays  []int // 0 is Sunday
	monthDays []int
	months    []int
	times     []clock
	zone      string

	daily        bool
	everyHours   int
	everyMinutes int
	// pastHour is the minute of an hourly schedule, -1 when not named.
	pastHour int
	// once is set by a weekday without a word that repeats it.
	once string
	// partOfDay is set by "in the morning" without a time.
	partOfDay string
}

func (p *phraseParser) scan() error {
	p.used = make([]bool, len(p.tokens))
	p.pastHour = -1
	for i := 0; i < len(p.tokens); {
		n, err := p.match(i)
		if err != nil {
			return err
		}
		for j := range n {
			p.used[i+j] = true
		}
		i += max(n, 1)
	}
	return nil
}

// match tries each rule at token i and returns how many tokens it took.
func (p *phraseParser) match(i int) (int, error) {
	for _, rule := range []func(int) (int, error){
		p.matchUnsupported, p.matchRecurrence, p.matchMonthDay, p.matchWeekdays, p.matchTimes, p.matchZone,
	} {
		if n, err := rule(i); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

func (p *phraseParser) recurs() bool {
	return p.daily || p.weekdays != nil || p.monthDays != nil || p.months != nil || p.everyHours > 0 || p.everyMinutes > 0
}

// cron joins what was collected into five fields.
func (p *phraseParser) cron() (string, error) {
	if !p.recurs() {
		if p.once != "" {
			return "", askBack("Once, or every %s?", p.once)
		}
		return "", askBack("How often? For instance “every Monday at 9” or “every 2 hours”.")
	}
	if p.weekdays != nil && p.monthDays != nil {
		return "", askBack("A day of the month and a day of the week together: which of the two should count?")
	}
	if p.everyMinutes > 0 || p.everyHours > 0 {
		return p.intervalCron()
	}
	if len(p.times) == 0 {
		if p.partOfDay != "" {
			return "", askBack("At what time in the %s? For instance “at 9”.", p.partOfDay)
		}
		return "", askBack("At what time? For instance “at 9” or “at 17:30”.")
	}
	minute := p.times[0].minute
	var hours []int
	for _, t := range p.times {
		if t.minute != minute {
			return "", askBack("Times with different minutes need two schedules: which of them should this one have?")
		}
		hours = append(hours, t.hour)
	}
	days := p.monthDays
	if days == nil && p.months != nil {
		days = []int{1}
	}
	return fmt.Sprintf("%d %s %s %s %s", minute, field(hours), field(days), field(p.months), field(p.weekdays)), nil
}

func (p *phraseParser) intervalCron() (string, error) {
	if p.monthDays != nil || p.months != nil {
		return "", askBack("Every few hours on some days of a month only: please give a cron line.")
	}
	if len(p.times) > 1 {
		return "", askBack("Every few hours, or at these times?")
	}
	if p.everyMinutes > 0 {
		if len(p.times) > 0 {
			return "", askBack("Every %d minutes, or once a day at %02d:%02d?", p.everyMinutes, p.times[0].hour, p.times[0].minute)
		}
		minutes := "*/" + strconv.Itoa(p.everyMinutes)
		if p.everyMinutes == 1 {
			minutes = "*"
		}
		return fmt.Sprintf("%s * * * %s", minutes, field(p.weekdays)), nil
	}
	minute := max(p.pastHour, 0)
	if len(p.times) == 1 {
		return "", askBack("Every %d hours, or once a day at %02d:%02d?", p.everyHours, p.times[0].hour, p.times[0].minute)
	}
	hours := "*"
	if p.everyHours > 1 {
		hours = "*/" + strconv.Itoa(p.everyHours)
	}
	return fmt.Sprintf("%d %s * * %s", minute, hours, field(p.weekdays)), nil
}

// field writes numbers as a cron field: a list, runs of three and more as ranges.
func field(values []int) string {
	if len(values) == 0 {
		return "*"
	}
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	var parts []string
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d-%d", values[i], values[j]))
		} else {
			for _, v := range values[i : j+1] {
				parts = append(parts, strconv.Itoa(v))
			}
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// rest returns the text without the tokens that spoke of time.
func (p *phraseParser) rest() string {
	var b strings.Builder
	last := 0
	for i, t := range p.tokens {
		if p.used[i] {
			b.WriteString(p.text[last:t.start])
			last = t.end
		}
	}
	b.WriteString(p.text[last:])
	rest := strings.Join(strings.Fields(b.String()), " ")
	return strings.TrimRight(strings.TrimLeft(rest, " ,;:—–-."), " ,;:—–-")
}
