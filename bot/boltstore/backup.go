package boltstore

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// ErrNotEmpty says that a backup would be restored over something.
var ErrNotEmpty = errors.New("the data folder holds a database already: move it aside first")

// BackupOptions say what a backup holds.
type BackupOptions struct {
	Store *Store
	// Folders of the data folder to take along beside database, blobs and key,
	// where they exist: "skills" for instance.
	Folders []string
}

// Backup writes the data folder to w as a tar archive while it is in use: the
// database as it stands at one moment, then the content it may refer to.
func Backup(ctx context.Context, w io.Writer, opts BackupOptions) error {
	archive := tar.NewWriter(w)
	err := opts.Store.view(ctx, func(tx *bolt.Tx) error {
		head := &tar.Header{Name: fileName, Mode: 0o600, Size: tx.Size(), ModTime: opts.Store.clock.Now()}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		_, err := tx.WriteTo(archive)
		return err
	})
	if err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	root, err := os.OpenRoot(opts.Store.dir)
	if err != nil {
		return fmt.Errorf("back up data folder: %w", err)
	}
	defer root.Close()
	for _, name := range append([]string{keyName, "blobs"}, opts.Folders...) {
		if err := archiveTree(ctx, archive, root, name); err != nil {
			return fmt.Errorf("back up %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("back up data folder: %w", err)
	}
	return nil
}

// archiveTree adds the regular files under name. What goes away meanwhile is no
// longer referred to.
func archiveTree(ctx context.Context, archive *tar.Writer, root *os.Root, name string) error {
	return fs.WalkDir(root.FS(), name, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.Type().IsRegular() || path.Dir(file) == "blobs/tmp":
			return nil
		}
		f, err := root.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		head := &tar.Header{Name: file, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		_, err = io.CopyN(archive, f, info.Size())
		return err
	})
}

// Restore fills the data folder dir from a backup. It fails with ErrNotEmpty
// where there is a database, and leaves none behind when the backup is damaged.
func Restore(ctx context.Context, dir string, r io.Reader) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
		return fmt.Errorf("restore into %s: %w", dir, ErrNotEmpty)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer root.Close()
	const incoming = fileName + ".restore"
	if err := unpack(ctx, root, r, incoming); err != nil {
		return fmt.Errorf("restore: %w", errors.Join(err, gone(root.Remove(incoming))))
	}
	// The database comes last: a restore that broke off left none.
	if err := root.Rename(incoming, fileName); err != nil {
		return fmt.Errorf("restore: the backup holds no database: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return tryOpen(ctx, dir, root)
}

// gone ignores that a file is absent.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tryOpen checks a restored database whole, and takes a damaged one away.
func tryOpen(ctx context.Context, dir string, root *os.Root) error {
	s, err := Open(Options{Dir: dir})
	if err == nil {
		err = errors.Join(s.Verify(ctx), s.Close())
	}
	if err != nil {
		return fmt.Errorf("restore: the backup is damaged: %w", errors.Join(err, root.Remove(fileName)))
	}
	return nil
}

// unpack writes the archive's files below root, the database under another name.
func unpack(ctx context.Context, root *os.Root, r io.Reader, database string) error {
	archive := tar.NewReader(r)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read backup: %w", err)
		}
		if head.Typeflag != tar.TypeReg {
			return fmt.Errorf("read backup: %q is no regular file", head.Name)
		}
		name := head.Name
		if name == fileName {
			name = database
		}
		if err := unpackFile(ctx, root, name, archive); err != nil {
			return fmt.Errorf("restore %q: %w", head.Name, err)
		}
	}
}

func unpackFile(ctx context.Context, root *os.Root, name string, content io.Reader) (err error) {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, sum), reading(ctx, content)); err != nil {
		return writeError(err)
	}
	if want := path.Base(name); strings.HasPrefix(name, "blobs/") && hex.EncodeToString(sum.Sum(nil)) != want {
		return errors.New("its content does not have its hash")
	}
	return f.Sync()
}
