package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// Session is one container that serves one task. Its methods may be called
// from several goroutines; they run one after the other.
type Session struct {
	sandbox   *Sandbox
	options   Options // with the session's own runtime
	id        string
	container string
	info      Info
	created   time.Time
	waited    time.Duration // of Lease for a start, which is no queueing

	oom chan struct{} // holds one token once the engine told of a memory kill

	mu      sync.Mutex    // guards wire until the session is ready, renamed and closed
	wire    *wire         // nil until attached
	renamed chan struct{} // closed when the rename has ended; nil before the lease
	closed  bool
	gone    chan struct{} // closed by Close

	turn  chan struct{}      // held by the one operation that uses the wire
	step  int                // preloading steps done or begun; guarded by the pool
	quiet context.CancelFunc // gives up waiting for the step under way; guarded by the pool

	// The fields below belong to whoever holds turn.
	dead   error              // why no further operation is possible
	inputs map[int64][]string // SHA-256 of the inputs, by size
}

// Info is what a session knows about itself.
type Info struct {
	ID        string          `json:"id"`
	Container string          `json:"container"`
	ImageID   string          `json:"image_id"`
	Guest     string          `json:"guest"` // the start of the SHA-256 of the guest's package
	Runtime   string          `json:"runtime"`
	Python    string          `json:"python"`
	Inventory json.RawMessage `json:"inventory,omitempty"` // of libraries
	Proof     json.RawMessage `json:"proof"`               // of enforcement
	Queue     time.Duration   `json:"queue"`               // waited for memory or for the pool
	Start     time.Duration   `json:"start"`               // from creation to ready, before or during the lease
	Warm      bool            `json:"warm"`                // came ready out of the pool
}

// Info describes the session.
func (s *Session) Info() Info { return s.info }

func removeNow() container.RemoveOptions {
	return container.RemoveOptions{Force: true, RemoveVolumes: true}
}

// start makes a container, starts its guest and takes the proof. The caller
// has reserved its memory; a failure gives that back.
func (s *Sandbox) start(ctx context.Context, o Options, imageID string) (*Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout,
		&Error{Verdict: Engine, Message: "the engine was too slow to start a session", Hint: "see how loaded it is; docker ps should answer at once"})
	defer cancel()
	began := time.Now()
	spec, err := newSpec(o, imageID, s.labels(began))
	if err == nil && s.podman {
		spec, err = spec.forPodman()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	session := &Session{
		sandbox: s, options: o, id: newID(), created: began, oom: make(chan struct{}, 1),
		gone: make(chan struct{}), turn: make(chan struct{}, 1), inputs: map[int64][]string{},
	}
	session.info = Info{ID: session.id, ImageID: imageID, Guest: s.guest, Runtime: o.Runtime}
	// An engine carries out what a caller gave up: creation is waited for, so
	// that its container is known and removed.
	creating, created := context.WithTimeout(context.WithoutCancel(ctx), o.StartTimeout)
	made, err := s.engine.ContainerCreate(creating, spec.Config, spec.Host, nil, nil, "sandpiper-ready-"+session.id)
	created()
	if err != nil {
		s.release()
		if errdefs.IsNotFound(err) {
			s.checkImage(ctx) // it may have been built anew: the next session has it
		}
		return nil, startFailure(ctx, "create container", err)
	}
	session.container, session.info.Container = made.ID, made.ID
	s.mu.Lock()
	s.sessions[made.ID] = session
	closed := s.closed
	s.mu.Unlock()
	s.options.Point("container-created")
	if closed {
		session.shut()
		return nil, ErrClosed
	}
	if err := session.begin(ctx, spec); err != nil {
		session.shut()
		return nil, err
	}
	session.info.Start = time.Since(began)
	return session, nil
}

// begin attaches, starts, and brings the guest to life.
func (s *Session) begin(ctx context.Context, spec containerSpec) error {
	api := s.sandbox.engine
	attached, err := api.ContainerAttach(ctx, s.container, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return startFailure(ctx, "attach to container", err)
	}
	if !s.attach(newWire(attached.Conn, attached.Reader)) {
		return ErrClosed
	}
	if err := api.ContainerStart(ctx, s.container, container.StartOptions{}); err != nil {
		return startFailure(ctx, "start container", err)
	}
	hello, err := encodeFrame(frameHello, map[string]any{
		"deadline": (s.options.Pool.MaxAge + s.options.TaskWall).Seconds(),
		"limits":   map[string]any{"pids": s.options.Limits.PIDs, "inodes": s.options.Limits.Inodes},
		"filter":   spec.filter,
	}, nil)
	if err != nil {
		return err
	}
	if err := s.wire.write(ctx, append(s.sandbox.archive[:len(s.sandbox.archive):len(s.sandbox.archive)], hello...)); err != nil {
		return s.noGuest(ctx, err)
	}
	ready, err := s.wire.await(ctx, frameReady)
	if err != nil {
		return s.noGuest(ctx, err)
	}
	var says struct {
		Python string    `json:"python"`
		View   guestView `json:"view"`
	}
	if err := ready.decode(&says); err != nil {
		return s.noGuest(ctx, err)
	}
	s.info.Python = printable(says.Python, 40)
	if len(s.info.Inventory) == 0 && json.Valid(ready.tail) {
		s.info.Inventory = ready.tail
	}
	state, err := api.ContainerInspect(ctx, s.container)
	if err != nil {
		return startFailure(ctx, "inspect container", err)
	}
	proof := prove(spec, state, says.View)
	s.info.Proof = proof.encode()
	if len(proof.Mismatches) > 0 {
		return &Error{
			Verdict: Internal, Message: "the engine did not apply what was asked: " + proof.Mismatches[0],
			Hint: fmt.Sprintf("%d settings differ; sandpiper sandbox probe shows more", len(proof.Mismatches)),
		}
	}
	return nil
}

// noGuest explains a guest that never said it is ready.
func (s *Session) noGuest(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failure := &Error{Verdict: Internal, Message: "the guest did not start", Err: err}
	s.wire.Close()
	if said := printable(string(s.wire.said.said), 400); said != "" {
		failure.Hint = "it said: " + said
	}
	state, inspectErr := s.sandbox.engine.ContainerInspect(ctx, s.container)
	if inspectErr == nil && state.State != nil && state.State.OOMKilled {
		failure.Message = "the guest ran out of memory while it started"
	}
	return failure
}

// startFailure names why the engine made no session.
func startFailure(ctx context.Context, act string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errdefs.IsNotFound(err) {
		return &Error{Verdict: Image, Message: "the sandbox's image is gone", Hint: "build it with: sandpiper sandbox build", Err: err}
	}
	if strings.Contains(err.Error(), "no space left on device") {
		return &Error{Verdict: Engine, Message: "the engine's disk is full", Hint: "free some of it (docker system df tells what takes it), and try again", Err: err}
	}
	return &Error{Verdict: Engine, Message: "the engine cannot " + act, Hint: "see the engine's log", Err: err}
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

// lease sets the guest's deadline and names the container after the task. It
// waits for neither, and the guest does not answer. A guest that has died since it became ready shows as an ended stream; one that
// hangs it cannot be, for no user's code has run in it.
func (s *Session) lease(ctx context.Context, task string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errStalled)
	defer cancel()
	release, err := s.hold(ctx) // a preloading step under way gives up its turn
	if err != nil {
		return err
	}
	defer release()
	select {
	case <-s.wire.done:
		err = s.wire.err
	default:
		err = s.wire.send(ctx, frameLease, map[string]any{"deadline": s.options.TaskWall.Seconds()}, nil)
	}
	if err != nil {
		return &Error{Verdict: Engine, Message: "the session was lost before its first program", Err: err}
	}
	name := "sandpiper-" + notInName.ReplaceAllString(task, "-")
	if task == "" {
		name = "sandpiper-task-" + s.id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	renamed := make(chan struct{})
	s.renamed = renamed
	s.sandbox.tasks.Go(func() {
		defer close(renamed)
		s.rename(name)
	})
	return nil
}

// attach keeps the wire, unless the session was closed meanwhile.
func (s *Session) attach(w *wire) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.Close()
		return false
	}
	s.wire = w
	return true
}

// renameAfter keeps the renaming out of a short task's way.
const renameAfter = 100 * time.Millisecond

// rename gives the container its name. A name is for people: a failure to give
// it is not the task's.
func (s *Session) rename(name string) {
	wait := time.NewTimer(renameAfter)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.gone:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	api := s.sandbox.engine
	err := api.ContainerRename(ctx, s.container, name)
	if errdefs.IsConflict(err) {
		err = api.ContainerRename(ctx, s.container, name+"-"+s.id[:6])
	}
	if err != nil && !errdefs.IsNotFound(err) {
		s.sandbox.log.Debug("container not renamed", "container", short(s.container), "error", err)
	}
}

var errStalled = errors.New("the guest does not answer")

// hold waits for the session's turn; the returned function gives it back.
func (s *Session) hold(ctx context.Context) (func(), error) {
	select {
	case s.turn <- struct{}{}:
	case <-s.gone:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.dead != nil {
		<-s.turn
		return nil, s.dead
	}
	return func() { <-s.turn }, nil
}

// end makes this the session's last operation; the caller holds the turn.
func (s *Session) end(why error) {
	s.dead = fmt.Errorf("%w: %w", ErrClosed, why)
	if s.wire != nil {
		s.wire.abort()
	}
}

// Close ends the session: whatever runs in it is killed, and its container is
// removed soon after. It may be called more than once, and while an operation
// runs. It never fails.
func (s *Session) Close() error {
	s.shut()
	return nil
}

func (s *Session) shut() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	wire, renamed := s.wire, s.renamed
	s.mu.Unlock()
	close(s.gone)
	if wire != nil {
		wire.Close()
	}
	s.sandbox.discard(s.container, renamed)
}
