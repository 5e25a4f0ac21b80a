package schedules

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// matchTimes reads "at 9", "at 9:30 and 17:30", "в 9 утра", "noon".
func (p *phraseParser) matchTimes(i int) (int, error) {
	times, n, err := p.timeList(i)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		if p.is(i, "in the") && p.is(i+p.skip(i, "in the"), "morning evening afternoon") {
			j := i + p.skip(i, "in the")
			p.partOfDay = p.word(j)
			return j + 1 - i, nil
		}
		if p.is(i, "утром вечером днем ночью") {
			p.partOfDay = p.word(i)
			return 1, nil
		}
		return 0, nil
	}
	p.times = append(p.times, times...)
	return n, nil
}

// timeList reads one or more times; the first needs "at" or a form that can
// be nothing else.
func (p *phraseParser) timeList(i int) (times []clock, n int, err error) {
	prefixed := p.skip(i, atWords)
	n = prefixed
	for {
		t, used, err := p.time(i+n, prefixed > 0)
		if err != nil {
			return nil, 0, err
		}
		if used == 0 {
			break
		}
		times = append(times, t)
		n += used
		if p.is(i+n, "or или") {
			if _, again, _ := p.time(i+n+1, true); again > 0 {
				return nil, 0, askBack("At which of the two times?")
			}
		}
		skipped := p.skip(i+n, joiners+" "+atWords)
		if _, again, _ := p.time(i+n+skipped, true); again == 0 {
			break
		}
		n += skipped
	}
	if len(times) == 0 {
		return nil, 0, nil
	}
	return times, n, nil
}

var clockForm = regexp.MustCompile(`^(\d{1,2})(?:[:.h](\d{2}))?(am|pm|a\.m|p\.m)?$`)

// time reads one time of day at token i. loose allows a bare number.
func (p *phraseParser) time(i int, loose bool) (clock, int, error) {
	switch {
	case p.is(i, "noon полдень midday"):
		return clock{12, 0}, 1, nil
	case p.is(i, "midnight полночь"):
		return clock{0, 0}, 1, nil
	case loose && p.is(i, "half") && p.is(i+1, "past"):
		if h, ok := p.number(i + 2); ok && h < 24 {
			return clock{h, 30}, 3, nil
		}
	case loose && p.is(i, "quarter") && p.is(i+1, "past"):
		if h, ok := p.number(i + 2); ok && h < 24 {
			return clock{h, 15}, 3, nil
		}
	case loose && p.is(i, "quarter") && p.is(i+1, "to"):
		if h, ok := p.number(i + 2); ok && h >= 1 && h < 24 {
			return clock{h - 1, 45}, 3, nil
		}
	}
	form, n := p.word(i), 1
	if v, ok := numberWords()[form]; ok && loose {
		form = strconv.Itoa(v)
	}
	m := clockForm.FindStringSubmatch(form)
	if m == nil {
		return clock{}, 0, nil
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	half := strings.ReplaceAll(m[3], ".", "")
	sure := loose || strings.Contains(form, ":") || half != ""
	n += p.skip(i+n, "o'clock o’clock часов часа час sharp ровно")
	if n > 1 {
		sure = true
	}
	if minutes, ok := p.number(i + n); ok && n > 1 && p.is(i+n+1, "минут") {
		minute, n = minutes, n+2
	}
	if half == "" && p.is(i+n, "am pm a.m p.m") {
		half, sure = strings.ReplaceAll(p.word(i+n), ".", ""), true
		n++
	}
	words := p.skip(i+n, "in the")
	if p.is(i+n+words, morningWords+" "+eveningWords) {
		half, sure = halfOf(p.word(i+n+words), hour), true
		n += words + 1
	}
	if !sure {
		return clock{}, 0, nil
	}
	return finishTime(hour, minute, half, n)
}

// halfOf turns a part of the day into am or pm.
func halfOf(word string, hour int) string {
	switch {
	case hour > 12, strings.Contains(morningWords, word), strings.HasPrefix(word, "ноч") && hour < 6:
		return ""
	case word == "night" && hour < 5:
		return ""
	}
	return "pm"
}

func finishTime(hour, minute int, half string, n int) (clock, int, error) {
	if half != "" && (hour < 1 || hour > 12) {
		return clock{}, 0, askBack("%d %s is no time of day: which time is meant?", hour, half)
	}
	if half == "pm" && hour < 12 {
		hour += 12
	}
	if half == "am" && hour == 12 {
		hour = 0
	}
	if hour == 24 && minute == 0 {
		hour = 0
	}
	if hour > 23 || minute > 59 {
		return clock{}, 0, askBack("%d:%02d is no time of day: which time is meant?", hour, minute)
	}
	return clock{hour, minute}, n, nil
}

// matchZone reads "UTC", "Europe/Berlin", "Berlin time", "Tokyo time zone", "по Москве".
func (p *phraseParser) matchZone(i int) (int, error) {
	j := i + p.skip(i, "in по")
	raw := ""
	if j < len(p.tokens) {
		raw = p.text[p.tokens[j].start:p.tokens[j].end]
	}
	if raw == "UTC" || raw == "GMT" {
		p.zone = "UTC"
		return j + 1 - i + p.zoneWords(j+1), nil
	}
	if area, _, ok := strings.Cut(raw, "/"); ok && strings.Contains(" Africa America Antarctica Asia Atlantic Australia Europe Indian Pacific Etc ", " "+area+" ") {
		if _, err := time.LoadLocation(raw); err != nil {
			return 0, askBack("I do not know the time zone %s: which one is meant?", raw)
		}
		p.zone = raw
		return j + 1 - i + p.zoneWords(j+1), nil
	}
	if zone, ok := cityZones()[p.word(j)]; ok && (p.zoneWords(j+1) > 0 || p.is(i, "по")) {
		p.zone = zone
		return j + 1 - i + p.zoneWords(j+1), nil
	}
	return 0, nil
}

// zoneWords counts the words behind a zone's name that only say what it is.
func (p *phraseParser) zoneWords(i int) int {
	n := p.skip(i, "time timezone времени")
	if p.is(i, "time") {
		n += p.skip(i+1, "zone")
	}
	return n
}

// cityZones are the zones people name by a city.
func cityZones() map[string]string {
	return map[string]string{
		"berlin": "Europe/Berlin", "london": "Europe/London", "paris": "Europe/Paris", "moscow": "Europe/Moscow",
		"tokyo": "Asia/Tokyo", "sydney": "Australia/Sydney", "pacific": "America/Los_Angeles", "eastern": "America/New_York",
		"москве": "Europe/Moscow", "московскому": "Europe/Moscow", "берлину": "Europe/Berlin", "лондону": "Europe/London",
		"гринвичу": "UTC",
	}
}
