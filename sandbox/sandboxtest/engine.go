package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// Setup is what a test may use.
type Setup struct {
	Image    string   // the sandbox's image, present
	Runtimes []string // of the engine that sessions can use: "runc", and "runsc" where it is registered
}

// Engine gives the engine's setup, or skips the test.
func Engine(t testing.TB) Setup {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		miss(t, err)
	}
	defer func() { _ = api.Close() }()
	info, err := api.Info(ctx)
	if err != nil {
		miss(t, err)
	}
	setup := Setup{Image: sandbox.ImageName()}
	if _, err := api.ImageInspect(ctx, setup.Image); err != nil {
		build(t)
	}
	for _, runtime := range []string{"runc", "runsc"} {
		if _, found := info.Runtimes[runtime]; found {
			setup.Runtimes = append(setup.Runtimes, runtime)
		}
	}
	return setup
}

// New makes a sandbox for one test, with an owner of its own, and closes it at
// the end.
func New(t testing.TB, options sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	setup := Engine(t)
	if options.Image == "" {
		options.Image = setup.Image
	}
	if options.Owner == "" {
		options.Owner = Owner(t)
	}
	made, err := sandbox.New(t.Context(), options)
	if err != nil {
		t.Fatalf("make sandbox: %v", err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Errorf("close sandbox: %v", err)
		}
	})
	return made
}

// build makes the image; of several test processes only one does, and the
// others wait for it.
func build(t testing.TB) {
	t.Helper()
	lock, err := os.Create(filepath.Join(os.TempDir(), "sandpiper-test-image.lock"))
	if err != nil {
		t.Fatalf("lock image: %v", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatalf("lock image: %v", err)
	}
	built, err := sandbox.Build(context.Background(), sandbox.BuildOptions{Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatalf("build the sandbox's image: %v", err)
	}
	t.Logf("image %s, base %s", built.Image, built.Base)
}

func miss(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no container engine answers, and in CI there must be one: %v", err)
	}
	t.Skipf("skipped: no container engine answers: %v", err)
}
