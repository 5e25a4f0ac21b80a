package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// NameForm is what a report may be called: the Agent Skills format's own rule.
var NameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// versions holds the folders of earlier versions, beside the reports: loaders
// leave names with a leading dot alone.
const versions = ".versions"

// Store keeps saved reports below one folder.
type Store struct{ root *os.Root }

// OpenStore opens the folder, made where it is absent.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of saved reports: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder of saved reports: %w", err)
	}
	return &Store{root: root}, nil
}

// Close releases the folder.
func (s *Store) Close() error { return s.root.Close() }

// Version returns the number and owner of the report called name, 0 where
// there is none.
func (s *Store) Version(name string) (version int, owner string, err error) {
	data, err := s.root.ReadFile(path.Join(name, "assets", "report.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("read report %s: %w", name, err)
	}
	var d definition
	if err := json.Unmarshal(data, &d); err != nil {
		return 0, "", fmt.Errorf("read report %s: %w", name, err)
	}
	return d.Version, d.Owner, nil
}

// Save writes a report whole or not at all; what it replaces is kept as an
// earlier version.
func (s *Store) Save(name string, version int, report Report) error {
	if !NameForm.MatchString(name) || len(name) > 64 {
		return fmt.Errorf("name %q: use lower-case letters, digits and single dashes, at most 64", name)
	}
	fresh := "." + name + ".new"
	if err := s.root.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear %s: %w", fresh, err)
	}
	for file, content := range report.Files {
		at := path.Join(fresh, file)
		if err := s.root.MkdirAll(path.Dir(at), 0o700); err != nil {
			return fmt.Errorf("write report %s: %w", name, err)
		}
		if err := s.root.WriteFile(at, content, 0o600); err != nil {
			return fmt.Errorf("write report %s: %w", name, err)
		}
	}
	return s.put(name, version, fresh)
}

// put moves the folder fresh to name and what stands there to the versions.
func (s *Store) put(name string, version int, fresh string) error {
	if version > 1 {
		old := path.Join(versions, name, strconv.Itoa(version-1))
		if err := s.root.MkdirAll(path.Dir(old), 0o700); err != nil {
			return fmt.Errorf("keep version of %s: %w", name, err)
		}
		if err := s.root.RemoveAll(old); err != nil {
			return fmt.Errorf("keep version of %s: %w", name, err)
		}
		if err := s.root.Rename(name, old); err != nil {
			return fmt.Errorf("keep version of %s: %w", name, err)
		}
	}
	if err := s.root.Rename(fresh, name); err != nil {
		return fmt.Errorf("put report %s in place: %w", name, err)
	}
	return nil
}

// Versions lists the earlier versions of a report, oldest first.
func (s *Store) Versions(name string) ([]int, error) {
	entries, err := fs.ReadDir(s.root.FS(), path.Join(versions, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list versions of %s: %w", name, err)
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// RollBack puts an earlier version in the place of today's, as a new version:
// nothing is lost.
func (s *Store) RollBack(name string, to int) (int, error) {
	now, _, err := s.Version(name)
	if err != nil {
		return 0, err
	}
	old := path.Join(versions, name, strconv.Itoa(to))
	report := Report{Files: map[string][]byte{}}
	err = fs.WalkDir(s.root.FS(), old, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := s.root.ReadFile(p)
		report.Files[p[len(old)+1:]] = content
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("report %s has no version %d", name, to)
	}
	if err != nil {
		return 0, fmt.Errorf("read version %d of %s: %w", to, name, err)
	}
	var d definition
	if err := json.Unmarshal(report.Files["assets/report.json"], &d); err != nil {
		return 0, fmt.Errorf("read version %d of %s: %w", to, name, err)
	}
	d.Version = now + 1
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return 0, fmt.Errorf("write report.json: %w", err)
	}
	report.Files["assets/report.json"] = append(text, '\n')
	return d.Version, s.Save(name, d.Version, report)
}

// Remove deletes a report with its versions.
func (s *Store) Remove(name string) error {
	for _, dir := range []string{name, path.Join(versions, name)} {
		if err := s.root.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove report %s: %w", name, err)
		}
	}
	return nil
}

// Forget deletes the reports, and the versions of reports, that were made from
// one of these tasks: their programs, words and columns are that task's.
func (s *Store) Forget(tasks []string) error {
	made, err := fs.Glob(s.root.FS(), "*/assets/report.json")
	if err != nil {
		return fmt.Errorf("list reports: %w", err)
	}
	older, err := fs.Glob(s.root.FS(), versions+"/*/*/assets/report.json")
	if err != nil {
		return fmt.Errorf("list versions of reports: %w", err)
	}
	for _, file := range append(made, older...) {
		data, err := s.root.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var d definition
		if err := json.Unmarshal(data, &d); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if !slices.Contains(tasks, d.Task) {
			continue
		}
		if err := s.root.RemoveAll(path.Dir(path.Dir(file))); err != nil {
			return fmt.Errorf("forget %s: %w", file, err)
		}
	}
	return nil
}
