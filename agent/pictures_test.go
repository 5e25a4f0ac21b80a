package agent

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// contents are blobs whose hash is their content.
type contents struct{ bot.Blobs }

type content struct{ *strings.Reader }

func (content) Close() error { return nil }

func (contents) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	if sha == "" {
		return nil, errors.New("lost")
	}
	return content{strings.NewReader(sha)}, nil
}

// TestPicturesAreDescribed shows where the words for a picture come from.
func TestPicturesAreDescribed(t *testing.T) {
	s := stored{
		answer: "See ![Revenue by week, rising](1-total.png) and ![x](missing.png).",
		files: []bot.Artifact{
			{Name: "1-total.png", MediaType: "image/png"},
			{Name: "2-groups.png", MediaType: "image/png"},
			{Name: "3-made.png", MediaType: "image/png", Alt: "as it was"},
			{Name: "4-bare.png", MediaType: "image/png"},
			{Name: "report.md", MediaType: "text/markdown", Blob: "# Report\n![other words](1-total.png)\n![Revenue by region](out/2-groups.png \"title\")\n![no](3-made.png)"},
		},
	}
	task := &task{run: bot.Run{Blobs: contents{}}}
	if err := task.describePictures(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Revenue by week, rising", "Revenue by region", "as it was", "", ""} {
		if got := s.files[i].Alt; got != want {
			t.Errorf("%s: %q, want %q", s.files[i].Name, got, want)
		}
	}
	s = stored{files: []bot.Artifact{{Name: "a.png", MediaType: "image/png"}, {Name: "report.md"}}}
	if err := task.describePictures(t.Context(), &s); err == nil {
		t.Error("a report that cannot be read is no error")
	}
}
