package schedules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ErrNever is returned for a line whose date does not exist, such as 30 February.
var ErrNever = errors.New("this date never comes")

// Line is a five-field cron line (minute, hour, day of month, month, day of
// week) read in a time zone.
type Line struct {
	text string
	zone *time.Location
	// spec is read in UTC and asked about wall-clock times.
	spec cron.Schedule
	// elapsed is true when every hour matches: such a line follows elapsed
	// time through a change of daylight saving.
	elapsed bool
}

// ParseLine reads a cron line or one of @hourly, @daily, @weekly, @monthly and
// @yearly. It refuses lines that never fire, seconds, and time zones inside
// the line.
func ParseLine(text, zone string) (Line, error) {
	loc, err := loadZone(zone)
	if err != nil {
		return Line{}, err
	}
	text = strings.Join(strings.Fields(text), " ")
	if macro, ok := macros()[text]; ok {
		text = macro
	}
	switch {
	case strings.Contains(text, "TZ="):
		return Line{}, fmt.Errorf("parse cron line %q: the time zone stands beside the line, not in it", text)
	case strings.HasPrefix(text, "@"):
		return Line{}, fmt.Errorf("parse cron line %q: known are @hourly, @daily, @weekly, @monthly and @yearly", text)
	}
	// Sunday may be 7 for most people who write cron lines; the parser knows 0 alone.
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return Line{}, fmt.Errorf("parse cron line %q: five fields are needed (minute hour day month weekday), it has %d", text, len(fields))
	}
	if err := strange(fields); err != nil {
		return Line{}, fmt.Errorf("parse cron line %q: %w", text, err)
	}
	fields[4] = sundayAsZero(fields[4])
	spec, err := parseSpec(strings.Join(fields, " "))
	if err != nil {
		return Line{}, fmt.Errorf("parse cron line %q: %w", text, err)
	}
	line := Line{text: text, zone: loc, spec: spec, elapsed: fields[1] == "*"}
	// Two leap cycles hold every date that exists (29 February skips 2100).
	if line.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Line{}, fmt.Errorf("parse cron line %q: %w", text, ErrNever)
	}
	return line, nil
}

// strange finds what other programs' cron lines know and ours do not, in words
// that the parser has none for.
func strange(fields []string) error {
	names := [][]string{
		3: {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
		4: {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
	}
	for i, field := range fields {
		for _, word := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(",-/*?", r) }) {
			if strings.Trim(word, "0123456789") == "" || slices.Contains(names[i], strings.ToUpper(word)) {
				continue
			}
			where := []string{"minute", "hour", "day of the month", "month", "day of the week"}[i]
			return fmt.Errorf("%q as the %s: here a field is *, numbers, names as MON or JAN, and lists, ranges and steps of them (other programs have L, W, H and #)", word, where)
		}
	}
	return nil
}

// MeansLine reports whether somebody meant a cron line, so that its own error
// is told and not that of words.
func MeansLine(text string) bool {
	fields := strings.Fields(text)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "@") || strings.Contains(fields[0], "TZ=")) {
		return true
	}
	if len(fields) < 5 {
		return false
	}
	return strings.Trim(fields[0]+fields[1], "0123456789*/,-") == ""
}

// macros are the named lines people know.
func macros() map[string]string {
	return map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
		"@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
}

// loadZone refuses the empty and the "Local" zone: a schedule must mean the
// same on every machine.
func loadZone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, errors.New("a time zone is needed, for instance Europe/Berlin or UTC")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: use a name such as Europe/Berlin or UTC", name)
	}
	return loc, nil
}

// sundayAsZero turns the 7 of a weekday field into 0, also at the end of a range.
func sundayAsZero(field string) string {
	parts := strings.Split(field, ",")
	var out []string
	for _, p := range parts {
		switch {
		case p == "7":
			out = append(out, "0")
		case strings.HasSuffix(p, "-7"):
			out = append(out, strings.TrimSuffix(p, "7")+"6", "0")
		default:
			out = append(out, p)
		}
	}
	return strings.Join(out, ",")
}

// parseSpec guards against the parser's panics.
func parseSpec(text string) (spec cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			spec, err = nil, fmt.Errorf("cannot be read: %v", r)
		}
	}()
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse("TZ=UTC " + text)
}

// String returns the line as it was given, macros written out.
func (l Line) String() string { return l.text }

// Zone returns the line's time zone.
func (l Line) Zone() *time.Location { return l.zone }

// Next returns the first fire after the instant after, or the zero time when
// there is none within five years.
func (l Line) Next(after time.Time) time.Time {
	if l.elapsed {
		return l.nextElapsed(after)
	}
	wall := wallClock(after.In(l.zone))
	for range 1000 { // a repeated hour holds at most 60 lines' minutes
		wall = l.spec.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if at := instant(wall, l.zone); at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// nextElapsed steps minute by minute in real time within the hour, so that a
// repeated hour fires twice as often as its clock says.
func (l Line) nextElapsed(after time.Time) time.Time {
	at := after.Truncate(time.Minute).Add(time.Minute)
	for {
		wall := wallClock(at.In(l.zone))
		next := l.spec.Next(wall.Add(-time.Minute))
		if next.IsZero() {
			return time.Time{}
		}
		if next.Equal(wall) {
			return at
		}
		// Jump close, but never over a change of the clock within the hour.
		if gap := next.Sub(wall); gap > 26*time.Hour {
			at = at.Add(gap - 25*time.Hour).Truncate(time.Minute)
		} else {
			at = at.Add(time.Minute)
		}
	}
}

// wallClock returns what a clock on the wall shows at t, as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant returns when a clock on the wall in loc shows wall: the first time
// when it shows it twice, the end of the gap when it never does.
func instant(wall time.Time, loc *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, loc)
	shown := wallClock(at)
	start, end := at.ZoneBounds()
	switch {
	case shown.After(wall): // the clock was put forward before at
		return start
	case shown.Before(wall): // the clock is put forward after at
		return end
	}
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		first := wall.Add(-time.Duration(before) * time.Second).In(loc)
		if first.Before(start) && wallClock(first).Equal(wall) {
			return first
		}
	}
	return at
}

// Upcoming returns the next n fires after the instant after.
func (l Line) Upcoming(after time.Time, n int) []time.Time {
	var times []time.Time
	for range n {
		after = l.Next(after)
		if after.IsZero() {
			break
		}
		times = append(times, after)
	}
	return times
}

// LeastInterval returns the shortest time between two fires among the next
// fires of a year, at most 500 of them.
func (l Line) LeastInterval(from time.Time) time.Duration {
	least := time.Duration(1<<63 - 1)
	last, limit := l.Next(from), from.AddDate(1, 0, 0)
	for range 500 {
		next := l.Next(last)
		if next.IsZero() || next.After(limit) {
			break
		}
		least, last = min(least, next.Sub(last)), next
	}
	return least
}
