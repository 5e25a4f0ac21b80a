package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SeccompProfile is the filter of every session, as `docker run` wants it in a
// file: --security-opt seccomp=FILE.
func SeccompProfile() string { return seccompProfile }

// RunFlags are the flags with which `docker run` starts a container that is
// held like a session: to compare with, and to look at by hand. They are made
// from the session's own configuration. One setting has no flag: a session's
// network is disabled and not only none, which is quicker to make.
func RunFlags(o Options, seccompFile string) ([]string, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	spec, err := newSpec(o, "", nil)
	if err != nil {
		return nil, err
	}
	c, h := spec.Config, spec.Host
	flags := []string{
		"--user", c.User, "--workdir", c.WorkingDir, "--hostname", c.Hostname, "--no-healthcheck",
		"--network", string(h.NetworkMode), "--read-only", "--ipc", string(h.IpcMode), "--cgroupns", string(h.CgroupnsMode),
		"--runtime", h.Runtime, "--log-driver", h.LogConfig.Type, "--restart", string(h.RestartPolicy.Name),
		"--shm-size", fmt.Sprint(h.ShmSize), "--memory", fmt.Sprint(h.Memory), "--memory-swap", fmt.Sprint(h.MemorySwap),
		"--cpus", fmt.Sprint(float64(h.NanoCPUs) / 1e9), "--pids-limit", fmt.Sprint(*h.PidsLimit), fmt.Sprintf("--init=%v", *h.Init),
	}
	for _, capability := range h.CapDrop {
		flags = append(flags, "--cap-drop", capability)
	}
	for _, option := range h.SecurityOpt {
		if strings.HasPrefix(option, "seccomp=") {
			option = "seccomp=" + seccompFile
		}
		flags = append(flags, "--security-opt", option)
	}
	for _, limit := range h.Ulimits {
		flags = append(flags, "--ulimit", limit.String())
	}
	for _, path := range slices.Sorted(maps.Keys(h.Tmpfs)) {
		flags = append(flags, "--tmpfs", path+":"+h.Tmpfs[path])
	}
	for _, variable := range c.Env {
		flags = append(flags, "--env", variable)
	}
	return flags, nil
}
