package main

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// manager is what a service manager hears of a process.
type manager struct {
	mu   sync.Mutex // guards said
	said []string
}

func (m *manager) count(state string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.said {
		if s == state {
			n++
		}
	}
	return n
}

// listenAs makes the socket that NOTIFY_SOCKET names.
func listenAs(t *testing.T, path string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &manager{}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(buffer[:n]))
			m.mu.Unlock()
		}
	}()
	return m
}

// TestServiceManagerHearsOfIt serves as a unit with a watchdog, changes a
// secret's file and the configuration, and ends.
func TestServiceManagerHearsOfIt(t *testing.T) {
	s := &sickbed{home: &home{t: t, dir: t.TempDir()}}
	s.without()
	m := listenAs(t, filepath.Join(s.dir, "notify"))
	s.write("github", "the-first-secret")
	s.write("conf.yaml", "listen: 127.0.0.1:0\nlog: {levels: {core: debug}}\n")
	s.env = append(s.env, "NOTIFY_SOCKET="+filepath.Join(s.dir, "notify"), "WATCHDOG_USEC=300000", "GITHUB_WEBHOOK_SECRET_FILE="+filepath.Join(s.dir, "github"),
		"GITHUB_TOKEN=t", "GITHUB_API_URL=http://127.0.0.1:1/")
	p := s.start(s.env, "serve")
	s.eventually("it is ready and lives", func() bool { return m.count("READY=1") == 1 && m.count("WATCHDOG=1") >= 3 })

	s.write("github", "the-second-secret")
	s.write("conf.yaml", "listen: 127.0.0.1:0\nbudgets: {turns: 7}\n")
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.eventually("it has reloaded", func() bool { return m.count("RELOADING=1") == 1 && m.count("READY=1") == 2 })
	log := p.err.String()
	for _, want := range []string{`"changed":"GITHUB_WEBHOOK_SECRET"`, "budgets.turns", "log.levels", "skills are reloaded", "take effect at the next start"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, "-secret\"") {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	if !strings.Contains(log, `"took":"`) {
		t.Errorf("durations are not as people read them:\n%s", log)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(); status != 0 {
		t.Errorf("exit status %d\n%s", status, p.err.String())
	}
	s.eventually("it says that it stops", func() bool { return m.count("STOPPING=1") == 1 })
}
