package schedules

import (
	"fmt"
	"time"
)

// onTime is how late a run may start without counting as missed: two ticks.
const onTime = 2 * TickInterval

// plan is what to do about the due times up to now.
type plan struct {
	run     []time.Time // oldest first
	skipped []Fire
	next    time.Time // zero when the line never fires again
}

// decide plans the due times of s from s.Next up to now.
func decide(s Schedule, line Line, now time.Time) plan {
	p := plan{}
	var due []time.Time
	older, lastOlder := 0, time.Time{} // due times before those kept, for there may be very many
	at := s.Next
	for !at.IsZero() && !at.After(now) {
		due = append(due, at)
		if len(due) > 2*MaxCatchUp {
			lastOlder, due = due[0], due[1:]
			older++
		}
		at = line.Next(at)
	}
	p.next = at
	skip := func(at time.Time, count int, why string) {
		p.skipped = append(p.skipped, Fire{Due: at, At: now, Result: Skipped, Why: why, Count: count})
	}
	if older > 0 {
		skip(lastOlder, older, fmt.Sprintf("%d runs were missed while the bot was down", older))
	}
	for i, at := range due {
		late := now.Sub(at)
		left := len(due) - 1 - i
		switch {
		case late <= onTime+s.Jitter && left == 0:
			p.run = append(p.run, at)
		case s.Misfire == MisfireSkip:
			skip(at, 1, fmt.Sprintf("missed by %s; the policy is to skip", late.Round(time.Minute)))
		case late > s.Grace:
			skip(at, 1, fmt.Sprintf("missed by %s, more than the grace of %s", late.Round(time.Minute), shortDuration(s.Grace)))
		case s.Misfire == MisfireOnce && left > 0:
			skip(at, 1, "missed; the latest missed run stands for it")
		case s.Misfire == MisfireAll && left >= MaxCatchUp:
			skip(at, 1, fmt.Sprintf("missed; at most %d runs are made up for", MaxCatchUp))
		default:
			p.run = append(p.run, at)
		}
	}
	return p
}
