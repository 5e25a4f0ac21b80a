package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
)

// hostileOutputs makes every kind of output file that must not be delivered,
// and two that must.
const hostileOutputs = `import os, socket
os.chdir('/workspace/out')
os.symlink('/etc/passwd', 'link')
os.mkdir('/workspace/real')
open('/workspace/real/secret.txt', 'w').write('behind a link')
os.symlink('/workspace/real', 'folder')
open('/workspace/target.txt', 'w').write('linked')
os.link('/workspace/target.txt', 'hard.txt')
os.mkfifo('pipe')
s = socket.socket(socket.AF_UNIX); s.bind('socket')
try: os.mknod('device', 0o600 | 0o020000, os.makedev(1, 3))
except OSError: pass
open('new\nline.txt', 'w').write('x')
open('gpj.\u202etxt', 'w').write('x')
open('back\\slash.txt', 'w').write('x')
open(b'\xff\xfe.bin', 'w').write('x')
os.makedirs('a/b/c/d/e/f/g/h/i/j'); open('a/b/c/d/e/f/g/h/i/j/deep.txt', 'w').write('x')
fd = os.open('sparse', os.O_CREAT | os.O_WRONLY); os.ftruncate(fd, 1 << 20); os.close(fd)
open('empty', 'w'); open('a..b', 'w').write('dots')
`

// outputs is probe 29.
func (p *prober) outputs(ctx context.Context) (bool, string, error) {
	session, err := p.session(ctx, "outputs")
	if err != nil {
		return false, "", err
	}
	defer session.shut()
	made, err := session.Run(ctx, Program{Language: Python, Code: hostileOutputs})
	if err != nil {
		return false, "", err
	}
	if made.Verdict != OK {
		return false, "", fmt.Errorf("make outputs: %s: %s", made.Verdict, lastLines(made.Stderr.Head, 1))
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	taken := map[string]string{}
	found, err := session.Collect(ctx, CollectOptions{Store: func(name string, _ int64, content io.Reader) error {
		data, err := io.ReadAll(content)
		taken[name] = string(data)
		return err
	}})
	if err != nil {
		return false, "", err
	}
	if ownKernel(p.box.options.Runtime) {
		delete(taken, "sparse") // gVisor does not tell holes from zeros; it is within the limits
	}
	dots, hasDots := taken["a..b"]
	empty, hasEmpty := taken["empty"]
	ok := len(taken) == 2 && hasDots && dots == "dots" && hasEmpty && empty == "" && len(found.Skipped) >= 10
	reasons := map[string]bool{}
	for _, skipped := range found.Skipped {
		ok = ok && skipped.Reason != ""
		reasons[skipped.Reason] = true
	}
	list := make([]string, 0, len(reasons))
	for reason := range reasons {
		list = append(list, reason)
	}
	return ok, fmt.Sprintf("delivered %d, skipped %d: %s", len(taken), len(found.Skipped), strings.Join(sorted(list), ", ")), nil
}

// neighbours is probe 30: a second task finds nothing of the first; a
// container whose bot has died goes away; another owner's is spared.
func (p *prober) neighbours(ctx context.Context) (ok bool, seen string, err error) {
	first, err := p.session(ctx, "first")
	if err != nil {
		return false, "", err
	}
	defer first.shut()
	if _, err := first.Run(ctx, Program{Language: Bash, Code: "echo probe30 | tee /workspace/probe30 /tmp/probe30 /dev/shm/probe30; (exec -a probe30 sleep 600) & ipcmk -M 4096 || true"}); err != nil {
		return false, "", err
	}
	second, err := p.one(ctx, Program{Language: Bash, Code: "find /workspace /tmp /dev/shm /skills -name '*probe3[0]*'; grep -l '[p]robe30' /proc/[0-9]*/cmdline 2>/dev/null; cut -c1-40 /proc/sysvipc/shm 2>/dev/null | tail -n +2; true"})
	if err != nil {
		return false, "", err
	}
	clean := second.Verdict == OK && strings.TrimSpace(second.Stdout.Head) == ""

	options := p.box.options
	options.Owner = probeOwner(options.Owner)
	sibling, err := New(ctx, options)
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, sibling.Close()) }()
	spared, err := sibling.Lease(ctx, LeaseOptions{Task: "probe-sibling"})
	if err != nil {
		return false, "", err
	}
	defer spared.shut()
	gone, err := p.killBot(ctx)
	if err != nil {
		return false, "", err
	}
	if err := p.box.Reap(ctx); err != nil {
		return false, "", err
	}
	still, err := spared.Run(ctx, Program{Language: Python, Code: "print('here')"})
	alive := err == nil && still.Verdict == OK
	return clean && gone && alive, fmt.Sprintf("found %q; container of a dead bot gone: %v; sibling spared: %v", strings.TrimSpace(second.Stdout.Head), gone, alive), nil
}

// killBot cuts a session's stream while a program runs, as the kernel does
// when a bot is killed, and waits for the container to end by itself.
func (p *prober) killBot(ctx context.Context) (bool, error) {
	victim, err := p.session(ctx, "victim")
	if err != nil {
		return false, err
	}
	defer victim.shut()
	started := make(chan struct{})
	var once bool
	p.box.tasks.Go(func() {
		// The verdict does not matter: there is nobody to hear it.
		_, _ = victim.Run(ctx, Program{Language: Python, Code: "import time\nprint('on', flush=True)\nwhile True: time.sleep(1)", Output: func(string, []byte) {
			if !once {
				once = true
				close(started)
			}
		}})
	})
	select {
	case <-started:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-time.After(30 * time.Second):
		return false, errStalled
	}
	victim.wire.abort()
	for range 100 {
		state, err := p.box.engine.ContainerInspect(ctx, victim.container)
		if errdefs.IsNotFound(err) || err == nil && state.State != nil && !state.State.Running {
			return true, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false, nil
}
