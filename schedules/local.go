package schedules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// LocalAdapter is the InputRef.Adapter of files below schedules.root.
const LocalAdapter = "local"

// Local fetches inputs below one folder. Paths are resolved inside it by the
// operating system (os.Root), so that neither ".." nor a symbolic link leads
// out.
type Local struct{ root *os.Root }

// OpenLocal opens the folder that holds every local input.
func OpenLocal(root string) (*Local, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open schedules.root: %w", err)
	}
	return &Local{root: r}, nil
}

// Close releases the folder.
func (l *Local) Close() error { return l.root.Close() }

// LocalInput returns the reference of a path below schedules.root. A pattern
// such as "exports/*.csv" means the newest file that it matches.
func LocalInput(name string) (bot.InputRef, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if clean == "." || !fs.ValidPath(clean) {
		return bot.InputRef{}, fmt.Errorf("input %q: a path below schedules.root is needed", name)
	}
	if _, err := path.Match(clean, ""); err != nil {
		return bot.InputRef{}, fmt.Errorf("input %q: %w", name, err)
	}
	return bot.InputRef{Name: path.Base(clean), Adapter: LocalAdapter, Ref: clean}, nil
}

// Fetch streams the file that ref names into w.
func (l *Local) Fetch(ctx context.Context, _ bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	name := ref.Ref
	if strings.ContainsAny(name, "*?[") {
		newest, err := l.newest(name)
		if err != nil {
			return bot.Fetched{}, err
		}
		name = newest
	}
	f, err := l.root.Open(name)
	if err != nil {
		return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: reason(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("stat %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "is no regular file"}
	}
	if _, err := io.Copy(w, contextReader{ctx, f}); err != nil {
		return bot.Fetched{}, fmt.Errorf("read %s: %w", name, err)
	}
	return bot.Fetched{Source: fmt.Sprintf("%s@%s", name, info.ModTime().UTC().Format("2006-01-02T15:04:05Z"))}, nil
}

// newest returns the most recently changed regular file that pattern matches.
func (l *Local) newest(pattern string) (string, error) {
	matches, err := fs.Glob(l.root.FS(), pattern)
	if err != nil {
		return "", &bot.InputError{Name: pattern, Reason: "is no valid pattern"}
	}
	best := ""
	var bestInfo fs.FileInfo
	for _, m := range matches {
		info, err := l.root.Stat(m)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if best == "" || info.ModTime().After(bestInfo.ModTime()) {
			best, bestInfo = m, info
		}
	}
	if best == "" {
		return "", &bot.InputError{Name: pattern, Reason: "matches no file"}
	}
	return best, nil
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not there"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read by the bot's user"
	default:
		return "cannot be opened: it may lead out of schedules.root"
	}
}

// contextReader ends a copy when its context does.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives for one copy
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
