package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// sales is small and has what a report needs.
const sales = `date,region,units,revenue
2026-03-02,North,3,30.50
2026-03-03,South,2,20.00
2026-03-09,North,5,51.25
2026-03-10,South,4,44.00
2026-03-16,North,1,9.75
2026-03-17,South,7,70.00
`

// slowSkill runs by itself, says that it runs, and takes its time.
const slowSkill = `---
name: slow
description: Waits for a long time. Use it to wait.
metadata:
  run: scripts/slow.py
---
# Slow
`

// tinySkill makes two files without any library.
const tinySkill = `---
name: tiny
description: Writes two small files about the inputs. Use it in tests.
metadata:
  run: scripts/tiny.py
---
# Tiny
`

const tinyScript = `import os
os.makedirs("/workspace/out/charts", exist_ok=True)
lines = open("/workspace/in/sales.csv").read().splitlines()
open("/workspace/out/report.md", "w").write(f"# {len(lines) - 1} rows\n")
open("/workspace/out/charts/rows.csv", "w").write("\n".join(lines[:3]) + "\n")
print(f"The file has {len(lines) - 1} rows.")
`

// home is one user's machine: a home, a data folder, a working folder.
type home struct {
	t   *testing.T
	dir string
}

// newHome needs the engine: everything here runs programs. No session is kept
// ready: most processes here live for one task, and many are killed before it.
func newHome(t *testing.T) *home {
	t.Helper()
	sandboxtest.Engine(t)
	h := &home{t: t, dir: t.TempDir()}
	h.write("sales.csv", sales)
	h.write("skills/tiny/SKILL.md", tinySkill)
	h.write("skills/tiny/scripts/tiny.py", tinyScript)
	h.write("skills/slow/SKILL.md", slowSkill)
	h.write("skills/slow/scripts/slow.py", "import time\nprint('slowly', flush=True)\ntime.sleep(90)\n")
	h.configure("sandbox: {pool: 0}\n")
	t.Cleanup(h.noContainers)
	return h
}

// configure writes the configuration with further lines.
func (h *home) configure(lines string) {
	h.t.Helper()
	h.write("conf.yaml", "skills: {folders: ["+filepath.Join(h.dir, "skills")+"]}\nlisten: 127.0.0.1:0\n"+lines)
}

func (h *home) write(name, content string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// process is one run of the binary.
type process struct {
	*exec.Cmd
	t        *testing.T
	out, err output
	done     chan struct{}
}

// output is what a process prints; it may be read while it runs.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what was printed so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the binary with further variables ("NAME=value").
func (h *home) start(env []string, args ...string) *process {
	h.t.Helper()
	p := &process{Cmd: exec.Command("sandpiper", args...), t: h.t, done: make(chan struct{})}
	p.Dir = h.dir
	p.Env = append([]string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "USER=alice", "SANDPIPER_CONFIG=" + filepath.Join(h.dir, "conf.yaml")}, env...)
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { defer close(p.done); _ = p.Wait() }()
	h.t.Cleanup(func() {
		_ = p.Process.Kill() // ended already, but for a test that failed
		<-p.done
	})
	return p
}

// wait waits for the end and gives the exit status; -1 for one that was killed.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(6 * time.Minute):
		p.t.Fatalf("%v does not end; stderr:\n%s", p.Args, p.err.String())
	}
	return p.ProcessState.ExitCode()
}

// run runs the binary to its end and expects an exit status.
func (h *home) run(want int, args ...string) *process {
	h.t.Helper()
	p := h.start(nil, args...)
	if got := p.wait(); got != want {
		h.t.Fatalf("%v: exit status %d, want %d\nstdout:\n%s\nstderr:\n%s", args, got, want, p.out.String(), p.err.String())
	}
	return p
}

// tasks lists the tasks as a next start of the binary does.
func (h *home) tasks() []listedTask {
	h.t.Helper()
	var list []listedTask
	h.read(h.run(0, "tasks", "list", "--json"), &list)
	return list
}

func (h *home) read(p *process, v any) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(p.out.String()), v); err != nil {
		h.t.Fatalf("%v printed no JSON: %v\n%s", p.Args, err, p.out.String())
	}
}

// eventually waits for a condition.
func (h *home) eventually(what string, holds func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); {
		if time.Now().After(deadline) {
			h.t.Fatalf("%s: not within five minutes", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (h *home) dataDir() string { return filepath.Join(h.dir, ".local", "state", "sandpiper") }

// owner is the name that this home's containers carry; "" before there is one.
func (h *home) owner() string {
	data, err := os.ReadFile(filepath.Join(h.dataDir(), "identity.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	} else if err != nil {
		h.t.Fatal(err)
	}
	var stored storedIdentity
	if err := json.Unmarshal(data, &stored); err != nil {
		h.t.Fatal(err)
	}
	return stored.Owner
}

// containers lists this home's containers, running or not.
func (h *home) containers() []container.Summary {
	h.t.Helper()
	owner := h.owner()
	if owner == "" {
		return nil
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		h.t.Fatal(err)
	}
	defer api.Close()
	list, err := api.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "sandpiper.owner="+owner))})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

func (h *home) noContainers() {
	h.t.Helper()
	if left := h.containers(); len(left) > 0 {
		h.t.Errorf("%d containers are left: %v", len(left), left[0].Names)
	}
}

// show reads a task whole.
func (h *home) show(id string) shownTask {
	h.t.Helper()
	var shown shownTask
	h.read(h.run(0, "tasks", "show", id, "--audit", "--json"), &shown)
	return shown
}

// expectOut compares a folder with the files of a task: each once, nothing else.
func (h *home) expectOut(dir string, files []bot.Artifact) {
	h.t.Helper()
	if len(files) == 0 {
		h.t.Error("the task has no files")
	}
	want := map[string]string{}
	for _, file := range files {
		want[file.Name] = file.Blob
	}
	err := fs.WalkDir(os.DirFS(filepath.Join(h.dir, dir)), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(h.dir, dir, name))
		if err != nil {
			return err
		}
		if want[name] != sha256Hex(data) {
			h.t.Errorf("%s/%s is not the task's file of that name", dir, name)
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	for name := range want {
		h.t.Errorf("%s/%s is missing", dir, name)
	}
}

// TestKillAtEachPointOfTheLine kills the first process with SIGKILL at named
// points: whatever the next start is, the task ends once, its files stand in
// its folder once, and no container is left.
func TestKillAtEachPointOfTheLine(t *testing.T) {
	for _, point := range []string{"committed", "container-created", "program-running", "artifacts-stored", "delivered"} {
		t.Run(point, func(t *testing.T) {
			h := newHome(t)
			p := h.start([]string{killVariable + "=1:" + point}, "run", "--skill", "tiny", "Report on this file", "sales.csv")
			if status := p.wait(); status != -1 {
				t.Fatalf("the first process was not killed but ended with %d: the point is not passed\n%s", status, p.err.String())
			}
			list := h.tasks() // any command: it finishes what was left
			if len(list) != 1 || list[0].State != bot.TaskDone {
				t.Fatalf("tasks are %+v, want one that is done", list)
			}
			h.noContainers()
			shown := h.show(list[0].Task)
			h.expectOut("out", shown.Outcome.Files)
			outcomes, receipts := 0, 0
			for _, entry := range shown.Audit {
				switch entry.Kind {
				case bot.AuditOutcome:
					outcomes++
				case bot.AuditReceipt:
					receipts++
				}
			}
			if outcomes != 1 || receipts != len(shown.Deliveries) {
				t.Errorf("the audit tells of %d outcomes and %d receipts for %d deliveries", outcomes, receipts, len(shown.Deliveries))
			}
			if next := h.show(list[0].Task); next.Attempts != shown.Attempts || len(next.Steps) != len(shown.Steps) {
				t.Error("a third start ran the task again")
			}
			h.run(0, "audit", "verify")
		})
	}
}

// TestAClientOutlivesTheServingProcess kills the process that serves a waiting
// client: the client takes its place and prints its answer all the same.
func TestAClientOutlivesTheServingProcess(t *testing.T) {
	h := newHome(t)
	server := h.start([]string{killVariable + "=1:artifacts-stored"}, "serve")
	h.eventually("the server answers", func() bool { _, err := os.Stat(filepath.Join(h.dataDir(), "sandpiper.sock")); return err == nil })
	p := h.run(0, "run", "--json", "--skill", "tiny", "Report on this file", "sales.csv")
	if status := server.wait(); status != -1 {
		t.Fatalf("the server was not killed but ended with %d\n%s", status, server.err.String())
	}
	var got answer
	h.read(p, &got)
	if got.State != bot.TaskDone || len(got.Files) == 0 || got.Files[0].Path == "" {
		t.Errorf("the answer is %+v", got)
	}
	if !strings.Contains(p.err.String(), "going on here") {
		t.Errorf("stderr does not tell of the change:\n%s", p.err.String())
	}
	if list := h.tasks(); len(list) != 1 {
		t.Errorf("there are %d tasks, want one", len(list))
	}
}

// TestAServerThatIsStoppedHandsOver ends the server in good order while a
// client waits.
func TestAServerThatIsStoppedHandsOver(t *testing.T) {
	h := newHome(t)
	server := h.start(nil, "serve")
	h.eventually("the server answers", func() bool { _, err := os.Stat(filepath.Join(h.dataDir(), "sandpiper.sock")); return err == nil })
	p := h.start(nil, "run", "--json", "--skill", "tiny", "Report on this file", "sales.csv")
	h.eventually("the task's container runs", func() bool {
		for _, c := range h.containers() {
			if strings.HasPrefix(strings.TrimPrefix(c.Names[0], "/"), "sandpiper-01") {
				return true
			}
		}
		return false
	})
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := server.wait(); status != 0 {
		t.Errorf("the server ended with %d\n%s", status, server.err.String())
	}
	if status := p.wait(); status != 0 {
		t.Fatalf("the client ended with %d\n%s", status, p.err.String())
	}
	var got answer
	h.read(p, &got)
	if got.State != bot.TaskDone || len(got.Files) == 0 {
		t.Errorf("the answer is %+v", got)
	}
}

// TestTwoCommandsShareOneProcess runs two tasks at once on one data folder.
func TestTwoCommandsShareOneProcess(t *testing.T) {
	h := newHome(t)
	a := h.start(nil, "run", "--json", "--out", "a", "--skill", "tiny", "Report on this file", "sales.csv")
	b := h.start(nil, "run", "--json", "--out", "b", "--skill", "tiny", "Report on this file", "sales.csv")
	for _, p := range []*process{a, b} {
		if status := p.wait(); status != 0 {
			t.Fatalf("%v ended with %d\n%s", p.Args, status, p.err.String())
		}
	}
	var one, two answer
	h.read(a, &one)
	h.read(b, &two)
	if one.Task == two.Task || filepath.Dir(one.Files[0].Path) == filepath.Dir(two.Files[0].Path) {
		t.Errorf("the answers are %+v and %+v", one, two)
	}
}

// TestCtrlCCancelsCleanly interrupts a running task.
func TestCtrlCCancelsCleanly(t *testing.T) {
	h := newHome(t)
	p := h.start(nil, "run", "--skill", "slow", "Wait", "sales.csv")
	h.eventually("the program runs", func() bool { return len(h.containers()) > 0 && strings.Contains(h.state(), `"running"`) })
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(); status != 130 {
		t.Errorf("exit status %d, want 130\n%s", status, p.err.String())
	}
	if list := h.tasks(); len(list) != 1 || list[0].State != bot.TaskCancelled {
		t.Errorf("tasks are %+v, want one that is cancelled", list)
	}
}

// state asks the serving process for the tasks' states, as JSON.
func (h *home) state() string {
	h.t.Helper()
	return h.run(0, "tasks", "list", "--json").out.String()
}

// TestAStuckHolderIsTold stops the process that holds the data folder.
func TestAStuckHolderIsTold(t *testing.T) {
	h := newHome(t)
	server := h.start(nil, "serve")
	h.eventually("the server answers", func() bool { _, err := os.Stat(filepath.Join(h.dataDir(), "sandpiper.sock")); return err == nil })
	if err := server.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p := h.run(3, "tasks", "list")
	if !strings.Contains(p.err.String(), "does not answer on its socket") || !strings.Contains(p.err.String(), "kill ") {
		t.Errorf("stderr is\n%s", p.err.String())
	}
	if err := server.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	second := h.run(2, "serve")
	if !strings.Contains(second.err.String(), "already") {
		t.Errorf("a second server says\n%s", second.err.String())
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := server.wait(); status != 0 {
		t.Errorf("the server ended with %d\n%s", status, server.err.String())
	}
}
