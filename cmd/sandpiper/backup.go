package main

import (
	"archive/tar"
	"compress/gzip"
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
	"regexp"
	"strings"
	"syscall"

	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

// The files of a backup, a gzipped tar; the database comes first, so that all
// content it speaks of is stored already when its turn comes.
const (
	databaseFile = "sandpiper.db"
	identityFile = "identity.json"
)

// backup writes the data folder as it is now.
func (a *app) backup(ctx context.Context, _ struct{}, w io.Writer) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	if err := a.backupDatabase(ctx, archive); err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	root, err := os.OpenRoot(a.loaded.DataDir)
	if err != nil {
		return fmt.Errorf("back up files: %w", err)
	}
	defer root.Close()
	if err := addFile(archive, root, identityFile); err != nil {
		return fmt.Errorf("back up identity: %w", err)
	}
	for _, dir := range []string{"blobs", "skills"} {
		if err := addFolder(ctx, archive, root, dir); err != nil {
			return fmt.Errorf("back up %s: %w", dir, err)
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// backupDatabase copies the database as of one instant: to a file first, for
// an archive tells the size before the content.
func (a *app) backupDatabase(ctx context.Context, archive *tar.Writer) error {
	copied, err := os.CreateTemp(a.loaded.DataDir, "backup-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(copied.Name())
	defer copied.Close()
	if err := a.store.Backup(ctx, copied); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return &fault.Error{
				Status: fault.Failed, Message: "the disk of the data folder is full: a copy of the database lies there while a backup is written",
				Hint: "free some space there, or stop the bot and copy the whole folder", Err: err,
			}
		}
		return err
	}
	size, err := copied.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := copied.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: databaseFile, Mode: 0o600, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(archive, copied)
	return err
}

func addFile(archive *tar.Writer, root *os.Root, name string) error {
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // content that retention took meanwhile
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, file, info.Size())
	return err
}

func addFolder(ctx context.Context, archive *tar.Writer, root *os.Root, dir string) error {
	return fs.WalkDir(root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.Type().IsRegular() || !inBackup(name):
			return nil
		}
		return addFile(archive, root, name)
	})
}

// inBackup says which files a backup holds; nothing else is ever restored.
func inBackup(name string) bool {
	content := regexp.MustCompile(`^blobs/[0-9a-f]{2}/[0-9a-f]{64}$`)
	return name == databaseFile || name == identityFile || content.MatchString(name) ||
		(strings.HasPrefix(name, "skills/") && filepath.IsLocal(name) && path.Clean(name) == name)
}

type backupCmd struct {
	File string `arg:"" type:"path" help:"Where to write the backup."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run writes a backup, whole or not at all.
func (c *backupCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.File); err == nil {
		return fault.New(fault.Usage, "choose another name, or move it away", "%s is there already", term.Line(c.File))
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		part, err := os.OpenFile(c.File+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fault.New(fault.Usage, "name a file in a folder that you can write to", "%v", err)
		}
		err = control.Download(ctx, client, "backup", struct{}{}, part)
		if err == nil {
			err = part.Sync()
		}
		err = errors.Join(err, part.Close())
		if err == nil {
			err = os.Rename(part.Name(), c.File)
		}
		if err != nil {
			return errors.Join(err, os.Remove(part.Name()))
		}
		info, err := os.Stat(c.File)
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(map[string]any{"file": c.File, "size": info.Size()})
		}
		return e.print("wrote %s (%s)\n", c.File, term.Bytes(info.Size()))
	})
}

type restoreCmd struct {
	File string `arg:"" type:"path" help:"The backup."`
}

// Run puts a backup into a data folder that holds no database yet.
func (c *restoreCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(loaded.DataDir, databaseFile)); err == nil {
		return fault.New(fault.Usage, "move that folder away first, or set SANDPIPER_DATA_DIR to another one", "the data folder %s holds a database already", loaded.DataDir)
	}
	file, err := os.Open(c.File)
	if err != nil {
		return fault.New(fault.Usage, "name a backup that sandpiper backup wrote", "%s: %v", term.Line(c.File), pathReason(err))
	}
	defer file.Close()
	n, err := unpack(e.ctx(), file, loaded)
	if err != nil {
		return &fault.Error{Status: fault.Failed, Message: fmt.Sprintf("%s cannot be restored: %v", c.File, err), Hint: "nothing was changed", Err: err}
	}
	return e.print("restored %s into %s; check it with: sandpiper audit verify\n", count(n, "file"), loaded.DataDir)
}

// unpack fills a folder in the data folder, where its files are on the same file
// system and the user may write, reads the whole database in it as a proof, and
// only then moves all of it to its place.
func unpack(ctx context.Context, from io.Reader, loaded *config.Loaded) (n int, err error) {
	if err := os.MkdirAll(loaded.DataDir, 0o700); err != nil {
		return 0, err
	}
	fresh, err := os.MkdirTemp(loaded.DataDir, ".restore-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(fresh)
	root, err := os.OpenRoot(fresh)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	zipped, err := gzip.NewReader(from)
	if err != nil {
		return 0, err
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return n, err
		}
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		if header.Typeflag != tar.TypeReg || !inBackup(header.Name) {
			return n, fmt.Errorf("it holds %q, which no backup does", header.Name)
		}
		if err := unpackFile(root, header.Name, archive); err != nil {
			return n, err
		}
		n++
	}
	// The archive ends before what packs it: only its last bytes hold the checksum.
	if _, err := io.Copy(io.Discard, zipped); err != nil {
		return n, err
	}
	if _, err := root.Lstat(databaseFile); err != nil {
		return n, errors.New("it holds no database")
	}
	store, err := boltstore.Open(boltstore.Options{Dir: fresh})
	if err != nil {
		return n, err
	}
	// Check commits, Verify reads everything: a copy of what was damaged when it
	// was made is found here, not by the first task that needs the lost part.
	if err := errors.Join(store.Check(ctx), store.Verify(ctx), store.Close()); err != nil {
		var damaged *boltstore.DamagedError
		if errors.As(err, &damaged) {
			err = fmt.Errorf("its database is damaged: %s", damaged.Reason)
		}
		return n, err
	}
	return n, moveIn(fresh, loaded.DataDir)
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if strings.HasPrefix(name, "blobs/") && hex.EncodeToString(sum.Sum(nil)) != path.Base(name) {
		return fmt.Errorf("the content of %s does not have its hash", name)
	}
	return nil
}

// moveIn moves every file into the data folder, the database last: where it is,
// the restore is complete. A folder that lost only its database still has content
// and skills: they stay, and where the backup has the same file, it is taken.
func moveIn(fresh, dataDir string) error {
	for _, name := range []string{"blobs", "skills", identityFile, databaseFile} {
		if err := moveTree(fresh, dataDir, name); err != nil {
			return err
		}
	}
	return nil
}

func moveTree(from, to, name string) error {
	return filepath.WalkDir(filepath.Join(from, name), func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing of the kind is in the backup
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, relative), 0o700)
		}
		return os.Rename(file, filepath.Join(to, relative))
	})
}
