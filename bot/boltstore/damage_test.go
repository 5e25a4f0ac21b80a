package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// filled makes a data folder with n tasks and returns it with the database's path.
func filled(t *testing.T, n int) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	for i := range n {
		put(t, s, i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "sandpiper.db")
}

// copied returns a new data folder with a copy of the database.
func copied(t *testing.T, database string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "sandpiper.db")
	body, err := os.ReadFile(database)
	if err == nil {
		err = os.WriteFile(path, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func open(t *testing.T, dir string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put commits one task with everything that belongs to it.
func put(t testing.TB, s *boltstore.Store, i int) string {
	t.Helper()
	id, err := putTask(s, i)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func putTask(s *boltstore.Store, i int) (string, error) {
	now := time.Now()
	task := bot.Task{
		ID: s.NewID(now), State: bot.TaskQueued, Created: now, Title: strings.Repeat("title ", 10),
		Event: bot.Event{
			Key: fmt.Sprint("key ", i), Text: strings.Repeat("text ", 60), Actor: bot.Actor{ID: fmt.Sprint("actor ", i%9)},
			Origin: bot.Origin{Adapter: "test", Conversation: fmt.Sprint("c", i%50)},
		},
	}
	_, err := s.Commit(context.Background(), bot.Commit{
		Keys: []string{task.Event.Key}, Task: &task,
		Audit: []bot.AuditEntry{{At: now, Kind: bot.AuditEvent, Task: task.ID}},
	})
	return task.ID, err
}

func TestASecondProcessIsTold(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if _, err := boltstore.Open(boltstore.Options{Dir: dir}); !errors.Is(err, boltstore.ErrInUse) {
		t.Errorf("second open: %v", err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	dir, path := filled(t, 1)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("version"), binary.BigEndian.AppendUint64(nil, 7))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var newer *boltstore.NewerError
	if _, err := boltstore.Open(boltstore.Options{Dir: dir}); !errors.As(err, &newer) || newer.Have != 7 || !strings.Contains(err.Error(), "newer sandpiper") {
		t.Errorf("open: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the newer database was changed (%v)", err)
	}
}

func TestDamageIsAnErrorThatNamesAWayOut(t *testing.T) {
	foreign := func(path string) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			return err
		}
		err = db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("somebody's"))
			return err
		})
		return errors.Join(err, db.Close())
	}
	tests := map[string]func(path string) error{
		"cut in half":       func(p string) error { return resize(p, 0.5) },
		"cut to its header": func(p string) error { return os.Truncate(p, 8192) },
		"cut to a byte":     func(p string) error { return os.Truncate(p, 1) },
		"text":              func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("not a database\n", 900)), 0o600) },
		"zeros":             func(p string) error { return os.WriteFile(p, make([]byte, 1<<16), 0o600) },
		"another program's": foreign,
	}
	_, whole := filled(t, 200)
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir, path := copied(t, whole)
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			var damaged *boltstore.DamagedError
			if _, err := boltstore.Open(boltstore.Options{Dir: dir}); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "restore") {
				t.Errorf("open: %v", err)
			}
		})
	}
}

func resize(path string, part float64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, int64(float64(info.Size())*part))
}

// TestRotNeverPanics overwrites random pages: whatever is read then, an error or
// an answer may come, but the process must live. A store that says nothing until
// Verify is asked must not say that all is well.
func TestRotNeverPanics(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	const rounds = 40
	_, whole := filled(t, 60)
	for range rounds {
		dir, path := copied(t, whole)
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const page = 4096
		at := page * (2 + random.IntN(len(body)/page-2))
		for i := range page {
			body[at+i] = byte(random.Uint32())
		}
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := useAll(t.Context(), dir); err != nil {
			found++
		}
	}
	t.Logf("%d of %d rotten pages were in use and noticed", found, rounds)
	if found < rounds/4 {
		t.Errorf("only %d of %d rotten databases were noticed", found, rounds)
	}
}

// useAll opens a store and reads and writes everything in it.
func useAll(ctx context.Context, dir string) error {
	s, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		return err
	}
	tasks, err := s.Tasks(ctx, bot.TaskQuery{Limit: 1000})
	_, err2 := s.Open(ctx)
	_, err3 := s.Pending(ctx)
	_, err4 := bot.VerifyAudit(ctx, s, nil)
	_, err5 := putTask(s, 1000)
	err = errors.Join(err, err2, err3, err4, err5, s.Verify(ctx))
	for i := range tasks {
		_, stepErr := s.Steps(ctx, tasks[i].ID)
		err = errors.Join(err, stepErr)
	}
	return errors.Join(err, s.Close())
}

// envFull has the re-executed test fill a small disk that it mounts.
const envFull = "BOLTSTORE_FULL_DISK"

func TestAFullDiskLosesNothing(t *testing.T) {
	if dir := os.Getenv(envFull); dir != "" {
		fillDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskLosesNothing$", "-test.v")
	cmd.Env = append(os.Environ(), envFull+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var denied *os.PathError
	if errors.As(err, &denied) || strings.Contains(string(out), "cannot mount") {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisk commits until the disk is full, frees it, and compares.
func fillDisk(t *testing.T, dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Fatalf("cannot mount: %v", err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	s := open(t, data)
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	var accepted []string
	var id string
	for i := 0; ; i++ {
		if id, err = putTask(s, i); err != nil {
			break
		}
		accepted = append(accepted, id)
	}
	if !errors.Is(err, bot.ErrReadOnly) {
		t.Errorf("full disk: %v", err)
	}
	if _, err := blobs.Put(t.Context(), bytes.NewReader(make([]byte, 4<<20)), 0); !errors.Is(err, bot.ErrReadOnly) {
		t.Errorf("full disk, blob: %v", err)
	}
	checkAccepted(t, s, accepted)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if id, err = putTask(s, -1); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	accepted = append(accepted, id)
	if err := errors.Join(s.Verify(t.Context()), s.Close()); err != nil {
		t.Error(err)
	}
	s = open(t, data)
	defer s.Close()
	checkAccepted(t, s, accepted)
}

func checkAccepted(t *testing.T, s *boltstore.Store, accepted []string) {
	t.Helper()
	tasks, err := s.Tasks(t.Context(), bot.TaskQuery{Limit: 1 << 20})
	if err != nil || len(tasks) != len(accepted) || len(tasks) < 100 {
		t.Errorf("%d tasks are there of %d accepted (%v)", len(tasks), len(accepted), err)
	}
	for _, id := range accepted {
		if _, err := s.Task(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}
