package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// The buckets of what must be remembered.
const (
	plansBucket = "console.plans" // by delivery: the names its files got
	filesBucket = "console.files" // by absolute path: what we wrote there
)

// plan is decided and stored before the first file is written, so that a
// later life finishes it under the same names.
type plan struct {
	Files []planned `json:"files"`
}

type planned struct {
	Name    string `json:"name"`              // the artifact's
	As      string `json:"as,omitempty"`      // the name in the folder, slash-separated
	Refused string `json:"refused,omitempty"` // why it is not written
}

// written is what we put at a path: the newest content last, and while it is
// being replaced the one before it too. It is stored in capital letters: the
// core takes hashes in lower case as references that keep their content, and this
// one is to survive neither retention nor a purge.
type written struct {
	SHA256 []string `json:"sha256"`
}

// writer places the files of one delivery.
type writer struct {
	*Channel
	root *os.Root
	out  string
}

func pathIn(out, name string) string { return filepath.Join(out, filepath.FromSlash(name)) }

func (c *Channel) storedPlan(ctx context.Context, delivery string) (*plan, uint64, error) {
	record, err := c.records.Get(ctx, plansBucket, delivery)
	if err != nil {
		return nil, 0, fmt.Errorf("read file names of %s: %w", delivery, err)
	}
	stored := new(plan)
	if err := json.Unmarshal(record.Value, stored); err != nil {
		return nil, 0, fmt.Errorf("read file names of %s: %w", delivery, err)
	}
	return stored, record.Revision, nil
}

// plan returns the names that the delivery's files get: those decided before,
// or new ones, which it stores.
func (w writer) plan(ctx context.Context, delivery bot.Delivery) (*plan, error) {
	made, _, err := w.storedPlan(ctx, delivery.ID)
	if err == nil && len(made.Files) == len(delivery.Files) {
		return made, nil
	}
	if err != nil && !errors.Is(err, bot.ErrNotFound) {
		return nil, err
	}
	made = &plan{}
	taken := map[string]bool{}
	for _, file := range delivery.Files {
		step := planned{Name: file.Name}
		if step.As, err = w.choose(ctx, file, taken); err != nil {
			step.Refused = reason(err).Error()
		}
		taken[step.As] = true
		made.Files = append(made.Files, step)
	}
	value, err := json.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("store file names: %w", err)
	}
	if _, err := w.records.Put(ctx, plansBucket, delivery.ID, value, 0); err != nil {
		return nil, fmt.Errorf("store file names: %w", err)
	}
	return made, nil
}

// choose returns the first of NAME, NAME-2, NAME-3 … that is free or ours.
func (w writer) choose(ctx context.Context, file bot.Artifact, taken map[string]bool) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(file.Name)) {
		return "", errors.New("its name leads out of the folder")
	}
	if err := w.noLinksAbove(file.Name); err != nil {
		return "", err
	}
	ext := path.Ext(file.Name)
	stem := strings.TrimSuffix(file.Name, ext)
	const most = 1000
	for n := 1; n <= most; n++ {
		name := file.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		if taken[name] {
			continue
		}
		ours, err := w.replaceable(ctx, name, file.Blob)
		if err != nil {
			return "", err
		}
		if ours {
			return name, nil
		}
	}
	return "", fmt.Errorf("%d files of that name are there already", most)
}

// noLinksAbove refuses a name whose folders are links or no folders.
func (w writer) noLinksAbove(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := w.root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, and nothing is written through links", dir)
		case !info.IsDir():
			return fmt.Errorf("%s is a file where a folder must be", dir)
		}
	}
	return nil
}

// replaceable reports whether name may be written: nothing is there, or a
// regular file with the very content, or with content that we wrote there.
func (w writer) replaceable(ctx context.Context, name, blob string) (bool, error) {
	info, err := w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	sum, err := hashOf(w.root, name)
	if err != nil {
		return false, nil //nolint:nilerr // what cannot be read is somebody else's
	}
	if sum == blob {
		return true, nil
	}
	known, _, err := w.writtenAt(ctx, name)
	return slices.Contains(known.SHA256, sum), err
}

func (w writer) writtenAt(ctx context.Context, name string) (written, uint64, error) {
	var known written
	record, err := w.records.Get(ctx, filesBucket, pathIn(w.out, name))
	if errors.Is(err, bot.ErrNotFound) {
		return known, 0, nil
	} else if err != nil {
		return known, 0, fmt.Errorf("read what was written to %s: %w", name, err)
	}
	if err := json.Unmarshal(record.Value, &known); err != nil {
		return known, 0, fmt.Errorf("read what was written to %s: %w", name, err)
	}
	for i := range known.SHA256 {
		known.SHA256[i] = strings.ToLower(known.SHA256[i])
	}
	return known, record.Revision, nil
}

// place brings one file to its name: whole, durable and at once.
func (w writer) place(ctx context.Context, delivery string, file bot.Artifact, step planned) error {
	if sum, err := hashOf(w.root, step.As); err == nil && sum == file.Blob {
		return w.remember(ctx, step.As, file.Blob)
	}
	if err := w.noLinksAbove(step.As); err != nil {
		return err
	}
	if dir := path.Dir(step.As); dir != "." {
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	known, _, err := w.writtenAt(ctx, step.As)
	if err != nil {
		return err
	}
	if err := w.remember(ctx, step.As, append(known.SHA256, file.Blob)...); err != nil {
		return err
	}
	// The temporary name is the same in every life, so that none is left over.
	temporary := path.Join(path.Dir(step.As), ".sandpiper-"+delivery+"-"+file.Blob[:min(8, len(file.Blob))])
	if err := w.write(ctx, temporary, file); err != nil {
		_ = w.root.Remove(temporary)
		return err
	}
	if err := w.root.Rename(temporary, step.As); err != nil {
		_ = w.root.Remove(temporary)
		return err
	}
	return w.remember(ctx, step.As, file.Blob)
}

// remember records what stands, or is about to stand, at name.
func (w writer) remember(ctx context.Context, name string, sums ...string) error {
	known, revision, err := w.writtenAt(ctx, name)
	if err != nil {
		return err
	}
	if len(sums) > 2 {
		sums = sums[len(sums)-2:]
	}
	if slices.Equal(known.SHA256, sums) {
		return nil
	}
	var stored written
	for _, sum := range sums {
		stored.SHA256 = append(stored.SHA256, strings.ToUpper(sum))
	}
	value, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("remember %s: %w", name, err)
	}
	if _, err := w.records.Put(ctx, filesBucket, pathIn(w.out, name), value, revision); err != nil {
		return fmt.Errorf("remember %s: %w", name, err)
	}
	return nil
}

// write streams the artifact into a new file and checks what it wrote.
func (w writer) write(ctx context.Context, name string, file bot.Artifact) error {
	content, err := w.blobs.Open(ctx, file.Blob)
	if err != nil {
		return fmt.Errorf("its content is gone: %w", err)
	}
	defer content.Close()
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := w.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), content)
	if err == nil {
		err = to.Sync()
	}
	if closing := to.Close(); err == nil {
		err = closing
	}
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != file.Blob {
		err = errors.New("its stored content is damaged")
	}
	return err
}

// hashOf hashes a regular file of the root; links and pipes are errors.
func hashOf(root *os.Root, name string) (string, error) {
	if name == "" {
		return "", fs.ErrNotExist
	}
	if info, err := root.Lstat(name); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", errors.New("no regular file")
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
