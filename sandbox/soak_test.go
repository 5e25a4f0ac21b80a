package sandbox_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// privateEngine is a dockerd of the test's own: data root, exec root, socket
// and containerd, so that restarting it disturbs nobody.
type privateEngine struct {
	folder  string
	address string
	driver  string
	command *exec.Cmd
	crashed bool // at least once
}

// startEngine starts one, or ends the test where we may not.
func startEngine(t *testing.T) *privateEngine { return startEngineOn(t, nil) }

// startEngineOn has the folder prepared first, by what gives back how to undo it.
func startEngineOn(t *testing.T, prepare func(t *testing.T, folder string) (undo func())) *privateEngine {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking(t, "a private engine needs root")
	}
	for _, program := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(t, "no "+program+" here")
		}
	}
	folder, err := os.MkdirTemp("", "soak")
	if err != nil {
		t.Fatal(err)
	}
	e := &privateEngine{folder: folder, address: "unix://" + filepath.Join(folder, "docker.sock"), driver: storageDriver(t)}
	undo := func() {}
	t.Cleanup(func() {
		e.stop(t)
		if e.crashed {
			e.sweep()
		}
		undo()
		if err := os.RemoveAll(folder); err != nil {
			t.Errorf("the engine left files that cannot be removed: %v", err)
		}
	})
	if prepare != nil {
		undo = prepare(t, folder)
	}
	e.start(t)
	return e
}

// storageDriver is the shared engine's: it works on this machine's file system.
// The client is closed here and not at the test's end: its idle connection
// would count among what the sandbox leaves.
func storageDriver(t *testing.T) string {
	t.Helper()
	shared := docker(t)
	defer shared.Close()
	info, err := shared.Info(t.Context())
	if err != nil {
		return "overlay2"
	}
	return info.Driver
}

func (e *privateEngine) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(e.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	path := func(name string) string { return filepath.Join(e.folder, name) }
	e.command = exec.Command("dockerd", "--data-root", path("data"), "--exec-root", path("exec"), "--pidfile", path("pid"),
		"--host", e.address, "--storage-driver", e.driver, "--bridge", "none", "--iptables=false", "--ip-masq=false", "--config-file", path("none.json"))
	if err := os.WriteFile(path("none.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.command.Stdout, e.command.Stderr = log, log
	// What the engine puts down for a moment is not the sandbox's.
	if err := os.MkdirAll(path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	e.command.Env = append(os.Environ(), "TMPDIR="+path("tmp"))
	if err := e.command.Start(); err != nil {
		t.Fatal(err)
	}
	api := e.client(t)
	defer api.Close()
	for range 600 {
		if _, err := api.Ping(t.Context()); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(path("log"))
	t.Fatalf("the private engine did not start:\n%s", text[max(0, len(text)-2000):])
}

// stop ends the engine in good order: it stops its containers.
func (e *privateEngine) stop(t *testing.T) { e.end(t, os.Interrupt) }

// crash kills it, and its containerd with it. Its containers outlive it, and the
// next start finds them. That start takes a containerd that nobody has waited
// for, as on a machine whose first process is no init, for a running one.
func (e *privateEngine) crash(t *testing.T) {
	t.Helper()
	e.end(t, os.Kill)
	e.crashed = true
	if err := os.Remove(filepath.Join(e.folder, "exec", "containerd", "containerd.pid")); err != nil {
		t.Errorf("crash the engine: %v", err)
	}
}

func (e *privateEngine) end(t *testing.T, how os.Signal) {
	t.Helper()
	if e.command == nil {
		return
	}
	if err := e.command.Process.Signal(how); err != nil {
		t.Errorf("end engine: %v", err)
	}
	e.command.Wait() // it ends with the signal's status
	e.command = nil
}

// sweep ends what a crashed engine has forgotten: shims of containers that had
// ended, their file systems, and its folder, mounted on itself more than once.
func (e *privateEngine) sweep() {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		line, _ := os.ReadFile(path) // it may have ended
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && bytes.Contains(line, []byte(e.folder+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	lines := strings.Split(string(mounts), "\n")
	for _, line := range slices.Backward(lines) { // the last mounted first
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[1], e.folder+"/") {
			_ = syscall.Unmount(words[1], syscall.MNT_DETACH)
		}
	}
}

func (e *privateEngine) client(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(e.address), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	return api
}

const soakImage = "sandpiper-soak:latest"

// load copies the image from the shared engine without what only its programs
// need: any image with Python serves a session, and a small one is copied soon.
func (e *privateEngine) load(t *testing.T, name string) {
	t.Helper()
	own := e.client(t)
	defer own.Close() // before the measuring
	loadSlim(t, own, name)
}

func loadSlim(t *testing.T, own *client.Client, name string) {
	t.Helper()
	shared := docker(t)
	defer shared.Close() // before the measuring
	made, err := shared.ContainerCreate(t.Context(), &container.Config{Image: name}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer shared.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{})
	whole, err := shared.ContainerExport(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(slim(writer, whole)) }()
	said, err := own.ImageImport(t.Context(), image.ImportSource{Source: reader, SourceName: "-"}, soakImage, image.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	if text, err := io.ReadAll(said); err != nil || bytes.Contains(text, []byte("error")) {
		t.Fatalf("import: %v: %s", err, text)
	}
}

// slim copies a file system without documents, libraries of Python, and large
// files.
func slim(to io.Writer, from io.Reader) error {
	in, out := tar.NewReader(from), tar.NewWriter(to)
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(head.Name, "usr/share/") || strings.HasPrefix(head.Name, "usr/lib/python3/") || head.Size > 8<<20 {
			continue
		}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// TestSoak runs tasks in a row with cancels, timeouts, memory kills, abandoned
// sessions, and an engine that is stopped or killed and starts again, mixed in. Afterwards nothing is left:
// containers, goroutines, descriptors, temporary files, memory. The long form
// is `make soak` (SANDPIPER_SOAK=500).
func TestSoak(t *testing.T) {
	setup := sandboxtest.Engine(t)
	tasks := 24
	if text := os.Getenv("SANDPIPER_SOAK"); text != "" {
		tasks, _ = strconv.Atoi(text)
	}
	engine := startEngine(t)
	engine.load(t, setup.Image)
	owner := sandboxtest.Owner(t)
	t.Setenv("TMPDIR", t.TempDir()) // so that only our own temporary files are counted
	before := measure()
	box, err := sandbox.New(t.Context(), sandbox.Options{
		Owner: owner, Sole: true, Engine: engine.address, Image: soakImage, Limits: smallLimits(), Preload: []string{},
		Pool: sandbox.Pool{Size: 1, Max: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[sandbox.Verdict]int{}
	restarts, refused := 0, 0
	for i := range tasks {
		if i%max(8, tasks/10) == 7 {
			end := []func(*testing.T){engine.stop, engine.crash}[restarts%2]
			end(t)
			if _, err := box.Lease(t.Context(), sandbox.LeaseOptions{}); err == nil {
				t.Error("a session from an engine that is away")
			}
			refused++
			engine.start(t)
			restarts++
		}
		verdicts[soakTask(t, box, i)]++
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d tasks, %d restarts, verdicts %v", tasks, restarts, verdicts)
	for _, want := range []sandbox.Verdict{sandbox.OK, sandbox.Wall, sandbox.OOM, sandbox.Cancelled, sandbox.Exit} {
		if verdicts[want] == 0 {
			t.Errorf("no program ended as %s", want)
		}
	}
	nothingLeft(t, engine, owner, before)
}

// soakTask leases, runs one of several programs, and ends the session. After a
// restart the pool may hand out a session that is just dying: the task is
// tried again, as the bot would.
func soakTask(t *testing.T, box *sandbox.Sandbox, i int) sandbox.Verdict {
	t.Helper()
	for range 20 {
		session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: fmt.Sprintf("soak-%d", i)})
		if err != nil {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		verdict := soakProgram(t, session, i)
		session.Close()
		if verdict != sandbox.Engine {
			return verdict
		}
	}
	t.Errorf("task %d found no session", i)
	return sandbox.Engine
}

func soakProgram(t *testing.T, session *sandbox.Session, i int) sandbox.Verdict {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	program := sandbox.Program{Language: sandbox.Python, Wall: 10 * time.Second}
	switch i % 6 {
	case 0:
		program.Code = "open('out/a', 'w').write('x' * 100000)"
	case 1:
		program.Code, program.Wall = "while True: pass", 200*time.Millisecond
	case 2:
		program.Code = "block = b'x' * (1 << 30)"
	case 3:
		program.Code = "print('on')\nimport time\nwhile True: time.sleep(1)"
		program.Output = func(string, []byte) { cancel() }
	case 4:
		program.Language, program.Code = sandbox.Bash, "sleep 1000 & exit 3"
	case 5:
		program.Code = fmt.Sprintf("print('%d' * 300000)", rand.IntN(10))
	}
	got, err := session.Run(ctx, program)
	if err != nil {
		return sandbox.Engine
	}
	if i%6 == 0 && got.Verdict == sandbox.OK {
		_, err := session.Collect(t.Context(), sandbox.CollectOptions{Store: func(_ string, _ int64, content io.Reader) error {
			_, err := io.Copy(io.Discard, content)
			return err
		}})
		if err != nil {
			return sandbox.Engine
		}
	}
	return got.Verdict
}

// footprint is what a process holds.
type footprint struct {
	goroutines, descriptors, temporary int
	heap                               uint64
}

func measure() footprint {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	descriptors, _ := os.ReadDir("/proc/self/fd")
	temporary, _ := os.ReadDir(os.TempDir())
	return footprint{runtime.NumGoroutine(), len(descriptors), len(temporary), memory.HeapAlloc}
}

// holdings names what the process holds now: the goroutines by their stacks,
// and where each descriptor leads.
func holdings() string {
	var text strings.Builder
	pprof.Lookup("goroutine").WriteTo(&text, 1)
	descriptors, _ := os.ReadDir("/proc/self/fd")
	for _, one := range descriptors {
		if leads, err := os.Readlink(filepath.Join("/proc/self/fd", one.Name())); err == nil {
			fmt.Fprintf(&text, "descriptor %s: %s\n", one.Name(), leads)
		}
	}
	return text.String()
}

func nothingLeft(t *testing.T, engine *privateEngine, owner string, before footprint) {
	t.Helper()
	api := engine.client(t)
	defer api.Close()
	left, err := api.ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil || len(left) != 0 {
		t.Errorf("containers left of %s: %d, %v", owner, len(left), err)
	}
	api.Close()
	var after footprint
	var tries atomic.Int32
	eventually(t, "goroutines and descriptors are as before", func() bool {
		after = measure()
		return after.goroutines <= before.goroutines+2 && after.descriptors <= before.descriptors+2 || tries.Add(1) > 50
	})
	if after.goroutines > before.goroutines+2 || after.descriptors > before.descriptors+2 {
		t.Errorf("before %+v, after %+v; what is left:\n%s", before, after, holdings())
	}
	if after.temporary > before.temporary {
		names, _ := os.ReadDir(os.TempDir())
		t.Errorf("%d temporary files left: %v", after.temporary-before.temporary, names)
	}
	if after.heap > before.heap+32<<20 {
		t.Errorf("heap grew from %d to %d bytes", before.heap, after.heap)
	}
}
