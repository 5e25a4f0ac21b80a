package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/containerd/errdefs"

	"github.com/sandpiper-bot/sandpiper/deploy"
)

// labelInventory carries what is in the image, as JSON.
const labelInventory = "sandpiper.inventory"

// staleAfter is the age from which on an image is warned about: it lacks a
// month of security updates.
const staleAfter = 30 * 24 * time.Hour

// imageState is the image that sessions are made from.
type imageState struct {
	name      string
	id        string // "sha256:…"
	created   time.Time
	inventory json.RawMessage
}

// inspectImage finds an image and checks its id against the recorded one.
func inspectImage(ctx context.Context, api surroundings, name, recorded string) (imageState, error) {
	found, err := api.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return imageState{}, &Error{
			Verdict: Image, Message: fmt.Sprintf("the sandbox's image %s is absent", name),
			Hint: "build it with: sandpiper sandbox build", Err: err,
		}
	}
	if err != nil {
		return imageState{}, unreachable(err)
	}
	if recorded != "" && found.ID != recorded {
		return imageState{}, Changed(name, found.ID, recorded)
	}
	state := imageState{name: name, id: found.ID}
	if created, err := time.Parse(time.RFC3339Nano, found.Created); err == nil {
		state.created = created
	}
	if found.Config != nil {
		if text := found.Config.Labels[labelInventory]; json.Valid([]byte(text)) {
			state.inventory = json.RawMessage(text)
		}
	}
	return state, nil
}

// Changed is the failure of an image that is not the one recorded.
func Changed(name, found, recorded string) *Error {
	return &Error{
		Verdict: Image, Message: fmt.Sprintf("the image %s is %s, and not %s as recorded", name, found, recorded),
		Hint: "if you changed it yourself, make and record it anew with: sandpiper sandbox build --refresh; else find out who did",
	}
}

// ImageID is the id of the image that new sessions are made from.
func (s *Sandbox) ImageID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.image.id
}

// Guest is the start of the SHA-256 of the package that this binary brings into
// every session, as Info.Guest gives it.
func (s *Sandbox) Guest() string { return s.guest }

// ImageName is the name of the image that this binary's recipe makes:
// "sandpiper-sandbox:" and the start of the SHA-256 over the recipe's files.
// Whether the optional extras could be installed does not change the name.
func ImageName() string {
	hash := sha256.New()
	recipe := deploy.SandboxRecipe()
	err := fs.WalkDir(recipe, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(recipe, path)
		fmt.Fprintf(hash, "%s %d\n", path, len(content))
		hash.Write(content)
		return err
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	return "sandpiper-sandbox:" + hex.EncodeToString(hash.Sum(nil))[:12]
}

// recipeContext packs the recipe as the engine's builder wants it.
func recipeContext() (*bytes.Buffer, error) {
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	recipe := deploy.SandboxRecipe()
	err := fs.WalkDir(recipe, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(recipe, path)
		if err != nil {
			return err
		}
		return addFile(out, path, content)
	})
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("pack recipe: %w", err)
	}
	return &packed, nil
}

// dockerfileContext packs a build context of one Dockerfile.
func dockerfileContext(text string) (*bytes.Buffer, error) {
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	if err := errors.Join(addFile(out, "Dockerfile", []byte(text)), out.Close()); err != nil {
		return nil, fmt.Errorf("pack Dockerfile: %w", err)
	}
	return &packed, nil
}

func addFile(out *tar.Writer, path string, content []byte) error {
	if err := out.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := out.Write(content)
	return err
}
