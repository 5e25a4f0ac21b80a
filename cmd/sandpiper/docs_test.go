package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documents' commands are what newcomers type: each `sandpiper` line of a
// shell block runs here, in the document's order, in a home of its own; each
// one within a sentence is at least a command that exists; each `make` is a
// target (what the targets do is run by .ci/run).

// sayings of documents that stand for something of the reader's.
var (
	placeholder = regexp.MustCompile(`^[A-Z][A-Z_]+$`)
	inline      = regexp.MustCompile("`((?:bin/)?(?:sandpiper|make)\\s[^`]+)`")
	target      = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
)

// tooLong are lines that are not run whole here, with what runs them instead.
var tooLong = map[string]string{
	"sandpiper sandbox build --refresh": "makes the image anew: ten minutes",
}

// endsOtherwise are lines that may end with these statuses on a machine that
// has nothing configured.
var endsOtherwise = map[string][]int{
	"sandpiper doctor":        {0, 3}, // what it finds depends on the machine
	"sandpiper doctor --json": {0, 3},
}

// document is a page of the documentation.
type document struct{ name, text string }

func documents(t *testing.T) []document {
	t.Helper()
	names, err := filepath.Glob("../../deploy/docs/*.md")
	if err != nil || len(names) < 6 {
		t.Fatalf("found %d documents: %v", len(names), err)
	}
	var all []document
	for _, name := range append(names, "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, document{filepath.Base(name), string(text)})
	}
	return all
}

// lines are the command lines of the document's shell blocks.
func (d document) lines() []string {
	var lines []string
	inside := false
	for line := range strings.Lines(d.text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "" && line[0] != '#':
			command, _, _ := strings.Cut(line, " # ")
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(command), "bin/"))
		}
	}
	return lines
}

// words splits a line as the shell does with plain words and quotes.
func words(line string) []string {
	var found []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		found = append(found, m[1]+m[2]+m[3])
	}
	return found
}

// TestDocumentsRunTheirCommands types every command that a reader would.
func TestDocumentsRunTheirCommands(t *testing.T) {
	for _, d := range documents(t) {
		if lines := slices.DeleteFunc(d.lines(), func(line string) bool { return !strings.HasPrefix(line, "sandpiper ") }); len(lines) > 0 {
			t.Run(d.name, func(t *testing.T) {
				h := newHome(t)
				h.write("conf.yaml", "listen: 127.0.0.1:0\n") // a newcomer has not even this
				h.write("your.csv", sales)
				reader := &reader{home: h}
				for _, line := range lines {
					reader.types(line)
				}
			})
		}
	}
}

// reader is somebody who follows a document.
type reader struct {
	*home
	backup string // what the last backup was written to
}

func (r *reader) types(line string) {
	r.t.Helper()
	if reason, ok := tooLong[line]; ok {
		r.t.Logf("%s: not run here: it %s", line, reason)
		return
	}
	args := words(line)[1:]
	if len(args) == 1 && args[0] == "serve" {
		r.serve().stop()
		return
	}
	for i, word := range args {
		args[i] = r.means(word)
	}
	want := endsOtherwise[line]
	if want == nil {
		want = []int{0}
	}
	p := r.start(nil, args...)
	if got := p.wait(); !slices.Contains(want, got) {
		r.t.Errorf("%s: exit status %d, want one of %v\nstdout:\n%s\nstderr:\n%s", line, got, want, p.out.String(), p.err.String())
	}
	if args[0] == "backup" {
		r.backup = args[1]
	}
}

// means puts what this reader has in the place of what the document's has.
func (r *reader) means(word string) string {
	switch {
	case strings.HasPrefix(word, "/backups/"):
		return filepath.Join(r.dir, filepath.Base(word))
	case word == "ID":
		if list := r.tasks(); len(list) > 0 {
			return list[0].Task
		}
		r.t.Fatal("the document names a task before it made one")
	case placeholder.MatchString(word) && word != "MON":
		r.t.Fatalf("nobody knows what %s stands for: write the command out, or say it here", word)
	}
	return word
}

// TestDocumentsNameWhatExists holds the commands within sentences to the
// binary's own help, and targets to the Makefile.
func TestDocumentsNameWhatExists(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	h := &home{t: t, dir: t.TempDir()}
	seen := map[string]bool{}
	for _, d := range documents(t) {
		named := d.lines()
		for _, m := range inline.FindAllStringSubmatch(d.text, -1) {
			named = append(named, strings.TrimPrefix(m[1], "bin/"))
		}
		for _, line := range named {
			if seen[line] {
				continue
			}
			seen[line] = true
			switch args := words(line); args[0] {
			case "make":
				if !targets[args[len(args)-1]] {
					t.Errorf("%s: %q is no target", d.name, line)
				}
			case "sandpiper":
				h.helps(d.name, args[1:])
			}
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d commands were found: the documents are read wrongly", len(seen))
	}
}

// helps expects that a command and the flags given to it exist.
func (h *home) helps(document string, args []string) {
	h.t.Helper()
	var command, flags []string
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "--"):
			name, _, _ := strings.Cut(arg, "=")
			flags = append(flags, name)
		case len(flags) == 0 && len(command) < 2 && regexp.MustCompile(`^[a-z-]+$`).MatchString(arg):
			command = append(command, arg)
		}
	}
	p := h.start(nil, append(slices.Clone(command), "--help")...)
	if p.wait() != 0 {
		h.t.Errorf("%s: `sandpiper %s` does not exist: %s", document, strings.Join(command, " "), p.err.String())
	}
	for _, flag := range flags {
		if !strings.Contains(p.out.String(), flag) {
			h.t.Errorf("%s: `sandpiper %s` has no flag %s", document, strings.Join(command, " "), flag)
		}
	}
}
