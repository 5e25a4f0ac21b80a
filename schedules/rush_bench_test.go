package schedules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// goal prints a figure beside what the project promises.
func goal(b *testing.B, what string, figure float64, unit string, met bool, want string) {
	verdict := "met"
	if !met {
		verdict = "missed"
	}
	b.Logf("%s: %.3f %s, goal %s: %s", what, figure, unit, want, verdict)
	b.ReportMetric(figure, unit)
}

// BenchmarkAThousandSchedules has a thousand schedules due in one minute, each
// run taking a twentieth of a second on four places, while people ask all along:
// how long the slowest of them waits, and whose runs begin first.
func BenchmarkAThousandSchedules(b *testing.B) {
	const (
		asks  = 60
		pause = 200 * time.Millisecond
	)
	for b.Loop() {
		owners := crowded()
		r, clock := newRush(b, owners)
		r.takes = 50 * time.Millisecond
		r.now = r.now.Add(time.Minute)
		began := time.Now()
		clock.Tick(b.Context(), r.core)
		submitted := time.Since(began)
		r.mu.Lock()
		r.open = true
		r.more.Broadcast()
		r.mu.Unlock()
		for i := range asks {
			time.Sleep(pause)
			if _, err := r.core.Submit(b.Context(), bot.Event{
				Key: fmt.Sprint("test:ask", i), Kind: bot.EventRequest, Actor: bot.Actor{ID: fmt.Sprint("test:person", i%5)}, Text: "now, please",
				Origin:   bot.Origin{Adapter: "test", Place: "test:talk", Conversation: fmt.Sprint("talk", i)},
				Received: time.Now(),
			}); err != nil {
				b.Fatal(err)
			}
		}
		r.until(1000 + asks)
		took := time.Since(began)
		r.mu.Lock()
		slowest := slices.Max(r.waited)
		behind := r.fewBehind(owners)
		r.mu.Unlock()
		goal(b, "all submitted", submitted.Seconds(), "submit-s", submitted < time.Minute, "within the minute they are due in")
		goal(b, "the slowest of 60 people's tasks began after", slowest.Seconds(), "interactive-s", slowest < 2*time.Second, "under 2 s, beside 1,000 schedules of one minute")
		goal(b, "runs of the owner of 550 before the last of those with 50", float64(behind), "crowd-runs", behind <= 60, "at most 60: turn by turn it is 50")
		goal(b, "all 1,000 ran", took.Seconds(), "all-s", true, "none lost")
	}
}

// fewBehind counts the crowd's runs that began before the last of the others'.
func (r *rush) fewBehind(owners map[string]int) int {
	left := 0
	for owner, n := range owners {
		if owner != "crowd" {
			left += n
		}
	}
	crowd := 0
	for _, who := range r.begun {
		switch {
		case who == "test:crowd":
			crowd++
		case who != "person":
			left--
		}
		if left == 0 {
			break
		}
	}
	return crowd
}
