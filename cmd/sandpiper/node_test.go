package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// TestANewerDataFolderIsRefusedAndLeftAlone gives the database a schema that
// only a later version knows.
func TestANewerDataFolderIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, databaseFile)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("version"), binary.BigEndian.AppendUint64(nil, 4242))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sandpiper", "tasks", "list")
	cmd.Env = []string{"HOME=" + dir, "SANDPIPER_DATA_DIR=" + dir}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "schema 4242") || !strings.Contains(string(out), "SANDPIPER_DATA_DIR") {
		t.Errorf("exit status %d (%v), output:\n%s", cmd.ProcessState.ExitCode(), err, out)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("the database was changed (%v)", err)
	}
}

func TestTheHolderOfALockIsFound(t *testing.T) {
	dir := t.TempDir()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if pid := holderOf(filepath.Join(dir, databaseFile)); pid != os.Getpid() {
		t.Errorf("the holder is %d, want %d", pid, os.Getpid())
	}
	if pid := holderOf(filepath.Join(dir, "absent")); pid != 0 {
		t.Errorf("the holder of nothing is %d", pid)
	}
}

func TestSinceTime(t *testing.T) {
	for in, ok := range map[string]bool{"": true, "2026-11-01": true, "2026-11-01T09:00:00Z": true, "30d": true, "yesterday": false, "2026-13-01": false} {
		if _, err := sinceTime(in, systemClock{}.Now()); (err == nil) != ok {
			t.Errorf("sinceTime(%q) gave %v", in, err)
		}
	}
}

func TestFreeName(t *testing.T) {
	taken := map[string]bool{}
	for _, want := range []string{"a.csv", "a-2.csv", "a-3.csv"} {
		got := freeName("a.csv", taken)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		taken[got] = true
	}
}
