package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// The buckets of what must be remembered: by name, the id of the image that
// sessions may be made from; and whether a life that made containers ended
// without having removed them.
const (
	imagesBucket = "sandbox.images"
	livesBucket  = "sandbox.lives"
	livesKey     = "open"
)

// boxes is the sandbox, connected when it is first needed: what needs no
// engine works without one, and an engine that comes back is found again. It
// implements agent.Sandbox.
type boxes struct {
	boxesOptions

	mu     sync.Mutex // guards what follows; held while connecting
	opened *sandbox.Sandbox
	closed bool
}

type boxesOptions struct {
	loaded  *config.Loaded
	owner   string
	records bot.Records
	log     *slog.Logger
	point   func(string)
	warm    bool // keep sessions ready
}

func newBoxes(options boxesOptions) *boxes { return &boxes{boxesOptions: options} }

// Lease implements agent.Sandbox. That there is no engine or image is a
// *bot.TaskError, for the task cannot be done without.
func (b *boxes) Lease(ctx context.Context, options sandbox.LeaseOptions) (agent.Session, error) {
	opened, err := b.open(ctx)
	if b.warm {
		opened, err = b.await(ctx, opened, err)
	}
	if err != nil {
		return nil, err
	}
	return agent.Sessions(opened).Lease(ctx, options)
}

// How long a server waits for an engine that is not up yet, as after a reboot,
// before it fails a task for the lack of it; and how often it looks.
const (
	engineWait  = 15 * time.Minute
	engineAgain = 2 * time.Second
)

// await tries again to connect while no engine answers. Somebody at a console
// is told at once instead; a server's tasks were accepted and are owed.
func (b *boxes) await(ctx context.Context, opened *sandbox.Sandbox, err error) (*sandbox.Sandbox, error) {
	var missing *sandbox.Error
	if !errors.As(err, &missing) || missing.Verdict != sandbox.Engine {
		return opened, err
	}
	b.log.WarnContext(ctx, "a task waits for the container engine", "error", err)
	end := time.NewTimer(engineWait)
	defer end.Stop()
	again := time.NewTicker(engineAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-end.C:
			return nil, err
		case <-again.C:
		}
		if opened, err = b.open(ctx); !errors.As(err, &missing) || missing.Verdict != sandbox.Engine {
			return opened, err
		}
	}
}

// Reachable reports whether an engine answers. Where what an earlier life left
// behind was looked for already, that is known.
func (b *boxes) Reachable(ctx context.Context) bool {
	var missing *sandbox.Error
	_, err := b.open(ctx)
	return !errors.As(err, &missing) || missing.Verdict != sandbox.Engine
}

// open returns the connected sandbox.
func (b *boxes) open(ctx context.Context) (*sandbox.Sandbox, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, sandbox.ErrClosed
	}
	if b.opened != nil {
		return b.opened, nil
	}
	bound, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	options := sandboxOptions(b.loaded)
	options.Owner, options.Sole, options.Log, options.Point = b.owner, true, b.log, b.point
	if b.warm {
		options.Pool.Size = b.loaded.Sandbox.Pool
	}
	recorded, err := b.recorded(ctx, options.Image)
	if err != nil {
		return nil, err
	}
	options.ImageID = recorded
	if err := b.mark(ctx, true); err != nil {
		return nil, err
	}
	opened, err := sandbox.New(bound, options)
	if err != nil {
		return nil, err
	}
	if recorded == "" {
		if err := b.record(ctx, options.Image, opened.ImageID()); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	b.opened = opened
	return opened, nil
}

// Ready fails, with what to do, where no session could be made.
func (b *boxes) Ready(ctx context.Context) error {
	opened, err := b.open(ctx)
	if err == nil {
		err = opened.Ping(ctx)
	}
	var missing *sandbox.Error
	if errors.As(err, &missing) {
		return &fault.Error{Status: fault.Missing, Message: missing.Error(), Hint: missing.Hint, Kind: string(missing.Verdict), Err: err}
	}
	return err
}

// load is the state of the pool; all zero where no engine is connected.
func (b *boxes) load() sandbox.Status {
	b.mu.Lock()
	opened := b.opened
	b.mu.Unlock()
	if opened == nil {
		return sandbox.Status{}
	}
	return opened.Load()
}

// Replace records a newly built image, and lets sessions be made from it from
// now on. Running sessions end as they began. An image that was only found is
// refused when another was recorded under its name.
func (b *boxes) Replace(ctx context.Context, image imageRef) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	recorded, err := b.recorded(ctx, image.Image)
	if err != nil {
		return err
	}
	if image.Found && recorded != "" && recorded != image.ID {
		return sandboxFault(sandbox.Changed(image.Image, image.ID, recorded))
	}
	if err := b.record(ctx, image.Image, image.ID); err != nil {
		return err
	}
	if b.opened == nil {
		return nil
	}
	opened := b.opened
	b.opened = nil
	return opened.Close()
}

// Close ends all sessions.
func (b *boxes) Close(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.opened == nil {
		return nil
	}
	if err := b.opened.Close(); err != nil {
		return err
	}
	return b.mark(ctx, false)
}

// Sweep removes what a life that was killed has left, where there is an
// engine to ask.
func (b *boxes) Sweep(ctx context.Context) error {
	record, err := b.records.Get(ctx, livesBucket, livesKey)
	if errors.Is(err, bot.ErrNotFound) || (err == nil && string(record.Value) == "false") {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for an earlier life's containers: %w", err)
	}
	if _, err := b.open(ctx); err != nil { // connecting removes them
		b.log.Warn("containers of an earlier life may be left: the sandbox cannot be reached", "error", err)
	}
	return nil
}

// mark records whether there may be containers.
func (b *boxes) mark(ctx context.Context, open bool) error {
	return b.remember(ctx, livesBucket, livesKey, open)
}

func (b *boxes) recorded(ctx context.Context, image string) (string, error) {
	record, err := b.records.Get(ctx, imagesBucket, image)
	if errors.Is(err, bot.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("read recorded image: %w", err)
	}
	var id string
	if err := json.Unmarshal(record.Value, &id); err != nil {
		return "", fmt.Errorf("read recorded image: %w", err)
	}
	return id, nil
}

func (b *boxes) record(ctx context.Context, image, id string) error {
	return b.remember(ctx, imagesBucket, image, id)
}

// remember writes a record over whatever it held.
func (b *boxes) remember(ctx context.Context, bucket, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("remember %s: %w", key, err)
	}
	record, err := b.records.Get(ctx, bucket, key)
	if err != nil && !errors.Is(err, bot.ErrNotFound) {
		return fmt.Errorf("remember %s: %w", key, err)
	}
	if _, err := b.records.Put(ctx, bucket, key, value, record.Revision); err != nil {
		return fmt.Errorf("remember %s: %w", key, err)
	}
	return nil
}

// sandboxOptions are what the configuration says of the sandbox.
func sandboxOptions(loaded *config.Loaded) sandbox.Options {
	s := loaded.Sandbox
	image := s.Image
	if image == "" {
		image = sandbox.ImageName()
	}
	return sandbox.Options{
		Image: image, Runtime: s.Runtime,
		TaskWall: loaded.Budgets.Wall.Std(),
		Limits: sandbox.Limits{
			Memory: int64(s.Memory), CPUs: s.CPUs, PIDs: s.PIDs,
			Workspace: int64(s.Workspace), Tmp: int64(s.Tmp), Inodes: s.Inodes,
			Wall: s.Wall.Std(), CPU: s.CPU.Std(), Output: int64(s.Output), OutputStop: int64(s.OutputStop),
			Artifact: int64(loaded.Limits.Artifact), Artifacts: loaded.Limits.Artifacts,
		},
	}
}
