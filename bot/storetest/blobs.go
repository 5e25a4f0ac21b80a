package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Blobs runs the suite for content. open opens what belongs to dir and the given
// clock; it is called twice with the same dir.
func Blobs(t *testing.T, open func(dir string, clock bot.Clock) (bot.Blobs, func() error, error)) {
	dir := t.TempDir()
	clock := &clock{now: at()}
	b, closeBlobs, err := open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("content comes back by its hash", func(t *testing.T) { roundTrip(t, b) })
	t.Run("a limit holds", func(t *testing.T) { limit(t, b) })
	t.Run("a reader that fails leaves nothing", func(t *testing.T) { broken(t, b) })
	t.Run("names that are no hash are absent", func(t *testing.T) { strange(t, b) })
	t.Run("what was put again is not removed for its age", func(t *testing.T) { age(t, b, clock) })
	t.Run("the same content from many at once", func(t *testing.T) { together(t, b) })
	if err := closeBlobs(); err != nil {
		t.Fatal(err)
	}
	b, closeBlobs, err = open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a second life", func(t *testing.T) {
		if got := read(t, b, hashOf("kept")); got != "kept" {
			t.Errorf("content is %q", got)
		}
	})
	if err := closeBlobs(); err != nil {
		t.Fatal(err)
	}
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func keep(t *testing.T, b bot.Blobs, content string) bot.Blob {
	t.Helper()
	blob, err := b.Put(t.Context(), strings.NewReader(content), 0)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func read(t *testing.T, b bot.Blobs, sha string) string {
	t.Helper()
	f, err := b.Open(t.Context(), sha)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// all lists the stored hashes with their sizes.
func all(t *testing.T, b bot.Blobs) map[string]bot.Blob {
	t.Helper()
	found := map[string]bot.Blob{}
	for blob, err := range b.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found[blob.SHA256] = blob
	}
	return found
}

func roundTrip(t *testing.T, b bot.Blobs) {
	for _, content := range []string{"", "kept", strings.Repeat("large ", 1<<20)} {
		blob := keep(t, b, content)
		if blob.SHA256 != hashOf(content) || blob.Size != int64(len(content)) || read(t, b, blob.SHA256) != content {
			t.Errorf("content of %d bytes: %+v", len(content), blob)
		}
		if found := all(t, b)[blob.SHA256]; found.Size != blob.Size || !found.Used.Equal(at()) {
			t.Errorf("listed: %+v", found)
		}
	}
	f, err := b.Open(t.Context(), hashOf("kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(2, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(f); err != nil || string(rest) != "pt" {
		t.Errorf("after a seek: %q %v", rest, err)
	}
}

func limit(t *testing.T, b bot.Blobs) {
	before := len(all(t, b))
	if _, err := b.Put(t.Context(), strings.NewReader("12345"), 4); !errors.Is(err, bot.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	// An endless reader is left as soon as the limit is passed.
	if _, err := b.Put(t.Context(), endless{}, 1<<16); !errors.Is(err, bot.ErrTooLarge) {
		t.Errorf("endless: %v", err)
	}
	if after := len(all(t, b)); after != before {
		t.Errorf("%d blobs more", after-before)
	}
	if _, err := b.Put(t.Context(), strings.NewReader("1234"), 4); err != nil {
		t.Errorf("just the limit: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func broken(t *testing.T, b bot.Blobs) {
	before := len(all(t, b))
	failure := errors.New("the line broke")
	if _, err := b.Put(t.Context(), io.MultiReader(strings.NewReader("half"), failing{failure}), 0); !errors.Is(err, failure) {
		t.Errorf("put: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Put(ctx, bytes.NewReader([]byte("late")), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("put after the end: %v", err)
	}
	if after := len(all(t, b)); after != before {
		t.Errorf("%d blobs more", after-before)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func strange(t *testing.T, b bot.Blobs) {
	for _, name := range []string{"", "..", "../../etc/passwd", "tmp", hashOf("absent"), strings.ToUpper(hashOf("kept")), hashOf("kept") + "0"} {
		if _, err := b.Open(t.Context(), name); !errors.Is(err, bot.ErrNotFound) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := b.Remove(t.Context(), name, time.Time{}); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
	}
	if read(t, b, hashOf("kept")) != "kept" {
		t.Error("something else was removed")
	}
}

func age(t *testing.T, b bot.Blobs, c *clock) {
	sha := keep(t, b, "again").SHA256
	since := c.Now()
	c.add(time.Minute)
	keep(t, b, "again")
	if err := b.Remove(t.Context(), sha, since); err != nil {
		t.Error(err)
	}
	if read(t, b, sha) != "again" {
		t.Error("removed what was put again")
	}
	if err := b.Remove(t.Context(), sha, c.Now()); err != nil {
		t.Error(err)
	}
	if _, err := b.Open(t.Context(), sha); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("removed content opens: %v", err)
	}
	keep(t, b, "again")
	if err := b.Remove(t.Context(), sha, time.Time{}); err != nil {
		t.Error(err)
	}
	if _, there := all(t, b)[sha]; there {
		t.Error("removed whatever happened, and still there")
	}
}

func together(t *testing.T, b bot.Blobs) {
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, err := b.Put(t.Context(), strings.NewReader("shared"), 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if read(t, b, hashOf("shared")) != "shared" {
		t.Error("content is wrong")
	}
}
