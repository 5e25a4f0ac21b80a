package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// fails leases and expects a failure of the sandbox's own within a time.
func fails(t *testing.T, box *sandbox.Sandbox, verdict sandbox.Verdict, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := box.Lease(ctx, sandbox.LeaseOptions{})
	var failure *sandbox.Error
	if !errors.As(err, &failure) || failure.Verdict != verdict || !strings.Contains(failure.Message, message) || failure.Hint == "" {
		t.Errorf("%v; want %s, %q and a hint", err, verdict, message)
	}
}

// serves waits until a session can be had and runs a program.
func serves(t *testing.T, box *sandbox.Sandbox) {
	t.Helper()
	eventually(t, "a session works", func() bool {
		session, err := box.Lease(t.Context(), sandbox.LeaseOptions{})
		if err != nil {
			return false
		}
		defer session.Close()
		got, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: "print(6 * 7)"})
		return err == nil && got.Stdout.Head == "42\n"
	})
}

// TestEngineTroubles ends an engine while a program runs and while
// sessions stand ready, takes its image away, and fills its disk.
func TestEngineTroubles(t *testing.T) {
	setup := sandboxtest.Engine(t)
	engine := startEngineOn(t, smallDisk)
	engine.load(t, setup.Image)
	box, err := sandbox.New(t.Context(), sandbox.Options{
		Owner: sandboxtest.Owner(t), Sole: true, Engine: engine.address, Image: soakImage, Limits: smallLimits(), Preload: []string{},
		Pool: sandbox.Pool{Size: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	ready := func() bool { return box.Load().Ready == 2 }

	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two sessions are ready", ready)
	got, err := session.Run(t.Context(), sandbox.Program{
		Language: sandbox.Python, Code: "print('on')\nimport time\ntime.sleep(600)", Output: func(string, []byte) { engine.command.Process.Signal(os.Interrupt) },
	})
	if err != nil || got.Verdict != sandbox.Engine || got.Stdout.Head != "on\n" || !strings.Contains(got.Hint, "the sandbox failed, not the program") {
		t.Errorf("an end while a program ran: %s, %q, hint %q, %v", got.Verdict, got.Stdout.Head, got.Hint, err)
	}
	session.Close()
	engine.stop(t)
	engine.start(t)
	// The two that stood ready are dead, and the first lease must not be told.
	if session, err = box.Lease(t.Context(), sandbox.LeaseOptions{}); err != nil {
		t.Errorf("the first lease after it: %v", err)
	} else {
		session.Close()
	}
	serves(t, box)

	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("its image is gone", func(t *testing.T) { imageGone(t, engine) })
	t.Run("its disk is full", func(t *testing.T) { diskFull(t, engine) })
}

// withoutPool is a sandbox that starts each session when it is asked for.
func withoutPool(t *testing.T, engine *privateEngine) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(t.Context(), sandbox.Options{
		Owner: sandboxtest.Owner(t), Engine: engine.address, Image: soakImage, Limits: smallLimits(), Preload: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

func imageGone(t *testing.T, engine *privateEngine) {
	box := withoutPool(t, engine)
	own := engine.client(t)
	defer own.Close()
	if _, err := own.ImageRemove(t.Context(), soakImage, image.RemoveOptions{Force: true, PruneChildren: true}); err != nil {
		t.Fatal(err)
	}
	fails(t, box, sandbox.Image, "image is gone")
	engine.load(t, sandbox.ImageName()) // it has another id
	serves(t, box)
}

func diskFull(t *testing.T, engine *privateEngine) {
	box := withoutPool(t, engine)
	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	fill := filepath.Join(engine.folder, "data", "fill")
	file, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 1<<20))
	}
	file.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	fails(t, box, sandbox.Engine, "the engine's disk is full")
	if got := run(t, session, sandbox.Python, "open('out/a', 'w').write('x')\nprint(1)"); got.Verdict != sandbox.OK {
		t.Errorf("a session that ran already: %s: %s", got.Verdict, got.Detail)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	serves(t, box)
}

// smallDisk puts the engine's data on a file system that can be filled.
func smallDisk(t *testing.T, folder string) (undo func()) {
	t.Helper()
	path := filepath.Join(folder, "data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1g", "sandpiper-test", path).CombinedOutput(); err != nil {
		lacking(t, "no file system can be mounted here: "+string(text))
	}
	return func() {
		if text, err := exec.Command("umount", path).CombinedOutput(); err != nil {
			t.Errorf("unmount the engine's disk: %v: %s", err, text)
		}
	}
}
