package main

import (
	"errors"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// TestAnImageThatWasMovedIsNotAdopted lets a build find another image under
// its name than the one it recorded.
func TestAnImageThatWasMovedIsNotAdopted(t *testing.T) {
	store, err := boltstore.Open(boltstore.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := newBoxes(boxesOptions{records: store})
	for _, step := range []struct {
		name    string
		image   imageRef
		refused bool
		keeps   string
	}{
		{"the first one is recorded", imageRef{Image: "i", ID: "sha256:1", Found: true}, false, "sha256:1"},
		{"it is found again", imageRef{Image: "i", ID: "sha256:1", Found: true}, false, "sha256:1"},
		{"its name was moved", imageRef{Image: "i", ID: "sha256:2", Found: true}, true, "sha256:1"},
		{"it was built anew", imageRef{Image: "i", ID: "sha256:3"}, false, "sha256:3"},
		{"another recipe's", imageRef{Image: "j", ID: "sha256:4", Found: true}, false, "sha256:3"},
	} {
		err := b.Replace(t.Context(), step.image)
		var failure *sandbox.Error
		if (err != nil) != step.refused || step.refused && (!errors.As(err, &failure) || failure.Hint == "") {
			t.Errorf("%s: %v", step.name, err)
		}
		if got, err := b.recorded(t.Context(), "i"); err != nil || got != step.keeps {
			t.Errorf("%s: recorded is %q (%v), want %q", step.name, got, err, step.keeps)
		}
	}
}
