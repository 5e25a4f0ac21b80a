package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

func TestABackupUnderLoadRestores(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	key, err := boltstore.SigningKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := blobs.Put(t.Context(), strings.NewReader("content"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "skills", "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "skills", "mine", "SKILL.md"), []byte("a skill"), 0o600); err != nil {
		t.Fatal(err)
	}
	const before = 100
	for i := range before {
		put(t, s, i)
	}
	var load sync.WaitGroup
	stop := make(chan struct{})
	load.Go(func() {
		for i := before; ; i++ {
			select {
			case <-stop:
				return
			default:
				put(t, s, i)
			}
		}
	})
	var archive bytes.Buffer
	err = boltstore.Backup(t.Context(), &archive, boltstore.BackupOptions{Store: s, Folders: []string{"skills", "absent"}})
	close(stop)
	load.Wait()
	if err := errors.Join(err, s.Close(), blobs.Close()); err != nil {
		t.Fatal(err)
	}
	whole := archive.Bytes()

	t.Run("whole", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "data")
		if err := boltstore.Restore(t.Context(), to, bytes.NewReader(whole)); err != nil {
			t.Fatal(err)
		}
		s := open(t, to)
		defer s.Close()
		tasks, err := s.Tasks(t.Context(), bot.TaskQuery{Limit: 1 << 20})
		chain, err2 := bot.VerifyAudit(t.Context(), s, nil)
		if err := errors.Join(err, err2); err != nil || len(tasks) < before || int(chain.Last) != len(tasks) {
			t.Errorf("%d tasks and %d audit entries: %v", len(tasks), chain.Last, err)
		}
		again, err := boltstore.SigningKey(to)
		if err != nil || !again.Equal(key) {
			t.Errorf("another key: %v", err)
		}
		blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: to})
		if err != nil {
			t.Fatal(err)
		}
		defer blobs.Close()
		if f, err := blobs.Open(t.Context(), blob.SHA256); err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
		if skill, err := os.ReadFile(filepath.Join(to, "skills", "mine", "SKILL.md")); err != nil || string(skill) != "a skill" {
			t.Errorf("skill: %q %v", skill, err)
		}
		if err := boltstore.Restore(t.Context(), to, bytes.NewReader(whole)); !errors.Is(err, boltstore.ErrNotEmpty) {
			t.Errorf("restore over a database: %v", err)
		}
	})
	changed := bytes.Replace(bytes.Clone(whole), []byte("content"), []byte("CONTENT"), 1)
	rotten := bytes.Clone(whole)
	for i := range 20 * 4096 {
		rotten[512+2*4096+i] ^= 0xff
	}
	for name, archive := range map[string][]byte{
		"cut off": whole[:len(whole)/2], "nothing": nil, "rubbish": []byte(strings.Repeat("rubbish ", 1000)),
		"changed content": changed, "rotten database": rotten,
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			if err := boltstore.Restore(t.Context(), to, bytes.NewReader(archive)); err == nil {
				t.Error("restored")
			}
			if _, err := os.Stat(filepath.Join(to, "sandpiper.db")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a database is left: %v", err)
			}
		})
	}
}
