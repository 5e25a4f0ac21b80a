package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// TestCollectorRules makes one kind of file at a time; probe 29 has them all
// at once.
func TestCollectorRules(t *testing.T) {
	limits := smallLimits()
	limits.Artifacts, limits.Artifact, limits.ArtifactTotal = 3, 1<<20, 2<<20
	box := sandboxtest.New(t, sandbox.Options{Runtime: "runc", Limits: limits, Preload: []string{}})
	session := lease(t, box)
	put(t, session, "workspace/in/given.csv", "a,b\n1,2\n")
	for _, rule := range []struct {
		name, make string
		files      string // names, joined
		reasons    string // of what is skipped, joined
	}{
		{"nothing", "", "", ""},
		{"the folder is gone", "rmdir ../out", "", ""},
		{"the folder is a link", "cd ..; rmdir out; ln -s /etc out", "", "no folder, or a link in place of one"},
		{"the folder is a file", "cd ..; rmdir out; touch out", "", "no folder, or a link in place of one"},
		{"a link", "ln -s /etc/passwd l", "", "a symbolic link"},
		{"a link in the middle", "mkdir ../real; echo x > ../real/f; ln -s ../real d", "", "a symbolic link"},
		{"a hard link", "echo x > ../f; ln ../f h", "", "a hard link"},
		{"a pipe", "mkfifo p", "", "a pipe"},
		{"a socket", "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"", "", "a socket"},
		{"a sparse file", "truncate -s 100K s", "", "a sparse file"},
		{"too large", "head -c 1048577 /dev/zero > z", "", "larger than allowed"},
		{"just fits", "head -c 1048576 /dev/zero > z", "z", ""},
		{"too much in all", "for i in 1 2 3; do head -c 1000000 /dev/zero > $i; done", "1 2", "more than may be delivered in all"},
		{"too many", "touch a b c d e", "a b c", "more than 3 files; more than 3 files"},
		{"a newline", "touch $'a\\nb'", "", "a name with control characters"},
		{"right to left", "touch $'a\\u202eb'", "", "a name with bidirectional control characters"},
		{"no UTF-8", "touch $'\\xff'", "", "a name that is no UTF-8"},
		{"unreadable", "touch a; chmod 0 a", "", "cannot be read: EACCES"},
		{"too deep", "mkdir -p 1/2/3/4/5/6/7/8/9; touch 1/2/3/4/5/6/7/8/9/f 1/2/3/4/5/6/7/8/g", "1/2/3/4/5/6/7/8/g", "nested too deep"},
		{"an unchanged input", "cp ../in/given.csv copy.csv", "", "an unchanged input"},
		{"a changed input", "(cat ../in/given.csv; echo 3,4) > more.csv", "more.csv", ""},
		{"empty, dots, spaces, emoji", "touch -- empty a..b '- ok 😀.txt'", "- ok 😀.txt a..b empty", ""},
		{"hidden", "touch .hidden", ".hidden", ""},
	} {
		t.Run(rule.name, func(t *testing.T) {
			if made := run(t, session, sandbox.Bash, "rm -rf out real f; mkdir out; cd out; "+rule.make); made.Verdict != sandbox.OK {
				t.Fatalf("make: %s", made.Stderr.Head)
			}
			_, found := collect(t, session)
			var files, reasons []string
			for _, file := range found.Files {
				files = append(files, file.Name)
			}
			for _, skipped := range found.Skipped {
				reasons = append(reasons, skipped.Reason)
			}
			if got := strings.Join(files, " "); got != rule.files {
				t.Errorf("files %q, want %q", got, rule.files)
			}
			if got := strings.Join(reasons, "; "); got != rule.reasons {
				t.Errorf("reasons %q, want %q", got, rule.reasons)
			}
		})
	}
}

func TestStoreStops(t *testing.T) {
	box := sandboxtest.New(t, sandbox.Options{Limits: smallLimits(), Preload: []string{}})
	session := lease(t, box)
	run(t, session, sandbox.Bash, "echo one > out/1; echo two > out/2")
	full := errors.New("the host's disk is full")
	if _, err := session.Collect(t.Context(), sandbox.CollectOptions{Store: func(string, int64, io.Reader) error { return full }}); !errors.Is(err, full) {
		t.Errorf("collect: %v", err)
	}
	files, _ := collect(t, session)
	if fmt.Sprint(files) != "map[1:one\n 2:two\n]" {
		t.Errorf("after it: %q", files)
	}
}

func TestPutIntoFullDisk(t *testing.T) {
	box := sandboxtest.New(t, sandbox.Options{Runtime: "runc", Limits: smallLimits(), Preload: []string{}})
	session := lease(t, box)
	big := int64(60 << 20)
	err := session.Put(t.Context(), "workspace/in/big", big, io.LimitReader(zeros{}, big))
	var failure *sandbox.Error
	if !errors.As(err, &failure) || failure.Verdict != sandbox.Disk {
		t.Fatalf("put: %v", err)
	}
	run(t, session, sandbox.Bash, "rm in/big")
	put(t, session, "workspace/in/small", "fits")
	if got := run(t, session, sandbox.Bash, "cat in/small"); got.Stdout.Head != "fits" {
		t.Errorf("after it: %s %q", got.Verdict, got.Stdout.Head)
	}
	for _, name := range []string{"etc/x", "workspace/../etc/x", "/workspace/x", "skills", "run/sandpiper/x", "workspace/a\nb"} {
		if err := session.Put(t.Context(), name, 1, strings.NewReader("x")); err == nil {
			t.Errorf("put %q was accepted", name)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
