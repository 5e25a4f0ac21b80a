package agent

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/sandpiper-bot/sandpiper/skills"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// skillTokens bounds the index of skills in a prompt.
const skillTokens = 8000

// systemPrompt fills lead.md and helper.md.
type systemPrompt struct {
	Skill     string
	Skills    string
	Inventory string
}

// openingPrompt fills opening.md: all that a conversation starts from.
type openingPrompt struct {
	Earlier []earlierTask
	Rebuilt bool
	Profile string
	Problem string
	Request string
}

// earlierTask is one task of the conversation before this one. Requests stand
// unchanged; answers are cut.
type earlierTask struct {
	Request string
	Answer  string
	Files   string
}

// compactedPrompt fills compacted.md.
type compactedPrompt struct {
	Todo, Files, Story string
}

// render fills a prompt. Values are put in as they are: none is parsed as a
// template.
func render(name string, data any) (string, error) {
	t, err := template.ParseFS(promptFiles, "prompts/"+name)
	if err != nil {
		return "", fmt.Errorf("read prompt %s: %w", name, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("fill prompt %s: %w", name, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// index lists the skills that an agent may read; names nil lists all.
func (t *task) index(names []string) string {
	all := t.skills().List()
	if names == nil {
		return strings.TrimSpace(skills.Index(all, skillTokens))
	}
	var given []skills.Skill
	for _, name := range names {
		if s, err := t.skills().Get(name); err == nil {
			given = append(given, s)
		}
	}
	return strings.TrimSpace(skills.Index(given, skillTokens))
}
