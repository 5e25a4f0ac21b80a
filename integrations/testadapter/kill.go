package testadapter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// KillAt returns a function for bot.OrchestratorOptions.Point that ends this
// process with SIGKILL at a named point, whose name is the last that it prints on
// stderr. The specification is "N" for the Nth
// point whatever its name, or "N:name" for the Nth of that name; "" never kills.
func KillAt(specification string) (func(name string), error) {
	if specification == "" {
		return func(string) {}, nil
	}
	count, only, _ := strings.Cut(specification, ":")
	at, err := strconv.ParseInt(count, 10, 64)
	if err != nil || at < 1 {
		return nil, fmt.Errorf("read kill point %q: it is N or N:name", specification)
	}
	var passed atomic.Int64
	return func(name string) {
		if only != "" && name != only || passed.Add(1) != at {
			return
		}
		fmt.Fprintln(os.Stderr, "killed at "+name)
		// The process ends inside this call; an error leaves a test that shows it.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}, nil
}
