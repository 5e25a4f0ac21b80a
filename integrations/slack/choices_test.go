package slack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestChoices asks questions whose choices do not fit buttons as they are. None
// of them costs the others their buttons, what a button cannot show whole stands
// in the text, and pressing one gives the choice it stands for.
func TestChoices(t *testing.T) {
	long := "the orders of the year before last, " + strings.Repeat("as far as they were paid, ", 4) + "by month"
	cases := []struct {
		name    string
		choices []string
		buttons int
		shown   []string // in the text
		press   int      // which button
		answer  string   // how what comes of it begins
	}{
		{name: "short", choices: []string{"2024", "2025"}, buttons: 2, press: 1, answer: "2025"},
		{name: "blank first", choices: []string{"", " ", "Units"}, buttons: 1, shown: []string{"Units"}, answer: "Units"},
		{name: "blank in the middle", choices: []string{"Revenue & co", "", "Units"}, buttons: 2, press: 1, answer: "Units"},
		{name: "only blank ones", choices: []string{"", "\n"}},
		{name: "longer than a label", choices: []string{long, "all"}, buttons: 2, shown: []string{long, "all"}, answer: long},
		{name: "longer than a value", choices: []string{strings.Repeat("x", 5000), "y"}, buttons: 2, press: 1, answer: "y"},
		{name: "escapes", choices: []string{strings.Repeat("<", 700), strings.Repeat("\x01", 700), strings.Repeat(`"`, 1900), "y"}, buttons: 4, answer: strings.Repeat("<", 700)},
		{name: "line breaks", choices: []string{"a\nb", "c"}, buttons: 2, answer: "a\nb"},
		{name: "too many", choices: strings.Fields(strings.Repeat("one two three ", 10)), buttons: 20, shown: []string{"three"}, answer: "one"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := talkIn(t, setup{})
			k.core.set(bot.Task{ID: "01TASK00000000000000000000", State: bot.TaskWaiting, Event: k.event})
			k.deliver(t, k.owed(bot.DeliverQuestion, bot.Delivery{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which one?", Choices: c.choices}}))
			q := k.Replies(k.sales, k.root)[0]
			buttons := q.Buttons()
			if len(buttons) != c.buttons || strings.Contains(k.logs.String(), "refused the blocks") {
				t.Fatalf("buttons %q, want %d; transcript:\n%s", buttons, c.buttons, k.Transcript(k.sales))
			}
			for _, want := range c.shown {
				if !strings.Contains(q.Shown(), want) {
					t.Errorf("%q is missing in:\n%s", want, q.Shown())
				}
			}
			if c.buttons == 0 {
				return
			}
			k.Press(k.ada, k.sales, q.TS, buttons[c.press])
			k.wait(t, "the answer", func() bool { return len(k.core.of(bot.EventRequest)) == 2 })
			if got := k.core.of(bot.EventRequest)[1].Text; got != c.answer {
				t.Errorf("answer %.80q, want %.80q", got, c.answer)
			}
			k.wait(t, "the buttons to go", func() bool { m, _ := k.Message(k.sales, q.TS); return len(m.Buttons()) == 0 })
			if slices.ContainsFunc(k.Messages(k.sales), func(m slacktest.Message) bool { return m.Bot && len(slacktest.LivePings(m)) > 0 }) {
				t.Error("somebody was pinged")
			}
		})
	}
}
