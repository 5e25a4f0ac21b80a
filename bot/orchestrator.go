package bot

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// OrchestratorOptions hold what an Orchestrator works with. Store, Blobs, Runner, Policy
// and Logger must be given; the rest has defaults.
type OrchestratorOptions struct {
	Store  Store
	Blobs  Blobs
	Runner Runner
	Policy Policy
	// Channels by adapter name. Tasks and deliveries of an adapter that is not
	// among them stay untouched for a later life that has it.
	Channels map[string]Channel
	// Commands by name, beside those the core knows: cancel, status, help, retry.
	Commands map[string]CommandSpec
	// Redactor strikes secrets out of everything that is delivered; nil: only
	// what has the shape of a secret.
	Redactor *Redactor
	// Key signs audit checkpoints; nil: the audit is never pruned.
	Key ed25519.PrivateKey
	// Purged lets other rooms erase what they keep of purged tasks, saved
	// reports for instance; it may be called again for the same. nil: none do.
	Purged func(ctx context.Context, scope PurgeScope, tasks []string) error
	// Forgotten lets them erase copies of what a task was given, when that was
	// deleted where it came from.
	Forgotten func(ctx context.Context, task string) error
	// Sink gets every audit entry at least once, in order; nil: none.
	Sink AuditSink

	// Exclusive says that no other process can have the store open, as where a
	// lock guards its file: what earlier lives had claimed is free at once.
	// Otherwise processes share the store, and a claim holds until it expires.
	Exclusive bool

	Budgets   Budgets // the configuration's defaults
	Limits    Limits
	Retention Retention
	Timing    Timing

	Clock  Clock // nil: the system's
	Logger *slog.Logger
	// Point is called with the name of each point that the process may be
	// killed at in a crash test (see points.go); nil outside of tests.
	Point func(name string)
}

// CommandSpec is a command that another room brings.
type CommandSpec struct {
	Run   CommandFunc
	Right Right  // what the asker needs; empty: MayAsk
	Help  string // one line for help, as "save NAME: keep this report"
}

// Limits bound what is accepted and run at once; 0 takes the default.
type Limits struct {
	Running                int   // tasks at once; 4
	RunningPerActor        int   // 2
	WaitingPerActor        int   // 20
	WaitingPerConversation int   // 20
	Input                  int64 // bytes of one input; 256 MiB
	Inputs                 int   // 20
	Attempts               int   // lives that may begin a task without recording a step; 10
	Deliveries             int   // sends at once; 8
}

// Retention says how long what has ended is kept; 0 keeps it for ever.
type Retention struct {
	Tasks, Blobs, Audit time.Duration
}

// Timing holds the waits of the core; 0 takes the default.
type Timing struct {
	Grace    time.Duration // for running work at shutdown; 20 s
	Stop     time.Duration // for what Grace was too short for, once it is told to stop; 10 s
	Cancel   time.Duration // for a cancelled run before it is ended without it; 2 s
	Settle   time.Duration // before an unsure delivery is looked up; 2 s
	Retry    time.Duration // the first wait after a failure; 1 s
	RetryMax time.Duration // the longest; 5 min
	GiveUp   time.Duration // age at which a delivery that still fails ends; 24 h
	Progress time.Duration // between two edits of a progress message; 2 s
	Call     time.Duration // the longest call of a channel that moves no files; 1 min
	Transfer time.Duration // the longest fetch or send of files; 15 min
	Question time.Duration // a question that nobody answers ends its task; 7 days
	Lease    time.Duration // that a claim lasts unless it is renewed, where processes share a store; 30 s
	Keep     time.Duration // between two rounds of retention; 1 h
}

// Orchestrator takes events, sees their tasks through and delivers what they
// owe. Make it with New, then call Run once; Submit and the other methods may
// be called from any goroutine and wait until Run has recovered what an earlier
// life left.
type Orchestrator struct {
	opts      OrchestratorOptions
	log       *slog.Logger
	life      string        // names this life in claims
	ready     chan struct{} // closed once the queue knows what is stored
	queue     *queue
	outbox    *outbox
	meter     *meter
	told      *told
	hub       *hub
	announcer *announcer
	sink      *sinkState
	// wake makes the dispatcher look again; it holds at most one signal.
	wake chan struct{}
	// jobs are functions for Run to start as workers, until it closes closing.
	jobs    chan func(work context.Context)
	closing chan struct{}

	// mu guards what follows.
	mu       sync.Mutex
	live     map[string]context.CancelCauseFunc // tasks in work
	reporter map[string]*reporter
	asking   map[askKey]string // the task that waits for this person's answer
	paused   bool
	readOnly error // why the store cannot commit
}

// askKey is who was asked, and where.
type askKey struct{ conversation, actor string }

func askedBy(t *Task) askKey {
	return askKey{t.Event.Origin.Conversation, t.Event.Actor.ID}
}

// errShutdown is the cause that running tasks see when the process ends.
var errShutdown = errors.New("the process is shutting down")

// New checks opts and returns an Orchestrator that does nothing before Run.
func New(opts OrchestratorOptions) (*Orchestrator, error) {
	switch {
	case opts.Store == nil, opts.Blobs == nil, opts.Runner == nil, opts.Policy == nil, opts.Logger == nil:
		return nil, errors.New("new orchestrator: store, blobs, runner, policy and logger must be given")
	}
	for name, c := range opts.Channels {
		if c == nil {
			return nil, fmt.Errorf("new orchestrator: channel %s is nil", name)
		}
	}
	opts.setDefaults()
	o := &Orchestrator{
		opts:      opts,
		log:       opts.Logger,
		life:      opts.Store.NewID(opts.Clock.Now()),
		ready:     make(chan struct{}),
		queue:     newQueue(opts.Limits),
		meter:     &meter{records: opts.Store, clock: opts.Clock},
		told:      newTold(),
		hub:       newHub(),
		announcer: &announcer{wake: make(chan struct{}, 1)},
		sink:      &sinkState{wake: make(chan struct{}, 1)},
		wake:      make(chan struct{}, 1),
		jobs:      make(chan func(context.Context)),
		closing:   make(chan struct{}),
		live:      map[string]context.CancelCauseFunc{},
		reporter:  map[string]*reporter{},
		asking:    map[askKey]string{},
	}
	o.outbox = newOutbox(o)
	return o, nil
}

func (opts *OrchestratorOptions) setDefaults() {
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	if opts.Redactor == nil {
		opts.Redactor = NewRedactor(nil)
	}
	l, t := &opts.Limits, &opts.Timing
	orDefault(&l.Running, 4)
	orDefault(&l.RunningPerActor, 2)
	orDefault(&l.WaitingPerActor, 20)
	orDefault(&l.WaitingPerConversation, 20)
	orDefault(&l.Input, 256<<20)
	orDefault(&l.Inputs, 20)
	orDefault(&l.Attempts, 10)
	orDefault(&l.Deliveries, 8)
	orDefault(&t.Grace, 20*time.Second)
	orDefault(&t.Stop, 10*time.Second)
	orDefault(&t.Cancel, 2*time.Second)
	orDefault(&t.Settle, 2*time.Second)
	orDefault(&t.Retry, time.Second)
	orDefault(&t.RetryMax, 5*time.Minute)
	orDefault(&t.GiveUp, 24*time.Hour)
	orDefault(&t.Progress, 2*time.Second)
	orDefault(&t.Call, time.Minute)
	orDefault(&t.Transfer, 15*time.Minute)
	orDefault(&t.Question, 7*24*time.Hour)
	orDefault(&t.Lease, 30*time.Second)
	orDefault(&t.Keep, time.Hour)
}

func orDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

// Run recovers what an earlier life left and works until ctx ends. Then it
// takes nothing new, gives what runs Timing.Grace to end, and leaves the rest
// to the next life's recovery.
func (o *Orchestrator) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var loops sync.WaitGroup
	loops.Go(func() { o.employ(work) })
	err := o.recover(ctx)
	if err == nil {
		close(o.ready)
		loops.Go(func() { o.dispatch(ctx) })
		loops.Go(func() { o.outbox.run(ctx, work) })
		loops.Go(func() { o.announcements(ctx) })
		loops.Go(func() { o.keep(ctx) })
		if !o.opts.Exclusive {
			loops.Go(func() { o.share(ctx) })
		}
		if o.opts.Sink != nil {
			loops.Go(func() { o.follow(ctx) })
		}
		<-ctx.Done()
	}
	close(o.closing)
	stopped := make(chan struct{})
	go func() {
		loops.Wait()
		close(stopped)
	}()
	switch {
	case ctx.Err() != nil:
		err = nil // asked to end before it had begun
	case err != nil:
		err = fmt.Errorf("recover earlier work: %w", err)
	}
	return errors.Join(err, o.drain(stopped, stop))
}

// drain waits for what runs, first patiently, then after having told it to
// stop.
func (o *Orchestrator) drain(stopped <-chan struct{}, stop context.CancelCauseFunc) error {
	timer := time.NewTimer(o.opts.Timing.Grace)
	defer timer.Stop()
	select {
	case <-stopped:
		return nil
	case <-timer.C:
	}
	o.log.Info("left to the next start: work did not end in time", "grace", o.opts.Timing.Grace)
	stop(errShutdown)
	timer.Reset(o.opts.Timing.Stop)
	select {
	case <-stopped:
		return nil
	case <-timer.C:
		return errors.New("stop orchestrator: a run did not heed its context")
	}
}

// await waits until Run has recovered.
func (o *Orchestrator) await(ctx context.Context) error {
	select {
	case <-o.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for recovery: %w", context.Cause(ctx))
	}
}

// employ starts jobs as workers, and when no more come waits for them.
func (o *Orchestrator) employ(work context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for {
		select {
		case job := <-o.jobs:
			workers.Go(func() { job(work) })
		case <-o.closing:
			return
		}
	}
}

// spawn has job run as a worker that Run waits for. It reports false when the
// process is ending.
func (o *Orchestrator) spawn(job func(work context.Context)) bool {
	select {
	case o.jobs <- job:
		return true
	case <-o.closing:
		return false
	}
}

// Pause refuses new requests until Resume; what was accepted goes on.
func (o *Orchestrator) Pause() { o.setPaused(true) }

// Resume takes requests again.
func (o *Orchestrator) Resume() { o.setPaused(false) }

// Paused reports whether new requests are refused.
func (o *Orchestrator) Paused() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paused
}

func (o *Orchestrator) setPaused(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = on
}

// Healthy fails when the store cannot commit: then nothing is accepted.
func (o *Orchestrator) Healthy(ctx context.Context) error { return o.opts.Store.Check(ctx) }

// commit stores c and remembers whether the store takes commits.
func (o *Orchestrator) commit(ctx context.Context, c Commit) (Commit, error) {
	done, err := o.opts.Store.Commit(ctx, c)
	if err == nil || errors.Is(err, ErrReadOnly) {
		o.noteReadOnly(err)
	}
	if err == nil && c.Task != nil {
		o.hub.changed(c.Task.ID)
	}
	for i := range done.Deliveries {
		o.hub.changed(done.Deliveries[i].Task)
	}
	if len(done.Audit) > 0 {
		o.hub.ring()
	}
	return done, err
}

// noteReadOnly logs when the store stops or starts again to take commits.
func (o *Orchestrator) noteReadOnly(err error) {
	o.mu.Lock()
	before := o.readOnly
	o.readOnly = err
	o.mu.Unlock()
	switch {
	case err != nil && before == nil:
		o.log.Error("read-only: the store cannot commit; nothing new is accepted, nothing accepted is lost; free disk space", "error", err)
	case err == nil && before != nil:
		o.log.Info("the store commits again")
	}
}

// update changes a task as it stands now, together with what change adds to the
// commit. When somebody else changed it meanwhile, change is called again;
// errUnchanged from it leaves the task alone.
func (o *Orchestrator) update(ctx context.Context, id string, change func(*Task, *Commit) error) (Task, error) {
	const tries = 50
	for range tries {
		task, err := o.opts.Store.Task(ctx, id)
		if err != nil {
			return task, err
		}
		c := Commit{Task: &task}
		if err := change(&task, &c); err != nil {
			if errors.Is(err, errUnchanged) {
				err = nil
			}
			return task, err
		}
		done, err := o.commit(ctx, c)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return task, err
		}
		o.outbox.add(done.Deliveries...)
		return *done.Task, nil
	}
	return Task{}, fmt.Errorf("update task %s: %w", id, ErrConflict)
}

// errUnchanged tells update to leave the task as it is.
var errUnchanged = errors.New("unchanged")

func (o *Orchestrator) now() time.Time { return o.opts.Clock.Now() }

// Task returns one task.
func (o *Orchestrator) Task(ctx context.Context, id string) (Task, error) {
	return o.opts.Store.Task(ctx, id)
}

// Tasks returns the tasks that match, newest first.
func (o *Orchestrator) Tasks(ctx context.Context, query TaskQuery) ([]Task, error) {
	return o.opts.Store.Tasks(ctx, query)
}

// Steps returns a task's steps in order.
func (o *Orchestrator) Steps(ctx context.Context, task string) ([]Step, error) {
	return o.opts.Store.Steps(ctx, task)
}

// Deliveries returns what a task owes or owed.
func (o *Orchestrator) Deliveries(ctx context.Context, task string) ([]Delivery, error) {
	return o.opts.Store.Deliveries(ctx, task)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }
