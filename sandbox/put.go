package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// patience is how long a guest may be silent in the middle of a transfer.
const patience = 30 * time.Second

// Put writes one file into the session, from exactly size bytes of r. The
// name is relative to the session's root: "workspace/in/NAME", or
// "skills/NAME/…". A file that stands there already is replaced.
//
// A full disk in the session is an *Error with verdict Disk and leaves the
// session usable; other failures end it.
func (s *Session) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	if reason := unsafeName(name); reason != "" {
		return fmt.Errorf("put file: %s", reason)
	}
	if !strings.HasPrefix(name, "workspace/") && !strings.HasPrefix(name, "skills/") {
		return fmt.Errorf("put file %q: outside workspace and skills", name)
	}
	release, err := s.hold(ctx)
	if err != nil {
		return fmt.Errorf("put file: %w", err)
	}
	defer release()
	sum, err := s.put(ctx, name, size, r)
	var full *Error
	switch {
	case errors.As(err, &full):
		return err
	case err != nil:
		s.end(err)
		return fmt.Errorf("put file: %w", err)
	}
	if strings.HasPrefix(name, "workspace/in/") {
		s.inputs[size] = append(s.inputs[size], sum)
	}
	return nil
}

func (s *Session) put(ctx context.Context, name string, size int64, r io.Reader) (string, error) {
	id := newID()
	hash := sha256.New()
	var packed []byte // one frame after the other, in the same memory
	for at := int64(0); ; {
		n := min(chunkSize, size-at)
		head := map[string]any{"id": id, "name": name, "first": at == 0, "last": at+n == size}
		var err error
		packed, err = beginFrame(packed, framePut, head, int(n))
		if err != nil {
			return "", err
		}
		part := packed[len(packed) : len(packed)+int(n)]
		if _, err := io.ReadFull(r, part); err != nil {
			return "", fmt.Errorf("read content: %w", err)
		}
		if err := s.writePatiently(ctx, packed[:len(packed)+int(n)]); err != nil {
			return "", err
		}
		at += n
		hash.Write(part) // the chunk is on its way meanwhile
		if at == size {
			break
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errStalled)
	defer cancel()
	stored, err := s.wire.await(ctx, frameStored)
	if err != nil {
		return "", err
	}
	var answer struct {
		ID      string `json:"id"`
		Trouble string `json:"trouble"`
	}
	if err := stored.decode(&answer); err != nil {
		return "", err
	}
	switch {
	case answer.ID != id:
		return "", fmt.Errorf("%w: it stored another file", errProtocol)
	case answer.Trouble == "ENOSPC":
		return "", &Error{Verdict: Disk, Message: "the session's disk is full", Hint: "raise sandbox.workspace, or send smaller files"}
	case answer.Trouble != "":
		return "", &Error{Verdict: Disk, Message: "the session cannot store the file: " + printable(answer.Trouble, 40)}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sendPatiently writes one frame; a guest that does not take it is given up.
func (s *Session) sendPatiently(ctx context.Context, kind byte, head any, tail []byte) error {
	packed, err := encodeFrame(kind, head, tail)
	if err != nil {
		return err
	}
	return s.writePatiently(ctx, packed)
}

func (s *Session) writePatiently(ctx context.Context, packed []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errStalled)
	defer cancel()
	return s.wire.write(ctx, packed)
}
