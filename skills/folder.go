package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"unicode"
)

// Bounds of one skill on disk, and of the search for skills in a folder.
const (
	maxSkillFiles = 1000
	maxSkillBytes = 32 << 20
	maxFound      = 1000 // skills below one folder
	maxDepth      = 3    // folders between a configured folder and a SKILL.md
)

const manifest = "SKILL.md"

// candidate is a folder with a SKILL.md whose files are read; problem is set
// instead of files when they could not be.
type candidate struct {
	dir     string // slash path relative to its source, "" when the source is the skill itself
	files   snapshot
	problem *finding
	file    string // the file a problem is about, relative to dir
}

// tree is what a source of skills must offer; os.Root and fs.FS both do,
// through diskTree and fsTree.
type tree interface {
	// list gives a folder's entries without following links, sorted.
	list(dir string) ([]fs.DirEntry, error)
	// read gives a regular file's content, at most limit bytes.
	read(name string, limit int64) ([]byte, error)
}

// find walks a source for folders with a SKILL.md, not below one, and reads
// them. Folders that start with a dot or hold installed packages are left out.
func find(t tree) ([]candidate, error) {
	var found []candidate
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		entries, err := t.list(dir)
		if err != nil {
			return err
		}
		if has(entries, manifest) {
			found = append(found, load(t, dir))
			return nil
		}
		for _, e := range entries {
			below := path.Join(dir, e.Name())
			switch {
			case ignored(e.Name()):
			case strings.EqualFold(e.Name(), manifest) && depth > 0:
				p := broken(0, "the file must be called %s", manifest)
				found = append(found, candidate{dir: dir, problem: &p, file: e.Name()})
			case e.Type()&fs.ModeSymlink != 0:
				p := broken(0, "is a symbolic link; links are not followed, put the folder itself here")
				found = append(found, candidate{dir: below, problem: &p})
			case e.IsDir() && depth < maxDepth:
				if err := walk(below, depth+1); err != nil {
					p := broken(0, "cannot be read: %v", cause(err))
					found = append(found, candidate{dir: below, problem: &p})
				}
			}
			if len(found) > maxFound {
				return fmt.Errorf("more than %d skills in one folder", maxFound)
			}
		}
		return nil
	}
	return found, walk(".", 0)
}

// load reads all regular files of the skill in dir.
func load(t tree, dir string) candidate {
	c := candidate{dir: dir, files: snapshot{}}
	var total int64
	var walk func(sub string) *finding
	fail := func(file, format string, args ...any) *finding {
		p := broken(0, format, args...)
		c.file = file
		return &p
	}
	walk = func(sub string) *finding {
		entries, err := t.list(path.Join(dir, sub))
		if err != nil {
			return fail(sub, "cannot be read: %v", cause(err))
		}
		for _, e := range entries {
			name := path.Join(sub, e.Name())
			switch {
			case ignored(e.Name()):
				continue
			case !plainName(e.Name()):
				return fail(name, "the name has characters that a path must not have")
			case e.IsDir():
				if p := walk(name); p != nil {
					return p
				}
				continue
			case e.Type()&fs.ModeSymlink != 0:
				return fail(name, "is a symbolic link; a skill must hold its files itself")
			case !e.Type().IsRegular():
				return fail(name, "is not a regular file")
			case len(c.files) == maxSkillFiles:
				return fail(name, "the skill has more than %d files", maxSkillFiles)
			}
			data, err := t.read(path.Join(dir, name), maxSkillBytes-total)
			if errors.Is(err, errTooBig) {
				return fail(name, "the skill has more than %d MiB", maxSkillBytes>>20)
			} else if err != nil {
				return fail(name, "cannot be read: %v", cause(err))
			}
			total += int64(len(data))
			c.files[name] = data
		}
		return nil
	}
	c.problem = walk(".")
	return c
}

// ignored names are no part of a skill: what editors, version control and
// interpreters leave behind.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == "__pycache__" || name == "node_modules"
}

func plainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\\' || r == unicode.ReplacementChar
	})
}

func has(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name && !e.IsDir() {
			return true
		}
	}
	return false
}

// cause strips the path from an error that will be told with its file.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

var errTooBig = errors.New("too big")

// fsTree reads skills from an fs.FS, such as the embedded ones.
type fsTree struct{ fsys fs.FS }

func (t fsTree) list(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(t.fsys, dir) }

func (t fsTree) read(name string, limit int64) ([]byte, error) {
	data, err := fs.ReadFile(t.fsys, name)
	if err == nil && int64(len(data)) > limit {
		return nil, errTooBig
	}
	return data, err
}

// diskTree reads skills below an os.Root, so that no path leaves the folder.
type diskTree struct{ root *os.Root }

func (t diskTree) list(dir string) ([]fs.DirEntry, error) {
	f, err := t.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, err
}

// read opens without blocking and makes sure that what was opened is the
// regular file that was listed, not a link or pipe put there meanwhile.
func (t diskTree) read(name string, limit int64) ([]byte, error) {
	name = filepath.FromSlash(name)
	listed, err := t.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !opened.Mode().IsRegular() || !os.SameFile(listed, opened) {
		return nil, errors.New("it changed while it was read")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooBig
	}
	return data, err
}
