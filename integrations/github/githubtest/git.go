package githubtest

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own object ids
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"time"
)

// store holds the git objects and branches of one repository. Trees are kept
// flat: path to blob. The Server's lock guards it.
type store struct {
	blobs    map[string][]byte
	trees    map[string]map[string]string // tree id to its files, by path below it
	commits  map[string]*commit
	branches map[string]string // name to commit
}

type commit struct {
	sha, tree, message string
	parents            []string
	author             string
	at                 time.Time
}

func newStore() *store {
	return &store{
		blobs: map[string][]byte{}, trees: map[string]map[string]string{},
		commits: map[string]*commit{}, branches: map[string]string{},
	}
}

func object(kind string, data []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)) //nolint:gosec // git's own
	return hex.EncodeToString(sum[:])
}

func (s *store) addBlob(data []byte) string {
	id := object("blob", data)
	s.blobs[id] = data
	return id
}

// addTree stores the tree of files and all trees below it, and returns its id.
func (s *store) addTree(files map[string]string) string {
	type entry struct{ mode, name, id string }
	below := map[string]map[string]string{}
	var entries []entry
	for path, blob := range files {
		if dir, rest, nested := strings.Cut(path, "/"); nested {
			if below[dir] == nil {
				below[dir] = map[string]string{}
			}
			below[dir][rest] = blob
		} else {
			entries = append(entries, entry{"100644", path, blob})
		}
	}
	for dir, inner := range below {
		entries = append(entries, entry{"40000", dir, s.addTree(inner)})
	}
	order := func(e entry) string {
		if e.mode == "40000" {
			return e.name + "/"
		}
		return e.name
	}
	sort.Slice(entries, func(a, b int) bool { return order(entries[a]) < order(entries[b]) })
	var data bytes.Buffer
	for _, e := range entries {
		raw, _ := hex.DecodeString(e.id)
		fmt.Fprintf(&data, "%s %s\x00%s", e.mode, e.name, raw)
	}
	id := object("tree", data.Bytes())
	kept := make(map[string]string, len(files))
	for path, blob := range files {
		kept[path] = blob
	}
	s.trees[id] = kept
	return id
}

func (s *store) addCommit(tree, message, author string, at time.Time, parents ...string) *commit {
	var data bytes.Buffer
	fmt.Fprintf(&data, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&data, "parent %s\n", p)
	}
	fmt.Fprintf(&data, "author %s <%s@users.noreply.github.com> %d +0000\n", author, author, at.Unix())
	fmt.Fprintf(&data, "committer %s <%s@users.noreply.github.com> %d +0000\n\n%s", author, author, at.Unix(), message)
	c := &commit{sha: object("commit", data.Bytes()), tree: tree, message: message, parents: parents, author: author, at: at}
	s.commits[c.sha] = c
	return c
}

// resolve finds the commit that a branch, "heads/…", full or short id names.
func (s *store) resolve(ref string) *commit {
	name := strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/")
	if sha, ok := s.branches[name]; ok {
		return s.commits[sha]
	}
	if c := s.commits[ref]; c != nil {
		return c
	}
	if len(ref) >= 7 {
		for sha, c := range s.commits {
			if strings.HasPrefix(sha, ref) {
				return c
			}
		}
	}
	return nil
}

// ancestor says whether older is newer or one of its ancestors.
func (s *store) ancestor(older, newer string) bool {
	seen, todo := map[string]bool{}, []string{newer}
	for len(todo) > 0 {
		sha := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if sha == older {
			return true
		}
		if c := s.commits[sha]; c != nil && !seen[sha] {
			seen[sha] = true
			todo = append(todo, c.parents...)
		}
	}
	return false
}

// history lists commits from sha back by first parents, newest first; with
// path only those that changed something at or below it.
func (s *store) history(sha, path string) []*commit {
	var out []*commit
	for c := s.commits[sha]; c != nil; {
		var parent *commit
		if len(c.parents) > 0 {
			parent = s.commits[c.parents[0]]
		}
		if path == "" || s.under(c, path) != s.under(parent, path) {
			out = append(out, c)
		}
		c = parent
	}
	return out
}

// under describes what lies at or below path, to compare two commits.
func (s *store) under(c *commit, path string) string {
	if c == nil {
		return ""
	}
	files := s.trees[c.tree]
	var out strings.Builder
	for _, name := range sortedKeys(files) {
		if name == path || strings.HasPrefix(name, path+"/") {
			out.WriteString(name + files[name] + "\n")
		}
	}
	return out.String()
}
