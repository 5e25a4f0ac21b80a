package testadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter/testplatform"
)

// The variables that make a re-executed test binary the process to be killed.
const (
	envDir      = "CRASH_DATA_DIR"
	envPlatform = "CRASH_PLATFORM"
	envKill     = "CRASH_KILL"
)

func TestMain(m *testing.M) {
	if os.Getenv(envDir) == "" {
		os.Exit(m.Run())
	}
	if err := life(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// life is one life of a bot: real core, real store, real HTTP; only its runner
// is made for this test. When its stdin closes it finishes everything and ends.
func life() error {
	dir := os.Getenv(envDir)
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		return err
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	adapter, err := testadapter.New(testadapter.Options{URL: os.Getenv(envPlatform), Logger: log})
	if err != nil {
		return err
	}
	point, err := testadapter.KillAt(os.Getenv(envKill))
	if err != nil {
		return err
	}
	o, err := bot.New(bot.OrchestratorOptions{
		Exclusive: true, // the file's lock sees to it
		Store:     store, Blobs: blobs, Runner: counting{}, Logger: log, Point: point,
		Policy:   bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}},
		Channels: map[string]bot.Channel{testadapter.Name: adapter},
		Commands: map[string]bot.CommandSpec{"note": {Run: func(_ context.Context, e bot.Event) (string, error) {
			return "noted " + e.Command.Args, nil
		}}},
		// Who kills three hundred times may well meet one task ten times over: that
		// such a task is given up has a test of its own.
		Limits: bot.Limits{WaitingPerActor: 1000, WaitingPerConversation: 1000, Attempts: 300},
		Timing: bot.Timing{
			Settle: 100 * time.Millisecond, Retry: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
			Progress: 5 * time.Millisecond,
		},
	})
	if err != nil {
		return err
	}
	running, end := context.WithCancel(context.Background())
	defer end()
	done := make(chan error, 2)
	go func() { done <- o.Run(running) }()
	go func() { done <- adapter.Run(running, o) }()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	err = o.Idle(running)
	end()
	return errors.Join(err, <-done, <-done, store.Close(), blobs.Close())
}

// counting is a Runner that does its work in three journaled turns, and goes on
// where an earlier life stopped: its answer says how many turns it has.
type counting struct{}

func (counting) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	const turns = 3
	if asks := strings.HasPrefix(run.Task.Event.Text, "ask"); asks && len(run.Task.Answers) == 0 {
		return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which one?"}}, nil
	}
	steps, err := run.Journal.Steps(ctx)
	if err != nil {
		return bot.Outcome{}, err
	}
	for n := len(steps) + 1; n <= turns; n++ {
		run.Report(bot.Progress{Now: fmt.Sprintf("turn %d", n)})
		step, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: json.RawMessage(strconv.Itoa(n))})
		if err != nil {
			return bot.Outcome{}, err
		}
		if step.Seq != uint64(n) {
			return bot.Outcome{}, fmt.Errorf("turn %d was recorded as step %d", n, step.Seq)
		}
	}
	content := "made by " + run.Task.ID
	blob, err := run.Blobs.Put(ctx, strings.NewReader(content), 0)
	if err != nil {
		return bot.Outcome{}, err
	}
	message := "answer to " + run.Task.Event.Text
	for _, a := range run.Task.Answers {
		message += ", " + a.Text
	}
	for _, in := range run.Task.Inputs {
		message += ", " + in.Name + ": " + strconv.FormatInt(in.Size, 10) + in.Problem
	}
	return bot.Outcome{
		State: bot.TaskDone, Message: message,
		Files: []bot.Artifact{{Name: "made.txt", MediaType: "text/plain", Size: blob.Size, Blob: blob.SHA256}},
	}, nil
}

// TestKilledAnywhereNothingIsLostOrDoubled kills the process under load, at the
// Nth point of the core's way with N from a seed, and counts at the end.
// CRASH_KILLS and CRASH_SEED set the length and repeat a run.
func TestKilledAnywhereNothingIsLostOrDoubled(t *testing.T) {
	kills, seed := setting(t, "CRASH_KILLS", 25), setting(t, "CRASH_SEED", 1)
	t.Logf("%d kills, seed %d", kills, seed)
	c := newCrash(t, uint64(seed))
	for range kills {
		c.feed()
		c.killed()
	}
	c.platform.Heal()
	c.finish()
	c.check()
}

func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// crash is one run of the crash test.
type crash struct {
	t        *testing.T
	dir, url string
	platform *testplatform.Platform
	random   *rand.Rand
	events   []bot.Event
	answered map[string]bool // questions, by task
}

func newCrash(t *testing.T, seed uint64) *crash {
	t.Helper()
	c := &crash{t: t, dir: t.TempDir(), answered: map[string]bool{}, random: rand.New(rand.NewPCG(seed, 2))}
	c.platform = testplatform.New(testplatform.Faults{LoseRequest: 0.02, LoseResponse: 0.05, Busy: 0.02, Duplicate: 0.2}, seed)
	server := httptest.NewUnstartedServer(c.platform)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	c.url = server.URL
	c.platform.Deny("stranger")
	c.platform.Store("file", "a,b\n1,2\n")
	return c
}

// feed lets more happen than one life will manage: requests, questions to be
// answered, commands of the core and of another room.
func (c *crash) feed() {
	c.answer()
	for range 6 {
		n := len(c.events)
		conversation := fmt.Sprintf("c%d", n%7)
		e := bot.Event{
			Key: fmt.Sprintf("test:%d", n), Kind: bot.EventRequest, Text: fmt.Sprintf("question %d", n),
			Source: fmt.Sprintf("message %d", n),
			Actor:  bot.Actor{ID: fmt.Sprintf("test:actor%d", n%5)},
		}
		switch {
		case n%8 == 0:
			e.NeedsRight, e.Actor.ID = true, "stranger"
		case n%10 == 9:
			e.Text, conversation = fmt.Sprintf("ask %d", n), fmt.Sprintf("q%d", n)
		case n%11 == 5:
			e.Kind, e.Command = bot.EventCommand, bot.Command{Name: "status"}
		case n%11 == 6:
			e.Kind, e.Command = bot.EventCommand, bot.Command{Name: "note", Args: e.Key}
		case n%4 == 0:
			e.NeedsRight = true
		}
		if n%3 == 0 {
			e.Inputs = []bot.InputRef{{Name: "data.csv", Ref: "file"}}
		}
		e.Origin = bot.Origin{Adapter: testadapter.Name, Conversation: conversation, Place: "test:room", Address: conversation}
		c.events = append(c.events, e)
		c.platform.Happen(e)
	}
}

// answer answers the questions that have arrived, each once; it returns how many
// there were in all.
func (c *crash) answer() int {
	for _, m := range c.platform.Messages() {
		d := m.Delivery
		if d.Kind != bot.DeliverQuestion || c.answered[d.Task] {
			continue
		}
		c.answered[d.Task] = true
		c.platform.Happen(bot.Event{
			Key: "answer:" + d.Task, Kind: bot.EventRequest, Text: "this one", Origin: d.Origin, Actor: d.Actor,
		})
	}
	return len(c.answered)
}

// asks counts the events that make the bot ask back.
func (c *crash) asks() (n int) {
	for i := range c.events {
		if strings.HasPrefix(c.events[i].Text, "ask") {
			n++
		}
	}
	return n
}

// start runs a life that kills itself at the given point, and returns its log
// and what to close so that it ends by itself.
func (c *crash) start(kill string) (*exec.Cmd, *strings.Builder, io.Closer) {
	c.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	var log strings.Builder
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), envDir+"="+c.dir, envPlatform+"="+c.url, envKill+"="+kill)
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd, &log, stdin
}

// killed runs a life until it has killed itself. More happens for as long as
// that takes: what there was may be done before the point is reached.
func (c *crash) killed() {
	c.t.Helper()
	const furthest = 80
	kill := strconv.Itoa(1 + c.random.IntN(furthest))
	cmd, log, _ := c.start(kill)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	more := time.NewTicker(100 * time.Millisecond)
	defer more.Stop()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				c.t.Fatalf("life to be killed at point %s ended with %v\n%s", kill, err, log)
			}
			return
		case <-more.C:
			if c.platform.Unacknowledged() == 0 {
				c.feed()
			}
		}
	}
}

// finish runs a life that nobody kills until all is done.
func (c *crash) finish() {
	c.t.Helper()
	cmd, log, stdin := c.start("")
	deadline := time.Now().Add(2 * time.Minute)
	for (c.answer() < c.asks() || c.platform.Unacknowledged() > 0) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		c.t.Fatalf("last life: %v\n%s", err, log)
	}
}

// check counts what there is.
func (c *crash) check() {
	c.t.Helper()
	ctx := c.t.Context()
	store, err := boltstore.Open(boltstore.Options{Dir: c.dir})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	tasks, err := store.Tasks(ctx, bot.TaskQuery{Limit: 1 << 20, Commands: true})
	if err != nil {
		c.t.Fatal(err)
	}
	arrived := map[string][]bot.Delivery{} // by task
	counts := map[string]int{}             // by delivery
	statuses := 0
	for _, m := range c.platform.Messages() {
		counts[m.Delivery.ID]++
		if m.Delivery.Task == "" {
			statuses++
		}
		arrived[m.Delivery.Task] = append(arrived[m.Delivery.Task], m.Delivery)
	}
	byKey := map[string]*bot.Task{}
	for i := range tasks {
		byKey[tasks[i].Event.Key] = &tasks[i]
	}
	lives := 0
	for _, e := range c.events {
		if e.Command.Name == "status" { // answered without a task, once
			statuses--
			continue
		}
		task := byKey[e.Key]
		delete(byKey, e.Key)
		if task == nil {
			c.t.Errorf("event %s was acknowledged and has no task", e.Key)
			continue
		}
		lives = max(lives, task.Attempts)
		c.checkTask(ctx, store, task, arrived[task.ID], counts)
	}
	if statuses != 0 || len(byKey) != 0 {
		c.t.Errorf("%d status replies too many, %d tasks of no event", statuses, len(byKey))
	}
	c.checkTrail(ctx, store)
	c.t.Logf("%d tasks, %d messages, a task was begun up to %d times, %d questions were answered", len(tasks), len(counts), lives, len(c.answered))
}

// checkTask checks one task's ending, steps and messages.
func (c *crash) checkTask(ctx context.Context, store *boltstore.Store, task *bot.Task, arrived []bot.Delivery, counts map[string]int) {
	c.t.Helper()
	want, kinds, turns := bot.TaskDone, "answer files", 3
	switch {
	case task.Event.Actor.ID == "stranger":
		want, kinds, turns = bot.TaskRefused, "answer", 0
	case task.Event.Kind == bot.EventCommand:
		kinds, turns = "notice", 0
	case strings.HasPrefix(task.Event.Text, "ask"):
		kinds = "question answer files"
	}
	if task.State != want {
		c.t.Errorf("task %s is %s, want %s: %+v", task.ID, task.State, want, task.Outcome)
		return
	}
	endings := 0
	for _, tr := range task.Transitions {
		if tr.To.Final() {
			endings++
		}
	}
	steps, err := store.Steps(ctx, task.ID)
	if err != nil || endings != 1 || len(steps) != turns {
		c.t.Errorf("task %s has %d endings and %d steps (%v)", task.ID, endings, len(steps), err)
	}
	deliveries, err := store.Deliveries(ctx, task.ID)
	if err != nil {
		c.t.Error(err)
	}
	for i := range deliveries {
		if d := &deliveries[i]; d.Status != bot.DeliverySent || counts[d.ID] != 1 {
			c.t.Errorf("delivery %s (%s) is %s and arrived %d times", d.ID, d.Kind, d.Status, counts[d.ID])
		}
	}
	var got []string
	var answer string
	for i := range arrived {
		if arrived[i].Kind != bot.DeliverProgress {
			got = append(got, string(arrived[i].Kind))
			answer += arrived[i].Message
		}
	}
	if strings.Join(got, " ") != kinds {
		c.t.Errorf("task %s sent %v, want %s", task.ID, got, kinds)
	}
	if len(task.Event.Inputs) > 0 && turns > 0 && !strings.HasSuffix(answer, "data.csv: 8") {
		c.t.Errorf("task %s did not read its file: %q", task.ID, answer)
	}
}

// checkTrail checks the audit chain, the database's pages and the blobs.
func (c *crash) checkTrail(ctx context.Context, store *boltstore.Store) {
	c.t.Helper()
	chain, err := bot.VerifyAudit(ctx, store, nil)
	if err != nil || chain.Last == 0 {
		c.t.Errorf("audit chain: %+v %v", chain, err)
	}
	if err := store.Verify(ctx); err != nil {
		c.t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(c.dir, "blobs", "tmp", "*")); err != nil || len(left) > 0 {
		c.t.Errorf("unfinished files are left: %v %v", left, err)
	}
	if shown := c.platform.Shown(); len(shown) == 0 {
		c.t.Error("no progress was shown")
	}
}
