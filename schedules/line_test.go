package schedules

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func mustLine(t *testing.T, text, zone string) Line {
	t.Helper()
	l, err := ParseLine(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The instants were worked out by hand from the zones' published changes.
func TestNextThroughChangesOfTheClock(t *testing.T) {
	for _, c := range []struct {
		name, line, zone, after string
		want                    []string
	}{
		{
			"skipped time runs at the next valid minute", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"},
		},
		{
			"several skipped times run once", "*/15 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"},
		},
		{
			"skipped time that meets a regular one runs once", "30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		{
			"repeated time runs at its first occurrence", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		},
		{
			"asked between the two occurrences", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00",
			[]string{"2026-11-02T01:30:00-05:00"},
		},
		{
			"every quarter of an hour stays so", "*/15 * * * *", "Europe/Berlin", "2026-10-25T02:40:00+02:00",
			[]string{"2026-10-25T02:45:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:15:00+01:00"},
		},
		{
			"half an hour of change", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"},
		},
		{
			"change at midnight", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00+02:00",
			[]string{"2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"},
		},
		{
			"a day that never was", "0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"},
		},
		{
			"no change at all", "0 9 * * 1", "Asia/Kolkata", "2026-11-29T00:00:00+05:30",
			[]string{"2026-11-30T09:00:00+05:30", "2026-12-07T09:00:00+05:30"},
		},
		{
			"sunday is 7 too", "0 9 * * 5-7", "UTC", "2026-11-28T10:00:00Z",
			[]string{"2026-11-29T09:00:00Z", "2026-12-04T09:00:00Z"},
		},
		{
			"day of month or day of week", "0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z",
			[]string{"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"},
		},
		{"leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{
			"every hour of one day", "5 * 1 1 *", "UTC", "2026-11-29T00:00:00Z",
			[]string{"2027-01-01T00:05:00Z", "2027-01-01T01:05:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			line, after := mustLine(t, c.line, c.zone), at(t, c.after)
			for i, want := range c.want {
				after = line.Next(after)
				if !after.Equal(at(t, want)) {
					t.Fatalf("fire %d of %q is %s, want %s", i, c.line, after.Format(time.RFC3339), want)
				}
			}
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	for _, c := range []struct{ line, zone, says string }{
		{"0 0 30 2 *", "UTC", "never"},
		{"0 9 * *", "UTC", "five fields"},
		{"0 0 9 * * *", "UTC", "five fields"},
		{"61 9 * * *", "UTC", "above maximum"},
		{"0 9 L * *", "UTC", `"L" as the day of the month`},
		{"0 9 * * FRI#1", "UTC", `"FRI#1" as the day of the week`},
		{"H H(0-7) * * *", "UTC", `"H" as the minute`},
		{"0 9 MON * *", "UTC", `"MON" as the day of the month`},
		{"@reboot", "UTC", "@daily"},
		{"@every 5m", "UTC", "@daily"},
		{"CRON_TZ=UTC", "UTC", "beside the line"},
		{"TZ=0", "UTC", "beside the line"},
		{"0 9 * * *", "", "time zone is needed"},
		{"0 9 * * *", "Local", "time zone is needed"},
		{"0 9 * * *", "Mars/Olympus", "unknown time zone"},
		{"", "UTC", "five fields"},
	} {
		if _, err := ParseLine(c.line, c.zone); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("ParseLine(%q, %q) = %v, want an error with %q", c.line, c.zone, err, c.says)
		}
	}
	if _, err := ParseLine("0 0 31 4,6 *", "UTC"); !errors.Is(err, ErrNever) {
		t.Errorf("31 April: %v, want ErrNever", err)
	}
}

// What was meant as a cron line gets the line's own error, in a window and on the
// command line, and not "how often?".
func TestMeansLine(t *testing.T) {
	for text, want := range map[string]bool{
		"0 9 L * *": true, "CRON_TZ=Asia/Tokyo 0 9 * * *": true, "@every 5m": true, "*/5 9-17 * * MON-FRI": true, "0 0 9 * * *": true,
		"every Monday at 9": false, "9 in the morning on Mondays": false, "": false, "каждый день в 9": false,
	} {
		if MeansLine(text) != want {
			t.Errorf("MeansLine(%q) is %t", text, !want)
		}
	}
	for _, text := range []string{"0 9 * * MON", "0 9 ? * mon-fri", "0 9 1,15 JAN-mar */2", "0 9 * * 7"} {
		if _, err := ParseLine(text, "UTC"); err != nil {
			t.Error(err)
		}
	}
}

// A year in twelve zones: every wall-clock time fires exactly once a day, on
// days with a change of the clock too.
func TestAYearFiresOnceADay(t *testing.T) {
	for _, zone := range []string{
		"UTC", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Europe/Berlin", "Europe/London",
		"Africa/Cairo", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland",
	} {
		for _, text := range []string{"30 1 * * *", "30 2 * * *", "15 2 * * *", "0 0 * * *", "59 23 * * *"} {
			line := mustLine(t, text, zone)
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, line.Zone()).Add(-time.Nanosecond)
			days := map[string]int{}
			for at := line.Next(start); at.Year() < 2027; at = line.Next(at) {
				days[at.Format(time.DateOnly)]++
			}
			if len(days) != 365 {
				t.Errorf("%s in %s fired on %d days", text, zone, len(days))
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s in %s fired %d times on %s", text, zone, n, day)
				}
			}
		}
	}
}

func TestLeastInterval(t *testing.T) {
	from := at(t, "2026-11-29T00:00:00Z")
	for _, c := range []struct {
		line string
		want time.Duration
	}{
		{"*/5 * * * *", 5 * time.Minute}, {"0 9 * * 1", 7 * 24 * time.Hour}, {"0,1 9 1 * *", time.Minute},
	} {
		if got := mustLine(t, c.line, "UTC").LeastInterval(from); got != c.want {
			t.Errorf("%q: %s, want %s", c.line, got, c.want)
		}
	}
}
