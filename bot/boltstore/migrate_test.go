package boltstore

import (
	"errors"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestAMigrationIsAStepWithACopyKept(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	task := bot.Task{ID: s.NewID(s.clock.Now()), State: bot.TaskDone}
	if _, err := s.Commit(t.Context(), bot.Commit{Task: &task}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("a bug in the step")
	step := func(fail error) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			if _, err := tx.CreateBucketIfNotExists([]byte("added")); err != nil {
				return err
			}
			return fail
		}
	}
	if err := s.migrate(append(migrations(), step(broken))); !errors.Is(err, broken) {
		t.Errorf("a broken step: %v", err)
	}
	if have, err := s.schema(); err != nil || have != uint64(len(migrations())) {
		t.Errorf("after a broken step the schema is %d (%v)", have, err)
	}
	if err := s.migrate(append(migrations(), step(nil))); err != nil {
		t.Fatal(err)
	}
	if have, err := s.schema(); err != nil || have != uint64(len(migrations()))+1 {
		t.Errorf("the schema is %d (%v)", have, err)
	}
	if _, err := s.Task(t.Context(), task.ID); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var newer *NewerError
	if _, err := Open(Options{Dir: dir}); !errors.As(err, &newer) {
		t.Errorf("the older code opens it: %v", err)
	}
	// The copy is the file as it was, and the older code opens that.
	copied, err := openFile(filepath.Join(dir, fileName+".schema-1"))
	if err != nil {
		t.Fatal(err)
	}
	old := &Store{dir: dir, clock: s.clock, db: copied}
	if err := old.migrate(migrations()); err != nil {
		t.Error(err)
	}
	if _, err := old.Task(t.Context(), task.ID); err != nil {
		t.Error(err)
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
}
