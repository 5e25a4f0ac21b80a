package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server with the test's calls and returns a client and a stop.
func serve(t *testing.T, dir string, register func(*Server)) (*Client, func()) {
	t.Helper()
	s := NewServer(slog.New(slog.DiscardHandler))
	register(s)
	listener, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ctx, listener) }()
	client, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { cancel(); <-done }
	t.Cleanup(func() { client.Close(); stop() })
	return client, stop
}

func TestCallsStreamsAndUploads(t *testing.T) {
	client, _ := serve(t, t.TempDir(), func(s *Server) {
		Handle(s, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		HandleStream(s, "count", func(_ context.Context, n int, send func(int) error) error {
			for i := range n {
				if err := send(i); err != nil {
					return err
				}
			}
			return nil
		})
		HandleUpload(s, "hash", func(_ context.Context, r io.Reader) (string, error) {
			sum := sha256.New()
			_, err := io.Copy(sum, r)
			return hex.EncodeToString(sum.Sum(nil)), err
		})
	})
	if got, err := Call[int](t.Context(), client, "double", 21); got != 42 || err != nil {
		t.Errorf("double gave %d, %v", got, err)
	}
	var seen []int
	if err := Stream(t.Context(), client, "count", 3, func(i int) error { seen = append(seen, i); return nil }); err != nil || len(seen) != 3 {
		t.Errorf("count gave %v, %v", seen, err)
	}
	content := strings.Repeat("sandpiper", 1<<20)
	want := sha256.Sum256([]byte(content))
	if got, err := Upload[string](t.Context(), client, "hash", strings.NewReader(content)); got != hex.EncodeToString(want[:]) || err != nil {
		t.Errorf("hash gave %q, %v", got, err)
	}
}

func TestDownloadsAreWholeOrFail(t *testing.T) {
	content := strings.Repeat("sandpiper", 1<<20)
	client, _ := serve(t, t.TempDir(), func(s *Server) {
		HandleDownload(s, "whole", func(_ context.Context, _ int, w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		})
		HandleDownload(s, "fails", func(_ context.Context, _ int, w io.Writer) error {
			if _, err := io.WriteString(w, content); err != nil {
				return err
			}
			return fault.New(fault.Missing, "free some", "the disk is full")
		})
		HandleDownload(s, "cut", func(_ context.Context, _ int, w io.Writer) error {
			if _, err := io.WriteString(w, content); err != nil {
				return err
			}
			return context.Canceled // as when the server stops
		})
	})
	var got strings.Builder
	if err := Download(t.Context(), client, "whole", 0, &got); err != nil || got.String() != content {
		t.Errorf("whole gave %d bytes, %v", got.Len(), err)
	}
	var f *fault.Error
	if err := Download(t.Context(), client, "fails", 0, io.Discard); !errors.As(err, &f) || f.Hint != "free some" {
		t.Errorf("fails gave %v", err)
	}
	if err := Download(t.Context(), client, "cut", 0, io.Discard); !errors.Is(err, ErrLost) {
		t.Errorf("cut gave %v, want ErrLost", err)
	}
}

func TestFaultsKeepStatusAndHint(t *testing.T) {
	client, _ := serve(t, t.TempDir(), func(s *Server) {
		Handle(s, "fail", func(context.Context, int) (int, error) {
			return 0, fault.New(fault.Missing, "start it", "the engine is not running")
		})
	})
	_, err := Call[int](t.Context(), client, "fail", 1)
	var f *fault.Error
	if !errors.As(err, &f) || f.Status != fault.Missing || f.Hint != "start it" || f.Message != "the engine is not running" {
		t.Errorf("the fault arrived as %#v", err)
	}
	if _, err := Call[int](t.Context(), client, "newer", 1); fault.StatusOf(err) != fault.Missing {
		t.Errorf("an unknown call gave %v", err)
	}
}

func TestAServerThatEndsInACallIsLost(t *testing.T) {
	entered := make(chan struct{})
	client, stop := serve(t, t.TempDir(), func(s *Server) {
		HandleStream(s, "watch", func(ctx context.Context, _ int, send func(int) error) error {
			if err := send(1); err != nil {
				return err
			}
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
	})
	go func() { <-entered; stop() }()
	err := Stream(t.Context(), client, "watch", 0, func(int) error { return nil })
	if !errors.Is(err, ErrLost) {
		t.Errorf("watch gave %v, want ErrLost", err)
	}
	if _, err := Call[int](t.Context(), client, "watch", 0); !errors.Is(err, ErrLost) {
		t.Errorf("a call to nobody gave %v, want ErrLost", err)
	}
}

func TestACallerThatGivesUpIsNotLost(t *testing.T) {
	client, _ := serve(t, t.TempDir(), func(s *Server) {
		Handle(s, "hang", func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
	})
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := Call[int](ctx, client, "hang", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("hang gave %v, want context.Canceled", err)
	}
}

func TestAFileThatCannotBeReadIsNotTheServersFault(t *testing.T) {
	client, _ := serve(t, t.TempDir(), func(s *Server) {
		HandleUpload(s, "take", func(_ context.Context, r io.Reader) (int64, error) { return io.Copy(io.Discard, r) })
	})
	broken := errors.New("input/output error")
	_, err := Upload[int64](t.Context(), client, "take", io.MultiReader(strings.NewReader("abc"), failing{broken}))
	if !errors.Is(err, broken) {
		t.Errorf("take gave %v, want the reader's own error", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSocketIsPrivateShortAndReplacesAStaleOne(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 12)),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := SocketPath(dir)
			if len(path) > longestPath {
				t.Fatalf("the socket's path has %d bytes", len(path))
			}
			for range 2 { // the second finds what the first left
				listener, err := Listen(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Perm() != 0o600 {
					t.Errorf("the socket has mode %v", info.Mode())
				}
				listener.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
				listener.Close()
			}
		})
	}
}

func TestARuntimeFolderOfOthersIsRefused(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	if err := os.Mkdir(filepath.Join(runtime, "sandpiper"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(runtime, "sandpiper"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 12))); err == nil {
		t.Error("a folder that others can write to was taken")
	}
}
