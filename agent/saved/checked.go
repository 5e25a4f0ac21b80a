package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A version keeps, beside its files, what it was found to give and on what: the
// loader of skills leaves folders with a leading dot alone, so that none of it
// reaches a session with the report's programs.
const (
	checkFolder = ".check"
	checkFile   = checkFolder + "/check.json"
)

// mostTrusted bounds how many places a version remembers.
const mostTrusted = 20

// Place is what a report's programs run in: the image, and the guest's package
// that the binary brings.
type Place struct {
	Image string `json:"image"`
	Guest string `json:"guest,omitempty"`
}

// Check is what a version of a report was found to give.
type Check struct {
	// Trials are its runs, each on inputs that can be had again.
	Trials []Trial `json:"trials"`
	// Trusted are the places where it gave this, or where somebody accepted it.
	Trusted []Place `json:"trusted"`
	// Moved is what it gave in another place; nil where nothing is open.
	Moved *Moved `json:"moved,omitempty"`
}

// Trial is one run of a report.
type Trial struct {
	// Asked is the request.json of the run.
	Asked  json.RawMessage `json:"asked"`
	Inputs []TrialInput    `json:"inputs"`
	Answer string          `json:"answer"`
	Files  []Shape         `json:"files,omitempty"`
	// Failed says why it gave nothing; empty where it did.
	Failed string `json:"failed,omitempty"`
}

// TrialInput is a file of a trial: a blob, kept as long as the task's files
// are, or a copy of our own.
type TrialInput struct {
	Name string `json:"name"`
	Blob string `json:"blob,omitempty"`
	Size int64  `json:"size,omitempty"`
	Copy string `json:"copy,omitempty"`
}

// Moved is what a report gave in a place where it does not give what it did.
type Moved struct {
	Place Place     `json:"place"`
	At    time.Time `json:"at"`
	// Moves are the differences; none where there was nothing to run it on.
	Moves []Move `json:"moves,omitempty"`
	// Trials are its runs there, which count once somebody accepts them.
	Trials []Trial `json:"trials,omitempty"`
}

// Unchecked says that nothing was kept to compare with.
func (m *Moved) Unchecked() bool { return len(m.Moves) == 0 }

// Failed says that a run ended without an answer.
func (m *Moved) Failed() bool {
	return slices.ContainsFunc(m.Moves, func(mv Move) bool { return mv.Kind == MoveFailed })
}

// Trusts reports whether the version may be believed in a place.
func (c *Check) Trusts(place Place) bool { return slices.Contains(c.Trusted, place) }

// trust adds a place.
func (c *Check) trust(place Place) {
	if !c.Trusts(place) {
		c.Trusted = append(c.Trusted, place)
	}
	c.Trusted = c.Trusted[max(0, len(c.Trusted)-mostTrusted):]
}

// Attach keeps a check with a report that is to be saved. copies are the files
// that TrialInput.Copy names.
func (r Report) Attach(check Check, copies map[string][]byte) error {
	text, err := json.MarshalIndent(check, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", checkFile, err)
	}
	r.Files[checkFile] = append(text, '\n')
	for name, content := range copies {
		r.Files[path.Join(checkFolder, name)] = content
	}
	return nil
}

// Runs are a report's files without what it was checked with.
func (r Report) Runs() map[string][]byte {
	files := maps.Clone(r.Files)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return IsCheck(name) })
	return files
}

// IsCheck reports whether a file of a report belongs to its check.
func IsCheck(name string) bool { return strings.HasPrefix(name, checkFolder+"/") }

// Kept is a saved report as it stands.
type Kept struct {
	Report // its Figures are set, Loose is not

	Name     string
	Version  int
	Owner    string
	Task     string
	Image    string // that it was made in
	Template string
	// Check is nil for a report of a time when none was kept.
	Check *Check
}

// Copy is the content of a trial's own copy of a file.
func (k Kept) Copy(name string) ([]byte, bool) {
	content, ok := k.Files[path.Join(checkFolder, name)]
	return content, ok
}

// Trusts reports whether the report may be believed in a place. One without a
// check is in the image that it was made in.
func (k Kept) Trusts(place Place) bool {
	if k.Check == nil {
		return k.Image == "" || k.Image == place.Image
	}
	return k.Check.Trusts(place)
}

// Open reads the report called name; fs.ErrNotExist where there is none.
func (s *Store) Open(name string) (Kept, error) {
	if !NameForm.MatchString(name) {
		return Kept{}, fmt.Errorf("open report %q: %w", name, fs.ErrNotExist)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(name)
}

func (s *Store) open(name string) (Kept, error) {
	report, err := s.read(name)
	if err != nil {
		return Kept{}, fmt.Errorf("open report %s: %w", name, err)
	}
	var d definition
	if err := json.Unmarshal(report.Files["assets/report.json"], &d); err != nil {
		return Kept{}, fmt.Errorf("open report %s: %w", name, err)
	}
	report.Figures = d.Figures
	k := Kept{
		Report: report, Name: name, Version: d.Version, Owner: d.Owner, Task: d.Task, Image: d.Image,
		Template: string(report.Files["assets/answer.md"]),
	}
	if raw, ok := report.Files[checkFile]; ok {
		k.Check = &Check{}
		if err := json.Unmarshal(raw, k.Check); err != nil {
			return Kept{}, fmt.Errorf("open report %s: its check: %w", name, err)
		}
	}
	return k, nil
}

// Names lists the reports.
func (s *Store) Names() ([]string, error) {
	made, err := fs.Glob(s.root.FS(), "*/assets/report.json")
	if err != nil {
		return nil, fmt.Errorf("list reports: %w", err)
	}
	var names []string
	for _, file := range made {
		if name := path.Dir(path.Dir(file)); NameForm.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// ErrReplaced is returned where another version came between.
var ErrReplaced = errors.New("another version of the report came between")

// Trust records that a version gave the same in a place.
func (s *Store) Trust(name string, version int, place Place) error {
	return s.recheck(name, version, func(c *Check) error {
		c.trust(place)
		if c.Moved != nil && c.Moved.Place == place {
			c.Moved = nil
		}
		return nil
	})
}

// Move records what a version gave in a place where it does not give what it
// did, until somebody accepts it.
func (s *Store) Move(name string, version int, moved Moved) error {
	return s.recheck(name, version, func(c *Check) error {
		c.Moved = &moved
		return nil
	})
}

// ErrNothingMoved is returned where a report has nothing that waits to be
// accepted.
var ErrNothingMoved = errors.New("nothing of it has moved")

// AcceptMoved makes what a report gives in the new place what it must give from
// now on, and returns what that was.
func (s *Store) AcceptMoved(name string) (Moved, error) {
	k, err := s.Open(name)
	if err != nil {
		return Moved{}, err
	}
	var moved Moved
	err = s.recheck(name, k.Version, func(c *Check) error {
		if c.Moved == nil {
			return ErrNothingMoved
		}
		moved = *c.Moved
		c.Moved = nil
		if len(moved.Trials) > 0 && !moved.Failed() {
			// The places of before gave other figures.
			c.Trials, c.Trusted = moved.Trials, nil
		}
		c.trust(moved.Place)
		return nil
	})
	return moved, err
}

// recheck changes the check of a version that is still in force.
func (s *Store) recheck(name string, version int, change func(*Check) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.open(name)
	if err != nil {
		return err
	}
	if k.Version != version {
		return fmt.Errorf("report %s: %w", name, ErrReplaced)
	}
	if k.Check == nil {
		k.Check = &Check{}
		if k.Image != "" {
			k.Check.Trusted = []Place{{Image: k.Image}}
		}
	}
	if err := change(k.Check); err != nil {
		return err
	}
	text, err := json.MarshalIndent(k.Check, "", " ")
	if err != nil {
		return fmt.Errorf("write check of %s: %w", name, err)
	}
	at := path.Join(name, checkFile)
	if err := s.root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return fmt.Errorf("write check of %s: %w", name, err)
	}
	if err := s.root.WriteFile(at+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write check of %s: %w", name, err)
	}
	if err := s.root.Rename(at+".new", at); err != nil {
		return fmt.Errorf("write check of %s: %w", name, err)
	}
	return nil
}

// DropCopies deletes the copies of files that reports made from a task keep:
// the files they were made from were deleted where they came from.
func (s *Store) DropCopies(task string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.each(func(folder string, d definition) error {
		if d.Task != task {
			return nil
		}
		files, err := fs.Glob(s.root.FS(), path.Join(folder, checkFolder, copyPrefix+"*"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := s.root.Remove(file); err != nil {
				return fmt.Errorf("forget %s: %w", file, err)
			}
		}
		return nil
	})
}

// copyPrefix begins the name of each copy: what people called a file is no name
// on our disk.
const copyPrefix = "copy-"

// CopyName names the copy of a trial's nth file.
func CopyName(n int) string { return copyPrefix + strconv.Itoa(n) }
