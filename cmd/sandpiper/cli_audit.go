package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Check that no entry was changed, removed or put in."`
	Export auditExportCmd `cmd:"" help:"Print the entries, one JSON object a line."`
}

type auditVerifyCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

// Run verifies the audit chain.
func (c *auditVerifyCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.withSettled(loaded, func(ctx context.Context, client *control.Client) error {
		found, err := control.Call[bot.VerifiedChain](ctx, client, "audit/verify", struct{}{})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(map[string]any{"ok": true, "first": found.First, "last": found.Last, "head": found.Head, "checkpoint": found.Checkpoint.Seq})
		}
		pruned := ""
		if c := found.Checkpoint; c.Seq > 0 {
			pruned = fmt.Sprintf("; those up to %d were pruned on %s, which our signature confirms", c.Seq, localTime(c.At))
		}
		switch {
		case found.Last > 0:
			return e.print("ok: entries %d to %d are whole%s; the last one's hash is %s\n", found.First, found.Last, pruned, found.Head)
		case pruned != "":
			return e.print("ok: no entries%s\n", pruned)
		}
		return e.print("ok: the audit has no entries yet\n")
	})
}

type auditExportCmd struct {
	Since string `placeholder:"TIME" help:"Only entries since then: 2026-11-01, 2026-11-01T09:00:00Z, or an age as 30d."`
}

// Run exports entries as JSON lines.
func (c *auditExportCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	since, err := sinceTime(c.Since, time.Now())
	if err != nil {
		return err
	}
	to := json.NewEncoder(e.out)
	last := uint64(0)
	return e.withSettled(loaded, func(ctx context.Context, client *control.Client) error {
		return control.Stream(ctx, client, "audit/export", auditExport{Since: since}, func(entry bot.AuditEntry) error {
			if entry.Seq <= last { // printed before the serving process changed
				return nil
			}
			last = entry.Seq
			return to.Encode(entry)
		})
	})
}

// sinceTime reads a day, an instant, or an age.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation("2006-01-02", text, time.Local); err == nil {
		return at, nil
	}
	var age config.Duration
	if err := age.UnmarshalText([]byte(text)); err == nil {
		return now.Add(-age.Std()), nil
	}
	return time.Time{}, fault.New(fault.Usage, "write 2026-11-01, 2026-11-01T09:00:00Z or 30d", "--since: %q is no time", text)
}

type purgeCmd struct {
	Actor        string `xor:"scope" placeholder:"A" help:"Forget what this actor asked for."`
	Conversation string `xor:"scope" placeholder:"C" help:"Forget this conversation."`
	Task         string `xor:"scope" placeholder:"T" help:"Forget this task."`
	JSON         bool   `name:"json" help:"Print one JSON value."`
}

// Run forgets tasks with their steps, deliveries and content.
func (c *purgeCmd) Run(e *env) error {
	if c.Actor == "" && c.Conversation == "" && c.Task == "" {
		return fault.New(fault.Usage, "name --actor, --conversation or --task", "purge what?")
	}
	loaded, err := e.config()
	if err != nil {
		return err
	}
	return e.with(loaded, func(ctx context.Context, client *control.Client) error {
		n, err := control.Call[int](ctx, client, "purge", purgeQuery{Actor: c.Actor, Conversation: c.Conversation, Task: c.Task})
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(map[string]int{"tasks": n})
		}
		return e.print("%s forgotten; the audit keeps ids and hashes\n", count(n, "task"))
	})
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
