package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/client"
)

// TestRunFlags lets docker make a container with these flags, and holds what
// the engine says of it against what is asked for a session.
func TestRunFlags(t *testing.T) {
	ownBox(t, Options{}) // makes sure that engine and image are there
	seccomp := filepath.Join(t.TempDir(), "seccomp.json")
	if err := os.WriteFile(seccomp, []byte(SeccompProfile()), 0o600); err != nil {
		t.Fatal(err)
	}
	options := Options{Owner: "flags"}
	flags, err := RunFlags(options, seccomp)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	output, err := exec.Command("docker", append(append([]string{"create"}, flags...), ImageName(), "true")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	id := strings.TrimSpace(string(output))
	defer func() {
		if err := api.ContainerRemove(t.Context(), id, removeNow()); err != nil {
			t.Error(err)
		}
	}()
	made, err := api.ContainerInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	options, err = options.checked()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := newSpec(options, made.Image, nil)
	if err != nil {
		t.Fatal(err)
	}
	made.Config.NetworkDisabled = true // for which docker has no flag
	for i, option := range made.HostConfig.SecurityOpt {
		if text, found := strings.CutPrefix(option, "seccomp="); found { // its keys in another order
			packed, err := compactJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			made.HostConfig.SecurityOpt[i] = "seccomp=" + packed
		}
	}
	p := proof{Mismatches: []string{}, runtime: "runc"}
	p.engineSide(spec, made)
	for _, variable := range spec.Config.Env {
		p.holds(slices.Contains(made.Config.Env, variable), "engine.env", variable)
	}
	p.same("engine.shm", spec.Host.ShmSize, made.HostConfig.ShmSize)
	p.same("engine.cgroup_namespace", spec.Host.CgroupnsMode, made.HostConfig.CgroupnsMode)
	if len(p.Mismatches) > 0 {
		t.Errorf("docker run is held otherwise:\n%s", strings.Join(p.Mismatches, "\n"))
	}
}
