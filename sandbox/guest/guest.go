package guest

import (
	"embed"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed loader.py
var loader string

//go:embed all:sandpiper
var tree embed.FS

// Loader is the Python source that a session's first process is started with:
// it reads the archive from stdin and becomes the supervisor.
func Loader() string { return loader }

// Archive packs the guest's package for the loader: 4 bytes of length, then
// per file 2 bytes of path length, the path ("sandpiper/…"), 4 bytes of size
// and the content, all big-endian, in the order of the paths.
func Archive() ([]byte, error) {
	packed := make([]byte, 4)
	err := fs.WalkDir(tree, "sandpiper", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || strings.Contains(path, "__pycache__") {
			return nil
		}
		content, err := tree.ReadFile(path)
		if err != nil {
			return err
		}
		packed = binary.BigEndian.AppendUint16(packed, uint16(len(path)))
		packed = append(packed, path...)
		packed = binary.BigEndian.AppendUint32(packed, uint32(len(content)))
		packed = append(packed, content...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("pack guest: %w", err)
	}
	binary.BigEndian.PutUint32(packed, uint32(len(packed)-4))
	return packed, nil
}
