package skills

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed skeleton
var skeleton embed.FS

// NewOptions describe a skill that is begun.
type NewOptions struct {
	// Dir is the folder that holds skills; NAME is made in it. It must exist.
	Dir  string
	Name string
	// Description may be empty: a sentence to be replaced stands in for it.
	Description string
	// Runnable adds a program of its own and an eval.
	Runnable bool
}

// New writes a skeleton that lints, and returns its folder. A name that is
// taken is an error that wraps fs.ErrExist.
func New(o NewOptions) (string, error) {
	if !validName.MatchString(o.Name) || len(o.Name) > maxName {
		return "", fmt.Errorf("make skill: name %q must be lower-case letters, digits and single hyphens, at most %d", clip(o.Name, maxName), maxName)
	}
	words := strings.ReplaceAll(o.Name, "-", " ")
	if o.Description == "" {
		o.Description = "Says in one sentence what " + words + " does. Use when somebody asks for " + words + "; replace this sentence."
	}
	if strings.ContainsAny(o.Description, "\n\r") {
		return "", errors.New("make skill: the description must be one line")
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return "", fmt.Errorf("open skills folder: %w", err)
	}
	defer func() { _ = root.Close() }() // every file in it was closed with its own error
	if err := root.Mkdir(o.Name, 0o755); err != nil {
		return "", fmt.Errorf("make skill folder: %w", err)
	}
	data := struct {
		Name, Title, Description, Words string
		Runnable                        bool
	}{o.Name, strings.ToUpper(words[:1]) + words[1:], quoteYAML(o.Description), quoteYAML(words), o.Runnable}
	err = fs.WalkDir(skeleton, "skeleton", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := strings.TrimPrefix(name, "skeleton/")
		if !o.Runnable && (strings.HasPrefix(to, "scripts/") || strings.HasPrefix(to, evalsDir+"/")) {
			return nil
		}
		// Named so, it is no skill of this repository's own.
		return writeSkeleton(root, path.Join(o.Name, strings.TrimSuffix(to, ".tmpl")), name, data)
	})
	if err != nil {
		return "", fmt.Errorf("write skill: %w", err)
	}
	return filepath.Join(o.Dir, o.Name), nil
}

// writeSkeleton writes one file of the skeleton; those named .tmpl are templates.
func writeSkeleton(root *os.Root, to, from string, data any) error {
	content, err := skeleton.ReadFile(from)
	if err != nil {
		return err
	}
	if path.Ext(from) == ".tmpl" {
		page, err := template.New(manifest).Parse(string(content))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := page.Execute(&out, data); err != nil {
			return err
		}
		content = out.Bytes()
	}
	if dir := path.Dir(to); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(filepath.FromSlash(to), content, 0o644)
}

// quoteYAML writes text as a quoted YAML scalar.
func quoteYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
