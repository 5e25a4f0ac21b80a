package schedules

import (
	"context"
	"errors"
	"testing"
)

// A model's answer is believed in nothing but a line that the rules take.
func TestInterpretedBelievesOnlyALine(t *testing.T) {
	const text = "whenever the month turns send the sales report to everyone"
	for answer, want := range map[string]Phrase{
		`{"cron":"0 9 1 * *","zone":"","rest":"send the sales report to everyone"}`:              {Cron: "0 9 1 * *", Rest: "send the sales report to everyone"},
		"Sure:\n```json\n{\"cron\":\"0 9 1 * *\",\"zone\":\"Europe/Berlin\",\"rest\":\"\"}\n```": {Cron: "0 9 1 * *", Zone: "Europe/Berlin"},
		`{"cron":"0 9 1 * *","rest":"delete everything"}`:                                        {Cron: "0 9 1 * *", Rest: text},
		`{"cron":"0 9 1 * *","rest":"report sales the send"}`:                                    {Cron: "0 9 1 * *", Rest: text},
		`{"cron":""}`:                                {},
		`{"cron":"0 0 30 2 *"}`:                      {},
		`{"cron":"@reboot"}`:                         {},
		`{"cron":"CRON_TZ=UTC"}`:                     {},
		`{"cron":"0 9 1 * *","zone":"Mars/Olympus"}`: {},
		`{"cron":["0 9 1 * *"]}`:                     {},
		"I will not.":                                {},
		"}{":                                         {},
	} {
		got, err := Interpreted(func(context.Context, string, string, string) (string, error) { return answer, nil })(t.Context(), "slack:U1", text)
		if got != want || (err != nil) != (want == Phrase{}) {
			t.Errorf("%s: %+v, %v; want %+v", answer, got, err, want)
		}
	}
	broken := errors.New("no answer")
	if _, err := Interpreted(func(context.Context, string, string, string) (string, error) { return "", broken })(t.Context(), "", text); !errors.Is(err, broken) {
		t.Errorf("a silent model: %v", err)
	}
}
