package boltstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// fileName is the database inside the data folder.
const fileName = "sandpiper.db"

// lockWait is how long Open waits for another process to let go of the file.
const lockWait = time.Second

// ErrInUse says that another process has the data folder open.
var ErrInUse = errors.New("the data folder is in use by another process")

// Options say where a Store lies.
type Options struct {
	Dir   string    // the data folder; made with mode 0700 when absent
	Clock bot.Clock // stamps claimed keys; nil: the system's
}

// Store implements bot.Store on one bbolt file.
type Store struct {
	dir   string
	clock bot.Clock

	// swap guards db: compaction closes the file and opens its successor.
	swap sync.RWMutex
	db   *bolt.DB

	// group gathers the writes that share a transaction.
	group group

	// idLock guards ids, so that ids made in one millisecond keep their order.
	idLock sync.Mutex
	ids    *ulid.MonotonicEntropy
}

// Open opens or makes the database in opts.Dir. It fails with ErrInUse,
// *NewerError or *DamagedError, each of which says what to do.
func Open(opts Options) (*Store, error) {
	if opts.Dir == "" {
		return nil, errors.New("open store: no data folder given")
	}
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	s := &Store{dir: opts.Dir, clock: opts.Clock, ids: ulid.Monotonic(rand.Reader, 0)}
	db, err := openFile(s.path())
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.migrate(migrations()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close waits for running transactions and lets go of the file.
func (s *Store) Close() error {
	s.swap.Lock()
	defer s.swap.Unlock()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// NewID implements bot.Committer.
func (s *Store) NewID(at time.Time) string {
	if at.Before(time.UnixMilli(0)) {
		at = time.UnixMilli(0) // an id cannot tell earlier times
	}
	s.idLock.Lock()
	defer s.idLock.Unlock()
	id, err := ulid.New(ulid.Timestamp(at), s.ids)
	if err != nil {
		// The monotonic part of this millisecond is used up: start a new one.
		s.ids = ulid.Monotonic(rand.Reader, 0)
		id = ulid.MustNew(ulid.Timestamp(at), s.ids)
	}
	return id.String()
}

func (s *Store) path() string { return filepath.Join(s.dir, fileName) }

// openFile opens one bbolt file, having looked first whether it is whole.
func openFile(path string) (db *bolt.DB, err error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	defer guard(path, &err)()
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      lockWait,
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: %w", path, ErrInUse)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, &DamagedError{Path: path, Reason: err.Error()}
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, writeError(err))
	}
	return db, nil
}

// view runs read in a read-only transaction.
func (s *Store) view(ctx context.Context, read func(*bolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.swap.RLock()
	defer s.swap.RUnlock()
	return s.db.View(func(tx *bolt.Tx) (err error) {
		defer guard(s.path(), &err)()
		return read(tx)
	})
}

// guard turns a panic, or a fault in mapped memory, of a damaged file into a
// *DamagedError. Call what it returns, deferred.
func guard(path string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = &DamagedError{Path: path, Reason: fmt.Sprint(p)}
		}
	}
}

// writeError marks errors of a disk that takes no more as bot.ErrReadOnly.
func writeError(err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EFBIG, fs.ErrPermission} {
		if errors.Is(err, full) {
			return fmt.Errorf("%w: %w", bot.ErrReadOnly, err)
		}
	}
	return err
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }
