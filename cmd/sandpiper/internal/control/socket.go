package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// longestPath is what a unix socket's address holds on Linux, without the
// final zero.
const longestPath = 107

// SocketPath is where the socket of a data folder lies: in it, or in a short
// runtime folder where that path would be too long for a socket.
func SocketPath(dataDir string) string {
	path := filepath.Join(dataDir, "sandpiper.sock")
	if len(path) <= longestPath {
		return path
	}
	sum := sha256.Sum256([]byte(dataDir))
	return filepath.Join(runtimeDir(), hex.EncodeToString(sum[:8])+".sock")
}

func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && len(dir) < 60 {
		return filepath.Join(dir, "sandpiper")
	}
	return fmt.Sprintf("/tmp/sandpiper-%d", os.Getuid())
}

// Listen binds the socket for this user alone. Its caller holds the
// database's lock, so a socket that is there already was left by a dead
// process and is replaced.
func Listen(ctx context.Context, dataDir string) (net.Listener, error) {
	path := SocketPath(dataDir)
	if err := ownFolder(filepath.Dir(path), dataDir); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("protect socket: %w", err)
	}
	return listener, nil
}

// ownFolder makes the runtime folder and refuses one that somebody else made
// or can write to. The data folder itself is the store's affair.
func ownFolder(dir, dataDir string) error {
	if dir == dataDir {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make runtime folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check runtime folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("runtime folder %s is not this user's alone; set SANDPIPER_DATA_DIR to a shorter path", dir)
	}
	return nil
}
