package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestAnEngineThatIsNotUpFailsNothing leaves a task to starts without an
// engine, as after a reboot: a passing command leaves it alone and says so, and
// a server waits until the engine is there.
func TestAnEngineThatIsNotUpFailsNothing(t *testing.T) {
	h := newHome(t)
	p := h.start([]string{killVariable + "=1:program-running"}, "run", "--skill", "tiny", "Report on this file", "sales.csv")
	if status := p.wait(); status != -1 {
		t.Fatalf("the first process was not killed but ended with %d\n%s", status, p.err.String())
	}
	late := filepath.Join(h.dir, "late.sock")
	away := []string{"DOCKER_HOST=unix://" + late}

	var list []listedTask
	passing := h.start(away, "tasks", "list", "--json")
	if status := passing.wait(); status != 0 {
		t.Fatalf("status %d\n%s", status, passing.err.String())
	}
	h.read(passing, &list)
	if len(list) != 1 || list[0].State.Final() {
		t.Fatalf("after a start without an engine the tasks are %+v, want one that has not ended", list)
	}
	if !strings.Contains(passing.err.String(), "wait for the container engine") {
		t.Errorf("stderr does not say what it waits for:\n%s", passing.err.String())
	}

	server := h.start(away, "serve")
	h.eventually("the server says that it waits", func() bool {
		return strings.Contains(server.err.String(), "a task waits for the container engine")
	})
	forwardEngine(t, late)
	h.eventually("the task is done", func() bool {
		h.read(h.run(0, "tasks", "list", "--json"), &list)
		return list[0].State == bot.TaskDone
	})
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	server.wait()
	h.expectOut("out", h.show(list[0].Task).Outcome.Files)
}

// forwardEngine has the engine answer at another socket, until it is cut.
func forwardEngine(t *testing.T, path string) (cut func()) {
	t.Helper()
	network, engine, found := strings.Cut(os.Getenv("DOCKER_HOST"), "://")
	if !found {
		network, engine = "unix", "/var/run/docker.sock"
	}
	if network != "unix" && network != "tcp" {
		if os.Getenv("CI") == "true" {
			t.Fatal("the engine of this run is at neither a unix socket nor a TCP address")
		}
		t.Skip("skipped: the engine of this run is at neither a unix socket nor a TCP address")
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex // guards conns
		conns []net.Conn
	)
	cut = func() {
		listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			conn.Close()
		}
	}
	t.Cleanup(cut)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, engine)
			if err != nil {
				from.Close()
				return
			}
			mu.Lock()
			conns = append(conns, from, to)
			mu.Unlock()
			go pipe(from.(halfCloser), to.(halfCloser))
			go pipe(to.(halfCloser), from.(halfCloser))
		}
	}()
	return cut
}

// halfCloser is a connection over a unix socket or TCP.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// pipe copies one way and passes the end on, as an attached stream needs it.
func pipe(to, from halfCloser) {
	_, _ = io.Copy(to, from)
	_ = to.CloseWrite()
}
