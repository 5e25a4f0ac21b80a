package bot_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

func TestMain(m *testing.M) {
	// Whole lives of a core are long for a property test: fewer of them do,
	// unless the command line asks for more.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long tests wait for what must come: a machine that is busy with
// containers and other tests can stall an fsync for a minute.
const patience = 5 * time.Minute

// platform is a channel to a place that only exists in memory. It keeps what
// was sent, and fails as it is told to.
type platform struct {
	// mu guards what follows.
	mu         sync.Mutex
	sent       map[string]int // by delivery id
	order      []bot.Delivery
	progress   []bot.Progress
	authorize  func(bot.Event) (bot.Decision, error)
	fetch      func(bot.InputRef, io.Writer) (bot.Fetched, error)
	send       func(bot.Delivery) error // before it is kept
	lose       func(bot.Delivery) error // after it was kept
	find       func(bot.Delivery) error
	receipt    func(bot.Delivery) bot.Receipt
	lookups    int
	made       int // progress messages
	noProgress bool
}

func newPlatform() *platform { return &platform{sent: map[string]int{}} }

func (p *platform) Authorize(_ context.Context, e bot.Event) (bot.Decision, error) {
	if p.authorize != nil {
		return p.authorize(e)
	}
	return bot.Decision{Allowed: true, Rule: "member"}, nil
}

func (p *platform) Fetch(_ context.Context, _ bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	if p.fetch != nil {
		return p.fetch(ref, w)
	}
	_, err := io.WriteString(w, "a,b\n1,2\n")
	return bot.Fetched{Source: "pinned:" + ref.Ref}, err
}

func (p *platform) Progress(_ context.Context, t bot.Task, progress bot.Progress, earlier *bot.Receipt) (*bot.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = append(p.progress, progress)
	if p.noProgress {
		return nil, nil
	}
	if earlier != nil {
		return earlier, nil
	}
	p.made++
	return &bot.Receipt{ID: "progress-of-" + t.ID}, nil
}

func (p *platform) Send(_ context.Context, d bot.Delivery) (bot.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.send != nil {
		if err := p.send(d); err != nil {
			return bot.Receipt{}, err
		}
	}
	p.sent[d.ID]++
	p.order = append(p.order, d)
	if p.lose != nil {
		if err := p.lose(d); err != nil {
			return bot.Receipt{}, err
		}
	}
	if p.receipt != nil {
		return p.receipt(d), nil
	}
	return bot.Receipt{ID: "message-" + d.ID}, nil
}

func (p *platform) Find(_ context.Context, d bot.Delivery) (bot.Receipt, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookups++
	if p.find != nil {
		if err := p.find(d); err != nil {
			return bot.Receipt{}, false, err
		}
	}
	return bot.Receipt{ID: "message-" + d.ID}, p.sent[d.ID] > 0, nil
}

// messages returns what was sent, in order, as "kind: text".
func (p *platform) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, d := range p.order {
		line := string(d.Kind) + ": " + d.Message
		for _, f := range d.Files {
			line += "[" + f.Name + "]"
		}
		all = append(all, line)
	}
	return all
}

func (p *platform) once(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range p.sent {
		if n != 1 {
			t.Errorf("delivery %s was sent %d times", id, n)
		}
	}
}

// runner is a Runner made of a function.
type runner func(ctx context.Context, run bot.Run) (bot.Outcome, error)

func (r runner) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) { return r(ctx, run) }

// echo answers with the request.
func echo(_ context.Context, run bot.Run) (bot.Outcome, error) {
	return bot.Outcome{State: bot.TaskDone, Message: "answer to " + run.Task.Event.Text}, nil
}

// world is a whole core on a real store, with a platform and a runner.
type world struct {
	*bot.Orchestrator
	t        *testing.T
	dir      string
	store    *boltstore.Store
	blobs    *boltstore.Blobs
	platform *platform
	options  bot.OrchestratorOptions
	stop     func() error
	log      *lockedBuffer
	wrap     func(bot.Store) bot.Store // what the core sees of the store; nil: all

	// spending guards what a budget test's next task does.
	spending  sync.Mutex
	spendNext func(ctx context.Context, m bot.Meter)
}

// newWorld makes a core and starts it; change adjusts its options first.
func newWorld(t *testing.T, run runner, change ...func(*bot.OrchestratorOptions)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), platform: newPlatform(), log: &lockedBuffer{}}
	w.options = bot.OrchestratorOptions{
		Runner:   run,
		Policy:   bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk, bot.MaySave, bot.MaySchedule}}},
		Channels: map[string]bot.Channel{"test": w.platform},
		Logger:   slog.New(slog.NewTextHandler(w.log, nil)),
		// The file's lock sees to it.
		Exclusive: true,
		Timing: bot.Timing{
			Settle: 5 * time.Millisecond, Retry: time.Millisecond, RetryMax: 20 * time.Millisecond,
			Progress: time.Millisecond, Cancel: 200 * time.Millisecond, Grace: 5 * time.Second,
		},
		Limits: bot.Limits{WaitingPerActor: 1000, WaitingPerConversation: 1000},
	}
	for _, c := range change {
		c(&w.options)
	}
	w.start()
	t.Cleanup(func() {
		if w.stop != nil {
			w.end()
		}
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	return w
}

// start opens the store and runs the core, as a process would.
func (w *world) start() {
	w.t.Helper()
	var err error
	if w.store, err = boltstore.Open(boltstore.Options{Dir: w.dir}); err != nil {
		w.t.Fatal(err)
	}
	if w.blobs, err = boltstore.OpenBlobs(boltstore.Options{Dir: w.dir}); err != nil {
		w.t.Fatal(err)
	}
	w.options.Store, w.options.Blobs = w.store, w.blobs
	if w.wrap != nil {
		w.options.Store = w.wrap(w.store)
	}
	if w.Orchestrator, err = bot.New(w.options); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.stop = func() error {
		cancel()
		return errors.Join(<-done, w.store.Close(), w.blobs.Close())
	}
}

// end stops the core and closes the store.
func (w *world) end() {
	w.t.Helper()
	stop := w.stop
	w.stop = nil
	if err := stop(); err != nil {
		w.t.Errorf("stop: %v", err)
	}
}

// ask submits a request and fails the test when it is not accepted.
func (w *world) ask(conversation, actor, text string) string {
	w.t.Helper()
	ticket, err := w.Submit(w.t.Context(), request(conversation, actor, text))
	if err != nil || ticket.Refused != nil || ticket.Task == "" {
		w.t.Fatalf("submit: %+v %v", ticket, err)
	}
	return ticket.Task
}

func request(conversation, actor, text string) bot.Event {
	return bot.Event{
		Key: "test:" + conversation + "/" + actor + "/" + hashed(text), Kind: bot.EventRequest, Text: text,
		Source: "message:" + conversation + "/" + hashed(text),
		Origin: bot.Origin{Adapter: "test", Conversation: conversation, Place: "test:place"},
		Actor:  bot.Actor{ID: actor},
	}
}

func command(conversation, actor, name string) bot.Event {
	e := request(conversation, actor, name)
	e.Kind, e.Text, e.Source = bot.EventCommand, "", ""
	e.Command = bot.Command{Name: name}
	return e
}

// settle waits until a task has ended and all of its deliveries have.
func (w *world) settle(id string) bot.Task {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for u, err := range w.Watch(ctx, id) {
		if err != nil {
			w.t.Fatalf("watch %s: %v", id, err)
		}
		if u.Settled {
			return u.Task
		}
	}
	w.t.Fatal("watch ended early")
	return bot.Task{}
}

func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.Idle(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// blob returns stored content.
func (w *world) blob(sha string) string {
	w.t.Helper()
	f, err := w.blobs.Open(w.t.Context(), sha)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body)
}

func (w *world) put(content string) string {
	w.t.Helper()
	b, err := w.blobs.Put(w.t.Context(), strings.NewReader(content), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return b.SHA256
}

// until waits for a condition that something else brings about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// lockedBuffer takes log lines from many goroutines.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var errLost = fmt.Errorf("the connection broke")
