package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// FuzzGuest lets any bytes be the host's, against the real guest in a real
// container: it answers, says that it gives up, or ends; it never hangs. The
// seeds are the corpus; each input costs a container.
func FuzzGuest(f *testing.F) {
	box := ownBox(f, Options{Pool: Pool{Size: 2}})
	seed := func(kind byte, head any, tail string) {
		packed, err := encodeFrame(kind, head, []byte(tail))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	seed(frameHello, object{"limits": object{}, "deadline": 1}, "")
	seed(framePut, object{"id": "1", "name": "../../etc/passwd", "first": true, "last": true}, "x")
	seed(framePut, object{"id": "1", "name": "workspace/../run/sandpiper/reports", "first": true, "last": true}, "x")
	seed(framePut, object{"name": 7}, "")
	seed(frameRun, object{"nonce": "x"}, "pass")
	seed(frameRun, object{"nonce": "x", "language": "cobol", "wall": 1, "cpu": 1, "head": 1, "tail": 1, "stop": 1, "pids": 9}, "")
	seed(frameRun, object{"nonce": "x", "language": "python", "wall": -1, "cpu": "no", "head": -1, "tail": -1, "stop": 0, "pids": 0}, "pass")
	seed(frameGet, object{"dir": "../../..", "files": 1e9, "size": 1e18, "total": 1e18, "depth": 1e9}, "")
	seed(frameWarm, object{"module": "os; import nothing"}, "")
	seed(frameLease, object{"deadline": "soon"}, "")
	seed('?', object{}, "")
	f.Add([]byte("\xff\xff\xff\xffR{}\n"))
	f.Add([]byte("\x00\x00\x00\x02R{}"))
	f.Add([]byte("\x00\x00\x00\x03R[]\n"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, said []byte) {
		session, err := box.Lease(t.Context(), LeaseOptions{Task: "fuzz"})
		if err != nil {
			t.Fatal(err)
		}
		defer session.shut()
		wait := time.Minute
		if incomplete(said) {
			wait = time.Second // for silence, which is right then
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), wait, errStalled)
		defer cancel()
		if err := session.wire.write(ctx, said); err != nil && errors.Is(err, errStalled) {
			t.Fatal("the guest does not read")
		}
		// A frame that surely is out of turn: the guest must speak or end.
		packed := binary.BigEndian.AppendUint32(nil, 3)
		if err := session.wire.write(ctx, append(packed, "!{}\n"...)); err != nil && errors.Is(err, errStalled) {
			t.Fatal("the guest does not read")
		}
		for {
			_, err := session.wire.next(ctx)
			switch {
			case errors.Is(err, errStalled) && incomplete(said):
				return // it waits for the rest of a frame, as it should
			case errors.Is(err, errStalled):
				t.Fatal("the guest neither speaks nor ends")
			case err != nil:
				return
			}
		}
	})
}

// incomplete reports whether a guest that has read all may still wait: the
// bytes announce a frame that is longer than what came.
func incomplete(said []byte) bool {
	for len(said) >= 5 {
		size := binary.BigEndian.Uint32(said)
		if size > maxFrame {
			return false
		}
		if int(size)+5 > len(said) {
			return true
		}
		said = said[5+size:]
	}
	return len(said) > 0
}

// ownBox is a sandbox for this package's own tests, which cannot use
// sandboxtest; owner, limits and an empty list of libraries are filled in.
func ownBox(t testing.TB, options Options) *Sandbox {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err == nil {
		_, err = api.Ping(t.Context())
		api.Close()
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("no container engine answers, and in CI there must be one: %v", err)
	}
	if err != nil {
		t.Skipf("skipped: no container engine answers: %v", err)
	}
	if _, err := Build(t.Context(), BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	options.Owner, options.Limits, options.Preload = probeOwner("own"), probeLimits(), []string{}
	box, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}
