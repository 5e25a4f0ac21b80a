package schedules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dues are the due times that events were submitted for.
func (w *world) dues() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		out = append(out, strings.TrimPrefix(e.Key, "schedule:"))
	}
	return out
}

// A host that sleeps for five hours stops the clock's timer too: within a tick
// of its waking the missed runs are decided by the policy.
func TestHostThatSleptCatchesUpWithinATick(t *testing.T) {
	for misfire, want := range map[Misfire]int{MisfireSkip: 0, MisfireOnce: 1, MisfireAll: 5} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			clock := w.clock(t, newMemory())
			s := weekly("hourly", "30 * * * *", "UTC")
			s.Misfire = misfire
			add(t, clock, s)
			runUntil(t, clock, w, time.Now().Add(10*time.Minute))
			w.jump(5 * time.Hour) // midnight and ten minutes becomes 5:10
			runUntil(t, clock, w, time.Now().Add(TickInterval+time.Second))
			if got := w.dues(); len(got) != want {
				t.Errorf("%s: ran %q, want %d", misfire, got, want)
			}
			fires, err := clock.Book.Fires(t.Context(), "hourly")
			if err != nil || len(fires) != 5 {
				t.Errorf("%s: fires %+v, %v", misfire, fires, err)
			}
		})
	}
}

// A clock that is set back runs nothing a second time, and goes on by the wall
// clock, not by the hours that it has seen.
func TestClockSetBackRunsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		runUntil(t, clock, w, time.Now().Add(3*time.Hour+10*time.Minute)) // 1:00, 2:00, 3:00
		w.jump(-2 * time.Hour)                                            // 1:10 again
		runUntil(t, clock, w, time.Now().Add(2*time.Hour))                // to 3:10
		if got := w.dues(); len(got) != 3 {
			t.Errorf("ran %q", got)
		}
		runUntil(t, clock, w, time.Now().Add(time.Hour)) // to 4:10
		if got := w.dues(); len(got) != 4 || !strings.HasSuffix(got[3], "T04:00:00Z") {
			t.Errorf("ran %q", got)
		}
	})
}

// Lives that end anywhere, answers that are lost, a host that sleeps, a clock
// that is set: each due time is decided once, and none is forgotten.
func TestNoRunIsLostOrDoubledUnderAnyHistory(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 9))
				w, records := newWorld(), newMemory()
				s := weekly("quarterly", "*/15 * * * *", "UTC")
				s.Misfire = []Misfire{MisfireSkip, MisfireOnce, MisfireAll}[random.IntN(3)]
				s.Grace = time.Duration(1+random.IntN(4)) * time.Hour
				clock := w.clock(t, records)
				add(t, clock, s)
				first := w.Now()
				latest := first
				for range 40 {
					switch random.IntN(6) {
					case 0: // killed, and started again
						clock = w.clock(t, records)
					case 1: // the core's answer is lost
						w.mu.Lock()
						w.crash = random.IntN(3)
						w.mu.Unlock()
					case 2:
						w.jump(time.Duration(random.IntN(600)-300) * time.Minute)
					default:
						runUntil(t, clock, w, time.Now().Add(time.Duration(1+random.IntN(90))*time.Minute))
					}
					if now := w.Now(); now.After(latest) {
						latest = now
					}
				}
				w.mu.Lock()
				w.crash = 0
				w.mu.Unlock()
				if now := w.Now(); now.Before(latest) {
					w.jump(latest.Sub(now)) // the clock is right again
				}
				runUntil(t, clock, w, time.Now().Add(time.Hour))
				checkDecided(t, w, clock, first)
			})
		})
	}
}

// checkDecided sees that every due time since first has one fire, that every
// fire that ran has one event, and that there are no others.
func checkDecided(t *testing.T, w *world, clock *Clock, first time.Time) {
	t.Helper()
	fires, err := clock.Book.Fires(t.Context(), "quarterly")
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	decided := map[int64]int{}
	for _, f := range fires {
		for n := range max(f.Count, 1) {
			decided[f.Due.Add(-time.Duration(n)*15*time.Minute).Unix()]++
		}
		if f.Result == Ran {
			ran = append(ran, "quarterly:"+f.Due.UTC().Format(time.RFC3339))
			if f.Task == "" {
				t.Errorf("%s ran as no task", f.Due)
			}
		}
	}
	events := w.dues()
	slices.Sort(events)
	slices.Sort(ran)
	if !slices.Equal(events, ran) {
		t.Errorf("submitted %q\nrecorded as run %q", events, ran)
	}
	line, err := ParseLine("*/15 * * * *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	due := 0
	s, _, err := clock.Book.Get(t.Context(), "quarterly")
	if err != nil {
		t.Fatal(err)
	}
	for at := line.Next(first); at.Before(s.Next); at = line.Next(at) {
		due++
		// The oldest fires are pruned after a while; what is kept has no gap.
		if n := decided[at.Unix()]; n < 1 && (len(fires) < keepFires || at.After(fires[0].Due)) {
			t.Errorf("%s was never decided", at)
		}
	}
	// What is due at this very instant may be decided by the next tick.
	if due == 0 || s.Next.Before(w.Now()) {
		t.Errorf("%d due times; next is %s, now %s", due, s.Next, w.Now())
	}
}
