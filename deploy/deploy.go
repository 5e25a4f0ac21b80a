// Package deploy embeds those files of this folder that the binary needs: the
// recipe of the sandbox's image. The other files are for people and engines.
package deploy

import (
	"embed"
	"io/fs"
)

//go:embed sandbox/Dockerfile sandbox/requirements.txt sandbox/extras.sh sandbox/prepare.py
var files embed.FS

// SandboxRecipe is the build context of the sandbox's image, Dockerfile at its
// root.
func SandboxRecipe() fs.FS {
	recipe, err := fs.Sub(files, "sandbox")
	if err != nil {
		panic(err) // the path is a constant and valid
	}
	return recipe
}
