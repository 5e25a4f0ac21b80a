package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/go-units"
)

// Podman's Docker-compatible socket takes less than Docker does, and tells of
// it in other words. What it cannot be asked is done or checked elsewhere:
//
//   - It reads a seccomp profile only from a file on its own machine. Its own
//     profile stays, and the guest lays ours on top of it before anything else.
//   - It has no inode limit and no owner for a tmpfs: the memory limit is the
//     fence, and the folders are open to all users, of which there is one.
//   - It makes /run and /var/tmp writable beside a read-only root, without a
//     size and with the right to execute: asked for by name, they are as small
//     and as harmless as the others.
//   - It takes no runtime with a container: its own default is the one.

// isPodman asks the engine whether it is Podman.
func isPodman(ctx context.Context, api nature) (bool, error) {
	version, err := api.ServerVersion(ctx)
	if err != nil {
		return false, unreachable(err)
	}
	return slices.ContainsFunc(version.Components, func(part types.ComponentVersion) bool { return part.Name == "Podman Engine" }), nil
}

// podmanInfo puts right what Podman says of itself: run by an ordinary user it
// claims every limit, also where it applies none (containers/podman's
// compatibility endpoint copies the kernel's words). It tells that in a field
// of its own, which Docker's client drops.
func podmanInfo(ctx context.Context, api nature, info system.Info) (system.Info, error) {
	rootless, err := podmanRootless(ctx, api)
	if err != nil {
		return info, unreachable(err)
	}
	if rootless {
		info.SecurityOptions = append(info.SecurityOptions, "name=rootless")
		if info.CgroupVersion != "2" {
			info.MemoryLimit, info.PidsLimit, info.CPUCfsQuota = false, false, false
		}
	}
	return info, nil
}

func podmanRootless(ctx context.Context, api nature) (bool, error) {
	conn, err := api.Dialer()(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/info", nil)
	if err != nil {
		return false, err
	}
	if err := request.Write(conn); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	var says struct{ Rootless bool }
	if err := json.NewDecoder(io.LimitReader(response.Body, maxHead)).Decode(&says); err != nil {
		return false, err
	}
	return says.Rootless, nil
}

// podmanRuntime refuses a runtime that Podman would not use. runc and crun hold
// alike, and Podman says which is its own.
func podmanRuntime(info system.Info, runtime string) error {
	if info.DefaultRuntime == runtime || !ownKernel(info.DefaultRuntime) && !ownKernel(runtime) {
		return nil
	}
	return &Error{
		Verdict: Engine, Message: fmt.Sprintf("Podman runs every container of its socket with %s, and sandbox.runtime is %q", info.DefaultRuntime, runtime),
		Hint: fmt.Sprintf("set runtime = %q under [engine] in the engine's containers.conf and restart its service, or use a Docker engine", runtime),
	}
}

// podmanOwnSize is what /run and /var/tmp hold, in bytes each.
const podmanOwnSize = 1 << 20

// forPodman says the same in Podman's words.
func (s containerSpec) forPodman() (containerSpec, error) {
	filter, err := compileFilter()
	if err != nil {
		return s, err
	}
	config, host := *s.Config, *s.Host
	config.Healthcheck = nil // it makes a systemd timer even for NONE; the image has no check
	host.SecurityOpt = []string{"no-new-privileges"}
	host.Tmpfs = map[string]string{"/run": podmanTmpfs(podmanOwnSize), "/var/tmp": podmanTmpfs(podmanOwnSize)}
	for path, options := range s.Host.Tmpfs {
		bytes := ""
		for option := range strings.SplitSeq(options, ",") {
			if value, found := strings.CutPrefix(option, "size="); found {
				bytes = value
			}
		}
		host.Tmpfs[path] = podmanTmpfs(bytes)
	}
	// Its own default for what is not named is more than a service in a
	// container may ask for. The limit of processes is the control group's.
	host.Ulimits = append(slices.Clone(host.Ulimits), &units.Ulimit{Name: "nproc", Soft: 32768, Hard: 32768})
	return containerSpec{Config: &config, Host: &host, filter: filter, podman: true}, nil
}

func podmanTmpfs(bytes any) string {
	return fmt.Sprintf("rw,noexec,nosuid,nodev,size=%v,mode=1777,notmpcopyup", bytes)
}

// podmanSide compares what Podman says about a container with what was asked.
// What it does not tell is seen inside: capabilities, network, filters.
func (p *proof) podmanSide(spec containerSpec, state container.InspectResponse) {
	want, have := spec.Host, state.HostConfig
	p.holds(len(have.CapDrop) > 0, "engine.cap_drop", "none")
	p.same("engine.security_opt", want.SecurityOpt, have.SecurityOpt)
	p.holds(slices.Equal(slices.Sorted(maps.Keys(want.Tmpfs)), slices.Sorted(maps.Keys(have.Tmpfs))), "engine.tmpfs",
		strings.Join(slices.Sorted(maps.Keys(have.Tmpfs)), " "))
	for path, asked := range want.Tmpfs {
		found := strings.Split(have.Tmpfs[path], ",")
		for option := range strings.SplitSeq(asked, ",") {
			p.holds(option == "notmpcopyup" || slices.Contains(found, option), "engine.tmpfs "+path, have.Tmpfs[path])
		}
	}
	p.holds(have.IpcMode.IsPrivate() || have.IpcMode.IsShareable(), "engine.ipc", string(have.IpcMode))
	for _, mode := range []string{string(have.PidMode), string(have.UTSMode)} {
		p.holds(mode == "" || mode == "private", "engine.namespaces", mode)
	}
	p.holds(p.View.SeccompFilters > "1", "inside.seccomp_filters", p.View.SeccompFilters)
}
