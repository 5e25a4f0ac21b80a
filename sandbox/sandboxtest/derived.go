package sandboxtest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	dockerbuild "github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// Derived makes an image out of the sandbox's own by a few lines of a
// Dockerfile, under a name of the test's own, and removes it at the end.
func Derived(t testing.TB, lines ...string) (name string) {
	t.Helper()
	base := Engine(t).Image
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	name = "sandpiper-derived:" + strings.ToLower(Owner(t))
	t.Cleanup(func() {
		defer func() { _ = api.Close() }()
		if _, err := api.ImageRemove(context.WithoutCancel(t.Context()), name, image.RemoveOptions{Force: true}); err != nil {
			t.Errorf("remove derived image: %v", err)
		}
	})
	dockerfile := "FROM " + base + "\n" + strings.Join(lines, "\n") + "\n"
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, dockerfile)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	built, err := api.ImageBuild(t.Context(), &packed, dockerbuild.ImageBuildOptions{Tags: []string{name}, NetworkMode: "none", Remove: true, ForceRemove: true})
	if err != nil {
		t.Fatalf("derive image: %v", err)
	}
	defer built.Body.Close()
	said, err := io.ReadAll(built.Body)
	if err != nil || bytes.Contains(said, []byte(`"errorDetail"`)) {
		t.Fatalf("derive image: %v\n%s", err, said)
	}
	return name
}
