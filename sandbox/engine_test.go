package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
)

// strong is an engine that a session may run on.
func strong() system.Info {
	return system.Info{
		OSType: "linux", MemoryLimit: true, PidsLimit: true, CPUCfsQuota: true, CPUCfsPeriod: true, CgroupDriver: "systemd",
		SecurityOptions: []string{"name=seccomp,profile=default"},
	}
}

// TestWeakEnginesAreRefused changes one thing at a time.
func TestWeakEnginesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		weaken func(*system.Info)
		want   string // in the message; empty: accepted
	}{
		{"as it should be", func(*system.Info) {}, ""},
		{"rootless with delegated controllers", func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=rootless") }, ""},
		{"rootless on cgroup v1", func(i *system.Info) {
			i.SecurityOptions = append(i.SecurityOptions, "name=rootless")
			i.MemoryLimit, i.PidsLimit, i.CPUCfsQuota, i.CgroupDriver = false, false, false, "none"
		}, "this rootless engine cannot limit memory, processes, CPU"},
		{"rootless that only says it has limits", func(i *system.Info) {
			i.SecurityOptions = append(i.SecurityOptions, "name=rootless")
			i.CgroupDriver = "none"
		}, "this rootless engine cannot limit"},
		{"no memory limit", func(i *system.Info) { i.MemoryLimit = false }, "this engine cannot limit memory"},
		{"no process limit", func(i *system.Info) { i.PidsLimit = false }, "this engine cannot limit processes"},
		{"no CPU limit", func(i *system.Info) { i.CPUCfsQuota = false }, "this engine cannot limit CPU"},
		{"no seccomp", func(i *system.Info) { i.SecurityOptions = nil }, "no seccomp filter"},
		{"Windows", func(i *system.Info) { i.OSType = "windows" }, "windows containers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := strong()
			c.weaken(&info)
			err := refuseWeak(info)
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var failure *Error
			if !errors.As(err, &failure) || !strings.Contains(failure.Message, c.want) || failure.Hint == "" {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// podmanNature plays Podman's word on itself.
type podmanNature struct {
	info     system.Info
	rootless bool
}

func (p podmanNature) Info(context.Context) (system.Info, error) { return p.info, nil }

func (p podmanNature) ServerVersion(context.Context) (types.Version, error) {
	return types.Version{Components: []types.ComponentVersion{{Name: "Podman Engine"}, {Name: "Conmon"}}}, nil
}

func (p podmanNature) Dialer() func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
				return
			}
			body := fmt.Sprintf(`{"Rootless":%v}`, p.rootless)
			fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}()
		return ours, nil
	}
}

// TestPodmanIsAskedTwice: run by an ordinary user on cgroup v1 it claims limits
// that it does not apply.
func TestPodmanIsAskedTwice(t *testing.T) {
	for _, c := range []struct {
		name, runtime, own, cgroup string
		rootless                   bool
		want                       string // in the message; empty: accepted
	}{
		{"root", "runc", "runc", "1", false, ""},
		{"root, with crun", "runc", "crun", "2", false, ""},
		{"rootless on v2", "runc", "crun", "2", true, ""},
		{"rootless on v1", "runc", "crun", "1", true, "this rootless engine cannot limit memory, processes, CPU"},
		{"a runtime that is not its own", "runsc", "crun", "2", false, "with crun, and sandbox.runtime is \"runsc\""},
		{"gVisor is its own, and runc was asked for", "runc", "runsc", "2", false, "with runsc"},
		{"gVisor is its own", "runsc", "runsc", "2", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := strong()
			info.DefaultRuntime, info.CgroupVersion, info.CgroupDriver = c.own, c.cgroup, "cgroupfs"
			_, podman, err := engineInfo(t.Context(), podmanNature{info: info, rootless: c.rootless}, c.runtime)
			var failure *Error
			switch {
			case !podman:
				t.Error("not recognized")
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (!errors.As(err, &failure) || !strings.Contains(failure.Message, c.want) || failure.Hint == ""):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// podmanSays is how Podman repeats a container: in its own words.
func podmanSays(t *testing.T, spec containerSpec) container.InspectResponse {
	t.Helper()
	host := *spec.Host
	host.CapDrop = []string{"CHOWN", "KILL"}
	host.IpcMode, host.PidMode, host.UTSMode, host.Runtime = "shareable", "private", "private", "oci"
	host.Tmpfs = map[string]string{}
	for path, options := range spec.Host.Tmpfs {
		host.Tmpfs[path] = strings.TrimSuffix(options, ",notmpcopyup") + ",rprivate"
	}
	return container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{Image: "sha256:0", HostConfig: &host}, Config: spec.Config}
}

// TestPodmanProof changes one thing at a time in Podman's words.
func TestPodmanProof(t *testing.T) {
	options, err := Options{Owner: "proof", Image: "image"}.checked()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*container.HostConfig, *guestView)
		want   string
	}{
		{"as asked", func(*container.HostConfig, *guestView) {}, ""},
		{"our filter is absent", func(_ *container.HostConfig, v *guestView) { v.SeccompFilters = "1" }, "inside.seccomp_filters"},
		{"the guest does not tell of filters", func(_ *container.HostConfig, v *guestView) { v.SeccompFilters = "" }, "inside.seccomp_filters"},
		{"executable /run", func(h *container.HostConfig, _ *guestView) {
			h.Tmpfs["/run"] = "rw,nosuid,nodev,size=1048576,mode=1777"
		}, "engine.tmpfs /run"},
		{"a larger /tmp", func(h *container.HostConfig, _ *guestView) {
			h.Tmpfs["/tmp"] = strings.Replace(h.Tmpfs["/tmp"], "size=", "size=9", 1)
		}, "engine.tmpfs /tmp"},
		{"a folder of its own", func(h *container.HostConfig, _ *guestView) { h.Tmpfs["/more"] = "rw" }, "engine.tmpfs"},
		{"the host's processes", func(h *container.HostConfig, _ *guestView) { h.PidMode = "host" }, "engine.namespaces"},
		{"the host's IPC", func(h *container.HostConfig, _ *guestView) { h.IpcMode = "host" }, "engine.ipc"},
		{"no capability dropped", func(h *container.HostConfig, _ *guestView) { h.CapDrop = nil }, "engine.cap_drop"},
		{"more memory", func(h *container.HostConfig, _ *guestView) { h.Memory *= 2 }, "engine.memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, err := newSpec(options, "sha256:0", nil)
			if err != nil {
				t.Fatal(err)
			}
			if spec, err = spec.forPodman(); err != nil {
				t.Fatal(err)
			}
			state, view := podmanSays(t, spec), honestView(spec)
			view.SeccompFilters = "2"
			c.change(state.HostConfig, &view)
			got := prove(spec, state, view)
			if c.want == "" && len(got.Mismatches) > 0 || c.want != "" && (len(got.Mismatches) == 0 || !strings.HasPrefix(got.Mismatches[0], c.want)) {
				t.Errorf("mismatches %q, want %q", got.Mismatches, c.want)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"nothing but an owner", Options{Owner: "a"}, ""},
		{"no owner", Options{}, "owner"},
		{"an owner that is a filter", Options{Owner: "a b=c"}, "owner"},
		{"too little memory", Options{Owner: "a", Limits: Limits{Memory: 1 << 20, Workspace: 1 << 20, Tmp: 1 << 20}}, "at least 128 MiB"},
		{"files take the memory", Options{Owner: "a", Limits: Limits{Memory: 512 << 20}}, "more than two thirds"},
		{"too few processes", Options{Owner: "a", Limits: Limits{PIDs: 2}}, "at least 16"},
		{"negative", Options{Owner: "a", Limits: Limits{Wall: -1}}, "wall"},
		{"a pool that shrinks", Options{Owner: "a", Pool: Pool{Size: 3, Max: 2}}, "pool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.options.checked()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestReapable says which containers the reaper may take.
func TestReapable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	box := &Sandbox{options: Options{Owner: "me"}, life: "now", log: slog.New(slog.DiscardHandler), sessions: map[string]*Session{"held": {}}}
	label := func(owner, life string, until time.Duration) map[string]string {
		return map[string]string{labelOwner: owner, labelLife: life, labelDeadline: now.Add(until).Format(time.RFC3339)}
	}
	for _, c := range []struct {
		name      string
		one       container.Summary
		sole, any bool // reapable for the sole process, for any
	}{
		{"another owner's, long dead", container.Summary{State: "exited", Labels: label("you", "old", -time.Hour)}, false, false},
		{"no labels at all", container.Summary{State: "exited"}, false, false},
		{"held by us", container.Summary{ID: "held", State: "running", Labels: label("me", "now", -time.Hour)}, false, false},
		{"ours, being made", container.Summary{State: "created", Created: now.Unix(), Labels: label("me", "now", time.Hour)}, false, false},
		{"ours, and not held", container.Summary{State: "running", Created: now.Add(-time.Hour).Unix(), Labels: label("me", "now", time.Hour)}, true, true},
		{"another life, running", container.Summary{State: "running", Labels: label("me", "old", time.Hour)}, true, false},
		{"another life, stopped", container.Summary{State: "exited", Labels: label("me", "old", time.Hour)}, true, true},
		{"another life, late", container.Summary{State: "running", Labels: label("me", "old", -time.Hour)}, true, true},
		{"another life, just created", container.Summary{State: "created", Created: now.Unix(), Labels: label("me", "old", time.Hour)}, true, false},
		{"another life, created long ago", container.Summary{State: "created", Created: now.Add(-time.Hour).Unix(), Labels: label("me", "old", time.Hour)}, true, true},
		{"an unreadable deadline", container.Summary{State: "running", Labels: map[string]string{labelOwner: "me", labelDeadline: "soon"}}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := box.reapable(c.one, true, now); got != c.sole {
				t.Errorf("sole: %v", got)
			}
			if got := box.reapable(c.one, false, now); got != c.any {
				t.Errorf("any: %v", got)
			}
		})
	}
}

// TestProofNoticesLoosened changes one setting at a time in what the engine
// says and what the guest sees.
func TestProofNoticesLoosened(t *testing.T) {
	options, err := Options{Owner: "proof", Image: "image"}.checked()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		state func(*container.InspectResponse)
		view  func(*guestView)
		want  string
	}{
		{"as asked", nil, nil, ""},
		{"privileged", func(s *container.InspectResponse) { s.HostConfig.Privileged = true }, nil, "engine.privileged"},
		{"a bind mount", func(s *container.InspectResponse) { s.HostConfig.Binds = []string{"/:/host"} }, nil, "engine.mounts"},
		{"writable root", func(s *container.InspectResponse) { s.HostConfig.ReadonlyRootfs = false }, nil, "engine.read_only"},
		{"a capability", func(s *container.InspectResponse) { s.HostConfig.CapAdd = []string{"NET_RAW"} }, nil, "engine.cap_add"},
		{"no seccomp", func(s *container.InspectResponse) { s.HostConfig.SecurityOpt = []string{"no-new-privileges:true"} }, nil, "engine.security_opt"},
		{"more memory", func(s *container.InspectResponse) { s.HostConfig.Memory *= 2 }, nil, "engine.memory"},
		{"swap", func(s *container.InspectResponse) { s.HostConfig.MemorySwap = -1 }, nil, "engine.memory_swap"},
		{"no process limit", func(s *container.InspectResponse) { s.HostConfig.PidsLimit = nil }, nil, "engine.pids"},
		{"a network", func(s *container.InspectResponse) { s.HostConfig.NetworkMode = "bridge" }, nil, "engine.network_mode"},
		{"another image", func(s *container.InspectResponse) { s.Image = "sha256:1" }, nil, "engine.image"},
		{"root", func(s *container.InspectResponse) { s.Config.User = "0" }, nil, "engine.user"},
		{"the host's processes", func(s *container.InspectResponse) { s.HostConfig.PidMode = "host" }, nil, "engine.namespaces"},
		{"a device", func(s *container.InspectResponse) { s.HostConfig.Devices = []container.DeviceMapping{{}} }, nil, "engine.devices"},
		{"a capability inside", nil, func(v *guestView) { v.Capabilities["CapEff"] = "0000000000000001" }, "inside.CapEff"},
		{"capabilities it does not tell", nil, func(v *guestView) { v.Capabilities = nil }, "inside.CapInh"},
		{"new privileges", nil, func(v *guestView) { v.NoNewPrivileges = "0" }, "inside.no_new_privileges"},
		{"no filter inside", nil, func(v *guestView) { v.Seccomp = "0" }, "inside.seccomp"},
		{"root inside", nil, func(v *guestView) { v.UID = []int{user, 0, user} }, "inside.uid"},
		{"a group", nil, func(v *guestView) { v.Groups = []int{user, 999} }, "inside.groups"},
		{"an interface", nil, func(v *guestView) { v.Interfaces = []string{"lo", "eth0"} }, "inside.interfaces"},
		{"a foreign mount", nil, func(v *guestView) { v.Mounts = append(v.Mounts, mountView{At: "/host", Type: "ext4"}) }, "inside.mounts"},
		{"exec in /tmp", nil, func(v *guestView) {
			for i := range v.Mounts {
				if v.Mounts[i].At == "/tmp" {
					v.Mounts[i].Options = []string{"nosuid", "nodev"}
				}
			}
		}, "inside.tmpfs /tmp"},
		{"more memory inside", nil, func(v *guestView) { *v.Memory *= 2 }, "inside.memory"},
		{"no process limit inside", nil, func(v *guestView) { *v.PIDs = math.MaxInt64 }, "inside.pids"},
		{"a token", nil, func(v *guestView) { v.Environment = []string{"SLACK_BOT_TOKEN"} }, "inside.environment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, err := newSpec(options, "sha256:0", nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := newSpec(options, "sha256:0", nil)
			if err != nil {
				t.Fatal(err)
			}
			state := container.InspectResponse{
				ContainerJSONBase: &container.ContainerJSONBase{Image: "sha256:0", HostConfig: again.Host}, Config: again.Config,
			}
			view := honestView(spec)
			if c.state != nil {
				c.state(&state)
			}
			if c.view != nil {
				c.view(&view)
			}
			got := prove(spec, state, view)
			if c.want == "" && len(got.Mismatches) > 0 || c.want != "" && (len(got.Mismatches) == 0 || !strings.HasPrefix(got.Mismatches[0], c.want)) {
				t.Errorf("mismatches %q, want %q", got.Mismatches, c.want)
			}
		})
	}
}

func honestView(spec containerSpec) guestView {
	none := "0000000000000000"
	memory, pids := spec.Host.Memory, *spec.Host.PidsLimit
	view := guestView{
		Capabilities:    map[string]string{"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none},
		NoNewPrivileges: "1", Seccomp: "2", UID: []int{user, user, user}, GID: []int{user, user, user}, Groups: []int{user},
		Interfaces: []string{"lo"}, Memory: &memory, PIDs: &pids,
		Mounts: []mountView{{At: "/", Type: "overlay", Options: []string{"ro"}}, {At: "/proc", Type: "proc"}, {At: "/etc/hosts", Type: "ext4"}},
	}
	for path := range spec.Host.Tmpfs {
		view.Mounts = append(view.Mounts, mountView{At: path, Type: "tmpfs", Options: []string{"noexec", "nosuid", "nodev"}})
	}
	return view
}

// buildEngine plays an engine that builds; it keeps what it was asked.
type buildEngine struct {
	engine
	said    string
	options build.ImageBuildOptions
}

func (b *buildEngine) ImageBuild(_ context.Context, _ io.Reader, options build.ImageBuildOptions) (build.ImageBuildResponse, error) {
	b.options = options
	return build.ImageBuildResponse{Body: io.NopCloser(strings.NewReader(b.said))}, nil
}

func (b *buildEngine) ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error) {
	return image.InspectResponse{ID: "sha256:1"}, nil
}

func TestBuildFollowsTheEngine(t *testing.T) {
	var lines []string
	play := &buildEngine{said: `{"stream":"Step 1/2\n"}{"stream":" \n"}{"status":"Pulling"}{"aux":{"ID":"sha256:abc"}}`}
	b := &builder{engine: play, report: func(line string) { lines = append(lines, line) }}
	id, err := b.image(t.Context(), ownBase, "name", true)
	if err != nil || id != "sha256:abc" || strings.Join(lines[1:], "|") != "Step 1/2|Pulling" {
		t.Errorf("id %q, %v, lines %q", id, err, lines)
	}
	if !play.options.NoCache || *play.options.BuildArgs["BASE"] != ownBase || play.options.NetworkMode != "host" {
		t.Errorf("asked for %+v", play.options)
	}
	play.said = `{"stream":"Step 1/2"}{"error":"no space left on device"}`
	var failure *Error
	if _, err := b.image(t.Context(), ownBase, "name", false); !errors.As(err, &failure) || failure.Verdict != Image || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a failed build: %v", err)
	}
}

func TestImageNameIsTheRecipes(t *testing.T) {
	if name := ImageName(); name != ImageName() || !strings.HasPrefix(name, "sandpiper-sandbox:") || len(name) != len("sandpiper-sandbox:")+12 {
		t.Errorf("name %q", name)
	}
}
