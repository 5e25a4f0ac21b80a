package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// TestAnEndedReaderOfTheLogEndsNothing closes the pipe that the log goes to: a
// write to it must not end the process.
func TestAnEndedReaderOfTheLogEndsNothing(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	address := freeAddress(t)
	h.write("conf.yaml", "listen: "+address+"\n")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sandpiper", "--config", filepath.Join(h.dir, "conf.yaml"), "serve")
	cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), "HOME="+h.dir, nowhereToRun), h.dir, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{process: &process{Cmd: cmd, t: t}, url: "http://" + address}
	healthy := func() bool {
		response, err := http.Get(s.url + "/healthz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}
	h.eventually("it serves", healthy)
	if err := errors.Join(read.Close(), write.Close()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each writes to the log
		if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		h.eventually("it is paused, or goes on", func() bool { series, _ := s.samples(); return len(series) > 0 })
	}
	if !healthy() {
		t.Error("it serves no more")
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestOnlyItsOwnNamesAreAnswered asks a loopback listener by names that lead
// elsewhere: pages, metrics and readiness are not told, health is.
func TestOnlyItsOwnNamesAreAnswered(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	h.write("conf.yaml", "listen: 127.0.0.1:0\nweb: {url: 'https://bot.example.com'}\n")
	s := h.serve(nowhereToRun)
	for _, k := range []struct {
		host, path string
		want       int
	}{
		{"evil.example", "/metrics", http.StatusMisdirectedRequest},
		{"evil.example", "/readyz", http.StatusMisdirectedRequest},
		{"evil.example", "/tasks", http.StatusMisdirectedRequest},
		{"evil.example", "/healthz", http.StatusOK},
		{"127.0.0.1.evil.example:80", "/metrics", http.StatusMisdirectedRequest},
		{"bot.example.com", "/metrics", http.StatusOK},
		{"bot.example.com", "/tasks", http.StatusMisdirectedRequest}, // open to who sits here, not to the world
		{"localhost:9", "/metrics", http.StatusOK},
		{"[::1]", "/readyz", http.StatusOK},
	} {
		r, err := http.NewRequest(http.MethodGet, s.url+k.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = k.host
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != k.want {
			t.Errorf("%s of %s gives %d, want %d", k.path, k.host, response.StatusCode, k.want)
		}
	}
	s.stop()
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
