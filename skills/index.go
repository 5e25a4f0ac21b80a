package skills

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Index lists skills for a prompt, one line each, in at most budget tokens
// (EstimateTokens). Shortening goes by one rule: every description is cut to
// the same greatest number of characters at which the whole list fits; when
// not even the bare names fit, the list ends early and says how many are
// missing. Skills are sorted by name, so the same set gives the same text.
func Index(list []Skill, budget int) string {
	list = append([]Skill(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	longest := 0
	for _, s := range list {
		longest = max(longest, utf8.RuneCountInString(s.Description))
	}
	full := render(list, longest)
	if EstimateTokens(full) <= budget {
		return full
	}
	const least = 16 // shorter descriptions say nothing
	low, high := least, longest
	for low < high { // the greatest width that fits
		middle := (low + high + 1) / 2
		if EstimateTokens(render(list, middle)) <= budget {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if text := render(list, low); EstimateTokens(text) <= budget {
		return text
	}
	if text := render(list, 0); EstimateTokens(text) <= budget {
		return text
	}
	for n := len(list) - 1; n > 0; n-- {
		text := render(list[:n], 0) + fmt.Sprintf("(%d more skills are not listed; read_skill takes their names too)\n", len(list)-n)
		if EstimateTokens(text) <= budget {
			return text
		}
	}
	return ""
}

func render(list []Skill, width int) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("- ")
		b.WriteString(s.Name)
		if width > 0 {
			b.WriteString(": ")
			b.WriteString(clip(oneLine(s.Description), width))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// oneLine makes one line of a text and takes control characters out.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// EstimateTokens guesses, rather too high, how many tokens a text costs with
// today's models: three and a half ASCII characters, or one other character, a token.
func EstimateTokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return other + (ascii*2+6)/7
}
