package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
)

// The sources of skills, as Skill.Source and Problem.Source tell them.
const (
	SourceBuiltin = "builtin"
	SourceFolder  = "folder"
	SourceSaved   = "saved"
)

// ErrUnknown is what Get answers for a name that no loaded skill has.
var ErrUnknown = errors.New("no such skill")

// Options say where skills come from. A name belongs to the first that has
// it, in this order: Builtin, Folders one after the other, Saved.
type Options struct {
	// Builtin holds one folder per skill; nil for none. See Builtin.
	Builtin fs.FS
	// Folders are the configured ones; each must exist. A folder holds skills,
	// at most three levels deep, or is one.
	Folders []string
	// Saved is where saved reports live; it need not exist yet. Empty for none.
	Saved string
}

// Catalogue is the set of loaded skills. It is safe for concurrent use; what
// List and Get hand out stays as it was, also over a Reload.
type Catalogue struct {
	options Options

	mu       sync.RWMutex // guards what follows
	skills   map[string]Skill
	problems []Problem
}

// Load reads all skills. A broken skill is left out and named by Problems; an
// error means that a configured folder itself cannot be read.
func Load(o Options) (*Catalogue, error) {
	c := &Catalogue{options: o}
	return c, c.Reload()
}

// Reload reads all skills again. On an error the catalogue stays as it was.
func (c *Catalogue) Reload() error {
	next := &reading{skills: map[string]Skill{}}
	if c.options.Builtin != nil {
		if err := next.add(place{source: SourceBuiltin}, fsTree{c.options.Builtin}); err != nil {
			return fmt.Errorf("read built-in skills: %w", err)
		}
	}
	for _, dir := range c.options.Folders {
		if err := next.addDisk(SourceFolder, dir); err != nil {
			return fmt.Errorf("read skills folder %s: %w", dir, cause(err))
		}
	}
	if c.options.Saved != "" {
		if err := next.addDisk(SourceSaved, c.options.Saved); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read saved skills in %s: %w", c.options.Saved, cause(err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skills, c.problems = next.skills, next.problems
	return nil
}

// List gives all skills, sorted by name.
func (c *Catalogue) List() []Skill {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]Skill, 0, len(c.skills))
	for _, s := range c.skills {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Get gives the skill of that name, or an error that wraps ErrUnknown and
// names the ones that come near.
func (c *Catalogue) Get(name string) (Skill, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s, ok := c.skills[name]; ok {
		return s, nil
	}
	for _, p := range c.problems {
		if p.Skill == name && p.Severity == Broken {
			return Skill{}, fmt.Errorf("skill %q is broken: %w (%w)", name, p, ErrUnknown)
		}
	}
	names := make([]string, 0, len(c.skills))
	for n := range c.skills {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return Skill{}, fmt.Errorf("%w: %q; there are: %s", ErrUnknown, clip(name, maxName), strings.Join(names, ", "))
}

// Problems gives what was wrong when the skills were read last: broken skills,
// names that stand twice, warnings.
func (c *Catalogue) Problems() []Problem {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return append([]Problem(nil), c.problems...)
}

// Shadowed tells which of some skills, loaded on their own, do not come to be
// used beside this catalogue's, since their name is taken there. Skills that
// are this catalogue's own are not told, and two folders' names are a warning
// only: which of them comes first is for the configuration to say.
func (c *Catalogue) Shadowed(list []Skill) []Problem {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var found []Problem
	for _, s := range list {
		first, taken := c.skills[s.Name]
		if !taken || sameFolder(first.Dir, s.Dir) {
			continue
		}
		p := Problem{Severity: Broken, Skill: s.Name, Source: s.Source, File: s.Where(manifest), Line: 1}
		p.Message = fmt.Sprintf("the name %q is taken by %s, which is used instead; give this one another name", s.Name, first.place())
		if first.Source != SourceBuiltin && !slices.ContainsFunc(c.problems, func(p Problem) bool { return sameFolder(filepath.Dir(p.File), s.Dir) }) {
			p.Severity = Warning
			p.Message = fmt.Sprintf("the name %q is also that of %s; only one of the two is used where both are configured", s.Name, first.place())
		}
		found = append(found, p)
	}
	return found
}

// place names a skill's home for people.
func (s Skill) place() string {
	if s.Dir == "" {
		return "a built-in skill"
	}
	return s.Dir
}

// sameFolder compares two folders by what they are, not by how they are written.
func sameFolder(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// place says where a source's files are, for people.
type place struct {
	source string
	dir    string // on disk; empty for the built-in ones
}

func (p place) file(dir, name string) string {
	if p.dir == "" {
		return path.Join(SourceBuiltin, dir, name)
	}
	return filepath.Join(p.dir, filepath.FromSlash(dir), filepath.FromSlash(name))
}

// reading gathers skills and problems while the sources are read.
type reading struct {
	skills   map[string]Skill
	problems []Problem
}

func (r *reading) addDisk(source, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read from: nothing can be lost
	return r.add(place{source: source, dir: dir}, diskTree{root})
}

func (r *reading) add(at place, t tree) error {
	found, err := find(t)
	if err != nil {
		return err
	}
	for _, c := range found {
		skill, problems := build(at, c)
		r.problems = append(r.problems, problems...)
		if skill == nil {
			continue
		}
		if first, taken := r.skills[skill.Name]; taken {
			r.problems = append(r.problems, Problem{
				Severity: Broken, Skill: skill.Name, Source: at.source, File: at.file(c.dir, manifest), Line: 1,
				Message: fmt.Sprintf("the name %q is taken by %s; this one is left out, give it another name", skill.Name, first.place()),
			})
			continue
		}
		r.skills[skill.Name] = *skill
	}
	return nil
}

// build makes a Skill of a folder's files. It is nil when the skill is broken.
func build(at place, c candidate) (*Skill, []Problem) {
	label := path.Base(c.dir)
	if c.dir == "." {
		label = filepath.Base(at.dir)
	}
	tell := func(f finding, name string) Problem {
		return Problem{Severity: f.severity, Skill: label, Source: at.source, File: at.file(c.dir, name), Line: f.line, Message: f.message}
	}
	if c.problem != nil {
		return nil, []Problem{tell(*c.problem, c.file)}
	}
	head, found := parseFront(c.files[manifest])
	if head.name != "" && head.name != label {
		found = append(found, warning(head.lines["name"], "name %q is not the folder's (%q), as the format wants it", clip(head.name, maxName), label))
	}
	found = append(found, checkRun(head, c.files)...)
	var problems []Problem
	isBroken := false
	for _, f := range found {
		problems = append(problems, tell(f, manifest))
		isBroken = isBroken || f.severity == Broken
	}
	if isBroken {
		return nil, problems
	}
	s := &Skill{
		Name: head.name, Description: head.description, License: head.license, Compatibility: head.compatibility,
		AllowedTools: head.allowedTools, Metadata: head.metadata, Run: head.metadata["run"],
		Source: at.source, Body: head.body, FS: c.files,
	}
	if at.dir != "" {
		s.Dir = at.file(c.dir, "")
	}
	for name := range c.files {
		if !strings.HasPrefix(name, evalsDir+"/") {
			s.Files = append(s.Files, name)
		}
	}
	sort.Strings(s.Files)
	s.Version = version(s.Files, c.files)
	return s, problems
}

// evalsDir holds a skill's own tests; they are not sent to sessions.
const evalsDir = "evals"

// checkRun makes sure that a runnable skill's program is one of its files.
func checkRun(head front, files snapshot) []finding {
	run, ok := head.metadata["run"]
	if !ok {
		return nil
	}
	line := head.lines["metadata.run"]
	switch {
	case !fs.ValidPath(run) || strings.HasPrefix(run, evalsDir+"/"):
		return []finding{broken(line, "metadata.run %q must be a path inside the skill's folder", clip(run, 80))}
	case path.Ext(run) != ".py":
		return []finding{broken(line, "metadata.run %q must name a Python program (.py)", clip(run, 80))}
	case files[run] == nil:
		return []finding{broken(line, "metadata.run names %q, which is not in the skill's folder", clip(run, 80))}
	}
	return nil
}

// version hashes names and contents, each with its length before it.
func version(names []string, files snapshot) string {
	h := sha256.New()
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(h, "%d:%s%x", len(name), name, sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Where gives the path of one of the skill's files as people find it.
func (s Skill) Where(name string) string {
	if s.Dir == "" {
		return path.Join(SourceBuiltin, s.Name, name)
	}
	return filepath.Join(s.Dir, filepath.FromSlash(name))
}
