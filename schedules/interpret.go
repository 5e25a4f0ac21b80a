package schedules

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

//go:embed interpret.md
var interpretPrompt string

// longestPhrase bounds what a model is asked about.
const longestPhrase = 600

// errNotUnderstood is a model's answer that is no line, or says that there is none.
var errNotUnderstood = errors.New("the model did not say when")

// Interpreted makes an Interpreter of a model that answers one question. Its
// answer is believed in nothing but the line: that is parsed by the rules of
// every line, the request is made of the person's own words, and both are shown
// to be confirmed.
func Interpreted(ask func(ctx context.Context, actor, system, text string) (string, error)) Interpreter {
	return func(ctx context.Context, actor, text string) (Phrase, error) {
		if len([]rune(text)) > longestPhrase {
			return Phrase{}, errNotUnderstood
		}
		answer, err := ask(ctx, actor, interpretPrompt, text)
		if err != nil {
			return Phrase{}, fmt.Errorf("ask model for a cron line: %w", err)
		}
		from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
		if from < 0 || to < from {
			return Phrase{}, errNotUnderstood
		}
		var said struct {
			Cron, Zone, Rest string
		}
		if json.Unmarshal([]byte(answer[from:to+1]), &said) != nil || said.Cron == "" {
			return Phrase{}, errNotUnderstood
		}
		zone := said.Zone
		if zone == "" {
			zone = "UTC"
		}
		if _, err := ParseLine(said.Cron, zone); err != nil {
			return Phrase{}, fmt.Errorf("the model's line: %w", err)
		}
		return Phrase{Cron: said.Cron, Zone: said.Zone, Rest: ownWords(said.Rest, text)}, nil
	}
}

// ownWords is rest where it is made of the words of text, in their order; else
// all of text.
func ownWords(rest, text string) string {
	left := strings.Fields(text)
	for _, word := range strings.Fields(rest) {
		for len(left) > 0 && left[0] != word {
			left = left[1:]
		}
		if len(left) == 0 {
			return text
		}
		left = left[1:]
	}
	return strings.TrimSpace(rest)
}
