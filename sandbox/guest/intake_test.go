package guest_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// leastCases is how many files the table of cases must at least hold.
const leastCases = 648

// intakeSession leases a session that has the table of cases in
// /workspace/cases.
func intakeSession(t testing.TB) *sandbox.Session {
	t.Helper()
	box := sandboxtest.New(t, sandbox.Options{Limits: sandbox.Limits{Wall: 20 * time.Minute, CPU: 15 * time.Minute}})
	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: "intake"})
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	putFolder(t, session, "testdata/intake", "workspace/cases/")
	putFolder(t, session, "testdata/intake/xls", "workspace/cases/xls/")
	return session
}

// putFolder sends a folder's files into a session.
func putFolder(t testing.TB, session *sandbox.Session, folder, to string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Put(t.Context(), to+entry.Name(), int64(len(content)), strings.NewReader(string(content))); err != nil {
			t.Fatalf("put %s: %v", entry.Name(), err)
		}
	}
}

// python runs a program that must end well, and gives what it printed.
func python(t testing.TB, session *sandbox.Session, code string) string {
	t.Helper()
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: "import sys\nsys.path.insert(0, '/workspace/cases')\n" + code})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if result.Verdict != sandbox.OK || result.Stdout.Omitted > 0 {
		t.Fatalf("verdict %s, %d bytes omitted, stderr:\n%s", result.Verdict, result.Stdout.Omitted, result.Stderr.Head)
	}
	return result.Stdout.Head
}

// TestIntake holds the profile of each file in the table of cases against what
// the file was made from. All run in one session, as programs of one task do.
func TestIntake(t *testing.T) {
	printed := python(t, intakeSession(t), "sys.argv = ['run']\nimport run\nrun.main()")
	if n := outcomes(t, printed); n < leastCases {
		t.Errorf("%d cases, want at least %d", n, leastCases)
	}
}

// TestReportOnCases has csv-report answer "profile this" on every eighth file
// of the table (every nth with SANDPIPER_INTAKE_EVERY): its answer and
// its profile.json must have the same figures, or it must refuse.
func TestReportOnCases(t *testing.T) {
	session := intakeSession(t)
	putFolder(t, session, "../../skills/builtin/csv-report/scripts", "skills/csv-report/scripts/")
	every := cmp.Or(os.Getenv("SANDPIPER_INTAKE_EVERY"), "8")
	printed := python(t, session, "sys.argv = ['report', '"+every+"']\nimport report\nreport.main()")
	if n, _ := strconv.Atoi(every); outcomes(t, printed)*n < leastCases {
		t.Errorf("too few reports for every %sth case", every)
	}
}

// outcomes makes a subtest of each line {"case", "wrong"} and counts them.
func outcomes(t *testing.T, printed string) int {
	t.Helper()
	seen := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(printed))
	lines.Buffer(nil, len(printed)+1)
	for lines.Scan() {
		var outcome struct {
			Case  string
			Wrong []string
		}
		if err := json.Unmarshal(lines.Bytes(), &outcome); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		if seen[outcome.Case] {
			t.Errorf("two cases are named %s", outcome.Case)
		}
		seen[outcome.Case] = true
		t.Run(outcome.Case, func(t *testing.T) {
			for _, wrong := range outcome.Wrong {
				t.Error(wrong)
			}
		})
	}
	return len(seen)
}
