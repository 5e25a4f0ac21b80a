package sandbox_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"), goleak.Cleanup(os.Exit))
}

// smallLimits keep the tests quick to fill.
func smallLimits() sandbox.Limits {
	return sandbox.Limits{
		Memory: 256 << 20, Workspace: 48 << 20, Tmp: 16 << 20, PIDs: 48, Inodes: 500,
		Wall: 60 * time.Second, CPU: 60 * time.Second, Output: 64 << 10, OutputStop: 1 << 20,
	}
}

// eachRuntime runs a test under every runtime that the engine has, each with a
// sandbox of its own.
func eachRuntime(t *testing.T, test func(t *testing.T, box *sandbox.Sandbox, runtime string)) {
	for _, runtime := range sandboxtest.Engine(t).Runtimes {
		t.Run(runtime, func(t *testing.T) {
			box := sandboxtest.New(t, sandbox.Options{Runtime: runtime, Limits: smallLimits(), Preload: []string{}})
			test(t, box, runtime)
		})
	}
}

func lease(t *testing.T, box *sandbox.Sandbox) *sandbox.Session {
	t.Helper()
	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: "test"})
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func run(t *testing.T, session *sandbox.Session, language sandbox.Language, code string) sandbox.Result {
	t.Helper()
	result, err := session.Run(t.Context(), sandbox.Program{Language: language, Code: code})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return result
}

func put(t *testing.T, session *sandbox.Session, name, content string) {
	t.Helper()
	if err := session.Put(t.Context(), name, int64(len(content)), strings.NewReader(content)); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

// collect brings the output folder back, contents by name.
func collect(t *testing.T, session *sandbox.Session) (map[string]string, sandbox.Collected) {
	t.Helper()
	files := map[string]string{}
	found, err := session.Collect(t.Context(), sandbox.CollectOptions{Store: func(name string, _ int64, content io.Reader) error {
		data, err := io.ReadAll(content)
		files[name] = string(data)
		return err
	}})
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	return files, found
}

func TestNotebookMemory(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		put(t, session, "workspace/in/numbers.csv", "a,b\n1,2\n3,4\n")
		steps := []struct {
			name, code, stdout string
			verdict            sandbox.Verdict
			forgotten          bool
		}{
			{"keeps variables", "rows = open('in/numbers.csv').read().split()\nlen(rows)", "3\n", sandbox.OK, false},
			{"sees them again", "print(rows[1]); total = 1", "1,2\n", sandbox.OK, false},
			{"rolls back a failure", "total = 2\nraise ValueError('no')", "", sandbox.Exit, true},
			{"as if it had not been", "print(total)", "1\n", sandbox.OK, false},
			{"exit 0 is no failure", "total = 3\nraise SystemExit", "", sandbox.OK, false},
			{"and keeps its memory", "print(total)", "3\n", sandbox.OK, false},
			{"a process that ends itself", "total = 4\nimport os\nos._exit(0)", "", sandbox.OK, true},
			{"leaves the memory before it", "print(total)", "3\n", sandbox.OK, false},
			{"a fork that runs to the end", "import os, time\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    time.sleep(0.3)\n    print('first')", "first\n", sandbox.OK, false},
			{"does not end the program", "print(pid > 0)", "True\n", sandbox.OK, false},
			{"threads that stay", "total = 5\nimport threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()", "", sandbox.OK, true},
			{"cost the memory", "print(total)", "3\n", sandbox.OK, false},
			{"threads that end", "total = 6\nimport threading, time\nthreading.Thread(target=time.sleep, args=(0.1,)).start()", "", sandbox.OK, false},
			{"do not", "print(total)", "6\n", sandbox.OK, false},
		}
		for _, step := range steps {
			got := run(t, session, sandbox.Python, step.code)
			if got.Verdict != step.verdict || got.Stdout.Head != step.stdout || got.Forgotten != step.forgotten {
				t.Errorf("%s: %s, %q, forgotten %v; stderr %q, detail %q", step.name, got.Verdict, got.Stdout.Head, got.Forgotten, got.Stderr.Head, got.Detail)
			}
		}
		if got := run(t, session, sandbox.Bash, "exit 3"); got.Verdict != sandbox.Exit || got.ExitCode != 3 || got.Forgotten {
			t.Errorf("bash: %s with status %d, forgotten %v", got.Verdict, got.ExitCode, got.Forgotten)
		}
		if got := run(t, session, sandbox.Python, "print(total)"); got.Stdout.Head != "6\n" {
			t.Errorf("memory after bash: %q", got.Stdout.Head)
		}
	})
}

func TestFilesComeAndGo(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		put(t, session, "workspace/in/in.txt", "given")
		put(t, session, "skills/demo/scripts/run.py", "print('from a skill')")
		result := run(t, session, sandbox.Bash, "python3 /skills/demo/scripts/run.py; cp in/in.txt out/copy.txt; echo made > out/made.txt; echo note > note.txt; : > out/empty; echo dots > out/a..b")
		if result.Verdict != sandbox.OK || result.Stdout.Head != "from a skill\n" {
			t.Fatalf("%s: %q %q", result.Verdict, result.Stdout.Head, result.Stderr.Head)
		}
		var changed []string
		for _, file := range result.Changed {
			changed = append(changed, file.Path)
		}
		if got := strings.Join(changed, " "); got != "note.txt out/a..b out/copy.txt out/empty out/made.txt" {
			t.Errorf("changed: %s", got)
		}
		files, found := collect(t, session)
		if len(files) != 3 || files["made.txt"] != "made\n" || files["a..b"] != "dots\n" || files["empty"] != "" {
			t.Errorf("files: %q", files)
		}
		if len(found.Skipped) != 1 || found.Skipped[0] != (sandbox.Skipped{Name: "copy.txt", Reason: "an unchanged input"}) {
			t.Errorf("skipped: %v", found.Skipped)
		}
	})
}
