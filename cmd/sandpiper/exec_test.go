package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// execCase is a program, or a circumstance, and the verdict that
// `sandbox exec FILE --json` gives on it.
type execCase struct {
	verdict sandbox.Verdict
	file    string // name.ending; content is program
	program string
	limits  string // more of sandbox's configuration
	engine  string // an engine's address
	status  fault.Status
	hint    string // what the hint says
	during  func(t *testing.T, p *process, cut func())
}

const waits = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)\n"

// TestExecGivesEachVerdict runs the twelve through the binary.
func TestExecGivesEachVerdict(t *testing.T) {
	for _, c := range []execCase{
		{verdict: sandbox.OK, file: "a.sql", program: "select 2 * 3 as six;", status: 0},
		{verdict: sandbox.Exit, file: "a.py", program: "import polars", status: 1, hint: "module polars is absent"},
		{verdict: sandbox.Wall, file: "a.py", program: waits, limits: "wall: 2s", status: 1, hint: "stopped after 2s"},
		{verdict: sandbox.CPU, file: "a.py", program: "while True:\n    pass\n", limits: "cpu: 1s", status: 1, hint: "CPU time"},
		{verdict: sandbox.OOM, file: "a.py", program: "rows = []\nwhile True:\n    rows.append(bytearray(b'x' * (8 << 20)))\n", status: 1, hint: "in chunks"},
		{verdict: sandbox.PIDs, file: "a.py", program: "import os\nwhile True:\n    os.fork()\n", status: 1, hint: "48 processes"},
		{verdict: sandbox.Disk, file: "a.sh", program: "cat /dev/zero > /workspace/out/big", status: 1, hint: "the disk is full"},
		{verdict: sandbox.Output, file: "a.js", program: `for (;;) require("fs").writeSync(1, "x".repeat(65536));`, status: 1, hint: "print a summary"},
		{verdict: sandbox.Cancelled, file: "a.py", program: waits, status: fault.Interrupt, hint: "cancelled", during: interrupt},
		{verdict: sandbox.Image, file: "a.py", program: "print(1)", limits: "image: sandpiper-sandbox:none", status: fault.Missing, hint: "sandbox build"},
		{verdict: sandbox.Engine, file: "a.py", program: waits, engine: "forwarded", status: 1, hint: "the sandbox failed", during: cutEngine},
		{verdict: sandbox.Internal, file: "a.py", program: "print(1)", limits: "image: " + lyingImage, status: fault.Missing, hint: "it said"},
	} {
		t.Run(string(c.verdict), func(t *testing.T) { c.check(t) })
	}
	t.Run("an engine that is away", func(t *testing.T) {
		(&execCase{
			verdict: sandbox.Engine, file: "a.py", program: "print(1)", engine: "unix:///nowhere/docker.sock",
			status: fault.Missing, hint: "DOCKER_HOST",
		}).check(t)
	})
	t.Run("wrong use", func(t *testing.T) {
		(&execCase{file: "a.txt", program: "x", status: fault.Usage, hint: "ends in .py"}).check(t)
	})
}

func (c *execCase) check(t *testing.T) {
	h := newHome(t)
	h.write(c.file, c.program)
	h.write("conf.yaml", "sandbox: {runtime: runc, memory: 256MiB, workspace: 48MiB, tmp: 16MiB, pids: 48, output: 64KiB, output_stop: 1MiB, pool: 0, "+c.limits+"}\n")
	if strings.Contains(c.limits, lyingImage) {
		buildLyingImage(t)
	}
	var (
		env []string
		cut func()
	)
	if c.engine == "forwarded" {
		socket := filepath.Join(h.dir, "engine.sock")
		cut = forwardEngine(t, socket)
		env = []string{"DOCKER_HOST=unix://" + socket}
		t.Cleanup(func() { h.run(0, "sandbox", "status") }) // the next start removes what the engine kept
	} else if c.engine != "" {
		env = []string{"DOCKER_HOST=" + c.engine}
	}
	p := h.start(env, "sandbox", "exec", c.file, "--json")
	if c.during != nil {
		h.eventually("the program runs", func() bool {
			found := h.containers()
			return len(found) > 0 && strings.Contains(found[0].Names[0], "sandpiper-exec-") // named a moment after the start
		})
		c.during(t, p, cut)
	}
	if status := p.wait(); status != int(c.status) {
		t.Errorf("exit status %d, want %d\n%s", status, c.status, p.err.String())
	}
	var got execResult
	h.read(p, &got)
	hint := got.Hint
	if got.Error != nil {
		hint += got.Error.Hint
	}
	if got.Verdict != c.verdict || !strings.Contains(hint, c.hint) {
		t.Errorf("verdict %q with the hint %q, want %q with %q", got.Verdict, hint, c.verdict, c.hint)
	}
	if (got.Error != nil) != (c.status == fault.Missing || c.status == fault.Usage) {
		t.Errorf("the error is %+v", got.Error)
	}
}

func interrupt(t *testing.T, p *process, _ func()) {
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

func cutEngine(_ *testing.T, _ *process, cut func()) { cut() }

// lyingImage has a python3 that is no guest: what comes from it is no frame.
const lyingImage = "sandpiper-test-liar:latest"

func buildLyingImage(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"Dockerfile": "FROM " + sandbox.ImageName() + "\nCOPY python3 /usr/local/bin/python3\n",
		"python3":    "#!/bin/sh\necho I am no guest >&2\nsleep 1\necho and this is no frame\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("docker", "build", "-q", "-t", lyingImage, folder)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	t.Cleanup(func() {
		if output, err := exec.Command("docker", "rmi", lyingImage).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
}
