package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/system"

	"github.com/sandpiper-bot/sandpiper/sandbox/guest"
)

// Sandbox hands out sessions on one engine. It is safe for concurrent use.
type Sandbox struct {
	options Options
	engine  engine
	log     *slog.Logger
	info    system.Info
	podman  bool   // it is Podman's Docker-compatible socket
	archive []byte // the guest's package
	guest   string // the start of its SHA-256
	life    string // names this process among its owner's

	pool   *pool
	memory chan struct{} // one token per session that the host's memory holds
	stop   context.CancelFunc
	done   chan struct{}  // closed by Close
	tasks  sync.WaitGroup // every goroutine of ours

	running atomic.Int64 // programs that run now

	mu       sync.Mutex // guards the fields below
	closed   bool
	image    imageState
	sessions map[string]*Session // by container id, from creation to removal
}

// New connects to the engine, checks it, the runtime and the image, and begins
// to fill the pool, for which it does not wait. The context bounds the checks
// alone; Close ends what New began. Failures are *Error.
func New(ctx context.Context, options Options) (*Sandbox, error) {
	options, err := options.checked()
	if err != nil {
		return nil, err
	}
	api, err := connect(options.Engine)
	if err != nil {
		return nil, err
	}
	s, err := newSandbox(ctx, options, api)
	if err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return s, nil
}

func newSandbox(ctx context.Context, options Options, api engine) (*Sandbox, error) {
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, podman, err := engineInfo(checking, api, options.Runtime)
	if err != nil {
		return nil, err
	}
	image, err := inspectImage(checking, api, options.Image, options.ImageID)
	if err != nil {
		return nil, err
	}
	if age := time.Since(image.created); !image.created.IsZero() && age > staleAfter {
		options.Log.Warn("the sandbox's image lacks recent security updates; run: sandpiper sandbox build --refresh", "age_days", int(age.Hours()/24))
	}
	archive, err := guest.Archive()
	if err != nil {
		return nil, err
	}
	memory := options.MaxMemory
	if memory == 0 {
		memory = info.MemTotal / 4 * 3
	}
	sum := sha256.Sum256(archive)
	s := &Sandbox{
		options: options, engine: api, log: options.Log, info: info, podman: podman, archive: archive, guest: hex.EncodeToString(sum[:6]), life: newID(),
		memory: make(chan struct{}, max(1, memory/options.Limits.Memory)),
		image:  image, sessions: map[string]*Session{}, done: make(chan struct{}),
	}
	s.pool = newPool(s)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if options.Sole {
		if err := s.reap(ctx, true); err != nil {
			stop()
			return nil, fmt.Errorf("remove what an earlier life left: %w", err)
		}
	}
	s.tasks.Go(func() { s.watch(background) })
	s.tasks.Go(func() { s.pool.keep(background) })
	s.tasks.Go(func() { s.reapEvery(background) })
	return s, nil
}

// LeaseOptions say whom a session is for.
type LeaseOptions struct {
	// Task names the container, so that an operator sees whose it is.
	Task string
	// Image is the recorded id of another image than the sandbox's own, for
	// replays; empty takes the sandbox's.
	Image string
	// Runtime is another runtime than the sandbox's; empty takes the sandbox's.
	Runtime string
}

// Lease gives a session that nobody has used, ready at once when the pool has
// one. It waits while the host's memory holds no further session. Close the
// session when the task is done. Failures are *Error, or ctx's own.
func (s *Sandbox) Lease(ctx context.Context, options LeaseOptions) (*Session, error) {
	asked := time.Now()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.tasks.Add(1)
	own := s.image.id
	s.mu.Unlock()
	defer s.tasks.Done()
	for {
		session, err := s.find(ctx, options, own)
		if err != nil {
			return nil, err
		}
		session.info.Queue = time.Since(asked) - session.waited
		err = session.lease(ctx, options.Task)
		if err == nil {
			return session, nil
		}
		session.shut()
		if !session.info.Warm || ctx.Err() != nil {
			return nil, err
		}
		// It died while it stood ready, with its engine perhaps, and nobody had
		// noticed yet: the next one, or a fresh one, serves as well.
	}
}

func (s *Sandbox) find(ctx context.Context, options LeaseOptions, own string) (*Session, error) {
	sameImage := options.Image == "" || options.Image == own
	sameRuntime := options.Runtime == "" || options.Runtime == s.options.Runtime
	if sameImage && sameRuntime {
		return s.pool.take(ctx)
	}
	o := s.options
	if !sameRuntime {
		o.Runtime = options.Runtime
		if _, _, err := engineInfo(ctx, s.engine, o.Runtime); err != nil {
			return nil, err
		}
	}
	image := own
	if !sameImage {
		state, err := inspectImage(ctx, s.engine, options.Image, options.Image)
		if err != nil {
			return nil, err
		}
		image = state.id
	}
	if err := s.reserve(ctx); err != nil {
		return nil, err
	}
	return s.start(ctx, o, image)
}

// reserve takes one session's share of the memory, at the cost of a ready one
// when it must.
func (s *Sandbox) reserve(ctx context.Context) error {
	select {
	case s.memory <- struct{}{}:
		return nil
	default:
	}
	s.pool.evict()
	select {
	case s.memory <- struct{}{}:
		return nil
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for memory for a session: %w", context.Cause(ctx))
	}
}

func (s *Sandbox) release() { <-s.memory }

// Close ends every session, removes the containers and waits for both. With an
// engine that is away the containers are left to the next life; they end by
// themselves.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	all := make([]*Session, 0, len(s.sessions))
	for _, session := range s.sessions {
		all = append(all, session)
	}
	s.mu.Unlock()
	close(s.done)
	s.stop()
	for _, session := range all {
		session.shut()
	}
	s.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	err := s.sweep(ctx)
	if err == nil && s.options.Sole {
		// What the engine finished making for a life that was killed came
		// after this one had looked at its start.
		err = s.reap(ctx, true)
	}
	if err != nil {
		s.log.Warn("containers may be left; the next start removes them", "error", err)
	}
	return s.engine.Close()
}

// discard removes a session's container, off the caller's way.
func (s *Sandbox) discard(container string, renamed <-chan struct{}) {
	if renamed != nil {
		s.pool.returned()
	}
	s.tasks.Go(func() {
		defer s.release()
		if renamed != nil {
			<-renamed
		}
		// Removal is part of shutting down: no caller's context may stop it.
		ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
		defer cancel()
		if err := s.remove(ctx, container); err != nil {
			s.log.Warn("container not removed; the reaper will try again", "container", short(container), "error", err)
		}
		s.mu.Lock()
		delete(s.sessions, container)
		s.mu.Unlock()
		s.pool.wake()
	})
}

const (
	checkTimeout  = 30 * time.Second // for what the engine says of itself and of the image
	removeTimeout = 30 * time.Second
	sweepTimeout  = 15 * time.Second
)

// remove kills and removes one container; one that is gone is no failure.
func (s *Sandbox) remove(ctx context.Context, container string) error {
	err := s.engine.ContainerRemove(ctx, container, removeNow())
	for attempt := 0; err != nil && attempt < 20; attempt++ {
		if errdefs.IsNotFound(err) {
			return nil
		}
		// A removal that is already under way is a conflict until it is done.
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("remove container: %w", err)
		}
		err = s.engine.ContainerRemove(ctx, container, removeNow())
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container: %w", err)
	}
	return nil
}

// newID makes 12 hexadecimal digits.
func newID() string {
	var random [6]byte
	rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

func short(container string) string { return container[:min(12, len(container))] }

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}
