package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// intakeCases are the intake's table of made files.
const intakeCases = "../../sandbox/guest/testdata/intake"

// madeFile is one of them.
type madeFile struct {
	Case    string `json:"case"`
	File    string `json:"file"`
	content []byte
}

// ran is what the binary did with one.
type ran struct {
	Case    string          `json:"case"`
	Status  int             `json:"status"`
	Message string          `json:"message"`
	Profile json.RawMessage `json:"profile"` // null where there is no profile.json
}

// TestProfileThisOnMadeFiles has `sandpiper run "profile this" FILE` answer on
// the intake's made files: every eighth, every nth with SANDPIPER_INTAKE_EVERY,
// all with `make intake`. The answer and profile.json must have the figures that were
// written down from how each file was made, with exit status 0, or the stated
// refusal, with 1. The runs go through one holder, as a team's do.
func TestProfileThisOnMadeFiles(t *testing.T) {
	every := cmp.Or(os.Getenv("SANDPIPER_INTAKE_EVERY"), "8")
	h := newHome(t)
	h.write("conf.yaml", "listen: 127.0.0.1:0\n")
	made := makeFiles(t, every)
	if n, _ := strconv.Atoi(every); len(made)*n < 415 {
		t.Errorf("%d files for every %sth of the table", len(made), every)
	}
	s := h.serve()
	answers := h.profileEach(made)
	s.stop()
	answered, refused := 0, 0
	for name, wrong := range judged(t, every, answers) {
		t.Run(name, func(t *testing.T) {
			for _, what := range wrong {
				t.Error(what)
			}
		})
	}
	for _, a := range answers {
		if a.Status == 0 {
			answered++
		} else {
			refused++
		}
	}
	t.Logf("%d files: %d answered, %d refused", len(answers), answered, refused)
}

// intakeSession leases a session with the table of cases.
func intakeSession(t *testing.T) *sandbox.Session {
	t.Helper()
	box := sandboxtest.New(t, sandbox.Options{Limits: sandbox.Limits{Wall: 10 * time.Minute, CPU: 10 * time.Minute}})
	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: "intake"})
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	err = fs.WalkDir(os.DirFS(intakeCases), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(intakeCases, name))
		if err != nil {
			return err
		}
		put(t, session, "workspace/cases/"+name, content)
		return nil
	})
	if err != nil {
		t.Fatalf("read the cases: %v", err)
	}
	return session
}

func put(t *testing.T, session *sandbox.Session, name string, content []byte) {
	t.Helper()
	if err := session.Put(t.Context(), name, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

// exchange runs one of binary.py's two ends and gives what it printed.
func exchange(t *testing.T, session *sandbox.Session, do, every string) string {
	t.Helper()
	code := fmt.Sprintf("import sys\nsys.path.insert(0, '/workspace/cases')\nsys.argv = ['binary', %q, %q]\nimport binary\nbinary.main()", do, every)
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil || result.Verdict != sandbox.OK || result.Stdout.Omitted > 0 {
		t.Fatalf("%s: %v, verdict %s, stderr:\n%s", do, err, result.Verdict, result.Stderr.Head)
	}
	return result.Stdout.Head
}

// makeFiles has every nth file of the table made, in a session: the libraries
// that write them are there.
func makeFiles(t *testing.T, every string) []madeFile {
	t.Helper()
	session := intakeSession(t)
	exchange(t, session, "make", every)
	contents := map[string][]byte{}
	_, err := session.Collect(t.Context(), sandbox.CollectOptions{MaxFiles: 2000, Store: func(name string, _ int64, content io.Reader) error {
		var err error
		contents[filepath.Base(name)], err = io.ReadAll(content)
		return err
	}})
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	var made []madeFile
	if err := json.Unmarshal(contents["cases.json"], &made); err != nil {
		t.Fatalf("cases.json: %v", err)
	}
	for i := range made {
		content, ok := contents[strconv.Itoa(i)]
		if !ok {
			t.Fatalf("the file of %s did not come", made[i].Case)
		}
		made[i].content = content
	}
	return made
}

// profileEach runs the binary on each file, two at a time.
func (h *home) profileEach(made []madeFile) []ran {
	h.t.Helper()
	answers := make([]ran, len(made))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := range next {
				begun := time.Now()
				answers[i] = h.profileOne(made[i], i)
				h.t.Logf("%s: exit status %d after %.1f s", made[i].Case, answers[i].Status, time.Since(begun).Seconds())
			}
		})
	}
	for i := range made {
		next <- i
	}
	close(next)
	workers.Wait()
	return answers
}

// profileOne runs the binary on one file, in a folder of its own.
func (h *home) profileOne(made madeFile, number int) ran {
	folder := fmt.Sprintf("files/%d", number)
	out := folder + "/out"
	result := ran{Case: made.Case, Status: -1, Profile: json.RawMessage("null")}
	if err := os.MkdirAll(filepath.Join(h.dir, folder), 0o755); err != nil {
		result.Message = err.Error()
		return result
	}
	if err := os.WriteFile(filepath.Join(h.dir, folder, made.File), made.content, 0o600); err != nil {
		result.Message = err.Error()
		return result
	}
	p := h.start(nil, "run", "--json", "--out", out, "--", "profile this", folder+"/"+made.File)
	select {
	case <-p.done:
		result.Status = p.ProcessState.ExitCode()
	case <-time.After(6 * time.Minute):
		result.Message = "it does not end; stderr: " + p.err.String()
		return result
	}
	var got answer
	if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
		result.Message = fmt.Sprintf("no JSON: %v; stderr: %s", err, p.err.String())
		return result
	}
	result.Message = got.Message
	for _, file := range got.Files {
		if file.Name != "profile.json" {
			continue
		}
		profile, err := os.ReadFile(file.Path)
		if err != nil {
			result.Message = err.Error()
			return result
		}
		result.Profile = profile
	}
	return result
}

// judged holds the answers against the cases, in a session again; for each
// case it gives what is wrong.
func judged(t *testing.T, every string, answers []ran) map[string][]string {
	t.Helper()
	session := intakeSession(t)
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, a := range answers {
		if err := encoder.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	put(t, session, "workspace/answers.jsonl", lines.Bytes())
	found := map[string][]string{}
	for line := range strings.Lines(exchange(t, session, "judge", every)) {
		var one struct {
			Case  string
			Wrong []string
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		found[one.Case] = one.Wrong
	}
	if len(found) != len(answers) {
		t.Errorf("%d of %d answers were judged", len(found), len(answers))
	}
	return found
}
