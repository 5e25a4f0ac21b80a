package skilltest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

//go:embed gallery.py
var galleryProgram string

// Picture is one chart of the gallery, as gallery.py saw it.
type Picture struct {
	Name   string   `json:"name"`
	Width  int      `json:"width"` // pixels
	Height int      `json:"height"`
	Texts  []string `json:"texts"`  // what stands in it
	Faults []string `json:"faults"` // labels that overlap or are cut
}

// Gallery is what drawing it came to. The PNGs and contact-sheet.png lie in the
// session's /workspace/out.
type Gallery struct {
	Charts []Picture `json:"charts"`
	// Control are the faults found in a chart that is bad on purpose.
	Control  []string `json:"control"`
	Warnings []string `json:"warnings"` // of the drawing library: glyphs that no font has
}

// DrawGallery draws the charts that are hard to draw, in a session.
func DrawGallery(ctx context.Context, session Session) (Gallery, error) {
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: galleryProgram})
	if err != nil {
		return Gallery{}, fmt.Errorf("draw gallery: %w", err)
	}
	if result.Verdict != sandbox.OK || result.Stdout.Omitted > 0 {
		return Gallery{}, fmt.Errorf("draw gallery: it ended with %s: %s", result.Verdict, tail(result.Stderr.Head+result.Stderr.Tail, 2000))
	}
	var drawn Gallery
	if err := json.Unmarshal([]byte(result.Stdout.Head), &drawn); err != nil {
		return Gallery{}, fmt.Errorf("read gallery: %w", err)
	}
	return drawn, nil
}
