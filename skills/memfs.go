package skills

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
	"time"
)

// snapshot is a read-only fs.FS over the files of one skill as they were when
// it was loaded: what is sent to a session is what was hashed, whatever
// happens to the folder meanwhile. Keys are slash-separated relative paths of
// regular files; folders follow from them.
type snapshot map[string][]byte

// Open implements fs.FS.
func (s snapshot) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if data, ok := s[name]; ok {
		return &openFile{Reader: bytes.NewReader(data), info: entry{name: path.Base(name), size: int64(len(data))}}, nil
	}
	list := s.children(name)
	if len(list) == 0 && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openDir{info: entry{name: path.Base(name), dir: true}, list: list}, nil
}

// ReadFile implements fs.ReadFileFS.
func (s snapshot) ReadFile(name string) ([]byte, error) {
	data, ok := s[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(data), nil
}

// children lists the direct entries of a folder, sorted by name.
func (s snapshot) children(dir string) []fs.DirEntry {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	seen := map[string]entry{}
	for name, data := range s {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			seen[first] = entry{name: first, dir: true}
		} else {
			seen[rest] = entry{name: rest, size: int64(len(data))}
		}
	}
	list := make([]fs.DirEntry, 0, len(seen))
	for _, e := range seen {
		list = append(list, fs.FileInfoToDirEntry(e))
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list
}

// entry is the fs.FileInfo of a file or folder in a snapshot.
type entry struct {
	name string
	size int64
	dir  bool
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) IsDir() bool        { return e.dir }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) Sys() any           { return nil }

func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openFile struct {
	*bytes.Reader
	info entry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info entry
	list []fs.DirEntry
	next int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.list[d.next:]
	if n <= 0 {
		d.next = len(d.list)
		return rest, nil
	}
	if len(rest) == 0 {
		return nil, io.EOF
	}
	rest = rest[:min(n, len(rest))]
	d.next += len(rest)
	return rest, nil
}
