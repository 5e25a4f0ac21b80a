package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// DamagedError says that the database file cannot be trusted.
type DamagedError struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the database %s is damaged (%s); move it aside and run 'sandpiper restore BACKUP', or start anew without it: blobs and settings stay", e.Path, e.Reason)
}

// bbolt's meta page, as its format version 2 lays it out: a page header of 16
// bytes, then magic, version, page size and flags (4 bytes each), the root
// bucket (16), free list (8), high-water page (8), transaction (8) and an
// FNV-1a checksum of what comes before it (8).
const (
	pageHeader  = 16
	metaLength  = 64
	metaMagic   = 0xED0CDAED
	metaSum     = 56
	metaTxn     = 48
	metaHigh    = 40
	metaPage    = 8
	largestPage = 64 << 10
)

// checkFile reads the file's two meta pages before bbolt maps it: pages that
// a truncated file lacks would otherwise be faults in mapped memory.
func checkFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if info.Size() == 0 {
		return nil // bbolt makes it new
	}
	need, ok := neededSize(f)
	if !ok {
		return &DamagedError{Path: path, Reason: "it has no valid header"}
	}
	if info.Size() < need {
		return &DamagedError{Path: path, Reason: fmt.Sprintf("it has %d bytes of %d", info.Size(), need)}
	}
	return nil
}

// neededSize returns the size that the newest valid meta page speaks of.
func neededSize(f io.ReaderAt) (int64, bool) {
	var need int64
	var newest uint64
	found := false
	for at := int64(0); at <= largestPage; {
		high, txn, page, ok := readMeta(f, at)
		if ok && (!found || txn > newest) {
			newest, found = txn, true
			need = int64(high) * int64(page)
		}
		if at == 0 {
			at = 1024
		} else {
			at *= 2
		}
	}
	return need, found
}

func readMeta(f io.ReaderAt, at int64) (high, txn uint64, page uint32, ok bool) {
	var b [pageHeader + metaLength]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return 0, 0, 0, false
	}
	m := b[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSum]) // a hash never fails
	if binary.NativeEndian.Uint32(m) != metaMagic || binary.NativeEndian.Uint64(m[metaSum:]) != sum.Sum64() {
		return 0, 0, 0, false
	}
	return binary.NativeEndian.Uint64(m[metaHigh:]), binary.NativeEndian.Uint64(m[metaTxn:]), binary.NativeEndian.Uint32(m[metaPage:]), true
}
