package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// guestView is what the guest sees of what holds it.
type guestView struct {
	Capabilities    map[string]string `json:"capabilities"`
	NoNewPrivileges string            `json:"no_new_privileges"`
	Seccomp         string            `json:"seccomp"`
	SeccompFilters  string            `json:"seccomp_filters"`
	UID             []int             `json:"uid"`
	GID             []int             `json:"gid"`
	Groups          []int             `json:"groups"`
	Mounts          []mountView       `json:"mounts"`
	Interfaces      []string          `json:"interfaces"`
	Memory          *int64            `json:"memory"`
	PIDs            *int64            `json:"pids"`
	Environment     []string          `json:"environment"`
}

type mountView struct {
	At      string   `json:"at"`
	Root    string   `json:"root"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`
	Options []string `json:"options"`
}

// proof is the outcome of comparing what was asked with what the engine says
// and what the guest sees. It is stored with the task.
type proof struct {
	Checked    []string  `json:"checked"`
	Mismatches []string  `json:"mismatches"`
	View       guestView `json:"view"`
	runtime    string
}

// prove compares. Nothing is taken on trust: what cannot be seen under a
// runtime with a kernel of its own is left out of Checked.
func prove(spec containerSpec, state container.InspectResponse, view guestView) proof {
	p := proof{View: view, Mismatches: []string{}, runtime: spec.Host.Runtime}
	p.engineSide(spec, state)
	p.insideUser()
	p.insideMounts(spec)
	p.insideLimits(spec)
	return p
}

func (p *proof) encode() json.RawMessage {
	packed, err := json.Marshal(p)
	if err != nil {
		return json.RawMessage(`{}`) // a struct of strings and numbers always encodes
	}
	return packed
}

// same notes that a setting was checked, and a mismatch when it differs.
func (p *proof) same(name string, want, have any) {
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(have)
	p.holds(errA == nil && errB == nil && bytes.Equal(a, b), name, fmt.Sprintf("asked %s, found %s", cut(a), cut(b)))
}

func (p *proof) holds(ok bool, name, found string) {
	p.Checked = append(p.Checked, name)
	if !ok {
		p.Mismatches = append(p.Mismatches, name+": "+printable(found, 300))
	}
}

func cut(text []byte) string {
	if len(text) > 120 {
		return string(text[:120]) + "…"
	}
	return string(text)
}

func (p *proof) engineSide(spec containerSpec, state container.InspectResponse) {
	if state.ContainerJSONBase == nil || state.HostConfig == nil || state.Config == nil {
		p.holds(false, "engine.inspect", "the engine says nothing about the container")
		return
	}
	want, have := spec.Host, state.HostConfig
	p.same("engine.image", spec.Config.Image, state.Image)
	p.same("engine.user", spec.Config.User, state.Config.User)
	p.same("engine.network_mode", want.NetworkMode, have.NetworkMode)
	p.same("engine.read_only", true, have.ReadonlyRootfs)
	p.same("engine.privileged", false, have.Privileged)
	p.same("engine.cap_add", 0, len(have.CapAdd))
	p.same("engine.memory", want.Memory, have.Memory)
	p.same("engine.memory_swap", want.MemorySwap, have.MemorySwap)
	p.same("engine.nano_cpus", want.NanoCPUs, have.NanoCPUs)
	p.same("engine.pids", want.PidsLimit, have.PidsLimit)
	p.same("engine.ulimits", len(want.Ulimits), len(have.Ulimits))
	p.same("engine.log_driver", want.LogConfig.Type, have.LogConfig.Type)
	p.same("engine.mounts", 0, len(have.Binds)+len(have.Mounts)+len(state.Mounts)+len(have.VolumesFrom))
	p.same("engine.devices", 0, len(have.Devices)+len(have.DeviceRequests)+len(have.DeviceCgroupRules))
	p.holds(have.OomKillDisable == nil || !*have.OomKillDisable, "engine.oom_killer", "disabled")
	if spec.podman {
		p.podmanSide(spec, state)
	} else {
		p.dockerSide(spec, state)
	}
}

// dockerSide compares what Docker repeats word for word.
func (p *proof) dockerSide(spec containerSpec, state container.InspectResponse) {
	want, have := spec.Host, state.HostConfig
	p.same("engine.network_disabled", true, state.Config.NetworkDisabled)
	p.same("engine.cap_drop", want.CapDrop, have.CapDrop)
	p.same("engine.security_opt", want.SecurityOpt, have.SecurityOpt)
	p.same("engine.tmpfs", want.Tmpfs, have.Tmpfs)
	p.same("engine.ipc", want.IpcMode, have.IpcMode)
	p.same("engine.runtime", want.Runtime, have.Runtime)
	p.same("engine.namespaces", "", string(have.PidMode)+string(have.UTSMode))
}

func (p *proof) insideUser() {
	v := p.View
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		p.holds(v.Capabilities[set] != "" && strings.Trim(v.Capabilities[set], "0") == "", "inside."+set, v.Capabilities[set])
	}
	p.holds(slices.Equal(v.UID, []int{user, user, user}), "inside.uid", fmt.Sprint(v.UID))
	p.holds(slices.Equal(v.GID, []int{user, user, user}), "inside.gid", fmt.Sprint(v.GID))
	foreign := slices.ContainsFunc(v.Groups, func(group int) bool { return group != user })
	p.holds(!foreign, "inside.groups", fmt.Sprint(v.Groups))
	beyond := slices.ContainsFunc(v.Interfaces, func(name string) bool { return name != "lo" })
	p.holds(!beyond, "inside.interfaces", strings.Join(v.Interfaces, " "))
	p.same("inside.no_new_privileges", "1", v.NoNewPrivileges)
	if !ownKernel(p.runtime) {
		p.same("inside.seccomp", "2", v.Seccomp)
	}
}

// insideMounts looks for mounts that were not asked for, and at the options of
// those that were. gVisor shows no nodev and no device numbers.
func (p *proof) insideMounts(spec containerSpec) {
	flags := []string{"noexec", "nosuid", "nodev"}
	if ownKernel(p.runtime) {
		flags = []string{"noexec", "nosuid"}
	}
	own := map[string]mountView{}
	for _, mount := range p.View.Mounts {
		own[mount.At] = mount
		if !expectedMount(mount, spec) {
			p.holds(false, "inside.mounts", "a mount that was not asked for at "+mount.At)
		}
	}
	for path := range spec.Host.Tmpfs {
		mount := own[path]
		ok := mount.Type == "tmpfs"
		for _, flag := range flags {
			ok = ok && slices.Contains(mount.Options, flag)
		}
		p.holds(ok, "inside.tmpfs "+path, fmt.Sprint(mount.Type, mount.Options))
	}
	if !ownKernel(p.runtime) {
		p.holds(slices.Contains(own["/"].Options, "ro"), "inside.read_only", fmt.Sprint(own["/"].Options))
	}
}

// expectedMount reports whether the engine makes this mount for any container,
// or we asked for it.
func expectedMount(mount mountView, spec containerSpec) bool {
	if _, asked := spec.Host.Tmpfs[mount.At]; asked {
		return mount.Type == "tmpfs"
	}
	switch mount.At {
	case "/", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts":
		return true
	case "/dev", "/dev/shm":
		return mount.Type == "tmpfs" || mount.Type == "dev"
	}
	switch mount.Type {
	case "proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2":
		return true
	case "tmpfs": // what masks parts of /proc and /sys
		return strings.HasPrefix(mount.At, "/proc/") || strings.HasPrefix(mount.At, "/sys/")
	}
	return false
}

func (p *proof) insideLimits(spec containerSpec) {
	v := p.View
	if v.Memory != nil {
		p.holds(*v.Memory == spec.Host.Memory, "inside.memory", fmt.Sprint(*v.Memory))
	}
	if v.PIDs != nil && !ownKernel(p.runtime) {
		p.holds(*v.PIDs == *spec.Host.PidsLimit, "inside.pids", fmt.Sprint(*v.PIDs))
	}
	for _, name := range v.Environment {
		if strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET") || strings.Contains(name, "API_KEY") {
			p.holds(false, "inside.environment", "a variable "+name)
		}
	}
}
