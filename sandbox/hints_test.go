package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// TestHints makes the mistakes that models make, and looks for the line that
// mends them, and at what the traceback shows.
func TestHints(t *testing.T) {
	limits := smallLimits()
	limits.Memory, limits.Workspace = 512<<20, 128<<20
	session := lease(t, sandboxtest.New(t, sandbox.Options{Limits: limits, Preload: []string{}}))
	for _, c := range []struct {
		name     string
		language sandbox.Language
		code     string
		verdict  sandbox.Verdict
		hint     string // in the hint
		stderr   string // how stderr begins, where it matters
	}{
		{"a typing error", sandbox.Python, "x = 1\ndef f(:", sandbox.Exit, "SyntaxError in line 2", "  File \"<program 1>\", line 2\n"},
		{"a notebook's commands", sandbox.Python, "%matplotlib inline\n!pip install x", sandbox.Exit, "a notebook's commands", ""},
		{"IPython", sandbox.Python, "from IPython.display import display", sandbox.Exit, "print tables", ""},
		{"pip", sandbox.Python, "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'polars'])", sandbox.Exit, "no pip install", ""},
		{"a question", sandbox.Python, "name = input('your name? ')", sandbox.Exit, "in place of input()", ""},
		{"a window", sandbox.Python, "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\nplt.plot([1])", sandbox.Exit, "no display in here", ""},
		{"a figure that cannot be drawn", sandbox.Python, "import matplotlib.pyplot as plt\nplt.title('$\\\\frac{1}{$')\nplt.plot([1])", sandbox.Exit, "cannot be drawn", ""},
		{"spawned workers", sandbox.Python, "import multiprocessing as mp\ndef f(x): return x\nprint(mp.get_context('spawn').Pool(1).map(f, [1]))", sandbox.Wall, "do not find this program's functions", ""},
		{"a crash", sandbox.Python, "import ctypes\nctypes.string_at(0)", sandbox.Exit, "native code (signal 11)", ""},
		{"a broken stream", sandbox.Python, "import sys\nclass B:\n    def write(self, x): raise OSError\nsys.stdout = sys.stderr = B()\nprint(1)", sandbox.Exit, "OSError in line 3", "OSError (and OSError when it was to be shown)\n"},
		{"awaits at the top", sandbox.Python, "import asyncio\nwork = asyncio.create_task(asyncio.sleep(.01, 5))\nawait work", sandbox.OK, "", ""},
		{"a heap of JavaScript", sandbox.JavaScript, "let a = []; while (true) a.push(new Array(1e6).fill(Math.random()))", sandbox.Exit, "in chunks", ""},
		{"a command of sqlite3", sandbox.SQL, ".tables", sandbox.Exit, "ask sqlite_master", ""},
		{"a table that is not there", sandbox.SQL, "select * from sales", sandbox.Exit, "named after the files", ""},
		{"a signal to the first process", sandbox.Python, "import os\nfor number in range(1, 32): os.kill(1, number)\nprint('on')", sandbox.OK, "", ""},
		{"files in shared memory", sandbox.Python, "for i in range(100000): open(f'/dev/shm/{i}', 'w').close()", sandbox.Disk, "each 500 files", ""},
		{"what lies in /run", sandbox.Python, "import shutil\nshutil.rmtree('/run/sandpiper', ignore_errors=True)", sandbox.Exit, "removed what lies in /run", ""},
	} {
		got, err := session.Run(t.Context(), sandbox.Program{Language: c.language, Code: c.code, Wall: 10 * time.Second})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got.Verdict != c.verdict || !strings.Contains(got.Hint, c.hint) || c.hint == "" && got.Hint != "" {
			t.Errorf("%s: %s, hint %q; want %s, %q; stderr %q, detail %q", c.name, got.Verdict, got.Hint, c.verdict, c.hint, got.Stderr.Head, got.Detail)
		}
		if !strings.HasPrefix(got.Stderr.Head, c.stderr) {
			t.Errorf("%s: stderr %q", c.name, got.Stderr.Head)
		}
	}
}

// TestFiguresAreKept whichever way a program ends well.
func TestFiguresAreKept(t *testing.T) {
	session := lease(t, sandboxtest.New(t, sandbox.Options{Preload: []string{}}))
	for _, end := range []string{"", "plt.show()", "import sys; sys.exit()", "raise SystemExit(0)"} {
		got := run(t, session, sandbox.Python, "import os\nfor name in os.listdir('out'): os.unlink('out/' + name)\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n"+end)
		files, _ := collect(t, session)
		if got.Verdict != sandbox.OK || !strings.HasPrefix(files["figure-1.png"], "\x89PNG") {
			t.Errorf("ended by %q: %s, %d files; %s", end, got.Verdict, len(files), got.Stderr.Head)
		}
	}
}
