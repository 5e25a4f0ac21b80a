package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// auditExport selects entries to export.
type auditExport struct {
	Since time.Time `json:"since,omitzero"`
}

// purgeQuery says what to forget: one field is set.
type purgeQuery struct {
	Actor        string `json:"actor,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Task         string `json:"task,omitempty"`
}

// verifyAudit checks the whole chain.
func (a *app) verifyAudit(ctx context.Context) (bot.VerifiedChain, error) {
	public, ok := a.identity.key.Public().(ed25519.PublicKey)
	if !ok {
		return bot.VerifiedChain{}, errors.New("verify audit: the identity's key is of another kind")
	}
	return bot.VerifyAudit(ctx, a.store, public)
}

func (a *app) registerAudit(s *control.Server) {
	control.Handle(s, "audit/verify", func(ctx context.Context, _ struct{}) (bot.VerifiedChain, error) {
		found, err := a.verifyAudit(ctx)
		var broken *bot.BrokenChainError
		if errors.As(err, &broken) {
			return found, &fault.Error{Status: fault.Failed, Message: broken.Error(), Err: err, Hint: "somebody changed the database outside of sandpiper, or it is damaged: compare it with a backup"}
		}
		return found, err
	})
	control.HandleStream(s, "audit/export", func(ctx context.Context, in auditExport, send func(bot.AuditEntry) error) error {
		for entry, err := range a.store.Audit(ctx, 0) {
			if err != nil {
				return err
			}
			if entry.At.Before(in.Since) {
				continue
			}
			if err := send(entry); err != nil {
				return err
			}
		}
		return nil
	})
	control.Handle(s, "purge", func(ctx context.Context, in purgeQuery) (int, error) {
		if in.Task != "" {
			if _, err := a.taskOf(ctx, in.Task); err != nil {
				return 0, err
			}
		}
		return a.orchestrator.Purge(ctx, bot.PurgeScope{Task: in.Task, Actor: in.Actor, Conversation: in.Conversation})
	})
	control.HandleDownload(s, "backup", a.backup)
}
