package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// deadEngine answers for containers that have stopped; whatever else is asked
// of it is a nil call and fails the test.
type deadEngine struct{ engine }

func (deadEngine) ContainerInspect(context.Context, string) (container.InspectResponse, error) {
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{State: &container.State{ExitCode: 1}}}, nil
}

func (deadEngine) ContainerRemove(context.Context, string, container.RemoveOptions) error { return nil }

// fakeSession is a session whose guest is the other end of the connection.
func fakeSession(t testing.TB) (*Session, net.Conn) {
	t.Helper()
	options, err := Options{Owner: "fake", Image: "fake"}.checked()
	if err != nil {
		t.Fatal(err)
	}
	options.Limits.Output = 4 << 10
	host, guest := net.Pipe()
	box := &Sandbox{
		options: options, engine: deadEngine{}, log: slog.New(slog.DiscardHandler),
		memory: make(chan struct{}, 1), sessions: map[string]*Session{},
	}
	box.pool = newPool(box)
	box.memory <- struct{}{}
	session := &Session{
		sandbox: box, options: options, id: "fake", oom: make(chan struct{}, 1), gone: make(chan struct{}),
		turn: make(chan struct{}, 1), inputs: map[int64][]string{}, wire: newWire(host, host),
	}
	t.Cleanup(func() {
		guest.Close()
		session.Close()
		box.tasks.Wait()
	})
	return session, guest
}

// stdout wraps bytes as the engine's stream does.
func stdout(packed []byte) []byte {
	head := [8]byte{1}
	binary.BigEndian.PutUint32(head[4:], uint32(len(packed)))
	return append(head[:], packed...)
}

func say(t testing.TB, guest io.Writer, kind byte, head any, tail string) {
	t.Helper()
	packed, err := encodeFrame(kind, head, []byte(tail))
	if err != nil {
		t.Fatal(err)
	}
	guest.Write(stdout(packed)) // the host may have hung up, which is what some cases are about
}

type object = map[string]any

// fine is an honest end of a program.
func fine(nonce string) object {
	return object{
		"nonce": nonce, "end": "ok", "code": 0,
		"streams": object{"stdout": object{"total": 0, "tail": 0}, "stderr": object{"total": 0, "tail": 0}},
	}
}

func with(base object, key string, value any) object {
	base[key] = value
	return base
}

// TestLyingGuest gives Run every kind of guest that breaks its word.
func TestLyingGuest(t *testing.T) {
	for _, lie := range []struct {
		name string
		tell func(guest net.Conn, nonce string)
		want Verdict
	}{
		{"honest", func(g net.Conn, n string) { say(t, g, frameFinished, fine(n), "") }, OK},
		{"another program's end", func(g net.Conn, n string) { say(t, g, frameFinished, fine("x"), "") }, Internal},
		{"output of another program", func(g net.Conn, _ string) { say(t, g, frameOutput, object{"nonce": "x", "stream": "stdout"}, "hi") }, Internal},
		{"an unknown stream", func(g net.Conn, n string) { say(t, g, frameOutput, object{"nonce": n, "stream": "root"}, "hi") }, Internal},
		{"more output than it may send on", func(g net.Conn, n string) {
			for range 8 {
				say(t, g, frameOutput, object{"nonce": n, "stream": "stdout"}, strings.Repeat("x", 1000))
			}
		}, Internal},
		{"an unknown verdict", func(g net.Conn, n string) { say(t, g, frameFinished, with(fine(n), "end", "perfect"), "") }, Internal},
		{"ok with a status", func(g net.Conn, n string) { say(t, g, frameFinished, with(fine(n), "code", 3), "") }, Exit},
		{"a tail it does not send", func(g net.Conn, n string) {
			say(t, g, frameFinished, with(fine(n), "streams", object{"stdout": object{"total": 9, "tail": 9}}), "")
		}, Internal},
		{"a negative tail", func(g net.Conn, n string) {
			say(t, g, frameFinished, with(fine(n), "streams", object{"stdout": object{"total": 0, "tail": -1}}), "")
		}, Internal},
		{"less in all than it sent", func(g net.Conn, n string) {
			say(t, g, frameOutput, object{"nonce": n, "stream": "stdout"}, "hello")
			say(t, g, frameFinished, fine(n), "")
		}, Internal},
		{"endless changes", func(g net.Conn, n string) {
			changes := make([]any, 1000)
			for i := range changes {
				changes[i] = []any{fmt.Sprint(i), i}
			}
			say(t, g, frameFinished, with(fine(n), "changed", changes), "")
		}, Internal},
		{"a frame out of turn", func(g net.Conn, _ string) { say(t, g, frameFile, object{"path": "x", "size": 1}, "") }, Internal},
		{"no JSON", func(g net.Conn, _ string) { g.Write(stdout([]byte("\x00\x00\x00\x03fno\n"))) }, Internal},
		{"a frame without a head", func(g net.Conn, _ string) { g.Write(stdout([]byte("\x00\x00\x00\x02f{}"))) }, Internal},
		{"an enormous frame", func(g net.Conn, _ string) { g.Write(stdout([]byte("\xff\xff\xff\xfff{}\n"))) }, Internal},
		{"it gives up", func(g net.Conn, _ string) { say(t, g, frameTrouble, object{"reason": "tired"}, "") }, Internal},
		{"closes early", func(g net.Conn, _ string) { g.Close() }, Engine},
		{"closes in a frame", func(g net.Conn, _ string) { g.Write(stdout([]byte("\x00\x00\x00\x09f{"))); g.Close() }, Engine},
	} {
		t.Run(lie.name, func(t *testing.T) {
			session, guest := fakeSession(t)
			told := make(chan struct{})
			go func() {
				defer close(told)
				ask, err := readFrame(guest)
				var head struct {
					Nonce string `json:"nonce"`
				}
				if err != nil || ask.decode(&head) != nil {
					return
				}
				go io.Copy(io.Discard, guest) // whatever the host says further
				lie.tell(guest, head.Nonce)
			}()
			got, err := session.Run(t.Context(), Program{Language: Python, Code: "pass"})
			if err != nil || got.Verdict != lie.want {
				t.Errorf("verdict %s, want %s (%s, %v)", got.Verdict, lie.want, got.Detail, err)
			}
			if lie.want == Internal || lie.want == Engine {
				if _, err := session.Run(t.Context(), Program{Language: Bash}); !errors.Is(err, ErrClosed) {
					t.Errorf("the session goes on: %v", err)
				}
			}
			session.Close()
			<-told
		})
	}
}

// TestLyingCollector gives Collect every kind of guest that breaks its word.
func TestLyingCollector(t *testing.T) {
	file := func(g net.Conn, path string, size int, content string) {
		say(t, g, frameFile, object{"path": path, "size": size}, "")
		if content != "" {
			say(t, g, frameData, object{}, content)
		}
	}
	end := func(g net.Conn) { say(t, g, frameFiles, object{"skipped": [][2]string{}}, "") }
	for _, lie := range []struct {
		name    string
		tell    func(guest net.Conn)
		broken  bool
		files   int
		skipped int
	}{
		{"honest", func(g net.Conn) { file(g, "a", 2, "hi"); end(g) }, false, 1, 0},
		{"above its folder", func(g net.Conn) { file(g, "../a", 2, "hi"); file(g, "b/../../a", 2, "hi"); end(g) }, false, 0, 2},
		{"absolute", func(g net.Conn) { file(g, "/etc/passwd", 2, "hi"); end(g) }, false, 0, 1},
		{"control characters", func(g net.Conn) { file(g, "a\x1b[2Jb", 2, "hi"); end(g) }, false, 0, 1},
		{"no name", func(g net.Conn) { file(g, "", 2, "hi"); end(g) }, false, 0, 1},
		{"a negative size", func(g net.Conn) { file(g, "a", -1, "") }, true, 0, 0},
		{"beyond the size it was told", func(g net.Conn) { file(g, "a", 1<<40, "") }, true, 0, 0},
		{"more content than announced", func(g net.Conn) { file(g, "a", 1, "hi") }, true, 0, 0},
		{"less content than announced", func(g net.Conn) { file(g, "a", 3, "hi"); end(g) }, true, 0, 0},
		{"content without a file", func(g net.Conn) { say(t, g, frameData, object{}, "hi") }, true, 0, 0},
		{"the same file twice", func(g net.Conn) { file(g, "a", 2, "hi"); file(g, "a", 2, "ho") }, true, 1, 0},
		{"empty content for ever", func(g net.Conn) { file(g, "a", 1, ""); say(t, g, frameData, object{}, "") }, true, 0, 0},
		{"too many", func(g net.Conn) {
			for i := range 100 {
				file(g, fmt.Sprint(i), 1, "x")
			}
		}, true, 20, 0},
		{"closes early", func(g net.Conn) { file(g, "a", 4, "hi"); g.Close() }, true, 0, 0},
	} {
		t.Run(lie.name, func(t *testing.T) {
			session, guest := fakeSession(t)
			told := make(chan struct{})
			go func() {
				defer close(told)
				if _, err := readFrame(guest); err != nil {
					return
				}
				lie.tell(guest)
			}()
			found, err := session.Collect(t.Context(), CollectOptions{Store: func(_ string, _ int64, content io.Reader) error {
				_, err := io.Copy(io.Discard, content)
				return err
			}})
			if (err != nil) != lie.broken || len(found.Files) != lie.files || len(found.Skipped) != lie.skipped {
				t.Errorf("files %v, skipped %v, error %v", found.Files, found.Skipped, err)
			}
			session.Close()
			<-told
		})
	}
}

// FuzzHost lets any bytes be the guest's: Run and Collect must end with a
// verdict or an error, whatever comes, and never keep more than is allowed.
func FuzzHost(f *testing.F) {
	honest, err := encodeFrame(frameFinished, fine("n"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stdout(honest))
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x04x{}\n"))
	f.Add([]byte("\x02\x00\x00\x00\xff\xff\xff\xffhello"))
	f.Fuzz(func(t *testing.T, said []byte) {
		for _, collect := range []bool{false, true} {
			session, guest := fakeSession(t)
			close(session.oom) // the engine's word comes at once: no wait for it
			done := make(chan struct{})
			go func() {
				defer close(done)
				if _, err := readFrame(guest); err == nil {
					guest.Write(said)
				}
				guest.Close()
			}()
			if collect {
				if found, err := session.Collect(t.Context(), CollectOptions{}); err == nil && len(found.Files) > 20 {
					t.Errorf("%d files", len(found.Files))
				}
			} else {
				got, err := session.Run(t.Context(), Program{Language: Python, Code: "pass"})
				if err != nil || got.Verdict == "" {
					t.Errorf("verdict %q, %v", got.Verdict, err)
				}
				if kept := len(got.Stdout.Head) + len(got.Stdout.Tail); kept > 3*(4<<10) {
					t.Errorf("kept %d bytes", kept)
				}
			}
			session.Close()
			<-done
		}
	})
}

// FuzzFrame reads frames from any bytes: what is read must be written alike.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05r{}\nhi"))
	f.Add([]byte("\x00\x20\x00\x01r"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readFrame(bytes.NewReader(data))
		if err != nil {
			return
		}
		again := binary.BigEndian.AppendUint32(nil, uint32(len(got.head)+1+len(got.tail)))
		again = append(append(append(append(again, got.kind), got.head...), '\n'), got.tail...)
		if !bytes.HasPrefix(data, again) {
			t.Errorf("%q was read as %q", data, again)
		}
	})
}

// TestStalledGuest says nothing at all; the host's own clock ends the wait.
func TestStalledGuest(t *testing.T) {
	session, guest := fakeSession(t)
	go io.Copy(io.Discard, guest)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := session.Collect(ctx, CollectOptions{}); err == nil {
		t.Error("collect came to an end")
	}
	if _, err := session.Run(t.Context(), Program{Language: Python}); err == nil {
		t.Error("the session goes on")
	}
}
