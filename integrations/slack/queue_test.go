package slack

import (
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestQueueWords shows how the place in the queue reads.
func TestQueueWords(t *testing.T) {
	for position, want := range []string{
		"⏳ In the queue; this one is next.", "⏳ In the queue, 1 task before this one.", "⏳ In the queue, 2 tasks before this one.",
	} {
		if got, _ := progressBlocks("T", bot.Progress{State: bot.TaskQueued, Position: position}, time.Now()); got != want {
			t.Errorf("position %d: %q, want %q", position, got, want)
		}
	}
}
