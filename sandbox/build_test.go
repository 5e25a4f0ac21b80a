package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// bareEngine has no image, reaches no registry, and keeps what is imported.
type bareEngine struct {
	engine
	imported map[string]string
}

func (bareEngine) ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error) {
	return image.InspectResponse{}, errdefs.ErrNotFound
}

func (bareEngine) ImagePull(context.Context, string, image.PullOptions) (io.ReadCloser, error) {
	return nil, errors.New("no such host")
}

func (e bareEngine) ImageImport(_ context.Context, source image.ImportSource, ref string, _ image.ImportOptions) (io.ReadCloser, error) {
	packed, err := io.ReadAll(source.Source)
	e.imported[ref] = string(packed)
	return io.NopCloser(strings.NewReader(`{"status":"sha256:0123"}`)), err
}

// bootstrapper puts a program by the name of mmdebstrap first on PATH; its
// last argument is the file to make. It returns the folder of its temporary
// files, which are to be gone afterwards.
func bootstrapper(t *testing.T, script string) string {
	t.Helper()
	folder, temporary := t.TempDir(), t.TempDir()
	script = "#!/bin/sh\nfor last; do :; done\n" + script
	if err := os.WriteFile(filepath.Join(folder, "mmdebstrap"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temporary)
	return temporary
}

func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name, script string
		imported     map[string]string
		said         string // among the lines, or in the hint when it fails
		fails        bool
	}{
		{"whole", `echo "I: extracting archives..." >&2; printf whole >"$last"`, map[string]string{ownBase: "whole"}, "I: extracting archives...", false},
		{"broken off", `printf half >"$last"; echo "E: no mirror answers" >&2; for i in 1 2 3 4 5 6; do echo "I: removing $i" >&2; done; exit 1`, map[string]string{}, "E: no mirror answers", true},
		{"broken off silently", `printf half >"$last"; exit 1`, map[string]string{}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			temporary := bootstrapper(t, c.script)
			var lines []string
			b := &builder{engine: bareEngine{imported: map[string]string{}}, report: func(line string) { lines = append(lines, line) }}
			name, origin, err := b.base(t.Context(), false)
			var failure *Error
			switch {
			case c.fails && (!errors.As(err, &failure) || failure.Verdict != Image || !strings.Contains(failure.Hint, c.said)):
				t.Errorf("error %v, want one of the image that says %q", err, c.said)
			case !c.fails && (err != nil || name != ownBase || origin != "made with mmdebstrap" || !slices.Contains(lines, c.said)):
				t.Errorf("%q %q %v after %q", name, origin, err, lines)
			}
			imported := b.engine.(bareEngine).imported
			if len(imported) != len(c.imported) || imported[ownBase] != c.imported[ownBase] {
				t.Errorf("imported %q, want %q", imported, c.imported)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestBootstrapStopped gives up while mmdebstrap works, which must be let to
// undo its mounts.
func TestBootstrapStopped(t *testing.T) {
	temporary := bootstrapper(t, `trap 'echo undone >&2; exit 3' TERM; echo working >&2; while :; do sleep 0.01; done`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	undone := false
	b := &builder{engine: bareEngine{imported: map[string]string{}}, report: func(line string) {
		if line == "working" {
			cancel()
		}
		undone = undone || line == "undone"
	}}
	if _, _, err := b.base(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if imported := b.engine.(bareEngine).imported; !undone || len(imported) > 0 {
		t.Errorf("undone %v, imported %v", undone, imported)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// loadingEngine has the image already, and says of any file that it holds the
// images of that name.
type loadingEngine struct {
	engine
	loads []string
}

func (loadingEngine) ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error) {
	return image.InspectResponse{ID: "sha256:0123"}, nil
}

func (e loadingEngine) ImageLoad(context.Context, io.Reader, ...client.ImageLoadOption) (image.LoadResponse, error) {
	var said strings.Builder
	for _, line := range e.loads {
		fmt.Fprintf(&said, "{\"stream\":%q}\n", line+"\n")
	}
	return image.LoadResponse{Body: io.NopCloser(strings.NewReader(said.String())), JSON: true}, nil
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name  string
		loads []string
		right bool
	}{
		{"ours", []string{"Loaded image: " + ImageName()}, true},
		{"ours among others", []string{"Loaded image: debian:trixie", "Loaded image: " + ImageName()}, true},
		{"another", []string{"Loaded image: debian:trixie"}, false},
		{"an earlier recipe's", []string{"Loaded image: sandpiper-sandbox:000000000000"}, false},
		{"without a name", []string{"Loaded image ID: sha256:0123"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &builder{engine: loadingEngine{loads: c.loads}, report: func(string) {}}
			got, err := b.load(t.Context(), strings.NewReader(""))
			var failure *Error
			switch {
			case c.right && (err != nil || got.ID != "sha256:0123" || got.Base != "imported" || got.Existed):
				t.Errorf("%+v, %v", got, err)
			case !c.right && (!errors.As(err, &failure) || failure.Verdict != Image || !strings.Contains(failure.Hint, "docker save "+ImageName())):
				t.Errorf("error %v", err)
			}
		})
	}
}
