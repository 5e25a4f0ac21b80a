package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// containers is a container's life from creation to removal.
type containers interface {
	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig, networking *network.NetworkingConfig, platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerAttach(ctx context.Context, id string, options container.AttachOptions) (types.HijackedResponse, error)
	ContainerStart(ctx context.Context, id string, options container.StartOptions) error
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerRemove(ctx context.Context, id string, options container.RemoveOptions) error
}

// surroundings is what else the engine is asked about sessions.
type surroundings interface {
	ContainerList(ctx context.Context, options container.ListOptions) ([]container.Summary, error)
	ContainerRename(ctx context.Context, id, name string) error
	Events(ctx context.Context, options events.ListOptions) (<-chan events.Message, <-chan error)
	ImageInspect(ctx context.Context, name string, options ...client.ImageInspectOption) (image.InspectResponse, error)
}

// nature is what the engine says of itself.
type nature interface {
	Info(ctx context.Context) (system.Info, error)
	ServerVersion(ctx context.Context) (types.Version, error)
	Dialer() func(context.Context) (net.Conn, error)
}

// images is how the sandbox's image is made.
type images interface {
	ImageBuild(ctx context.Context, context io.Reader, options build.ImageBuildOptions) (build.ImageBuildResponse, error)
	ImageImport(ctx context.Context, source image.ImportSource, ref string, options image.ImportOptions) (io.ReadCloser, error)
	ImageLoad(ctx context.Context, input io.Reader, options ...client.ImageLoadOption) (image.LoadResponse, error)
	ImagePull(ctx context.Context, ref string, options image.PullOptions) (io.ReadCloser, error)
	ImageTag(ctx context.Context, source, target string) error
}

// engine is the container engine; Docker's client is one.
type engine interface {
	containers
	surroundings
	nature
	images
	io.Closer
}

// connect reaches the engine at address, or where DOCKER_HOST, DOCKER_CERT_PATH
// and DOCKER_TLS_VERIFY say. It does not wait for an answer.
func connect(address string) (engine, error) {
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if address == "" {
		address = os.Getenv(client.EnvOverrideHost)
	} else {
		options = append(options, client.WithHost(address))
	}
	if strings.HasPrefix(address, "ssh://") {
		helper, err := connhelper.GetConnectionHelper(address)
		if err != nil {
			return nil, fmt.Errorf("read engine address %q: %w", address, err)
		}
		transport := &http.Transport{DialContext: helper.Dialer}
		options = []client.Opt{
			client.WithHTTPClient(&http.Client{Transport: transport}),
			client.WithHost(helper.Host), client.WithDialContext(helper.Dialer), client.WithAPIVersionNegotiation(),
		}
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, &Error{
			Verdict: Engine, Message: fmt.Sprintf("the engine's address %q cannot be used", address),
			Hint: "check DOCKER_HOST, DOCKER_CERT_PATH and DOCKER_TLS_VERIFY", Err: err,
		}
	}
	return api, nil
}

// engineInfo asks the engine about itself and refuses one that cannot hold a
// session.
func engineInfo(ctx context.Context, api nature, runtime string) (info system.Info, podman bool, err error) {
	if info, err = api.Info(ctx); err != nil {
		return info, false, unreachable(err)
	}
	if podman, err = isPodman(ctx, api); err != nil {
		return info, false, err
	}
	if podman {
		if info, err = podmanInfo(ctx, api, info); err == nil {
			err = podmanRuntime(info, runtime)
		}
	} else {
		err = knownRuntime(info, runtime)
	}
	if err != nil {
		return info, podman, err
	}
	return info, podman, refuseWeak(info)
}

// knownRuntime refuses a runtime that the engine does not have.
func knownRuntime(info system.Info, runtime string) error {
	if _, found := info.Runtimes[runtime]; !found {
		known := make([]string, 0, len(info.Runtimes))
		for name := range info.Runtimes {
			known = append(known, name)
		}
		return &Error{
			Verdict: Engine, Message: fmt.Sprintf("the engine has no runtime %q, only %s", runtime, strings.Join(sorted(known), ", ")),
			Hint: "register it in the engine's daemon.json (for gVisor, make gvisor tells how), or set sandbox.runtime to one it has",
		}
	}
	return nil
}

// refuseWeak refuses an engine that would accept limits and not apply them.
func refuseWeak(info system.Info) error {
	if info.OSType != "" && info.OSType != "linux" {
		return &Error{Verdict: Engine, Message: "the engine runs " + info.OSType + " containers", Hint: "sessions need a Linux engine"}
	}
	var missing []string
	for _, limit := range []struct {
		applied bool
		name    string
	}{{info.MemoryLimit, "memory"}, {info.PidsLimit, "processes"}, {info.CPUCfsQuota && info.CPUCfsPeriod, "CPU"}} {
		if !limit.applied {
			missing = append(missing, limit.name)
		}
	}
	rootless := false
	seccomp := false
	for _, option := range info.SecurityOptions {
		rootless = rootless || strings.Contains(option, "name=rootless")
		seccomp = seccomp || strings.Contains(option, "name=seccomp")
	}
	if rootless && info.CgroupDriver == "none" && len(missing) == 0 {
		missing = []string{"memory", "processes", "CPU"}
	}
	if len(missing) > 0 {
		kind := "engine"
		if rootless {
			kind = "rootless engine"
		}
		return &Error{
			Verdict: Engine, Message: fmt.Sprintf("this %s cannot limit %s", kind, strings.Join(missing, ", ")),
			Hint: "a rootless engine needs cgroup v2 with delegated controllers (systemd); else use a rootful one",
		}
	}
	if !seccomp {
		return &Error{Verdict: Engine, Message: "the engine applies no seccomp filter", Hint: "use an engine and kernel with seccomp"}
	}
	return nil
}

// unreachable explains why the engine gave no answer.
func unreachable(err error) error {
	failure := &Error{Verdict: Engine, Message: "the container engine does not answer", Err: err}
	switch text := err.Error(); {
	case strings.Contains(text, "permission denied"):
		failure.Message = "no permission to use the engine's socket"
		failure.Hint = "add yourself to the group docker and log in again, or point DOCKER_HOST at an engine of your own"
	case strings.Contains(text, "no such file"), strings.Contains(text, "connection refused"), strings.Contains(text, "Cannot connect"):
		failure.Hint = "start it (systemctl start docker), or set DOCKER_HOST to where it listens"
	default:
		failure.Hint = "see whether docker version works from here"
	}
	return failure
}
