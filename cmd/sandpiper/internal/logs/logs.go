// Package logs makes the process's logger: colours on a terminal, JSON
// elsewhere, secrets struck out of every line, a level for each part.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// PartKey is the attribute that names the part of the process a line is from:
// logger.With(logs.PartKey, "slack") logs at that part's level.
const PartKey = "part"

// Options say how to log.
type Options struct {
	Level  string            // debug, info, warn, error
	Levels map[string]string // of parts that log at another level
	Format string            // auto, text, json
	To     io.Writer
	// Secrets are struck out of messages and attributes.
	Secrets *Secrets
}

// Secrets are what no line may hold. They may change while lines are written.
type Secrets struct {
	replacer atomic.Pointer[strings.Replacer]
}

// NewSecrets returns Secrets that hold values.
func NewSecrets(values []string) *Secrets {
	s := &Secrets{}
	s.Set(values)
	return s
}

// Set puts values in place of the earlier ones. Shorter than six characters is
// taken for no secret, or words would lose their letters.
func (s *Secrets) Set(values []string) {
	var pairs []string
	for _, value := range values {
		if len(value) >= 6 {
			pairs = append(pairs, value, "••••")
		}
	}
	s.replacer.Store(strings.NewReplacer(pairs...))
}

func (s *Secrets) strike(text string) string {
	if s == nil {
		return text
	}
	return s.replacer.Load().Replace(text)
}

// New returns a logger. With format auto it colours where To is a terminal
// and writes JSON elsewhere.
func New(options Options) (*slog.Logger, error) {
	level, err := readLevel(options.Level)
	if err != nil {
		return nil, err
	}
	least, levels := level, map[string]slog.Level{}
	for part, text := range options.Levels {
		if levels[part], err = readLevel(text); err != nil {
			return nil, err
		}
		least = min(least, levels[part])
	}
	file, isFile := options.To.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd()))
	var handler slog.Handler
	if options.Format == "text" || (options.Format == "auto" && terminal) {
		handler = tint.NewTextHandler(options.To, &tint.Options{
			Level: least, TimeFormat: "15:04:05.000", NoColor: !terminal || os.Getenv("NO_COLOR") != "", ReplaceAttr: replacer(options.Secrets),
		})
	} else {
		handler = slog.NewJSONHandler(options.To, &slog.HandlerOptions{Level: least, ReplaceAttr: replacer(options.Secrets)})
	}
	return slog.New(lines{Handler: handler, level: level, levels: levels, secrets: options.Secrets}), nil
}

func readLevel(text string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return level, fmt.Errorf("make logger: %w", err)
	}
	return level, nil
}

// replacer strikes secrets out of attributes and writes durations as people
// read them.
func replacer(secrets *Secrets) func([]string, slog.Attr) slog.Attr {
	return func(_ []string, a slog.Attr) slog.Attr {
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(secrets.strike(a.Value.String()))
		case slog.KindDuration:
			a.Value = slog.StringValue(short(a.Value.Duration()))
		case slog.KindAny:
			if err, ok := a.Value.Any().(error); ok {
				a.Value = slog.StringValue(secrets.strike(err.Error()))
			}
		}
		return a
	}
}

// short writes a duration with the figures that matter.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute || d <= -time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second || d <= -time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond || d <= -time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return d.String()
}

// lines filters by the part's level, and strikes secrets out of messages,
// which ReplaceAttr of some handlers does not see.
type lines struct {
	slog.Handler
	level   slog.Level
	levels  map[string]slog.Level
	secrets *Secrets
}

// Enabled implements slog.Handler.
func (l lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle implements slog.Handler.
func (l lines) Handle(ctx context.Context, r slog.Record) error {
	r.Message = strings.TrimSpace(l.secrets.strike(r.Message))
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if level, ok := l.levels[a.Value.String()]; ok && a.Key == PartKey {
			l.level = level
		}
	}
	l.Handler = l.Handler.WithAttrs(attrs)
	return l
}

// WithGroup implements slog.Handler.
func (l lines) WithGroup(name string) slog.Handler {
	l.Handler = l.Handler.WithGroup(name)
	return l
}
