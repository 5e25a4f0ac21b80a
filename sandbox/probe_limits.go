package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// forkBomb is probe 24. While it goes on, another session must work.
func (p *prober) forkBomb(ctx context.Context) (bool, string, error) {
	bystander, err := p.session(ctx, "bystander")
	if err != nil {
		return false, "", err
	}
	defer bystander.shut()
	type ended struct {
		result Result
		err    error
	}
	done := make(chan ended, 1)
	p.box.tasks.Go(func() {
		result, err := p.one(ctx, Program{Language: Python, Code: "import os\nwhile True:\n    os.fork()"})
		done <- ended{result, err}
	})
	time.Sleep(200 * time.Millisecond) // let it grow
	beside, besideErr := bystander.Run(ctx, Program{Language: Python, Code: "print(6 * 7)"})
	bomb := <-done
	if bomb.err != nil || besideErr != nil {
		return false, "", fmt.Errorf("bomb: %w, bystander: %w", bomb.err, besideErr)
	}
	stopped := bomb.result.Verdict == PIDs
	if ownKernel(p.box.options.Runtime) { // its whole kernel may die of it
		stopped = stopped || bomb.result.Verdict == Engine || bomb.result.Verdict == OOM
	}
	responsive := beside.Verdict == OK && beside.Stdout.Head == "42\n"
	return stopped && responsive, fmt.Sprintf("verdict %s; a session beside it answered %v", bomb.result.Verdict, responsive), nil
}

// memory is probe 25.
func (p *prober) memory(ctx context.Context) (bool, string, error) {
	allocate := fmt.Sprintf("block = bytearray(%d)\nblock[::4096] = b'x' * len(block[::4096])\n", 2*p.box.options.Limits.Memory)
	swapBefore := hostSwap()
	inside, err := p.one(ctx, Program{Language: Python, Code: allocate})
	if err != nil {
		return false, "", err
	}
	child, err := p.one(ctx, Program{Language: Bash, Code: "python3 -c \"$(cat <<'END'\n" + allocate + "END\n)\"; echo status $?; exit 1"})
	if err != nil {
		return false, "", err
	}
	grown := hostSwap() - swapBefore
	ok := inside.Verdict == OOM && child.Verdict == OOM && grown < 32<<20
	return ok, fmt.Sprintf("verdicts %s, %s; swap grew by %s", inside.Verdict, child.Verdict, size(max(0, grown))), nil
}

// hostSwap is the swap in use on this machine, in bytes. With a remote engine
// it says nothing, and the engine's own limit (memory and swap alike, part of
// the proof) stands alone.
func hostSwap() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			values[fields[0]] = n << 10
		}
	}
	return values["SwapTotal:"] - values["SwapFree:"]
}

// disk is probe 26.
func (p *prober) disk(ctx context.Context) (bool, string, error) {
	steps := []struct{ name, code string }{
		{"big", "f = open('/workspace/big', 'wb')\ntry:\n    for _ in range(1000): f.write(bytes(1 << 20)); f.flush()\nfinally:\n    import os; os.unlink('/workspace/big')"},
		{"sparse", "import os\nfd = os.open('/workspace/out/sparse', os.O_CREAT | os.O_WRONLY)\nos.ftruncate(fd, 10 << 30)"},
		{"inodes", "import os\nos.mkdir('/workspace/many')\nfor i in range(1000000): os.close(os.open(f'/workspace/many/{i}', os.O_CREAT))"},
		{"shm", "f = open('/dev/shm/big', 'wb')\ntry:\n    for _ in range(1000): f.write(bytes(1 << 20)); f.flush()\nfinally:\n    import os; os.unlink('/dev/shm/big')"},
	}
	want := map[string]Verdict{"big": Disk, "sparse": OK, "inodes": Disk, "shm": Disk}
	ok, measured, seen := true, true, []string{}
	session, err := p.session(ctx, "disk")
	if err != nil {
		return false, "", err
	}
	defer func() { session.shut() }()
	// Some engines write a little of their own into a container at its start.
	first, err := p.written(ctx, session.container)
	if err != nil {
		return false, "", err
	}
	for _, step := range steps {
		result, err := session.Run(ctx, Program{Language: Python, Code: step.code})
		if err != nil {
			return false, "", err
		}
		fine := result.Verdict == want[step.name]
		if ownKernel(p.box.options.Runtime) && step.name == "inodes" { // it counts no inodes: memory or time stops it
			fine = fine || result.Verdict != OK && result.Verdict != Internal
		}
		ok = ok && fine
		seen = append(seen, fmt.Sprintf("%s %s", step.name, result.Verdict))
		if step.name == "sparse" {
			found, err := session.Collect(ctx, CollectOptions{})
			skipped := err == nil && len(found.Files) == 0 && len(found.Skipped) == 1
			ok = ok && skipped
			seen = append(seen, fmt.Sprintf("not collected %v", skipped))
		}
		written, err := p.written(ctx, session.container)
		if err != nil {
			return false, "", err
		}
		ok = ok && (written <= max(0, first) || first == unmeasured)
		measured = measured && written != unmeasured && first != unmeasured
		if session.dead != nil {
			session.shut()
			if session, err = p.session(ctx, "disk"); err != nil {
				return false, "", err
			}
		}
	}
	if !measured {
		return ok, strings.Join(seen, ", ") + "; the engine is too busy to measure what was written, the root is read-only", nil
	}
	return ok, strings.Join(seen, ", ") + "; nothing written to the host", nil
}

// unmeasured stands for what an engine did not measure in its time.
const (
	unmeasured  = -1
	measureTime = 20 * time.Second
)

// written is what a container wrote to the engine's disk, in bytes. Some storage
// drivers walk the whole image to tell it, which takes minutes on a busy machine:
// they are not waited for, since the proof of the read-only root stands without.
func (p *prober) written(ctx context.Context, id string) (int64, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	found, err := p.box.engine.ContainerList(ctx, container.ListOptions{All: true, Size: true, Filters: filters.NewArgs(filters.Arg("id", id))})
	if ctx.Err() != nil && outer.Err() == nil {
		return unmeasured, nil
	}
	if err != nil {
		return 0, fmt.Errorf("measure container: %w", err)
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("measure container: %d found", len(found))
	}
	return found[0].SizeRw, nil
}

// flood is probe 27.
func (p *prober) flood(ctx context.Context) (bool, string, error) {
	session, err := p.session(ctx, "flood")
	if err != nil {
		return false, "", err
	}
	defer session.shut()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ok, seen := true, []string{}
	for name, code := range map[string]string{
		"both streams": "import os\nwhile True: os.write(1, b'x' * 65536); os.write(2, b'y\\n' * 30000)",
		"invalid":      "import os\nwhile True: os.write(1, b'\\xff\\xc3\\x28\\xf0\\x9f' * 10000)",
	} {
		result, err := session.Run(ctx, Program{Language: Python, Code: code})
		if err != nil {
			return false, "", err
		}
		text := result.Stdout.Head + result.Stdout.Tail + result.Stderr.Head + result.Stderr.Tail
		ok = ok && result.Verdict == Output && utf8.ValidString(text) && result.Stdout.Omitted > 0
		seen = append(seen, fmt.Sprintf("%s: %s, kept %s of %s", name, result.Verdict, size(int64(len(text))), size(result.Stdout.Total+result.Stderr.Total)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	return ok && grown < 16<<20, fmt.Sprintf("%s; heap grew by %s", strings.Join(sorted(seen), "; "), size(max(0, grown))), nil
}

// undead is probe 28.
func (p *prober) undead(ctx context.Context) (bool, string, error) {
	session, err := p.session(ctx, "undead")
	if err != nil {
		return false, "", err
	}
	defer session.shut()
	code := `import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        os.closerange(0, 64)
        while True: time.sleep(1)
while True: time.sleep(1)`
	result, err := session.Run(ctx, Program{Language: Python, Code: code, Wall: time.Second})
	if err != nil {
		return false, "", err
	}
	after, err := session.Run(ctx, Program{Language: Python, Code: `import os
alive = [p for p in os.listdir('/proc') if p.isdigit() and p != '1' and open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[0] not in 'ZX']
print(len([p for p in alive if int(p) not in (os.getpid(), os.getppid())]))`})
	if err != nil {
		return false, "", err
	}
	left := strings.TrimSpace(after.Stdout.Head)
	return result.Verdict == Wall && left == "0", fmt.Sprintf("verdict %s; %s processes left", result.Verdict, left), nil
}
