package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// holderOf finds the process that has locked path, by the kernel's list of
// locks; 0 where it cannot be told.
func holderOf(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	// A line is "1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF".
	suffix := ":" + strconv.FormatUint(stat.Ino, 10)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] == "->" || !strings.HasSuffix(fields[5], suffix) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
