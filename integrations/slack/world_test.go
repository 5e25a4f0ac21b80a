package slack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// world is a fake workspace, an adapter connected to it, and a core that only
// takes down what it gets.
type world struct {
	*slacktest.Workspace
	adapter *slack.Adapter
	core    *core
	records *records
	blobs   *blobs
	ada     string // a person who may ask
	sales   string // a channel where people may ask
	logs    *syncBuffer
	// tokens are those of the workspace, unless a test sets others.
	tokens func() slack.Tokens
}

// setup changes what build makes.
type setup struct {
	workspace slacktest.Options
	options   func(*slack.Options, *world)
	core      *core
}

// build starts a world; its end is waited for.
func build(t *testing.T, s setup) *world {
	t.Helper()
	w := prepare(t, s)
	w.run(t)
	return w
}

// prepare makes a world whose adapter does not run yet.
func prepare(t *testing.T, s setup) *world {
	t.Helper()
	if s.workspace.ShareDelay == 0 {
		s.workspace.ShareDelay = 20 * time.Millisecond
	}
	ws, err := slacktest.New(s.workspace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{Workspace: ws, core: s.core, records: newRecords(), blobs: newBlobs(), logs: &syncBuffer{}}
	if w.core == nil {
		w.core = newCore()
	}
	w.tokens = func() slack.Tokens { return slack.Tokens{App: ws.AppToken(), Bot: ws.BotToken()} }
	w.ada = ws.AddUser(slacktest.User{Name: "Ada"})
	w.sales = ws.AddChannel(slacktest.Channel{Name: "sales", Members: []string{w.ada, slacktest.BotUser}})
	w.adapter = w.make(t, s.options)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", w.logs)
		}
	})
	return w
}

func (w *world) make(t *testing.T, change func(*slack.Options, *world)) *slack.Adapter {
	t.Helper()
	o := slack.Options{
		Tokens: w.tokens, APIURL: w.APIURL(), HTTP: w.HTTPClient(), Dial: w.Dial,
		Allow: slack.Allow{Channels: []string{w.sales, w.DM(w.ada)}}, Secret: []byte("0123456789abcdef"),
		Records: w.records, Blobs: w.blobs, Logger: slog.New(slog.NewTextHandler(w.logs, nil)),
	}
	if change != nil {
		change(&o, w)
	}
	a, err := slack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a.Show(w.core)
	return a
}

// run connects the adapter until the test ends or the returned function is called.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	stop = w.start(t)
	w.wait(t, "a connection", func() bool { return w.Sockets() > 0 && w.adapter.Ready() == nil })
	return stop
}

// start runs the adapter and does not wait for its connection.
func (w *world) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	adapter := w.adapter
	go func() { done <- adapter.Run(ctx, w.core) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// wait looks at cond again and again until it is true.
func (w *world) wait(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain\n%s\nevents: %+v", what, w.Transcript(w.sales), w.core.all())
		}
	}
}

// settled waits until all envelopes that were sent are acknowledged.
func (w *world) settled(t *testing.T) {
	t.Helper()
	w.wait(t, "acknowledgements", func() bool { a := w.Acks(); return a.Sent == a.Acked })
}

// core is a bot.Intake that takes down events and merges twins as the real one
// does. It also stands in for the tasks that are shown.
type core struct {
	mu     sync.Mutex // guards what follows
	events []bot.Event
	keys   map[string]string
	tasks  map[string]bot.Task
	steps  map[string][]bot.Step
	// answer replaces what Submit does after an event was taken down.
	answer func(bot.Event) (bot.Ticket, error)
}

func newCore() *core {
	return &core{keys: map[string]string{}, tasks: map[string]bot.Task{}, steps: map[string][]bot.Step{}}
}

func (c *core) Submit(_ context.Context, e bot.Event) (bot.Ticket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer != nil {
		if ticket, err := c.answer(e); err != nil || ticket.Refused != nil {
			return ticket, err
		}
	}
	if id, ok := c.keys[e.Key]; ok {
		for i := range c.events {
			if c.events[i].Key == e.Key && len(c.events[i].Inputs) == 0 {
				c.events[i].Inputs = e.Inputs
			}
		}
		return bot.Ticket{Task: id, Duplicate: true}, nil
	}
	id := fmt.Sprintf("01TASK%020d", len(c.events))
	if e.Kind == bot.EventEdit {
		for task, t := range c.tasks {
			if t.Event.Source == e.Source {
				id = task
			}
		}
	}
	c.keys[e.Key] = id
	c.events = append(c.events, e)
	if e.Kind == bot.EventRequest {
		c.tasks[id] = bot.Task{ID: id, State: bot.TaskQueued, Title: e.Text, Event: e, Created: time.Now()}
	}
	ticket := bot.Ticket{Task: id}
	if e.Kind == bot.EventCommand && e.Inline {
		ticket.Reply = "reply to " + e.Command.Name
	}
	return ticket, nil
}

func (c *core) all() []bot.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// of lists the events of a kind.
func (c *core) of(kind bot.EventKind) []bot.Event {
	return slices.DeleteFunc(c.all(), func(e bot.Event) bool { return e.Kind != kind })
}

func (c *core) set(task bot.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks[task.ID] = task
}

func (c *core) Task(_ context.Context, id string) (bot.Task, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tasks[id]
	if !ok {
		return t, bot.ErrNotFound
	}
	return t, nil
}

func (c *core) Tasks(_ context.Context, q bot.TaskQuery) ([]bot.Task, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []bot.Task
	for _, t := range c.tasks {
		if t.Event.Actor.ID == q.Actor {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b bot.Task) int { return strings.Compare(b.ID, a.ID) })
	return out, nil
}

func (c *core) Steps(_ context.Context, id string) ([]bot.Step, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps[id], nil
}

// records is bot.Records in memory.
type records struct {
	mu   sync.Mutex // guards data
	data map[string]bot.Record
}

func newRecords() *records { return &records{data: map[string]bot.Record{}} }

func (r *records) Get(_ context.Context, bucket, key string) (bot.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.data[bucket+"\x00"+key]
	if !ok {
		return v, bot.ErrNotFound
	}
	return v, nil
}

func (r *records) Put(_ context.Context, bucket, key string, value []byte, revision uint64) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.data[bucket+"\x00"+key]; have.Revision != revision {
		return 0, bot.ErrConflict
	}
	r.data[bucket+"\x00"+key] = bot.Record{Key: key, Value: bytes.Clone(value), Revision: revision + 1}
	return revision + 1, nil
}

func (r *records) Delete(_ context.Context, bucket, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.data, bucket+"\x00"+key)
	return nil
}

func (r *records) List(_ context.Context, bucket, prefix string) ([]bot.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []bot.Record
	for k, v := range r.data {
		if strings.HasPrefix(k, bucket+"\x00"+prefix) {
			out = append(out, v)
		}
	}
	return out, nil
}

// blobs is bot.Blobs in memory.
type blobs struct {
	bot.Blobs // what is not used here
	mu        sync.Mutex
	data      map[string][]byte // guarded by mu
}

func newBlobs() *blobs { return &blobs{data: map[string][]byte{}} }

func (b *blobs) add(name, mediaType string, data []byte) bot.Artifact {
	sum := sha256.Sum256(data)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data[hex.EncodeToString(sum[:])] = data
	return bot.Artifact{Name: name, MediaType: mediaType, Size: int64(len(data)), Blob: hex.EncodeToString(sum[:])}
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

func (b *blobs) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.data[sha]
	if !ok {
		return nil, bot.ErrNotFound
	}
	return reader{bytes.NewReader(data)}, nil
}

func (b *blobs) All(context.Context) iter.Seq2[bot.Blob, error] { return nil }

// syncBuffer is a buffer for logs.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
