// Package logs makes the process's logger: colours on a terminal, JSON
// elsewhere, secrets struck out of every line.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// Options say how to log.
type Options struct {
	Level  string // debug, info, warn, error
	Format string // auto, text, json
	To     io.Writer
	// Secrets are struck out of messages and attributes.
	Secrets []string
}

// New returns a logger. With format auto it colours where To is a terminal
// and writes JSON elsewhere.
func New(options Options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(options.Level)); err != nil {
		return nil, fmt.Errorf("make logger: %w", err)
	}
	file, isFile := options.To.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd()))
	redact := strike(options.Secrets)
	replace := redactor(redact)
	var handler slog.Handler
	if options.Format == "text" || (options.Format == "auto" && terminal) {
		handler = tint.NewTextHandler(options.To, &tint.Options{
			Level: level, TimeFormat: "15:04:05.000", NoColor: !terminal || os.Getenv("NO_COLOR") != "", ReplaceAttr: replace,
		})
	} else {
		handler = slog.NewJSONHandler(options.To, &slog.HandlerOptions{Level: level, ReplaceAttr: replace})
	}
	if redact != nil {
		handler = messages{Handler: handler, redact: redact}
	}
	return slog.New(handler), nil
}

// strike returns what replaces every secret; nil where there is none.
func strike(secrets []string) func(string) string {
	if len(secrets) == 0 {
		return nil
	}
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "••••")
	}
	return strings.NewReplacer(pairs...).Replace
}

// redactor strikes secrets out of attributes.
func redactor(redact func(string) string) func([]string, slog.Attr) slog.Attr {
	if redact == nil {
		return nil
	}
	return func(_ []string, a slog.Attr) slog.Attr {
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(redact(a.Value.String()))
		case slog.KindAny:
			if err, ok := a.Value.Any().(error); ok {
				a.Value = slog.StringValue(redact(err.Error()))
			}
		}
		return a
	}
}

// messages strikes secrets out of messages, which ReplaceAttr of some
// handlers does not see.
type messages struct {
	slog.Handler
	redact func(string) string
}

// Handle implements slog.Handler.
func (m messages) Handle(ctx context.Context, r slog.Record) error {
	r.Message = strings.TrimSpace(m.redact(r.Message))
	return m.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (m messages) WithAttrs(attrs []slog.Attr) slog.Handler {
	return messages{Handler: m.Handler.WithAttrs(attrs), redact: m.redact}
}

// WithGroup implements slog.Handler.
func (m messages) WithGroup(name string) slog.Handler {
	return messages{Handler: m.Handler.WithGroup(name), redact: m.redact}
}
