package schedules

import (
	"strconv"
	"strings"
)

// monthly wants a day of the month when it is not the first: "monthly on the 5th".
func (p *phraseParser) monthly(i, count int) (int, error) {
	if count > 12 || 12%count != 0 {
		return 0, askBack("Every %d months does not divide a year evenly: every 2, 3, 4 or 6 months?", count)
	}
	if count > 1 {
		for m := 1; m <= 12; m += count {
			p.months = append(p.months, m)
		}
	}
	j := i + 1 + p.skip(i+1, "on the day в")
	days, n := p.dayList(j)
	if n == 0 {
		if p.monthDays == nil && count == 1 {
			if !p.dayAhead(i + 1) {
				return 0, askBack("On which day of the month?")
			}
		}
		return 1, nil
	}
	p.monthDays = append(p.monthDays, days...)
	return j + n - i + p.skip(j+n, "числа число"), nil
}

// dayAhead reports whether a day of the month is named further on.
func (p *phraseParser) dayAhead(i int) bool {
	for ; i < len(p.tokens); i++ {
		if _, ok := p.ordinal(i); ok {
			return true
		}
		if _, ok := p.number(i); ok && p.is(i+1, "числа число") {
			return true
		}
	}
	return false
}

// yearly wants a date: "every year on March 1", "ежегодно 1 марта".
func (p *phraseParser) yearly(i, count int) (int, error) {
	if count != 1 {
		return 0, askBack("Every %d years cannot be said as a cron line: every year?", count)
	}
	j := i + 1 + p.skip(i+1, "on the в")
	m, d, n := p.date(j)
	if n == 0 {
		return 0, askBack("On which date of the year?")
	}
	p.months, p.monthDays = append(p.months, m), append(p.monthDays, d)
	return j + n - i, nil
}

// date reads "March 1", "1 March", "1st of March", "1 марта".
func (p *phraseParser) date(i int) (m, d, n int) {
	if m, ok := month(p.word(i)); ok {
		j := i + 1 + p.skip(i+1, "the")
		if d, ok := p.dayNumber(j); ok {
			return m, d, j + 1 - i
		}
		return 0, 0, 0
	}
	if d, ok := p.dayNumber(i); ok {
		j := i + 1 + p.skip(i+1, "of числа")
		if m, ok := month(p.word(j)); ok {
			return m, d, j + 1 - i
		}
	}
	return 0, 0, 0
}

func (p *phraseParser) dayNumber(i int) (int, bool) {
	if d, ok := p.ordinal(i); ok {
		return d, true
	}
	n, err := strconv.Atoi(p.word(i))
	return n, err == nil && n >= 1 && n <= 31
}

// dayList reads "1st and 15th", "1 и 15".
func (p *phraseParser) dayList(i int) (days []int, n int) {
	for {
		d, ok := p.dayNumber(i + n)
		if !ok || p.is(i+n+1, "past минут am pm часов час часа") {
			return days, n
		}
		days = append(days, d)
		n++
		skipped := p.skip(i+n, joiners+" the")
		if _, ok := p.dayNumber(i + n + skipped); !ok {
			return days, n
		}
		n += skipped
	}
}

// matchMonthDay reads "on the 1st of every month", "первого числа каждого месяца".
func (p *phraseParser) matchMonthDay(i int) (int, error) {
	j := i + p.skip(i, "on the every в")
	days, n := p.dayList(j)
	if n == 0 {
		return 0, nil
	}
	j += n
	tail := p.skip(j, "day день числа число of every each the a каждого")
	switch {
	case p.is(j+tail, "month месяца"):
		p.monthDays = append(p.monthDays, days...)
		return j + tail + 1 - i, nil
	case p.is(j+tail, "quarter квартала"):
		p.months, p.monthDays = []int{1, 4, 7, 10}, append(p.monthDays, days...)
		return j + tail + 1 - i, nil
	case p.is(j, "числа") || p.monthlySpoken() && p.ordinalAt(j-1):
		p.monthDays = append(p.monthDays, days...)
		return j + p.skip(j, "числа") - i, nil
	}
	return 0, nil
}

func (p *phraseParser) ordinalAt(i int) bool {
	_, ok := p.ordinal(i)
	return ok
}

func (p *phraseParser) monthlySpoken() bool {
	for i := range p.tokens {
		if p.is(i, "monthly ежемесячно month месяц") {
			return true
		}
	}
	return false
}

// weekdayList reads "Monday, Wednesday and Friday", "Mon-Fri", "Monday to Friday".
func (p *phraseParser) weekdayList(i int) (days []int, n int) {
	for {
		w := p.word(i + n)
		if from, to, ok := strings.Cut(strings.ReplaceAll(w, "–", "-"), "-"); ok {
			a, _, okA := weekday(from)
			b, _, okB := weekday(to)
			if okA && okB {
				days = append(days, dayRange(a, b)...)
				n++
				continue
			}
		}
		d, _, ok := weekday(w)
		if !ok {
			return days, n
		}
		n++
		if p.is(i+n, "to through till until по до - –") {
			if to, _, ok := weekday(p.word(i + n + 1)); ok {
				days = append(days, dayRange(d, to)...)
				n += 2
				continue
			}
		}
		days = append(days, d)
		skipped := p.skip(i+n, joiners+" on every в во по")
		if _, _, ok := weekday(p.word(i + n + skipped)); !ok {
			return days, n
		}
		n += skipped
	}
}

func dayRange(from, to int) []int {
	var days []int
	for d := from; ; d = (d + 1) % 7 {
		days = append(days, d)
		if d == to {
			return days
		}
	}
}

// matchWeekdays reads days without "every": "on Mondays", "по средам",
// "Monday to Friday". A single day that does not repeat by its form is
// remembered as a question.
func (p *phraseParser) matchWeekdays(i int) (int, error) {
	j := i + p.skip(i, "on по в во с from")
	days, n := p.weekdayList(j)
	if n == 0 {
		return 0, nil
	}
	plural := false
	for k := j; k < j+n; k++ {
		_, many, _ := weekday(p.word(k))
		plural = plural || many
	}
	if plural || len(days) >= 3 {
		p.weekdays = append(p.weekdays, days...)
		return j + n - i, nil
	}
	if j > i && p.is(i, "on в во") {
		p.once = p.text[p.tokens[j].start:p.tokens[j].end]
		return j + n - i, nil
	}
	return 0, nil
}
