package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
)

// labelInventory carries what is in the image, as JSON.
const labelInventory = "sandpiper.inventory"

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
		return imageState{}, &Error{
			Verdict: Image, Message: fmt.Sprintf("the image %s is %s, and not %s as recorded", name, found.ID, recorded),
			Hint: "if you rebuilt it yourself, record it with: sandpiper sandbox build; else find out who changed it",
		}
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

// ImageName is the name of the image that this version of the recipe makes.
func ImageName() string { return "sandpiper-dev:latest" }
