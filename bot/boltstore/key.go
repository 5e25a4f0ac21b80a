package boltstore

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// keyName is the file that holds the seed of the key for audit checkpoints.
const keyName = "audit.key"

// SigningKey reads the data folder's key for audit checkpoints, or makes one,
// readable by its owner alone.
func SigningKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, keyName)
	seed, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		seed = make([]byte, ed25519.SeedSize)
		if _, err := rand.Read(seed); err != nil {
			return nil, fmt.Errorf("make audit key: %w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make audit key: %w", err)
		}
		err = writeFile(path, func(w io.Writer) error {
			_, err := w.Write(seed)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read audit key: %w", err)
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("read audit key: %s has %d bytes, not %d: restore it from a backup", path, len(seed), ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
