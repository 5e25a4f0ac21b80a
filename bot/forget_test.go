package bot_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// markCancelled writes what Cancel writes first, into a closed data folder.
func markCancelled(t *testing.T, dir, id string) {
	t.Helper()
	s, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	task, err := s.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	task.Cancel = &bot.CancelRequest{By: bot.Actor{ID: "alice"}}
	_, err = s.Commit(t.Context(), bot.Commit{Task: &task})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// handClock is a clock that tests turn.
type handClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// quoting is a runner whose steps, answer and files quote the input.
func quoting(ctx context.Context, run bot.Run) (bot.Outcome, error) {
	text := "quote: " + run.Task.Event.Text
	if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepTurn, Agent: "lead", Data: []byte(`"` + text + `"`)}); err != nil {
		return bot.Outcome{}, err
	}
	blob, err := run.Blobs.Put(ctx, strings.NewReader("made of "+text), 0)
	return bot.Outcome{
		State: bot.TaskDone, Message: text,
		Files: []bot.Artifact{{Name: "out.bin", MediaType: "application/octet-stream", Size: blob.Size, Blob: blob.SHA256}},
	}, err
}

func (w *world) has(sha string) bool {
	w.t.Helper()
	f, err := w.blobs.Open(w.t.Context(), sha)
	if errors.Is(err, bot.ErrNotFound) {
		return false
	}
	if err := errors.Join(err, f.Close()); err != nil {
		w.t.Fatal(err)
	}
	return true
}

// askWith submits a request with a stored file.
func (w *world) askWith(conversation, actor, text, sha string) bot.Task {
	w.t.Helper()
	e := request(conversation, actor, text)
	e.Inputs = []bot.InputRef{{Name: "in.csv", Ref: "file of " + hashed(text), Blob: sha}}
	ticket, err := w.Submit(w.t.Context(), e)
	if err != nil || ticket.Task == "" {
		w.t.Fatalf("submit: %+v %v", ticket, err)
	}
	return w.settle(ticket.Task)
}

func TestADeletedMessageIsForgotten(t *testing.T) {
	w := newWorld(t, quoting)
	own, shared := w.put("only here"), w.put("here and there")
	gone := w.askWith("c1", "alice", "secret plans", own)
	both := w.askWith("c1", "alice", "shared one", shared)
	other := w.askWith("c1", "alice", "shared two", shared)
	for _, task := range []bot.Task{gone, both} {
		del := request("c1", "alice", task.Event.Text)
		del.Kind, del.Key = bot.EventDelete, "test:deletion of "+task.ID
		for range 2 {
			if ticket, err := w.Submit(t.Context(), del); err != nil || ticket.Task != task.ID {
				t.Fatalf("delete: %+v %v", ticket, err)
			}
		}
	}
	if w.has(own) || !w.has(shared) {
		t.Errorf("own content is there: %v, shared: %v", w.has(own), w.has(shared))
	}
	task, err := w.Task(t.Context(), gone.ID)
	steps, err2 := w.Steps(t.Context(), gone.ID)
	if err := errors.Join(err, err2); err != nil || task.Event.Text != "" || task.Title != "(deleted)" || task.Inputs[0].Blob != "" || len(steps) != 0 {
		t.Errorf("left: %q %q %+v, %d steps (%v)", task.Event.Text, task.Title, task.Inputs, len(steps), err)
	}
	// A deleted file takes its content, and leaves the request.
	del := request("c1", "alice", "")
	del.Kind, del.Key, del.Source = bot.EventDelete, "test:file deletion", "file of "+hashed("shared two")
	if _, err := w.Submit(t.Context(), del); err != nil {
		t.Fatal(err)
	}
	if w.has(shared) {
		t.Error("the deleted file's content is there")
	}
	if task, err := w.Task(t.Context(), other.ID); err != nil || task.Event.Text != "shared two" || task.Inputs[0].Problem == "" {
		t.Errorf("task: %q %+v (%v)", task.Event.Text, task.Inputs, err)
	}
}

func TestDeletionCancelsWhatRunsAndThenForgets(t *testing.T) {
	g := newGate()
	w := newWorld(t, g.Run)
	sha := w.put("content")
	e := request("c1", "alice", "q")
	e.Inputs = []bot.InputRef{{Name: "in.csv", Blob: sha}}
	ticket, err := w.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	<-g.started
	e.Kind, e.Key = bot.EventDelete, "test:deletion"
	if _, err := w.Submit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if task := w.settle(ticket.Task); task.State != bot.TaskCancelled {
		t.Errorf("task is %s", task.State)
	}
	until(t, "the content goes", func() bool { return !w.has(sha) })
}

func TestPurgeReachesEverything(t *testing.T) {
	const secret = "the-plan-for-acme"
	var told string
	g := newGate()
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if run.Task.Event.Text == "runs" {
			return g.Run(ctx, run)
		}
		return quoting(ctx, run)
	}, func(o *bot.OrchestratorOptions) {
		o.Purged = func(_ context.Context, scope bot.PurgeScope, tasks []string) error {
			told = fmt.Sprint(scope.Actor, len(tasks))
			return nil
		}
	})
	input := w.put(secret + " as a file")
	gone := w.askWith("c1", "alice", secret, input)
	stays := w.askWith("c2", "bob", "harmless", w.put("bob's"))
	w.ask("c3", "alice", "runs")
	<-g.started
	n, err := w.Purge(t.Context(), bot.PurgeScope{Actor: "alice"})
	if err != nil || n != 2 || told != "alice2" {
		t.Fatalf("purged %d, told %q: %v", n, told, err)
	}
	if _, err := w.Task(t.Context(), gone.ID); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("task: %v", err)
	}
	if w.has(input) || w.has(gone.Outcome.Files[0].Blob) || !w.has(stays.Outcome.Files[0].Blob) {
		t.Error("the wrong content went")
	}
	for _, scope := range []bot.PurgeScope{{}, {Actor: "a", Task: "b"}, {Actor: "a", Conversation: "c"}, {Task: "nobody's"}} {
		if _, err := w.Purge(t.Context(), scope); err == nil {
			t.Errorf("purged %+v", scope)
		}
	}
	chain, err := bot.VerifyAudit(t.Context(), w.store, nil)
	if err != nil || chain.Last == 0 {
		t.Errorf("audit: %+v %v", chain, err)
	}
	w.end()
	body, err := os.ReadFile(filepath.Join(w.dir, "sandpiper.db"))
	if err != nil || strings.Contains(string(body), secret) {
		t.Errorf("the database still holds it (%v)", err)
	}
	if _, err := w.Orchestrator.Purge(t.Context(), bot.PurgeScope{Conversation: "c2"}); err == nil {
		t.Error("purged a closed store")
	}
}

func TestRetention(t *testing.T) {
	clock := &handClock{now: time.Now()}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		if run.Task.Event.Text == "asks" {
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Well?"}}, nil
		}
		return quoting(ctx, run)
	}, func(o *bot.OrchestratorOptions) {
		o.Clock, o.Key = clock, private
		o.Retention = bot.Retention{Tasks: 90 * 24 * time.Hour, Blobs: 30 * 24 * time.Hour, Audit: 400 * 24 * time.Hour}
	})
	day := 24 * time.Hour
	old := w.askWith("c1", "alice", "old", w.put("old input"))
	if _, err := w.Submit(t.Context(), command("c1", "alice", "help")); err != nil {
		t.Fatal(err)
	}
	question := w.ask("c2", "alice", "asks")
	w.settle(question)
	if _, err := w.store.Put(t.Context(), "saved", "report", []byte(`"`+w.put("kept by a record")+`"`), 0); err != nil {
		t.Fatal(err)
	}
	stray := w.put("nobody refers to it")
	tidy := func(after time.Duration) {
		t.Helper()
		clock.add(after)
		if err := w.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tidy(0)
	if !w.has(stray) {
		t.Error("content that was just put is gone")
	}
	tidy(8 * day)
	if task := w.settle(question); task.State != bot.TaskCancelled {
		t.Errorf("an unanswered question is %s", task.State)
	}
	if w.has(stray) || !w.has(old.Inputs[0].Blob) {
		t.Errorf("after 8 days: stray %v, input %v", w.has(stray), w.has(old.Inputs[0].Blob))
	}
	recent := w.askWith("c1", "alice", "recent", w.put("recent input"))
	_ = recent
	tidy(23 * day)
	if w.has(old.Inputs[0].Blob) || w.has(old.Outcome.Files[0].Blob) {
		t.Error("content of a task that ended 31 days ago is there")
	}
	if _, err := w.Task(t.Context(), old.ID); err != nil {
		t.Errorf("the task after 31 days: %v", err)
	}
	if !w.has(hashed("kept by a record")) {
		t.Error("content that a record names is gone")
	}
	tidy(60 * day)
	if _, err := w.Task(t.Context(), old.ID); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("the task after 91 days: %v", err)
	}
	if _, err := w.store.Claimed(t.Context(), command("c1", "alice", "help").Key); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("a command's key after 91 days: %v", err)
	}
	chain, err := bot.VerifyAudit(t.Context(), w.store, public)
	if err != nil || chain.Checkpoint.Seq != 0 {
		t.Errorf("audit after 91 days: %+v %v", chain, err)
	}
	tidy(310 * day)
	chain, err = bot.VerifyAudit(t.Context(), w.store, public)
	if err != nil || chain.Checkpoint.Seq == 0 || chain.First != chain.Checkpoint.Seq+1 {
		t.Errorf("audit after 401 days: %+v %v", chain, err)
	}
}

func hashed(content string) string { return fmt.Sprintf("%x", sha(content)) }
