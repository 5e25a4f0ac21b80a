package bot_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// goal prints a figure beside what it should be; no benchmark fails on it.
func goal(b *testing.B, what string, figure float64, unit string, met bool, want string) {
	verdict := "met"
	if !met {
		verdict = "MISSED"
	}
	b.Logf("%-44s %10.1f %-8s goal %s: %s", what, figure, unit, want, verdict)
}

// BenchmarkSubmitBurst submits 5,000 events of 50 conversations from 64 callers,
// while their tasks run, and compares with what the disk can do one by one.
func BenchmarkSubmitBurst(b *testing.B) {
	raw := rawRate(b)
	for b.Loop() {
		rate, p99 := burst(b)
		b.ReportMetric(rate, "events/s")
		b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
		b.ReportMetric(raw, "raw-updates/s")
		goal(b, "Submit under a burst, p99", float64(p99.Microseconds())/1000, "ms", p99 < 100*time.Millisecond, "under 100")
		goal(b, "Submit to raw fsynced bbolt updates", rate/raw, "times", rate >= 3*raw, "at least 3")
	}
}

// rawRate is how many fsynced updates of 1 KiB a second bbolt makes here.
func rawRate(b *testing.B) float64 {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const n = 500
	value := make([]byte, 1024)
	start := time.Now()
	for i := range n {
		err := db.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("raw"))
			if err != nil {
				return err
			}
			return bucket.Put(fmt.Appendf(nil, "%08d", i), value)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return n / time.Since(start).Seconds()
}

func burst(b *testing.B) (rate float64, p99 time.Duration) {
	b.Helper()
	const events, callers, conversations = 5000, 64, 50
	o, stop := benchCore(b, b.TempDir())
	defer stop()
	numbers := make(chan int, events)
	for i := range events {
		numbers <- i
	}
	close(numbers)
	took := make([]time.Duration, events)
	var group sync.WaitGroup
	start := time.Now()
	for range callers {
		group.Go(func() {
			for i := range numbers {
				e := request(fmt.Sprint("c", i%conversations), fmt.Sprint("actor", i%17), fmt.Sprint("question ", i))
				before := time.Now()
				ticket, err := o.Submit(b.Context(), e)
				took[i] = time.Since(before)
				if err != nil || ticket.Task == "" || ticket.Duplicate {
					b.Errorf("submit: %+v %v", ticket, err)
				}
			}
		})
	}
	group.Wait()
	rate = events / time.Since(start).Seconds()
	tasks, err := o.Tasks(b.Context(), bot.TaskQuery{Limit: events + 1})
	if err != nil || len(tasks) != events {
		b.Errorf("%d tasks of %d events (%v)", len(tasks), events, err)
	}
	slices.Sort(took)
	return rate, took[events*99/100]
}

// benchCore runs a core in dir.
func benchCore(b testing.TB, dir string) (*bot.Orchestrator, func()) {
	b.Helper()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	p := newPlatform()
	p.noProgress = true
	o, err := bot.New(bot.OrchestratorOptions{
		Exclusive: true, // the file's lock sees to it
		Store:     store, Blobs: blobs, Runner: runner(echo), Channels: map[string]bot.Channel{"test": p},
		Policy:  bot.Rules{{Origin: "*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}},
		Limits:  bot.Limits{WaitingPerActor: 1 << 20, WaitingPerConversation: 1 << 20},
		Budgets: bot.Budgets{ActorDailyTasks: 1 << 20, DailyTasks: 1 << 20}, // counting them costs
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	return o, func() {
		cancel()
		if err := errors.Join(<-done, store.Close(), blobs.Close()); err != nil {
			b.Error(err)
		}
	}
}

// envLarge has a re-executed benchmark measure a new process on a large store.
const envLarge = "BENCH_LARGE_STORE"

// BenchmarkHundredThousandTasks starts a new process on a store of 100,000
// finished tasks, lists, and looks at its memory.
func BenchmarkHundredThousandTasks(b *testing.B) {
	if dir := os.Getenv(envLarge); dir != "" {
		measureLarge(b, dir)
		return
	}
	dir := b.TempDir()
	makeLarge(b, dir, 100_000)
	for b.Loop() {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkHundredThousandTasks$", "-test.benchtime=1x")
		cmd.Env = append(os.Environ(), envLarge+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		var start, list, rss float64
		for line := range strings.Lines(string(out)) {
			if _, err := fmt.Sscanf(line, "LARGE %f %f %f", &start, &list, &rss); err == nil {
				break
			}
		}
		b.ReportMetric(start, "start-ms")
		b.ReportMetric(list, "list-ms")
		b.ReportMetric(rss, "rss-MB")
		goal(b, "100,000 tasks: start", start, "ms", start > 0 && start < 2000, "under 2000")
		goal(b, "100,000 tasks: list", list, "ms", list > 0 && list < 200, "under 200")
		goal(b, "100,000 tasks: memory", rss, "MB", rss > 0 && rss < 100, "under 100")
	}
}

// makeLarge fills a store with finished tasks, each with steps and deliveries.
func makeLarge(b *testing.B, dir string, n int) {
	b.Helper()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	numbers := make(chan int)
	var group sync.WaitGroup
	for range 256 {
		group.Go(func() {
			for i := range numbers {
				if _, err := store.Commit(b.Context(), finished(store, i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

func finished(store bot.Committer, i int) bot.Commit {
	now := time.Now()
	e := request(fmt.Sprint("c", i%5000), fmt.Sprint("actor", i%300), strings.Repeat(fmt.Sprint("question ", i), 20))
	task := bot.Task{
		ID: store.NewID(now), State: bot.TaskDone, Title: "a question", Event: e, Created: now, Started: now, Ended: now,
		Transitions: []bot.Transition{{To: bot.TaskQueued, At: now}, {To: bot.TaskRunning, At: now}, {To: bot.TaskDone, At: now}},
		Outcome:     &bot.Outcome{State: bot.TaskDone, Message: strings.Repeat("an answer ", 50)},
	}
	c := bot.Commit{
		Keys: []string{e.Key}, Task: &task,
		Deliveries: []bot.Delivery{{ID: store.NewID(now), Task: task.ID, Status: bot.DeliverySent, Message: task.Outcome.Message}},
		Audit:      []bot.AuditEntry{{At: now, Kind: bot.AuditEvent, Task: task.ID}, {At: now, Kind: bot.AuditOutcome, Task: task.ID}},
	}
	for seq := range uint64(4) {
		c.Steps = append(c.Steps, bot.TaskStep{Task: task.ID, Step: bot.Step{Seq: seq + 1, At: now, Kind: bot.StepTurn, Data: []byte(`"` + strings.Repeat("step ", 60) + `"`)}})
	}
	return c
}

func measureLarge(b *testing.B, dir string) {
	for b.Loop() {
		begin := time.Now()
		o, stop := benchCore(b, dir)
		if err := o.Idle(b.Context()); err != nil {
			b.Fatal(err)
		}
		start := time.Since(begin)
		begin = time.Now()
		tasks, err := o.Tasks(b.Context(), bot.TaskQuery{})
		if err != nil || len(tasks) != 100 {
			b.Fatalf("%d tasks: %v", len(tasks), err)
		}
		list := time.Since(begin)
		fmt.Printf("\nLARGE %f %f %f\n", float64(start.Microseconds())/1000, float64(list.Microseconds())/1000, residentMB(b))
		stop()
	}
}

// residentMB reads this process's resident memory.
func residentMB(b *testing.B) float64 {
	b.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kb float64
		if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}
