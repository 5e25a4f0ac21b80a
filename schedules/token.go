package schedules

import (
	"strconv"
	"strings"
	"unicode"
)

// token is one word of a phrase, lower-case, with its place in the text in
// bytes.
type token struct {
	word       string
	start, end int
}

// tokenize splits text into words. Marks inside times, zones, paths and
// mentions stay with their word, so that "data/sales.csv" is one word.
func tokenize(text string) []token {
	var tokens []token
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		word := text[start:end]
		trimmed := strings.TrimRight(word, ".:,!?;)\"”»")
		lead := len(trimmed) - len(strings.TrimLeft(trimmed, "(\"“«"))
		if inner := trimmed[lead:]; inner != "" {
			tokens = append(tokens, token{strings.ReplaceAll(strings.ToLower(inner), "ё", "е"), start + lead, start + len(trimmed)})
		}
		start = -1
	}
	for i, r := range text {
		if unicode.IsSpace(r) || r == ',' || r == ';' {
			flush(i)
			continue
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(text))
	return tokens
}

// word returns the lower-case word at i, or "" past the end.
func (p *phraseParser) word(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.tokens[i].word
}

// is reports whether the word at i is one of the words in list.
func (p *phraseParser) is(i int, list string) bool {
	w := p.word(i)
	return w != "" && strings.Contains(" "+list+" ", " "+w+" ")
}

// skip returns how many words from i on are in list.
func (p *phraseParser) skip(i int, list string) int {
	n := 0
	for p.is(i+n, list) {
		n++
	}
	return n
}

// number reads a small number, in digits or as a word.
func (p *phraseParser) number(i int) (int, bool) {
	w := p.word(i)
	if n, err := strconv.Atoi(w); err == nil && n >= 0 {
		return n, true
	}
	n, ok := numberWords()[w]
	return n, ok
}

func numberWords() map[string]int {
	return map[string]int{
		"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
		"eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
		"один": 1, "одну": 1, "два": 2, "две": 2, "три": 3, "четыре": 4, "пять": 5, "шесть": 6, "семь": 7, "восемь": 8,
		"девять": 9, "десять": 10, "двенадцать": 12, "пятнадцать": 15, "двадцать": 20, "тридцать": 30,
	}
}

// ordinal reads a day of a month: "1st", "first", "15-го", "первого".
func (p *phraseParser) ordinal(i int) (int, bool) {
	w := p.word(i)
	for _, suffix := range []string{"st", "nd", "rd", "th", "-го", "го", "-е", "-ого"} {
		if digits, ok := strings.CutSuffix(w, suffix); ok {
			if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= 31 {
				return n, true
			}
		}
	}
	n, ok := map[string]int{
		"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "tenth": 10, "fifteenth": 15, "twentieth": 20,
		"первого": 1, "первое": 1, "второго": 2, "третьего": 3, "пятого": 5, "десятого": 10, "пятнадцатого": 15, "двадцатого": 20,
	}[w]
	return n, ok
}

// weekday reads the name of a day; plural says that the form itself repeats
// ("mondays", "понедельникам").
func weekday(w string) (day int, plural, ok bool) {
	for day, forms := range []string{
		"sunday sun воскресенье воскресенья вс", "monday mon понедельник понедельника пн",
		"tuesday tue tues вторник вторника вт", "wednesday wed среду среда среды ср",
		"thursday thu thur thurs четверг четверга чт", "friday fri пятницу пятница пятницы пт",
		"saturday sat субботу суббота субботы сб",
	} {
		if strings.Contains(" "+forms+" ", " "+w+" ") {
			return day, false, true
		}
	}
	for day, forms := range []string{
		"sundays воскресеньям", "mondays понедельникам", "tuesdays вторникам", "wednesdays средам",
		"thursdays четвергам", "fridays пятницам", "saturdays субботам",
	} {
		if strings.Contains(" "+forms+" ", " "+w+" ") {
			return day, true, true
		}
	}
	return 0, false, false
}

// month reads the name of a month.
func month(w string) (int, bool) {
	for i, forms := range []string{
		"january jan январь января", "february feb февраль февраля", "march mar март марта",
		"april apr апрель апреля", "may май мая", "june jun июнь июня", "july jul июль июля",
		"august aug август августа", "september sep sept сентябрь сентября", "october oct октябрь октября",
		"november nov ноябрь ноября", "december dec декабрь декабря",
	} {
		if w != "" && strings.Contains(" "+forms+" ", " "+w+" ") {
			return i + 1, true
		}
	}
	return 0, false
}
