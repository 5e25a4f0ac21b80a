package github_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/integrations/github"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const (
	repo   = "octo/sales"
	secret = "hook-secret"
)

// runner is a bot.Runner made of a function.
type runner func(ctx context.Context, run bot.Run) (bot.Outcome, error)

func (r runner) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) { return r(ctx, run) }

// world is the fake GitHub, and lives of the bot over one data folder.
type world struct {
	t      testing.TB
	hub    *githubtest.Server
	hookID int64
	dir    string
	runner runner
	adapt  func(*github.Options)
	tune   func(*bot.OrchestratorOptions)
	clock  *clock
	token  string
	app    bool
	appID  int64
	appKey []byte
	aux    string

	log    *logged
	target atomic.Pointer[http.Handler] // where the webhook leads
	url    string
}

// clock can be set forward.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

type setup struct {
	app        bool
	visibility string
	options    githubtest.Options
	adapt      func(*github.Options)
	tune       func(*bot.OrchestratorOptions)
	runner     runner
	auxiliary  string // a file of the echo that only accompanies it
}

func newWorld(t testing.TB, with setup) *world {
	t.Helper()
	w := &world{t: t, log: &logged{}, dir: t.TempDir(), runner: with.runner, adapt: with.adapt, tune: with.tune, clock: &clock{}, app: with.app, aux: with.auxiliary}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	with.options.Now = w.clock.Now
	w.hub = githubtest.New(with.options)
	t.Cleanup(w.hub.Close)
	w.hub.AddRepo(githubtest.Repo{
		Name: repo, Org: true, Visibility: with.visibility,
		Files:  map[string]string{"data/a.csv": "a,b\n1,2\n", "data/b.csv": "a,b\n3,4\n", "data/deep/c.csv": "a,b\n5,6\n", "README.md": "hello"},
		Grants: map[string]string{"ann": "write", "rob": "read", "sandpiper-bot": "write"},
	})
	w.hub.AddUser("eve", "User")
	if with.app {
		var err error
		if w.appID, w.appKey, err = w.hub.AddApp("sandpiper"); err != nil {
			t.Fatal(err)
		}
		w.hub.Install("octo", permissions())
	} else {
		w.token = w.hub.Token("sandpiper-bot", nil)
	}
	down := http.Handler(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
	w.target.Store(&down)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*w.target.Load()).ServeHTTP(rw, r) }))
	t.Cleanup(front.Close)
	w.url = front.URL + "/webhooks/github"
	hook := githubtest.Hook{URL: w.url, Secret: secret}
	if !with.app {
		hook.Repo = repo
	}
	w.hookID = w.hub.AddHook(hook)
	return w
}

// life is one run of the bot.
type life struct {
	adapter *github.Adapter
	core    *bot.Orchestrator
	store   *boltstore.Store
	stop    func()
}

// start begins a life; it ends with stop or with the test.
func (w *world) start() *life {
	w.t.Helper()
	store, err := boltstore.Open(boltstore.Options{Dir: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	options := github.Options{
		Secrets: func() github.Secrets {
			return github.Secrets{Webhook: secret, Token: w.token, AppKey: string(w.appKey)}
		},
		AppID: w.appID, APIURL: w.hub.APIURL(), Handle: "sandpiper", Repositories: []string{repo},
		MarkerKey: bytes.Repeat([]byte("k"), 32), Records: store, Blobs: blobs, History: store, Clock: w.clock, Logger: log,
		Limits: github.Limits{Progress: time.Millisecond},
	}
	if w.adapt != nil {
		w.adapt(&options)
	}
	adapter, err := github.New(options)
	if err != nil {
		w.t.Fatal(err)
	}
	rules, err := bot.NewRules([]bot.Rule{{Origin: "github:*", Actors: []string{"github:*"}, May: []bot.Right{bot.MayAsk}}})
	if err != nil {
		w.t.Fatal(err)
	}
	run := w.runner
	if run == nil {
		run = w.echo(blobs)
	}
	coreOptions := bot.OrchestratorOptions{
		Store: store, Exclusive: true, Blobs: blobs, Runner: run, Policy: rules, Channels: map[string]bot.Channel{"github": adapter}, Logger: log,
		Timing: bot.Timing{Retry: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond, Settle: 10 * time.Millisecond, Progress: time.Millisecond, Grace: 5 * time.Second},
	}
	if w.tune != nil {
		w.tune(&coreOptions)
	}
	core, err := bot.New(coreOptions)
	if err != nil {
		w.t.Fatal(err)
	}
	hook := adapter.Webhook()
	w.target.Store(&hook)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := core.Run(ctx); err != nil {
			w.t.Errorf("core: %v", err)
		}
	})
	running.Go(func() {
		if err := adapter.Run(ctx, core); err != nil {
			w.t.Errorf("adapter: %v", err)
		}
	})
	l := &life{adapter: adapter, core: core, store: store}
	var once sync.Once
	l.stop = func() {
		once.Do(func() {
			down := http.Handler(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
			w.target.Store(&down)
			w.hub.Settle()
			cancel()
			running.Wait()
			if err := errors.Join(store.Close(), blobs.Close()); err != nil {
				w.t.Errorf("close store: %v", err)
			}
		})
	}
	w.t.Cleanup(l.stop)
	w.until("the adapter is ready", func() bool { return adapter.Ready() == nil })
	return l
}

// echo answers with the request and a chart and a table.
func (w *world) echo(blobs bot.Blobs) runner {
	return func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		run.Report(bot.Progress{Now: "drawing", Todo: []bot.TodoItem{{Text: "read", Done: true}, {Text: "draw"}}})
		var files []bot.Artifact
		for name, kind := range map[string]string{"chart.png": "image/png", "table.csv": "text/csv"} {
			blob, err := blobs.Put(ctx, strings.NewReader("content of "+name), 0)
			if err != nil {
				return bot.Outcome{}, err
			}
			files = append(files, bot.Artifact{Name: name, MediaType: kind, Size: blob.Size, Blob: blob.SHA256, Alt: "Sales by month", Auxiliary: name == w.aux})
		}
		if files[0].Name != "chart.png" {
			files[0], files[1] = files[1], files[0]
		}
		var seen strings.Builder
		for _, in := range run.Task.Inputs {
			seen.WriteString("\n- " + in.Name + " " + in.Problem)
			if in.Maybe {
				seen.WriteString("(maybe)")
			}
			if in.Blob != "" {
				f, err := blobs.Open(ctx, in.Blob)
				if err != nil {
					return bot.Outcome{}, err
				}
				data, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil {
					return bot.Outcome{}, err
				}
				seen.WriteString("`" + strings.ReplaceAll(string(data), "\n", "/") + "`")
			}
		}
		return bot.Outcome{
			State: bot.TaskDone, Message: "Answer to: " + run.Task.Event.Text + "\n" + seen.String(), Files: files,
			Provenance: bot.Provenance{Programs: []bot.ProgramVerdict{{Language: "python", Verdict: "ok"}}},
		}, nil
	}
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// idle waits until nothing is on its way or owed.
func (w *world) idle(l *life) {
	w.t.Helper()
	w.hub.Settle()
	w.until("all is delivered", func() bool {
		open, err := l.store.Open(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		pending, err := l.store.Pending(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		return len(open) == 0 && len(pending) == 0
	})
	w.hub.Settle()
}

// answers returns the bot's comments on an issue.
func (w *world) answers(number int64) []githubtest.Comment {
	var out []githubtest.Comment
	for _, c := range w.hub.Comments(repo, number) {
		if c.Author == "sandpiper-bot" || c.Author == "sandpiper[bot]" {
			out = append(out, c)
		}
	}
	return out
}

// one returns the bot's only comment.
func (w *world) one(number int64) githubtest.Comment {
	w.t.Helper()
	all := w.answers(number)
	if len(all) != 1 {
		w.t.Fatalf("%d comments of ours, want 1: %+v", len(all), all)
	}
	return all[0]
}

// branch is this month's artifact branch.
func (w *world) branch() string {
	return "sandpiper-artifacts-" + w.clock.Now().UTC().Format("2006-01")
}

// logged keeps the log to show it when a test failed.
type logged struct {
	mu     sync.Mutex // guards buffer
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(b)
}

// String returns all that was logged.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newBenchWorld has a bot whose tasks end at once and say nothing.
func newBenchWorld(t testing.TB) *world {
	w := newWorld(t, setup{
		tune: func(o *bot.OrchestratorOptions) {
			o.Limits.WaitingPerActor, o.Limits.WaitingPerConversation = 1e6, 1e6
			o.Limits.Running = 1
		},
		runner: func(ctx context.Context, _ bot.Run) (bot.Outcome, error) {
			<-ctx.Done() // the queue is what is measured
			return bot.Outcome{}, context.Cause(ctx)
		},
	})
	return w
}

// What an adapter needs to be made, and never asks in these tests.
type (
	noRecords struct{ bot.Records }
	noBlobs   struct{ bot.Blobs }
	noHistory struct{ github.History }
)

// waiting runs until it is cancelled.
func waiting(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	run.Report(bot.Progress{Now: "waiting"})
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), bot.ErrCancelled) {
		return bot.Outcome{State: bot.TaskCancelled}, nil
	}
	return bot.Outcome{}, context.Cause(ctx)
}

func everything() bot.TaskQuery { return bot.TaskQuery{Commands: true} }
