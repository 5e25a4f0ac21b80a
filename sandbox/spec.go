package sandbox

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-units"

	"github.com/sandpiper-bot/sandpiper/sandbox/guest"
)

//go:embed seccomp.json
var seccompProfile string

// The labels of every container.
const (
	labelOwner    = "sandpiper.owner"
	labelLife     = "sandpiper.life"     // the process that made it
	labelDeadline = "sandpiper.deadline" // RFC 3339
)

// user is nobody: uid and gid of all that runs inside.
const user = 65534

// containerSpec is what the engine is asked for. It is a golden file in the
// tests: a loosened setting shows in a diff.
type containerSpec struct {
	Config *container.Config
	Host   *container.HostConfig

	podman bool   // it is said in Podman's words
	filter []byte // of system calls, for the guest to lay on itself; nil where the engine takes ours
}

// newSpec builds the hardened container for an image, by its id.
func newSpec(o Options, imageID string, labels map[string]string) (containerSpec, error) {
	seccomp, err := compactJSON(seccompProfile)
	if err != nil {
		return containerSpec{}, fmt.Errorf("read seccomp profile: %w", err)
	}
	l := o.Limits
	pids := enginePIDs(o.Runtime, l.PIDs)
	noInit := false
	return containerSpec{
		Config: &container.Config{
			Image:           imageID,
			Entrypoint:      []string{"python3", "-s", "-B", "-c", guest.Loader()},
			Cmd:             []string{},
			User:            fmt.Sprintf("%d:%d", user, user),
			Env:             environment(l),
			WorkingDir:      "/",
			Hostname:        "sandbox",
			NetworkDisabled: true,
			OpenStdin:       true,
			StdinOnce:       true,
			AttachStdin:     true,
			AttachStdout:    true,
			AttachStderr:    true,
			Labels:          labels,
			Healthcheck:     &container.HealthConfig{Test: []string{"NONE"}},
		},
		Host: &container.HostConfig{
			NetworkMode:    network.NetworkNone,
			ReadonlyRootfs: true,
			CapDrop:        []string{"ALL"},
			SecurityOpt:    []string{"no-new-privileges:true", "seccomp=" + seccomp},
			IpcMode:        container.IPCModePrivate,
			CgroupnsMode:   container.CgroupnsModePrivate,
			Runtime:        o.Runtime,
			Init:           &noInit,
			LogConfig:      container.LogConfig{Type: "none"},
			RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
			ShmSize:        l.shm(),
			Tmpfs: map[string]string{
				"/workspace":     tmpfs(l.Workspace, l.Inodes),
				"/tmp":           tmpfs(l.Tmp, l.Inodes),
				"/skills":        tmpfs(skillsSize, l.Inodes),
				"/run/sandpiper": tmpfs(guestSize, 2000),
			},
			Resources: container.Resources{
				Memory:     l.Memory,
				MemorySwap: l.Memory,
				NanoCPUs:   int64(l.CPUs * 1e9),
				PidsLimit:  &pids,
				Ulimits: []*units.Ulimit{
					{Name: "core", Soft: 0, Hard: 0},
					{Name: "nofile", Soft: 1024, Hard: 1024},
				},
			},
		},
	}, nil
}

// enginePIDs is the engine's process limit. gVisor's own threads count to it,
// several for each process inside, so there the supervisor counts processes
// and the engine's limit is only the last fence.
func enginePIDs(runtime string, pids int64) int64 {
	if ownKernel(runtime) {
		return 8*pids + 512
	}
	return pids
}

// ownKernel reports whether a runtime brings a kernel of its own, so that
// what is seen inside is not the host's.
func ownKernel(runtime string) bool { return runtime != "runc" && runtime != "crun" }

func tmpfs(bytes, inodes int64) string {
	return fmt.Sprintf("rw,noexec,nosuid,nodev,size=%d,nr_inodes=%d,uid=%d,gid=%d,mode=0700", bytes, inodes, user, user)
}

// environment is all that programs find in theirs, beside PATH and HOSTNAME.
// SOURCE_DATE_EPOCH is fixed (2020-01-01), so that the same program writes
// the same file again.
func environment(l Limits) []string {
	threads := strconv.Itoa(max(1, int(l.CPUs)))
	env := []string{
		"HOME=/tmp", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb",
		"MPLBACKEND=Agg", "MPLCONFIGDIR=/run/sandpiper/mpl",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONPATH=/run/sandpiper/lib", "PYTHONUNBUFFERED=1", "PYTHONUTF8=1",
		"SOURCE_DATE_EPOCH=1577836800", "NODE_OPTIONS=--no-warnings",
	}
	for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS"} {
		env = append(env, name+"="+threads)
	}
	return env
}

func (s *Sandbox) labels(now time.Time) map[string]string {
	deadline := now.Add(s.options.Pool.MaxAge + s.options.TaskWall)
	return map[string]string{
		labelOwner:    s.options.Owner,
		labelLife:     s.life,
		labelDeadline: deadline.UTC().Format(time.RFC3339),
	}
}

// compactJSON strips white space, so that the profile fits a header and is
// compared byte for byte.
func compactJSON(text string) (string, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", err
	}
	packed, err := json.Marshal(value)
	return string(packed), err
}
