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
	"sync"
)

// NameForm is what a report may be called: the Agent Skills format's own rule.
var NameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// versions holds the folders of earlier versions, and proposed those that wait
// to be taken, beside the reports: loaders leave names with a leading dot alone.
const (
	versions = ".versions"
	proposed = ".proposed"
)

// Store keeps saved reports below one folder.
type Store struct {
	root *os.Root
	mu   sync.Mutex // held while folders are moved or checks are changed
}

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
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := "." + name + ".new"
	if err := s.write(fresh, report); err != nil {
		return fmt.Errorf("write report %s: %w", name, err)
	}
	return s.put(name, version, fresh)
}

// write makes folder hold exactly a report's files.
func (s *Store) write(folder string, report Report) error {
	if err := s.root.RemoveAll(folder); err != nil {
		return fmt.Errorf("clear %s: %w", folder, err)
	}
	for file, content := range report.Files {
		at := path.Join(folder, file)
		if err := s.root.MkdirAll(path.Dir(at), 0o700); err != nil {
			return err
		}
		if err := s.root.WriteFile(at, content, 0o600); err != nil {
			return err
		}
	}
	return nil
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

// Remove deletes a report with its versions.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, dir := range []string{name, path.Join(versions, name), path.Join(proposed, name)} {
		if err := s.root.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove report %s: %w", name, err)
		}
	}
	return nil
}

// Forget deletes the reports, and the versions of reports, that were made from
// one of these tasks: their programs, words and columns are that task's.
func (s *Store) Forget(tasks []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.each(func(folder string, d definition) error {
		if !slices.Contains(tasks, d.Task) {
			return nil
		}
		if err := s.root.RemoveAll(folder); err != nil {
			return fmt.Errorf("forget %s: %w", folder, err)
		}
		return nil
	})
}

// each visits every report, earlier version and proposed one.
func (s *Store) each(visit func(folder string, d definition) error) error {
	var found []string
	for _, pattern := range []string{"*", versions + "/*/*", proposed + "/*"} {
		files, err := fs.Glob(s.root.FS(), pattern+"/assets/report.json")
		if err != nil {
			return fmt.Errorf("list reports: %w", err)
		}
		found = append(found, files...)
	}
	for _, file := range found {
		data, err := s.root.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var d definition
		if err := json.Unmarshal(data, &d); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if err := visit(path.Dir(path.Dir(file)), d); err != nil {
			return err
		}
	}
	return nil
}
