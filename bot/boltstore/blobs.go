package boltstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Blobs implements bot.Blobs with files named by their SHA-256, in folders by
// its first two digits: blobs/ab/abcd….
type Blobs struct {
	root  *os.Root
	clock bot.Clock

	// place is held while a file gets its name or is removed, so that a removal
	// for age never hits content that was just put again.
	place sync.Mutex
}

// OpenBlobs opens or makes the folder "blobs" in the data folder and removes
// what an earlier life did not finish writing.
func OpenBlobs(opts Options) (*Blobs, error) {
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	dir := filepath.Join(opts.Dir, "blobs")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("make blobs folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open blobs folder: %w", err)
	}
	b := &Blobs{root: root, clock: opts.Clock}
	stale, err := fs.ReadDir(root.FS(), "tmp")
	for _, entry := range stale {
		err = errors.Join(err, root.Remove(path.Join("tmp", entry.Name())))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("clean blobs folder: %w", err), root.Close())
	}
	return b, nil
}

// Close lets go of the folder.
func (b *Blobs) Close() error { return b.root.Close() }

// Put implements bot.Blobs.
func (b *Blobs) Put(ctx context.Context, r io.Reader, limit int64) (bot.Blob, error) {
	tmp := path.Join("tmp", rand.Text())
	blob, err := b.receive(ctx, tmp, r, limit)
	if err == nil {
		err = b.install(tmp, blob)
	}
	if err != nil {
		// What is left over goes at the next start at the latest.
		_ = b.root.Remove(tmp)
		return bot.Blob{}, fmt.Errorf("put blob: %w", writeError(err))
	}
	blob.Used = b.clock.Now()
	return blob, nil
}

// receive streams r into a durable temporary file.
func (b *Blobs) receive(ctx context.Context, tmp string, r io.Reader, limit int64) (blob bot.Blob, err error) {
	f, err := b.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return blob, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if limit > 0 {
		r = io.LimitReader(r, limit+1)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), reading(ctx, r))
	if err != nil {
		return blob, err
	}
	if limit > 0 && n > limit {
		return blob, bot.ErrTooLarge
	}
	return bot.Blob{SHA256: hex.EncodeToString(sum.Sum(nil)), Size: n}, f.Sync()
}

// install gives the file its name. What is there already is replaced by the
// same bytes, which also makes its time new.
func (b *Blobs) install(tmp string, blob bot.Blob) error {
	b.place.Lock()
	defer b.place.Unlock()
	dir := blob.SHA256[:2]
	if err := b.root.Mkdir(dir, 0o700); err == nil {
		if err := b.sync("."); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	now := b.clock.Now()
	if err := b.root.Chtimes(tmp, now, now); err != nil {
		return err
	}
	if err := b.root.Rename(tmp, blobPath(blob.SHA256)); err != nil {
		return err
	}
	return b.sync(dir)
}

// sync makes the names in a folder durable.
func (b *Blobs) sync(dir string) error {
	d, err := b.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements bot.Blobs.
func (b *Blobs) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	if !isHash(sha) {
		return nil, fmt.Errorf("open blob %q: %w", sha, bot.ErrNotFound)
	}
	f, err := b.root.Open(blobPath(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open blob %s: %w", sha, bot.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", sha, err)
	}
	return f, nil
}

// Remove implements bot.Blobs.
func (b *Blobs) Remove(_ context.Context, sha string, unusedSince time.Time) error {
	if !isHash(sha) {
		return nil
	}
	b.place.Lock()
	defer b.place.Unlock()
	info, err := b.root.Stat(blobPath(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove blob %s: %w", sha, err)
	}
	if !unusedSince.IsZero() && info.ModTime().After(unusedSince) {
		return nil
	}
	if err := b.root.Remove(blobPath(sha)); err != nil {
		return fmt.Errorf("remove blob %s: %w", sha, err)
	}
	return nil
}

// All implements bot.Blobs.
func (b *Blobs) All(ctx context.Context) iter.Seq2[bot.Blob, error] {
	return func(yield func(bot.Blob, error) bool) {
		dirs, err := fs.ReadDir(b.root.FS(), ".")
		if err != nil {
			yield(bot.Blob{}, fmt.Errorf("list blobs: %w", err))
			return
		}
		for _, dir := range dirs {
			if len(dir.Name()) != 2 {
				continue
			}
			files, err := fs.ReadDir(b.root.FS(), dir.Name())
			if err != nil {
				yield(bot.Blob{}, fmt.Errorf("list blobs: %w", err))
				return
			}
			for _, file := range files {
				info, err := file.Info()
				if err != nil || !isHash(file.Name()) {
					continue // removed meanwhile, or not ours
				}
				if err := ctx.Err(); err != nil {
					yield(bot.Blob{}, err)
					return
				}
				if !yield(bot.Blob{SHA256: file.Name(), Size: info.Size(), Used: info.ModTime()}, nil) {
					return
				}
			}
		}
	}
}

func blobPath(sha string) string { return path.Join(sha[:2], sha) }

// isHash keeps anything but a SHA-256 away from the file system.
func isHash(s string) bool {
	found := bot.HashesIn([]byte(s))
	return len(found) == 1 && found[0] == s
}

// reading stops a copy whose context has ended.
func reading(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
