package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// TestMemoryAfter runs programs that leave something behind, and looks at what
// the next one finds: its memory, its place, and what the result said of it.
func TestMemoryAfter(t *testing.T) {
	const kept = "kept"
	box := sandboxtest.New(t, sandbox.Options{Limits: smallLimits(), Preload: []string{}, Pool: sandbox.Pool{Size: 1}})
	for _, c := range []struct {
		name     string
		language sandbox.Language
		code     string
		verdict  sandbox.Verdict
		next     string // what print(kept) gives then; "" when it is gone
		hint     string // in the hint
	}{
		// What failed leaves the memory.
		{"stops its parent and fails", sandbox.Python, "import os\nos.kill(os.getppid(), 19)\n1/0", sandbox.Exit, kept, "ZeroDivisionError in line 3"},
		{"stops everybody", sandbox.Bash, "kill -STOP -1; exit 3", sandbox.Exit, kept, ""},
		{"is stopped itself", sandbox.Python, "import os\nkept = 0\nos.kill(os.getpid(), 19)", sandbox.Wall, kept, "as they were"},
		// What killed the memory says so.
		{"kills its parent and fails", sandbox.Python, "import os\nos.kill(os.getppid(), 9)\n1/0", sandbox.Exit, "", "they are gone, files stay"},
		{"kills everybody", sandbox.Bash, "kill -9 -1", sandbox.OK, "", "they are gone, files stay"},
		{"kills its parent and goes on", sandbox.Python, "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(.2)", sandbox.OK, kept, ""},
		// Pools that were left open are closed, and cost nothing.
		{"joblib", sandbox.Python, "from joblib import Parallel, delayed\nprint(Parallel(n_jobs=2)(delayed(abs)(i) for i in (-1, -2)))", sandbox.OK, kept, ""},
		{"scikit-learn with jobs", sandbox.Python, "from sklearn.ensemble import RandomForestClassifier\nRandomForestClassifier(4, n_jobs=2).fit([[0], [1]] * 9, [0, 1] * 9)", sandbox.OK, kept, ""},
		{"an executor of threads", sandbox.Python, "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\nprint(list(pool.map(abs, [-1])))", sandbox.OK, kept, ""},
		{"an executor of processes", sandbox.Python, "from concurrent.futures import ProcessPoolExecutor\npool = ProcessPoolExecutor(2)\nprint(list(pool.map(abs, [-1])))", sandbox.OK, kept, ""},
		{"a pool of processes", sandbox.Python, "import multiprocessing as mp\npool = mp.Pool(2)\nprint(pool.map(abs, [-1]))", sandbox.OK, kept, ""},
		{"a pool of threads", sandbox.Python, "from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)\nprint(pool.map(abs, [-1]))", sandbox.OK, kept, ""},
		{"a thread that works", sandbox.Python, "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()", sandbox.OK, kept, "1 threads were still alive"},
		// What acts later, or in the next program's place, is taken back.
		{"an alarm", sandbox.Python, "import signal\nsignal.setitimer(signal.ITIMER_REAL, .1)", sandbox.OK, kept, ""},
		{"a tracer", sandbox.Python, "import sys\nsys.settrace(lambda *a: 1/0)", sandbox.OK, kept, ""},
		{"stdout elsewhere", sandbox.Python, "import io, sys\nsys.stdout = io.StringIO()", sandbox.OK, kept, ""},
		{"stdout closed", sandbox.Python, "import sys\nsys.stdout.close()", sandbox.OK, kept, ""},
		{"stdout detached", sandbox.Python, "import sys\nraw = sys.stdout.detach()", sandbox.OK, kept, ""},
		{"no descriptors", sandbox.Python, "import os\nos.closerange(0, 256)", sandbox.OK, kept, ""},
		{"another main module", sandbox.Python, "import sys, types\nsys.modules['__main__'] = types.ModuleType('other')", sandbox.OK, kept, ""},
		{"a folder that is gone", sandbox.Python, "import os\nos.mkdir('w')\nos.chdir('w')\nos.rmdir('/workspace/w')", sandbox.OK, kept, ""},
		{"a fork at the end", sandbox.Python, "import os\nos.fork()", sandbox.OK, kept, ""},
		{"a module's functions", sandbox.Python, "import traceback, threading\ntraceback.print_exception = None\n1/0", sandbox.Exit, kept, "ZeroDivisionError in line 3"},
		{"its own end", sandbox.Python, "import os\nkept = 0\nos._exit(0)", sandbox.OK, kept, "ended its own process"},
	} {
		t.Run(c.name, func(t *testing.T) { memoryAfter(t, box, c.language, c.code, c.verdict, c.next, c.hint) })
	}
}

func memoryAfter(t *testing.T, box *sandbox.Sandbox, language sandbox.Language, code string, verdict sandbox.Verdict, next, hint string) {
	session := lease(t, box)
	defer session.Close()
	run(t, session, sandbox.Python, "kept = 'kept'")
	got, err := session.Run(t.Context(), sandbox.Program{Language: language, Code: code, Wall: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict != verdict || !strings.Contains(got.Hint, hint) || hint == "" && verdict == sandbox.OK && got.Hint != "" {
		t.Errorf("%s, hint %q; want %s, %q; stderr %q, detail %q", got.Verdict, got.Hint, verdict, hint, got.Stderr.Head, got.Detail)
	}
	if got.Lost != (next == "") {
		t.Errorf("lost: %v", got.Lost)
	}
	time.Sleep(150 * time.Millisecond) // in which an alarm would ring
	after := run(t, session, sandbox.Python, "print(kept)")
	if next == "" && after.Verdict != sandbox.Exit || next != "" && after.Stdout.Head != next+"\n" {
		t.Errorf("after it: %s, %q %q", after.Verdict, after.Stdout.Head, after.Stderr.Head)
	}
	if after.Lost {
		t.Error("lost again")
	}
}
