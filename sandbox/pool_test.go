package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// TestRebuiltImageDrainsPool lets a name mean another image, as a build does.
func TestRebuiltImageDrainsPool(t *testing.T) {
	first := ownBox(t, Options{}) // makes sure that the image is there
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	name := "sandpiper-test-drain:" + newID()
	if err := api.ImageTag(t.Context(), ImageName(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := api.ImageRemove(context.Background(), name, image.RemoveOptions{})
		if err := errors.Join(err, api.Close()); err != nil {
			t.Error(err)
		}
	})
	box := ownBox(t, Options{Image: name, Pool: Pool{Size: 1, Max: 1}})
	old := waitReady(t, box)
	box.checkImage(t.Context())
	if now := waitReady(t, box); now != old {
		t.Error("an unchanged image drained the pool")
	}
	packed, err := dockerfileContext("FROM " + ImageName() + "\nLABEL test=" + newID() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{engine: first.engine, report: func(string) {}}
	id, err := b.build(t.Context(), packed, build.ImageBuildOptions{Tags: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	box.checkImage(t.Context())
	if now := waitReady(t, box); now == old || now.info.ImageID != id {
		t.Errorf("the ready session is of %s, want %s", now.info.ImageID, id)
	}

	recorded := ownBox(t, Options{Image: name, ImageID: id})
	if err := api.ImageTag(t.Context(), ImageName(), name); err != nil {
		t.Fatal(err)
	}
	recorded.checkImage(t.Context())
	if got := recorded.ImageID(); got != id {
		t.Errorf("a recorded image was given up for %s", got)
	}
}

func waitReady(t *testing.T, box *Sandbox) *Session {
	t.Helper()
	for range 600 {
		box.pool.mu.Lock()
		if len(box.pool.ready) > 0 {
			defer box.pool.mu.Unlock()
			return box.pool.ready[0]
		}
		box.pool.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no session became ready")
	return nil
}
