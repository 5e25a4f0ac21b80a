package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

// input is a file of a request on the asker's side.
type input struct {
	path string
	name string // unique within the request
	blob bot.Blob
}

// checkInputs looks at every file before anything starts: what cannot be read
// is wrong use.
func checkInputs(paths []string, limits config.Limits) ([]input, error) {
	if len(paths) > limits.Inputs {
		return nil, fault.New(fault.Usage, "name fewer files, or raise limits.inputs", "%d files are more than a request may bring (%d)", len(paths), limits.Inputs)
	}
	var out []input
	taken := map[string]bool{}
	for _, path := range paths {
		if err := checkInput(path, limits.Input); err != nil {
			return nil, err
		}
		name := freeName(filepath.Base(path), taken)
		taken[name] = true
		out = append(out, input{path: path, name: name})
	}
	return out, nil
}

func checkInput(path string, limit config.Size) error {
	shown := term.Line(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, "check the name", "%s: there is no such file", shown)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Usage, "make it readable to you", "%s: permission denied", shown)
	case err != nil:
		return fault.New(fault.Usage, "", "%s: %v", shown, pathReason(err))
	case info.IsDir():
		return fault.New(fault.Usage, "name the files in it", "%s is a folder", shown)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return fault.New(fault.Usage, "name a file", "%s is neither a file nor a pipe", shown)
	case info.Size() > int64(limit):
		return tooLarge(shown, limit)
	}
	if info.Mode().IsRegular() {
		file, err := os.Open(path)
		if err != nil {
			return fault.New(fault.Usage, "make it readable to you", "%s: %v", shown, pathReason(err))
		}
		file.Close()
	}
	return nil
}

func tooLarge(name string, limit config.Size) error {
	return fault.New(fault.Usage, "raise limits.input, or cut the file", "%s is larger than limits.input allows (%s)", name, limit)
}

// pathReason leaves the path out of an error that is told with it.
func pathReason(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// freeName gives files of one name from several folders names of their own.
func freeName(name string, taken map[string]bool) string {
	ext := filepath.Ext(name)
	stem := name[:len(name)-len(ext)]
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return name
}

// uploadInputs streams the files to the serving process. What a process that
// ended meanwhile has stored already is not sent again.
func uploadInputs(ctx context.Context, client *control.Client, inputs []input, limit config.Size) ([]bot.InputRef, error) {
	refs := make([]bot.InputRef, len(inputs))
	for i := range inputs {
		in := &inputs[i]
		if in.blob.SHA256 == "" {
			blob, err := upload(ctx, client, *in, limit)
			if err != nil {
				return nil, err
			}
			in.blob = blob
		}
		refs[i] = bot.InputRef{Name: in.name, Size: in.blob.Size, Blob: in.blob.SHA256}
	}
	return refs, nil
}

func upload(ctx context.Context, client *control.Client, in input, limit config.Size) (bot.Blob, error) {
	file, err := os.Open(in.path)
	if err != nil {
		return bot.Blob{}, fault.New(fault.Usage, "make it readable to you", "%s: %v", term.Line(in.path), pathReason(err))
	}
	defer file.Close()
	// One byte more than allowed tells a pipe that is too long.
	capped := &io.LimitedReader{R: file, N: int64(limit) + 1}
	blob, err := control.Upload[bot.Blob](ctx, client, "blobs/put", capped)
	if capped.N <= 0 {
		return bot.Blob{}, tooLarge(term.Line(in.path), limit)
	}
	var own *fs.PathError
	if errors.As(err, &own) {
		return bot.Blob{}, fault.New(fault.Usage, "", "%s: %v", term.Line(in.path), own.Err)
	}
	return blob, err
}

// checkOut makes the folder for the answer's files absolute and refuses what
// cannot be written to, before a task is made. A folder that nobody named must
// not be a link: it may be somebody else's trap.
func checkOut(out string, named bool) (string, error) {
	abs, err := filepath.Abs(out)
	if err != nil {
		return "", fault.New(fault.Usage, "", "--out %s: %v", term.Line(out), err)
	}
	const hint = "name another folder with --out"
	if info, err := os.Lstat(abs); err == nil && !named && info.Mode()&fs.ModeSymlink != 0 {
		return "", fault.New(fault.Usage, "name the folder you mean with --out", "%s is a link, and may lead anywhere", term.Line(out))
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
			continue // it will be made in the next folder above that is there
		case errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return "", fault.New(fault.Usage, hint, "%s: %v", term.Line(dir), pathReason(err))
		case !info.IsDir():
			return "", fault.New(fault.Usage, hint, "%s is not a folder", term.Line(dir))
		case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
			return "", fault.New(fault.Usage, hint, "%s is not writable to you", term.Line(dir))
		}
		return abs, nil
	}
}
