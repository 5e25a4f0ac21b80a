package sandbox_test

import (
	"testing"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// leavesTrace tells what a session's libraries look like, and draws.
const leavesTrace = `import os, random, sys, threading, warnings
import pandas as pd, numpy as np
import matplotlib, matplotlib.pyplot as plt
print(plt.get_fignums(), plt.gcf().number)
plt.close("all")
print(sorted((k, str(v)) for k, v in matplotlib.rcParams.items() if not k.startswith("_")))
print([pd.get_option(name) for name in ("display.max_rows", "display.width", "display.precision", "mode.copy_on_write")])
print(np.geterr(), np.get_printoptions(), len(warnings.filters), sorted(os.listdir("/workspace")), os.listdir("/tmp"))
print(os.listdir("/workspace/in"), sorted(os.listdir("/proc/self/fd")), sys.gettrace(), threading.active_count(), os.listdir("/run/sandpiper/programs"))
print(sorted(name for name in globals() if not name.startswith("__")))
table = pd.DataFrame({"region": list("abc"), "amount": [1.0, 4.0, 9.0]})
table.plot.bar(x="region", y="amount", title="Amounts")
plt.savefig("/workspace/out/plot.png")
`

// TestRehearsalLeavesNoTrace compares a session that has rehearsed with one
// that has imported nothing: programs find the same, and draw the same bytes.
func TestRehearsalLeavesNoTrace(t *testing.T) {
	var said, drawn [2]string
	for i, options := range []sandbox.Options{{Preload: []string{}}, {Pool: sandbox.Pool{Size: 1, Max: 1}}} {
		box := sandboxtest.New(t, options)
		if i == 1 {
			eventually(t, "a session has rehearsed", func() bool { return status(t, box).Loaded == 1 })
		}
		session := lease(t, box)
		got := run(t, session, sandbox.Python, leavesTrace)
		if got.Verdict != sandbox.OK {
			t.Fatalf("%s: %s", got.Verdict, got.Stderr.Head)
		}
		files, _ := collect(t, session)
		said[i], drawn[i] = got.Stdout.Head, files["plot.png"]
	}
	if said[0] != said[1] {
		t.Errorf("without a rehearsal:\n%s\nafter one:\n%s", said[0], said[1])
	}
	if drawn[0] == "" || drawn[0] != drawn[1] {
		t.Errorf("plots of %d and %d bytes differ", len(drawn[0]), len(drawn[1]))
	}
}
