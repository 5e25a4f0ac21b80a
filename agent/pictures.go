package agent

import (
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// picture matches a picture in Markdown: what it shows, and its file.
var picture = regexp.MustCompile(`!\[([^\]\n]{1,1000})\]\(<?([^)\s>]+)>?(?:\s[^)]*)?\)`)

// describePictures gives the pictures among the artifacts the words that the
// answer, or a report beside them, shows them with, for people who cannot see
// them.
func (t *task) describePictures(ctx context.Context, s *stored) error {
	bare := map[string]*bot.Artifact{}
	for i := range s.files {
		if f := &s.files[i]; strings.HasPrefix(f.MediaType, "image/") && f.Alt == "" {
			bare[f.Name] = f
		}
	}
	describe := func(text string) {
		for _, found := range picture.FindAllStringSubmatch(text, -1) {
			name := strings.TrimPrefix(path.Clean(found[2]), "out/")
			if f := bare[name]; f != nil && f.Alt == "" {
				f.Alt = cleanLine(found[1], 500)
			}
		}
	}
	describe(s.answer)
	for _, f := range s.files {
		if len(bare) == 0 || path.Ext(f.Name) != ".md" {
			continue
		}
		content, err := t.run.Blobs.Open(ctx, f.Blob)
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name, err)
		}
		const most = 1 << 20
		text, err := io.ReadAll(io.LimitReader(content, most))
		_ = content.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name, err)
		}
		describe(string(text))
	}
	return nil
}
