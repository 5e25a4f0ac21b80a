package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// journal is a bot.Journal in files, one line a step, so that it outlives a
// killed process.
type journal struct {
	dir, task string
	mu        sync.Mutex // guards the file and failAt
	// failAt refuses the n-th append from now on; 0 refuses none.
	failAt int
}

func (j *journal) Steps(ctx context.Context) ([]bot.Step, error) { return j.Of(ctx, j.task) }

func (j *journal) Of(_ context.Context, task string) ([]bot.Step, error) {
	raw, err := os.ReadFile(filepath.Join(j.dir, task+".jsonl"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var steps []bot.Step
	lines := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return steps, nil // a line without an end was not committed
		}
		var step bot.Step
		if err := json.Unmarshal(line, &step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
}

func (j *journal) Append(ctx context.Context, step bot.Step) (bot.Step, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return step, err
	}
	if j.failAt > 0 {
		if j.failAt--; j.failAt == 0 {
			return step, bot.ErrReadOnly
		}
	}
	steps, err := j.Steps(ctx)
	if err != nil {
		return step, err
	}
	step.Seq, step.At = uint64(len(steps))+1, time.Now()
	line, err := json.Marshal(step)
	if err != nil {
		return step, err
	}
	f, err := os.OpenFile(filepath.Join(j.dir, j.task+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return step, err
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return step, err
	}
	return step, f.Sync()
}

// meter counts what is reserved and settled.
type meter struct {
	mu               sync.Mutex // guards the fields below
	reserved, booked int64
	open             int
	deny             error
}

func (m *meter) Reserve(_ context.Context, tokens int64, _ float64) (bot.Reservation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deny != nil {
		return nil, m.deny
	}
	m.reserved += tokens
	m.open++
	return reservation{m}, nil
}

type reservation struct{ m *meter }

func (r reservation) Settle(_ context.Context, tokens int64, _ float64) error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.booked += tokens
	r.m.open--
	return nil
}

// world is what a test runs an agent in.
type world struct {
	t       testing.TB
	dir     string
	blobs   *boltstore.Blobs
	meter   *meter
	options agent.Options
	reports []bot.Progress
}

// newWorld makes a world on the real sandbox, with the built-in skills.
func newWorld(t testing.TB, dir string) *world {
	t.Helper()
	w := bareWorld(t, dir)
	w.options.Sandbox = agent.Sessions(sandboxtest.New(t, sandbox.Options{Pool: sandbox.Pool{Size: 2}}))
	return w
}

// bareWorld has no sandbox.
func bareWorld(t testing.TB, dir string) *world {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	catalogue, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, blobs: blobs, meter: &meter{}, options: agent.Options{Skills: catalogue}}
	if testing.Verbose() {
		w.options.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return w
}

// model has the agent ask srv.
func (w *world) model(srv *modeltest.Server) {
	w.t.Helper()
	w.modelAt(srv.URL(), nil)
}

func (w *world) modelAt(url string, change func(*openai.Options)) {
	w.t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	w.t.Cleanup(transport.CloseIdleConnections)
	o := openai.Options{
		BaseURL: url, Model: "scripted", FirstWait: time.Millisecond, Tries: 2,
		Prices: map[string]agent.Price{"scripted": {Input: 1, Output: 4}}, HTTP: &http.Client{Transport: transport},
	}
	if change != nil {
		change(&o)
	}
	c, err := openai.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.options.Model = c
}

// input stores a file as a request's input.
func (w *world) input(name string, content []byte) bot.Input {
	w.t.Helper()
	blob, err := w.blobs.Put(w.t.Context(), bytes.NewReader(content), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return bot.Input{Name: name, Size: blob.Size, Blob: blob.SHA256}
}

// task makes a running task.
func (w *world) task(id, request string, inputs ...bot.Input) bot.Task {
	return bot.Task{
		ID: id, State: bot.TaskRunning, Inputs: inputs,
		Event:   bot.Event{Text: request, Origin: bot.Origin{Conversation: "c"}},
		Created: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
	}
}

// run runs task with a new agent, as a process that has just started does.
func (w *world) run(task bot.Task, history ...bot.Task) (bot.Outcome, error) {
	w.t.Helper()
	return w.runOn(w.t.Context(), &journal{dir: w.dir, task: task.ID}, task, history...)
}

func (w *world) runOn(ctx context.Context, j *journal, task bot.Task, history ...bot.Task) (bot.Outcome, error) {
	w.t.Helper()
	a, err := agent.New(w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	return a.Run(ctx, bot.Run{
		Task: task, History: history, Journal: j, Blobs: w.blobs, Meter: w.meter,
		Report: func(p bot.Progress) {
			mu.Lock()
			defer mu.Unlock()
			w.reports = append(w.reports, p)
		},
	})
}

// must runs task and fails the test on an error.
func (w *world) must(task bot.Task, history ...bot.Task) bot.Outcome {
	w.t.Helper()
	o, err := w.run(task, history...)
	if err != nil {
		w.t.Fatalf("run: %v", err)
	}
	if o.Error != nil {
		w.t.Logf("error: %+v", *o.Error)
	}
	return o
}

// done is task with its outcome, as a conversation's history holds it.
func done(task bot.Task, o bot.Outcome) bot.Task {
	task.State, task.Outcome = o.State, &o
	return task
}

// content reads a file of an outcome.
func (w *world) content(o bot.Outcome, name string) []byte {
	w.t.Helper()
	for _, f := range o.Files {
		if f.Name == name {
			r, err := w.blobs.Open(w.t.Context(), f.Blob)
			if err != nil {
				w.t.Fatal(err)
			}
			defer r.Close()
			raw, err := io.ReadAll(r)
			if err != nil {
				w.t.Fatal(err)
			}
			return raw
		}
	}
	w.t.Fatalf("no file %s among %v", name, names(o))
	return nil
}

func names(o bot.Outcome) []string {
	var out []string
	for _, f := range o.Files {
		out = append(out, f.Name)
	}
	return out
}

// steps reads a task's journal.
func (w *world) steps(task string) []bot.Step {
	w.t.Helper()
	steps, err := (&journal{dir: w.dir, task: task}).Steps(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return steps
}

// story lists a journal in short, for failures.
func story(steps []bot.Step) string {
	var b strings.Builder
	for _, s := range steps {
		text := string(s.Data)
		fmt.Fprintf(&b, "%d %s %s %.600s\n", s.Seq, s.Agent, s.Kind, text)
	}
	return b.String()
}

// sales is a small table whose sums the tests know: north 30, south 12.5.
const sales = "region,date,amount\nnorth,2024-01-01,10\nsouth,2024-01-02,12.5\nnorth,2024-02-03,20\n"
