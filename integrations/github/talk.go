package github

import (
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/bot"
)

var _ bot.Talk = (*Adapter)(nil)

// Fits implements bot.Talk: an issue is a talk among people.
func (a *Adapter) Fits(message string) bool {
	return utf8.RuneCountInString(message) <= (mostParts-1)*partLimit
}
