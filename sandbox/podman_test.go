package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// lacking ends a test that cannot run here: in CI, which brings what tests need,
// as failed.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s, and in CI it must not be so", what)
	}
	t.Skipf("skipped: %s", what)
}

// startPodman starts Podman's Docker-compatible service with a storage of its
// own, and gives its address. Where there is no Podman the test is skipped; CI
// installs it.
func startPodman(t *testing.T) string {
	t.Helper()
	podman, err := exec.LookPath("podman")
	switch {
	case err != nil:
		lacking(t, "no podman here")
	case os.Geteuid() != 0:
		lacking(t, "a Podman with limits of its own needs root")
	}
	folder, err := os.MkdirTemp("", "podman")
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(folder, name) }
	storage := fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = %q\nrunroot = %q\n", path("root"), path("run"))
	if fuse, err := exec.LookPath("fuse-overlayfs"); err == nil {
		storage += fmt.Sprintf("[storage.options.overlay]\nmount_program = %q\n", fuse)
	}
	engine := fmt.Sprintf("[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\ntmp_dir = %q\n", path("tmp"))
	for name, text := range map[string]string{"storage.conf": storage, "containers.conf": engine} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(path("log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	address := "unix://" + path("podman.sock")
	service := exec.Command(podman, "system", "service", "--time=0", address)
	service.Env = append(os.Environ(), "CONTAINERS_STORAGE_CONF="+path("storage.conf"), "CONTAINERS_CONF="+path("containers.conf"))
	service.Stdout, service.Stderr, service.Dir = log, log, folder // its monitor leaves a file where it stands
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Process.Signal(os.Interrupt)
		service.Wait()
		exec.Command("umount", path("root/overlay")).Run() // where it mounted that on itself
		if err := os.RemoveAll(folder); err != nil {
			t.Errorf("Podman left files that cannot be removed: %v", err)
		}
	})
	api := podmanClient(t, address)
	defer api.Close()
	for range 300 {
		if _, err := api.Ping(t.Context()); err == nil {
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(path("log"))
	t.Fatalf("Podman's service did not start:\n%s", text)
	return ""
}

func podmanClient(t *testing.T, address string) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(address), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestPodman uses Podman's Docker-compatible socket: all thirty probes, the
// verdicts whose evidence an engine gives, and what it cannot do is refused.
func TestPodman(t *testing.T) {
	setup := sandboxtest.Engine(t)
	address := startPodman(t)
	api := podmanClient(t, address)
	defer api.Close()
	loadSlim(t, api, setup.Image)
	options := sandbox.Options{
		Owner: sandboxtest.Owner(t), Engine: address, Image: soakImage, Limits: smallLimits(), Preload: []string{}, Pool: sandbox.Pool{Size: 1},
	}
	t.Run("probes", func(t *testing.T) {
		report, err := sandbox.Probe(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, probe := range report.Probes {
			if !probe.OK {
				t.Errorf("probe %d, %s: %s", probe.ID, probe.Name, probe.Seen)
			}
		}
	})
	t.Run("verdicts", func(t *testing.T) { podmanVerdicts(t, options) })
	t.Run("runtime", func(t *testing.T) {
		options.Runtime = "runsc"
		_, err := sandbox.New(t.Context(), options)
		var failure *sandbox.Error
		if !errors.As(err, &failure) || !strings.Contains(failure.Message, "Podman runs every container of its socket with runc") || failure.Hint == "" {
			t.Errorf("a runtime that it would not use: %v", err)
		}
	})
}

func podmanVerdicts(t *testing.T, options sandbox.Options) {
	box, err := sandbox.New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	roundTrip(t, box)
	session := lease(t, box)
	if proof := string(session.Info().Proof); !strings.Contains(proof, `"inside.seccomp_filters"`) || !strings.Contains(proof, `"mismatches":[]`) {
		t.Errorf("proof %s", proof)
	}
	run(t, session, sandbox.Python, "kept = 41")
	for _, step := range []struct {
		name, code string
		want       sandbox.Verdict
	}{
		{"wall", "import time\nwhile True: time.sleep(1)", sandbox.Wall},
		{"oom", "block = b'x' * (1 << 30)", sandbox.OOM},
		{"pids", "import os\nwhile True: os.fork()", sandbox.PIDs},
		{"disk", "open('big', 'wb').write(bytes(60 << 20))", sandbox.Disk},
		{"files", "for i in range(100000): open(f'/tmp/{i}', 'w').close()", sandbox.Disk},
		{"files in shm", "for i in range(100000): open(f'/dev/shm/{i}', 'w').close()", sandbox.Disk},
		{"files in var", "for i in range(100000): open(f'/var/tmp/{i}', 'w').close()", sandbox.Disk},
	} {
		got, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: "kept = 0\n" + step.code, Wall: 10 * time.Second})
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got.Verdict != step.want {
			t.Errorf("%s: %s: %s", step.name, got.Verdict, got.Detail)
		}
		if after := run(t, session, sandbox.Python, "import os\nif os.path.exists('big'): os.unlink('big')\nprint(kept + 1)"); after.Stdout.Head != "42\n" {
			t.Fatalf("after %s: %s: %q %q", step.name, after.Verdict, after.Stdout.Head, after.Stderr.Head)
		}
	}
	id := session.Info().Container
	session.Close()
	eventually(t, "its container is gone", func() bool {
		for _, one := range status(t, box).Containers {
			if one.ID == id {
				return false
			}
		}
		return true
	})
}
