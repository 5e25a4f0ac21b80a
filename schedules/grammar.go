package schedules

import (
	"strconv"
	"strings"
)

const (
	everyWords   = "every each каждый каждую каждое каждые каждого каждой"
	joiners      = "and & и"
	atWords      = "at @ в во"
	hourWords    = "hour hours hourly час часа часов"
	minuteWords  = "minute minutes min mins минуту минуты минут мин"
	morningWords = "morning утра утром"
	eveningWords = "evening вечера вечером afternoon дня днем night ночи ночью"
)

// matchUnsupported notices what people say and a cron line cannot.
func (p *phraseParser) matchUnsupported(i int) (int, error) {
	two := p.word(i) + " " + p.word(i+1)
	switch {
	case p.is(i, everyWords) && p.is(i+1, "other second второй вторую вторые") && !p.is(i+2, minuteWords+" "+hourWords):
		if _, _, day := weekday(p.word(i + 2)); day || p.is(i+2, "day week month день неделю месяц year год") {
			return 0, askBack("Every other %s cannot be said as a cron line: every one of them, or on fixed dates?", p.word(i+2))
		}
	case strings.HasPrefix(p.word(i), "fortnight") || strings.HasPrefix(p.word(i), "biweekly") || strings.HasPrefix(p.word(i), "bi-weekly") || two == "раз в" && p.is(i+2, "две два 2"):
		return 0, askBack("Every two weeks cannot be said as a cron line: every week, or on the 1st and 15th?")
	case p.is(i, "last последний последнюю последнее последнего последней") &&
		(p.recurringTail(i+1) || p.is(i-1, everyWords)):
		if _, _, day := weekday(p.word(i + 1)); day {
			return 0, askBack("The last %[1]s of a month cannot be said as a cron line: every %[1]s, or on a fixed day?", p.word(i+1))
		}
		return 0, askBack("The last day cannot be said as a cron line: on the 28th, or on the 1st for the month before?")
	case p.is(i, "once twice") && p.is(i+1, "a per") || p.is(i, "дважды") && p.is(i+1, "в"):
		if p.is(i, "twice дважды") && p.countTimesAhead(i) >= 2 {
			p.daily = p.daily || p.is(i+2, "day день")
			return 3, nil
		}
		if p.is(i, "once") {
			return p.onceA(i)
		}
		return 0, askBack("At which two times? For instance “every day at 9 and 17”.")
	case p.is(i, "sometimes occasionally often regularly periodically иногда периодически регулярно"):
		return 0, askBack("How often exactly? For instance “every Monday at 9”.")
	case p.is(i, "tomorrow today tonight завтра сегодня послезавтра") && !p.anyEvery():
		return 0, askBack("Only once? A schedule repeats: every day, or on which days?")
	}
	return 0, nil
}

// onceA reads "once a day", "once a week": the unit repeats.
func (p *phraseParser) onceA(i int) (int, error) {
	n, err := p.unit(i+2, 1)
	if n == 0 || err != nil {
		return 0, err
	}
	return n + 2, nil
}

// recurringTail reports whether what follows "last" is about the calendar.
func (p *phraseParser) recurringTail(i int) bool {
	if _, _, ok := weekday(p.word(i)); ok {
		return p.is(i+1, "of in каждого месяца") || p.anyEvery()
	}
	return p.is(i, "day день число дня working business рабочий") && p.is(i+1, "of каждого месяца in day день")
}

func (p *phraseParser) anyEvery() bool {
	for i := range p.tokens {
		if p.is(i, everyWords+" daily weekly monthly ежедневно еженедельно ежемесячно") {
			return true
		}
	}
	return false
}

func (p *phraseParser) countTimesAhead(i int) int {
	for ; i < len(p.tokens); i++ {
		if times, n, _ := p.timeList(i); n > 0 {
			return len(times)
		}
	}
	return 0
}

// matchRecurrence reads "every …", "daily", "по будням" and their like.
func (p *phraseParser) matchRecurrence(i int) (int, error) {
	switch {
	case p.adjective(i):
		return 0, nil
	case p.is(i, "daily ежедневно"):
		p.daily = true
		return 1, nil
	case p.is(i, "hourly ежечасно"):
		return 1 + p.minutePast(i+1), p.setHours(1)
	case p.is(i, "weekdays workdays будни") || p.is(i, "on по в") && p.is(i+1, "weekdays workdays будням будни") || p.is(i, "будням"):
		p.weekdays = append(p.weekdays, 1, 2, 3, 4, 5)
		return 1 + p.skip(i+1, "weekdays workdays будням будни"), nil
	case p.is(i, "on по в на") && p.is(i+1, "business working рабочие рабочим") && p.is(i+2, "days дни дням"):
		p.weekdays = append(p.weekdays, 1, 2, 3, 4, 5)
		return 3, nil
	case p.is(i, "weekends выходным") || p.is(i, "on по в") && p.is(i+1, "weekends выходным выходные"):
		p.weekdays = append(p.weekdays, 0, 6)
		return 1 + p.skip(i+1, "weekends выходным выходные"), nil
	case p.is(i, "weekly еженедельно"):
		return p.weekly(i)
	case p.is(i, "monthly ежемесячно"):
		return p.monthly(i, 1)
	case p.is(i, "quarterly ежеквартально"):
		p.months = []int{1, 4, 7, 10}
		return 1, nil
	case p.is(i, "yearly annually ежегодно"):
		return p.yearly(i, 1)
	case p.is(i, everyWords):
		return p.every(i)
	case p.is(i, "раз") && p.is(i+1, "в"):
		n, err := p.unit(i+2, 1)
		if n == 0 || err != nil {
			return 0, err
		}
		return n + 2, nil
	}
	return 0, nil
}

// adjective reports whether the word at i only names the thing that is asked
// for ("send the weekly numbers every Friday"): another word repeats.
func (p *phraseParser) adjective(i int) bool {
	if !p.is(i, "daily hourly weekly monthly quarterly yearly annually") || p.is(i+1, "on at") {
		return false
	}
	for j := range p.tokens {
		_, plural, _ := weekday(p.word(j))
		if plural || p.is(j, everyWords) {
			return true
		}
	}
	return false
}

// every reads what follows "every": a unit, a number of units, or days.
func (p *phraseParser) every(i int) (int, error) {
	count, at := 1, i+1
	if p.is(at, "single") {
		at++
	}
	if p.is(at, "half полчаса") || p.is(at, "quarter") && p.is(at+1, "of an hour") {
		return p.fraction(i, at)
	}
	if n, ok := p.number(at); ok {
		if p.is(at+1, atWords) || p.word(at+1) == "" {
			return 0, askBack("Every %d what: minutes, hours or days?", n)
		}
		count = n
		at++
	}
	if m, ok := month(p.word(at)); ok {
		p.months = append(p.months, m)
		n := at + 1 - i
		if d, ok := p.dayNumber(i + n); ok {
			p.monthDays = append(p.monthDays, d)
			n++
		}
		return n, nil
	}
	if p.is(at, "first 1st первое первый") && p.is(at+1, "day день число") {
		return 0, nil // "every first day of the month" is read as a day of the month
	}
	n, err := p.unit(at, count)
	if n > 0 || err != nil {
		return n + at - i, err
	}
	if days, n := p.weekdayList(at); n > 0 {
		if count != 1 {
			return 0, askBack("Every %d weeks cannot be said as a cron line: every week, or on fixed dates?", count)
		}
		p.weekdays = append(p.weekdays, days...)
		return n + at - i, nil
	}
	return 0, nil
}

// fraction reads "every half hour" and "every quarter of an hour".
func (p *phraseParser) fraction(i, at int) (int, error) {
	p.everyMinutes = 30
	n := 1
	if p.is(at, "quarter") {
		p.everyMinutes = 15
	}
	n += p.skip(at+1, "of an a hour часа")
	return n + at - i, nil
}

// unit reads a unit of time that repeats every count units.
func (p *phraseParser) unit(i, count int) (int, error) {
	switch {
	case count == 0:
		return 0, askBack("Every 0 is never: how often?")
	case p.is(i, minuteWords):
		if count > 59 || 60%count != 0 {
			return 0, askBack("Every %d minutes does not divide an hour evenly: every 15, 20 or 30 minutes, or every hour?", count)
		}
		p.everyMinutes = count
		return 1, nil
	case p.is(i, hourWords):
		return 1 + p.minutePast(i+1), p.setHours(count)
	case p.is(i, "day days день дня дней сутки суток"):
		if count != 1 {
			return 0, askBack("Every %d days cannot be said as a cron line: every day, or on which days of the week?", count)
		}
		p.daily = true
		return 1, nil
	case p.is(i, "weekday workday") || p.is(i, "business working рабочий будний") && p.is(i+1, "day день"):
		p.weekdays = append(p.weekdays, 1, 2, 3, 4, 5)
		return 1 + p.skip(i+1, "day день"), nil
	case p.is(i, "weekend выходной выходные"):
		p.weekdays = append(p.weekdays, 0, 6)
		return 1, nil
	case p.is(i, "morning утро evening вечер afternoon night"):
		p.daily, p.partOfDay = true, p.word(i)
		return 1, nil
	case p.is(i, "week weeks неделю недели недель"):
		if count != 1 {
			return 0, askBack("Every %d weeks cannot be said as a cron line: every week, or on the 1st and 15th?", count)
		}
		return p.weekly(i)
	case p.is(i, "month months месяц месяца месяцев"):
		return p.monthly(i, count)
	case p.is(i, "quarter quarters квартал"):
		p.months = []int{1, 4, 7, 10}
		return 1, nil
	case p.is(i, "year years год"):
		return p.yearly(i, count)
	}
	return 0, nil
}

func (p *phraseParser) setHours(count int) error {
	if count > 23 || 24%count != 0 {
		return askBack("Every %d hours does not divide a day evenly: every 2, 3, 4, 6, 8 or 12 hours?", count)
	}
	p.everyHours = count
	return nil
}

// minutePast reads "at :15", "at 15 past", "at minute 5", "в 15 минут".
func (p *phraseParser) minutePast(i int) int {
	j := i + p.skip(i, "at on в")
	if digits, ok := strings.CutPrefix(p.word(j), ":"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n < 60 {
			p.pastHour = n
			return j + 1 - i
		}
	}
	if n, ok := p.number(j); ok && n < 60 && p.is(j+1, "past minutes минут after") {
		p.pastHour = n
		return j + 2 - i + p.skip(j+2, "past after the hour")
	}
	if p.is(j, "minute") {
		if n, ok := p.number(j + 1); ok && n < 60 {
			p.pastHour = n
			return j + 2 - i
		}
	}
	return 0
}

// weekly wants a day: "weekly on Monday", "every week on Mondays".
func (p *phraseParser) weekly(i int) (int, error) {
	j := i + 1 + p.skip(i+1, "on по в во")
	days, n := p.weekdayList(j)
	if n == 0 {
		return 0, askBack("On which day of the week?")
	}
	p.weekdays = append(p.weekdays, days...)
	return j + n - i, nil
}
