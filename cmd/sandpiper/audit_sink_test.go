package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
)

// entries reads audit entries, one a line.
func entries(t *testing.T, text string) (all []bot.AuditEntry) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e bot.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, e)
	}
	return all
}

// TestTheAuditFileCatchesUpAndRotates begins with a file that cannot be made:
// tasks go on, doctor says so, and no entry is missing at the end.
func TestTheAuditFileCatchesUpAndRotates(t *testing.T) {
	h := newHome(t)
	folder := filepath.Join(h.dir, "logs")
	path := filepath.Join(folder, "audit.jsonl")
	h.configure("audit: {file: " + path + "}\n")
	s := h.serve()
	hang := func() {
		t.Helper()
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(n int) func() bool {
		return func() bool { return strings.Count(h.state(), `"done"`) == n }
	}
	s.ask("Report on this file: tiny")
	h.eventually("the task is done without the file", ended(1))
	var doctor struct{ Checks []check }
	h.eventually("doctor says what fails", func() bool {
		p := h.start(nil, "doctor", "--json")
		if p.wait() != 3 {
			return false
		}
		h.read(p, &doctor)
		for _, c := range doctor.Checks {
			if c.Name == "audit sink" {
				return c.Status == checkFailed && strings.Contains(c.Message, path) && strings.Contains(c.Hint, "kept")
			}
		}
		return false
	})
	if status, body := s.get("/readyz"); status != http.StatusOK || !strings.Contains(body, `"audit sink","status":"failed"`) {
		t.Errorf("/readyz gives %d %s", status, body)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	hang()
	written := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	exported := func() []bot.AuditEntry { return entries(t, h.run(0, "audit", "export").out.String()) }
	all := func() bool { return len(entries(t, written(path+".1")+written(path))) >= len(exported()) }
	h.eventually("the file has what it missed", all)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	hang()
	s.ask("Report on this file: tiny, once more")
	h.eventually("the second task is done", ended(2))
	h.eventually("the new file has the rest", func() bool { return written(path) != "" && all() })
	s.stop()
	want, got := exported(), entries(t, written(path+".1")+written(path))
	if len(want) != len(got) {
		t.Fatalf("the files have %d entries, the database %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Hash != want[i].Hash {
			t.Errorf("entry %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info.Mode(), err)
	}
}

func TestAnAuditFileEndsTheLineOfAnEarlierLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"seq":`), 0o600); err != nil {
		t.Fatal(err)
	}
	sink, file := auditSink(config.Audit{File: path})
	if err := sink.Write(t.Context(), bot.AuditEntry{Seq: 7}); err != nil {
		t.Fatal(err)
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := file.Reopen(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if lines := strings.Split(string(data), "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[1], `{"seq":7,`) {
		t.Errorf("the file has %q (%v)", data, err)
	}
}

// TestAFullDiskLeavesNoHalfLine writes to a file that the system lets grow to
// its bound only.
func TestAFullDiskLeavesNoHalfLine(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "audit.jsonl")
	sink, file := auditSink(config.Audit{File: path})
	written := 0
	for seq := uint64(1); ; seq++ {
		if err := sink.Write(t.Context(), bot.AuditEntry{Seq: seq, Data: json.RawMessage(`"` + strings.Repeat("x", 1500) + `"`)}); err != nil {
			break
		}
		written++
	}
	data, err := os.ReadFile(path)
	if err != nil || written == 0 || len(entries(t, string(data))) != written {
		t.Errorf("%d entries were written, the file has %d bytes (%v)", written, len(data), err)
	}
	if err := file.Reopen(); err != nil {
		t.Error(err)
	}
}

func TestASyslogGetsEntries(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	sink, _ := auditSink(config.Audit{Syslog: "udp://" + udp.LocalAddr().String()})
	if err := sink.Write(t.Context(), bot.AuditEntry{Seq: 3, Kind: bot.AuditEvent, Actor: "slack:U1"}); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 4096)
	n, _, err := udp.ReadFrom(packet)
	if err != nil {
		t.Fatal(err)
	}
	if got := packet[:n]; !bytes.HasPrefix(got, []byte("<86>")) || !bytes.Contains(got, []byte(`{"seq":3,`)) || !bytes.Contains(got, []byte("sandpiper[")) {
		t.Errorf("the syslog got %s", got)
	}

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := gone.Addr().String()
	gone.Close()
	sink, _ = auditSink(config.Audit{Syslog: "tcp://" + address})
	if err := sink.Write(t.Context(), bot.AuditEntry{Seq: 4}); err == nil {
		t.Error("a syslog that nobody serves took an entry")
	}
	back, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if err := sink.Write(t.Context(), bot.AuditEntry{Seq: 4}); err != nil {
		t.Errorf("a syslog that is back: %v", err)
	}
}
