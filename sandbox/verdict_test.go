package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// TestVerdicts runs the twelve small programs that `sandpiper sandbox exec` is
// shown with. A file is named after its verdict.
func TestVerdicts(t *testing.T) {
	languages := map[string]sandbox.Language{".py": sandbox.Python, ".js": sandbox.JavaScript, ".sh": sandbox.Bash, ".sql": sandbox.SQL}
	hints := map[string]string{
		"exit.py": "module polars is absent; pandas, numpy and sqlite3 are there", "exit.sh": "no network in here",
		"wall.py": "stopped after 3s", "cpu.py": "CPU time", "oom.py": "in chunks", "pids.py": "48 processes",
		"disk.sh": "/workspace holds 48 MiB", "output.js": "1 MiB of output",
	}
	files, err := filepath.Glob("testdata/verdicts/*")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, runtime := range sandboxtest.Engine(t).Runtimes {
		limits := smallLimits()
		limits.Wall, limits.CPU = 60*time.Second, 60*time.Second
		box := sandboxtest.New(t, sandbox.Options{Runtime: runtime, Limits: limits, Preload: []string{}})
		for _, file := range files {
			name := filepath.Base(file)
			t.Run(runtime+"/"+name, func(t *testing.T) {
				code, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				ending := filepath.Ext(name)
				want := sandbox.Verdict(strings.TrimSuffix(name, ending))
				program := sandbox.Program{Language: languages[ending], Code: string(code)}
				switch want {
				case sandbox.Wall:
					program.Wall = 3 * time.Second
				case sandbox.CPU:
					program.CPU = time.Second
				}
				session := lease(t, box)
				got, err := session.Run(t.Context(), program)
				if err != nil {
					t.Fatal(err)
				}
				bomb := want == sandbox.PIDs && runtime == "runsc" // its whole kernel may die of it
				if got.Verdict != want && !(bomb && (got.Verdict == sandbox.OOM || got.Verdict == sandbox.Engine)) {
					t.Fatalf("verdict %s, want %s; stderr %q, detail %q", got.Verdict, want, got.Stderr.Head, got.Detail)
				}
				if !strings.Contains(got.Hint, hints[name]) && !bomb {
					t.Errorf("hint %q, want %q in it", got.Hint, hints[name])
				}
				if got.Detail == "" {
					t.Error("no line for the operator")
				}
				if want == sandbox.OK && strings.TrimSpace(got.Stdout.Head) == "" {
					t.Error("no output")
				}
			})
		}
	}
}

// TestLimitsLeaveTheSession ends a program at each limit, and expects the next
// one to find memory and files as they were.
func TestLimitsLeaveTheSession(t *testing.T) {
	box := sandboxtest.New(t, sandbox.Options{Runtime: "runc", Limits: smallLimits(), Preload: []string{}})
	session := lease(t, box)
	run(t, session, sandbox.Python, "kept = 41")
	for _, step := range []struct {
		name string
		code string
		want sandbox.Verdict
	}{
		{"wall", "kept = 0\nimport time\nwhile True: time.sleep(1)", sandbox.Wall},
		{"oom", "kept = 0\nblock = b'x' * (1 << 30)", sandbox.OOM},
		{"output", "kept = 0\nwhile True: print('y' * 1000)", sandbox.Output},
		{"pids", "kept = 0\nimport os\nwhile True: os.fork()", sandbox.PIDs},
		{"disk", "kept = 0\nopen('big', 'wb').write(bytes(60 << 20))", sandbox.Disk},
		{"crash", "kept = 0\nimport ctypes\nctypes.string_at(0)", sandbox.Exit},
	} {
		got, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: step.code, Wall: 5 * time.Second})
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got.Verdict != step.want || !got.Forgotten {
			t.Errorf("%s: verdict %s, forgotten %v: %s", step.name, got.Verdict, got.Forgotten, got.Detail)
		}
		if step.want == sandbox.Wall && !strings.Contains(got.Stderr.Head, "line 3") {
			t.Errorf("the traceback does not say where it was: %q", got.Stderr.Head)
		}
		if after := run(t, session, sandbox.Python, "import os\nif os.path.exists('big'): os.unlink('big')\nprint(kept + 1)"); after.Stdout.Head != "42\n" {
			t.Fatalf("after %s: %s: %q %q", step.name, after.Verdict, after.Stdout.Head, after.Stderr.Head)
		}
	}
}

func TestCancelled(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		run(t, session, sandbox.Python, "kept = 1")
		ctx, cancel := context.WithCancel(t.Context())
		got, err := session.Run(ctx, sandbox.Program{
			Language: sandbox.Python, Code: "kept = 2\nprint('on')\nimport time\nwhile True: time.sleep(1)",
			Output: func(string, []byte) { cancel() },
		})
		if err != nil || got.Verdict != sandbox.Cancelled || got.Stdout.Head != "on\n" {
			t.Fatalf("%s, %q, %v", got.Verdict, got.Stdout.Head, err)
		}
		if after := run(t, session, sandbox.Python, "print(kept)"); after.Stdout.Head != "1\n" {
			t.Errorf("after a cancel: %s, %q", after.Verdict, after.Stdout.Head)
		}
		got, err = session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: "kept = 3"})
		if err != nil || got.Verdict != sandbox.Cancelled {
			t.Errorf("a context that had ended: %s, %v", got.Verdict, err)
		}
	})
}

// TestClosedMeanwhile closes a session while a program runs in it.
func TestClosedMeanwhile(t *testing.T) {
	box := sandboxtest.New(t, sandbox.Options{Limits: smallLimits(), Preload: []string{}})
	session := lease(t, box)
	got, err := session.Run(t.Context(), sandbox.Program{
		Language: sandbox.Python, Code: "print('on')\nimport time\nwhile True: time.sleep(1)",
		Output: func(string, []byte) { go session.Close() },
	})
	if err != nil || got.Verdict != sandbox.Cancelled {
		t.Errorf("%s, %v", got.Verdict, err)
	}
	if _, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestRefused asks for what there is not.
func TestRefused(t *testing.T) {
	setup := sandboxtest.Engine(t)
	for _, refused := range []struct {
		name    string
		options sandbox.Options
		verdict sandbox.Verdict
		hint    string
	}{
		{"an absent image", sandbox.Options{Image: "sandpiper-sandbox:none"}, sandbox.Image, "sandbox build"},
		{"another image than the recorded", sandbox.Options{Image: setup.Image, ImageID: "sha256:0"}, sandbox.Image, "--refresh"},
		{"an absent runtime", sandbox.Options{Image: setup.Image, Runtime: "kata-none"}, sandbox.Engine, "daemon.json"},
		{"no engine", sandbox.Options{Engine: "unix:///nowhere/docker.sock"}, sandbox.Engine, "DOCKER_HOST"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			refused.options.Owner = sandboxtest.Owner(t)
			box, err := sandbox.New(t.Context(), refused.options)
			if err == nil {
				box.Close()
				t.Fatal("it was accepted")
			}
			var failure *sandbox.Error
			if !errors.As(err, &failure) || failure.Verdict != refused.verdict || !strings.Contains(failure.Hint, refused.hint) {
				t.Errorf("%v (%+v)", err, failure)
			}
		})
	}
}
