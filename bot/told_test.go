package bot_test

import (
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestTold shows how a message and its hint read one behind the other.
func TestTold(t *testing.T) {
	for want, e := range map[string]bot.TaskError{
		"Under which name? For instance `save weekly-sales`":        {Message: "Under which name?", Hint: "for instance `save weekly-sales`"},
		"There is no image. Build it with: sandpiper sandbox build": {Message: "There is no image", Hint: "build it with: sandpiper sandbox build"},
		"There is no such schedule. `schedules` lists them":         {Message: "There is no such schedule.", Hint: "`schedules` lists them"},
		"The run failed": {Message: "The run failed"},
		"Ещё раз":        {Hint: "ещё раз"},
	} {
		if got := e.Told(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
