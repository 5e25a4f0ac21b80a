package bot

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// AuditKind says what an AuditEntry records.
type AuditKind string

// The kinds of audit entries.
const (
	AuditEvent    AuditKind = "event"    // an event was accepted
	AuditPolicy   AuditKind = "policy"   // a policy or a platform decided
	AuditStart    AuditKind = "start"    // a life began to run the task
	AuditInputs   AuditKind = "inputs"   // files were fetched
	AuditProgram  AuditKind = "program"  // a program ran
	AuditOutcome  AuditKind = "outcome"  // the task ended, or asked back
	AuditReceipt  AuditKind = "receipt"  // a delivery stands at its platform
	AuditUnsent   AuditKind = "unsent"   // a delivery ended without that
	AuditCancel   AuditKind = "cancel"   // somebody asked to cancel
	AuditRefusal  AuditKind = "refusal"  // nothing was accepted
	AuditViewed   AuditKind = "viewed"   // an admin looked at somebody's private task
	AuditErase    AuditKind = "erase"    // content was removed
	AuditRetained AuditKind = "retained" // content went by age
)

// AuditEntry is one link of the audit chain: ids and hashes, never text.
type AuditEntry struct {
	Seq   uint64          `json:"seq"`
	At    time.Time       `json:"at"`
	Kind  AuditKind       `json:"kind"`
	Task  string          `json:"task,omitempty"`
	Actor string          `json:"actor,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"` // an object of ids, hashes and numbers
	Prev  string          `json:"prev"`           // hash of the entry before, hex; "" for the first
	Hash  string          `json:"hash"`           // of this entry without Hash, hex
}

// Seal returns the entry as the link after prev. Stores call it inside their
// transaction.
func (e AuditEntry) Seal(seq uint64, prev string) (AuditEntry, error) {
	e.Seq, e.Prev = seq, prev
	e.At = e.At.UTC().Round(0)
	sum, err := e.sum()
	e.Hash = sum
	return e, err
}

func (e AuditEntry) sum() (string, error) {
	e.Hash = ""
	body, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("hash audit entry: %w", err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// Checkpoint is where verification begins after older entries were pruned:
// the last pruned entry's number and hash, signed with the key that lies in
// the data folder.
type Checkpoint struct {
	Seq       uint64    `json:"seq"`
	Hash      string    `json:"hash"`
	At        time.Time `json:"at"`
	Signature []byte    `json:"signature"`
}

// Sign returns the checkpoint signed with key.
func (c Checkpoint) Sign(key ed25519.PrivateKey) Checkpoint {
	c.At = c.At.UTC().Truncate(time.Second)
	c.Signature = ed25519.Sign(key, c.signed())
	return c
}

func (c Checkpoint) signed() []byte {
	return fmt.Appendf(nil, "sandpiper audit checkpoint\n%d\n%s\n%s\n", c.Seq, c.Hash, c.At.Format(time.RFC3339))
}

// BrokenChainError says where the audit chain does not hold.
type BrokenChainError struct {
	Seq    uint64
	Reason string
}

// Error implements error.
func (e *BrokenChainError) Error() string {
	return fmt.Sprintf("audit chain is broken at entry %d: %s", e.Seq, e.Reason)
}

// VerifiedChain is what VerifyAudit found to hold.
type VerifiedChain struct {
	First, Last uint64 // entry numbers; 0 when there are none
	Head        string // hash of the last entry
	Checkpoint  Checkpoint
}

// VerifyAudit walks the whole chain from its checkpoint and fails with a
// *BrokenChainError at the first entry that was changed, removed or put in.
func VerifyAudit(ctx context.Context, store AuditReader, key ed25519.PublicKey) (VerifiedChain, error) {
	var found VerifiedChain
	c, err := store.Checkpoint(ctx)
	if err != nil {
		return found, fmt.Errorf("read audit checkpoint: %w", err)
	}
	if c.Seq > 0 && (len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.signed(), c.Signature)) {
		return found, &BrokenChainError{Seq: c.Seq, Reason: "the checkpoint's signature is not ours"}
	}
	found.Checkpoint = c
	last, prev := c.Seq, c.Hash
	for entry, err := range store.Audit(ctx, c.Seq) {
		if err != nil {
			return found, fmt.Errorf("read audit: %w", err)
		}
		if err := entry.follows(last, prev); err != nil {
			return found, err
		}
		if found.First == 0 {
			found.First = entry.Seq
		}
		last, prev = entry.Seq, entry.Hash
		found.Last, found.Head = last, prev
	}
	return found, nil
}

// follows checks that the entry is the intact link after (seq, hash).
func (e AuditEntry) follows(seq uint64, hash string) error {
	switch {
	case e.Seq != seq+1:
		return &BrokenChainError{Seq: e.Seq, Reason: fmt.Sprintf("entry %d is missing", seq+1)}
	case e.Prev != hash:
		return &BrokenChainError{Seq: e.Seq, Reason: "it does not name the hash of the entry before"}
	}
	sum, err := e.sum()
	if err != nil {
		return err
	}
	if sum != e.Hash {
		return &BrokenChainError{Seq: e.Seq, Reason: "its content does not match its hash"}
	}
	return nil
}
