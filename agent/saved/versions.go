package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// ErrNothingProposed is returned where no new version waits to be taken.
var ErrNothingProposed = errors.New("no new version of it waits to be taken")

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
	if !NameForm.MatchString(name) {
		return 0, fmt.Errorf("report %s has no version %d", name, to)
	}
	version, err := s.renew(name, path.Join(versions, name, strconv.Itoa(to)), "")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("report %s has no version %d", name, to)
	}
	return version, err
}

// Propose keeps a report as the next version of one that is there, until
// somebody who may takes it. It replaces what was proposed before.
func (s *Store) Propose(name string, report Report) error {
	version, _, err := s.Version(name)
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("propose version of %s: %w", name, fs.ErrNotExist)
	}
	if err := s.write(path.Join(proposed, name), report); err != nil {
		return fmt.Errorf("propose version of %s: %w", name, err)
	}
	return nil
}

// Accept takes the proposed version and returns its number.
func (s *Store) Accept(name string) (int, error) {
	if !NameForm.MatchString(name) {
		return 0, ErrNothingProposed
	}
	from := path.Join(proposed, name)
	version, err := s.renew(name, from, "")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNothingProposed
	}
	if err != nil {
		return 0, err
	}
	if err := s.root.RemoveAll(from); err != nil {
		return 0, fmt.Errorf("clear proposed version of %s: %w", name, err)
	}
	return version, nil
}

// Share gives a report to another owner: a place, or Published everybody. It
// is a new version, so that it can be taken back.
func (s *Store) Share(name, owner string) (int, error) {
	version, err := s.renew(name, name, owner)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("share report %s: %w", name, err)
	}
	return version, err
}

// renew makes the report in folder from today's version of name. An empty
// owner leaves today's.
func (s *Store) renew(name, from, owner string) (int, error) {
	now, keeps, err := s.Version(name)
	if err != nil {
		return 0, err
	}
	if owner == "" {
		owner = keeps
	}
	report, err := s.read(from)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", from, err)
	}
	if err := report.renumber(now+1, owner); err != nil {
		return 0, fmt.Errorf("read %s: %w", from, err)
	}
	return now + 1, s.Save(name, now+1, report)
}

// read takes a report's folder into memory.
func (s *Store) read(folder string) (Report, error) {
	report := Report{Files: map[string][]byte{}}
	err := fs.WalkDir(s.root.FS(), folder, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := s.root.ReadFile(p)
		report.Files[p[len(folder)+1:]] = content
		return err
	})
	return report, err
}

var (
	versionLine = regexp.MustCompile(`(?m)^  version: .*$`)
	ownerLine   = regexp.MustCompile(`(?m)^  owner: .*$`)
)

// renumber writes version and owner where they stand in a report's files.
func (r Report) renumber(version int, owner string) error {
	var d definition
	if err := json.Unmarshal(r.Files["assets/report.json"], &d); err != nil {
		return err
	}
	d.Version, d.Owner = version, owner
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	r.Files["assets/report.json"] = append(text, '\n')
	head := r.Files["SKILL.md"]
	head = replaceFirst(versionLine, head, "  version: "+strconv.Quote(strconv.Itoa(version)))
	r.Files["SKILL.md"] = replaceFirst(ownerLine, head, "  owner: "+strconv.Quote(owner))
	return nil
}

// replaceFirst replaces the first match alone: the words below the front
// matter may look like it.
func replaceFirst(pattern *regexp.Regexp, text []byte, by string) []byte {
	at := pattern.FindIndex(text)
	if at == nil {
		return text
	}
	return slices.Concat(text[:at[0]], []byte(by), text[at[1]:])
}
