package skills

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed builtin
var builtin embed.FS

// Builtin gives the skills that come with the binary, one folder each.
func Builtin() fs.FS {
	sub, err := fs.Sub(builtin, SourceBuiltin)
	if err != nil { // the name is a constant: fs.Sub fails on invalid paths only
		panic(fmt.Sprintf("open built-in skills: %v", err))
	}
	return sub
}
