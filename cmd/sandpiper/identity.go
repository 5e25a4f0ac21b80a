package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// identity is what makes an installation itself: the name that its containers
// carry, and the keys that sign its audit checkpoints and its messages.
type identity struct {
	owner  string
	key    ed25519.PrivateKey
	marker []byte // for the marks in messages, by which they are found again
}

// storedIdentity is identity.json in the data folder.
type storedIdentity struct {
	Owner string `json:"owner"`
	Seed  string `json:"seed"` // of the ed25519 key, hex
}

// openIdentity reads the identity of a data folder, or makes it. Its caller
// holds the database's lock.
func openIdentity(dataDir string) (identity, error) {
	path := filepath.Join(dataDir, "identity.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = makeIdentity(path)
	}
	if err != nil {
		return identity{}, fmt.Errorf("open identity: %w", err)
	}
	var stored storedIdentity
	if err := json.Unmarshal(data, &stored); err != nil {
		return identity{}, fmt.Errorf("read %s: %w", path, err)
	}
	seed, err := hex.DecodeString(stored.Seed)
	if err != nil || len(seed) != ed25519.SeedSize || stored.Owner == "" {
		return identity{}, fmt.Errorf("read %s: it is damaged; restore it from a backup, or remove it to begin a new audit chain", path)
	}
	key := ed25519.NewKeyFromSeed(seed)
	return identity{owner: stored.Owner, key: key, marker: ed25519.Sign(key, []byte("sandpiper message marker"))}, nil
}

// makeIdentity writes a new identity whole or not at all.
func makeIdentity(path string) ([]byte, error) {
	random := make([]byte, 8+ed25519.SeedSize)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	data, err := json.Marshal(storedIdentity{Owner: hex.EncodeToString(random[:8]), Seed: hex.EncodeToString(random[8:])})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return nil, err
	}
	return data, os.Rename(path+".tmp", path)
}
