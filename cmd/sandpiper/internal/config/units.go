package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written as people write it: 256MiB, 1GB, 4096.
type Size int64

// Common sizes.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// sizeUnits are tried in order: longer names stand before their own endings.
func sizeUnits() []struct {
	name  string
	bytes float64
} {
	return []struct {
		name  string
		bytes float64
	}{
		{"kib", 1 << 10},
		{"mib", 1 << 20},
		{"gib", 1 << 30},
		{"tib", 1 << 40},
		{"kb", 1e3},
		{"mb", 1e6},
		{"gb", 1e9},
		{"tb", 1e12},
		{"b", 1},
		{"", 1},
	}
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.ToLower(strings.TrimSpace(string(text)))
	for _, unit := range sizeUnits() {
		digits, ok := strings.CutSuffix(in, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || n < 0 || math.IsNaN(n) || n*unit.bytes > math.MaxInt64/2 {
			break
		}
		*s = Size(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size; write it like 256MiB or 1GB", text)
}

// String writes the size with the largest binary unit that divides it.
func (s Size) String() string {
	for _, unit := range []struct {
		name  string
		bytes Size
	}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if s >= unit.bytes && s%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", s/unit.bytes, unit.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Duration is a span of time, written 90s, 3m, 6h or 90d; a day has 24 hours.
type Duration time.Duration

// Day is 24 hours.
const Day = Duration(24 * time.Hour)

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := parseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%q is no duration; write it like 90s, 3m, 6h or 90d", text)
	}
	*d = Duration(span)
	return nil
}

func parseDuration(in string) (time.Duration, error) {
	if in == "0" {
		return 0, nil
	}
	var total time.Duration
	if days, rest, ok := strings.Cut(in, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("read days: %w", err)
		}
		total, in = time.Duration(n)*24*time.Hour, rest
		if in == "" {
			return total, nil
		}
	}
	span, err := time.ParseDuration(in)
	if err != nil {
		return 0, fmt.Errorf("read duration: %w", err)
	}
	if span < 0 {
		return 0, errors.New("negative")
	}
	return total + span, nil
}

// Std gives the duration in the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the duration without empty units: 3m, 90d, 1h30m.
func (d Duration) String() string {
	if d >= 2*Day && d%Day == 0 {
		return fmt.Sprintf("%dd", d/Day)
	}
	out := time.Duration(d).String()
	if strings.HasSuffix(out, "m0s") {
		out = strings.TrimSuffix(out, "0s")
	}
	if strings.HasSuffix(out, "h0m") {
		out = strings.TrimSuffix(out, "0m")
	}
	return out
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
