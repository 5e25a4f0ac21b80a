package slack_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// runner is a bot.Runner made of a function.
type runner func(ctx context.Context, run bot.Run) (bot.Outcome, error)

func (r runner) Run(ctx context.Context, run bot.Run) (bot.Outcome, error) { return r(ctx, run) }

// whole is a fake workspace, the adapter, and the real core on a real store.
type whole struct {
	*slacktest.Workspace
	core         *bot.Orchestrator
	adapter      *slack.Adapter
	ada, channel string
	stop         func()
}

// assemble starts all of it; stop ends it and waits.
func assemble(t testing.TB, o slacktest.Options, run runner, change func(*bot.OrchestratorOptions)) *whole {
	t.Helper()
	ws, err := slacktest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &whole{Workspace: ws}
	w.ada = ws.AddUser(slacktest.User{Name: "Ada"})
	w.channel = ws.AddChannel(slacktest.Channel{Name: "sales"})
	dir := t.TempDir()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	w.adapter, err = slack.New(slack.Options{
		Tokens: func() slack.Tokens { return slack.Tokens{App: ws.AppToken(), Bot: ws.BotToken()} }, APIURL: ws.APIURL(), HTTP: ws.HTTPClient(), Dial: ws.Dial,
		Allow: slack.Allow{Channels: []string{w.channel}}, Secret: []byte("0123456789abcdef"), Records: store, Blobs: blobs, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	options := bot.OrchestratorOptions{
		Store: store, Exclusive: true, Blobs: blobs, Runner: run, Logger: log, Channels: map[string]bot.Channel{slack.Name: w.adapter},
		Policy: bot.Rules{{Origin: "slack:*", Actors: []string{"*"}, May: []bot.Right{bot.MayAsk}}},
	}
	if change != nil {
		change(&options)
	}
	if w.core, err = bot.New(options); err != nil {
		t.Fatal(err)
	}
	w.adapter.Show(w.core)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var both sync.WaitGroup
	both.Go(func() {
		if err := w.core.Run(ctx); err != nil {
			t.Errorf("core: %v", err)
		}
	})
	both.Go(func() {
		if err := w.adapter.Run(ctx, w.core); err != nil {
			t.Errorf("adapter: %v", err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		both.Wait()
		if err := errors.Join(store.Close(), blobs.Close(), ws.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// TestOutage has Slack go down for ten minutes while answers are on their way:
// afterwards all of them stand, in order, once.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := assemble(t, slacktest.Options{InMemory: true}, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
			run.Report(bot.Progress{Now: "thinking"})
			select {
			case <-time.After(40 * time.Second):
			case <-ctx.Done():
				return bot.Outcome{}, context.Cause(ctx)
			}
			blob, err := run.Blobs.Put(ctx, strings.NewReader(run.Task.ID), 0)
			file := bot.Artifact{Name: run.Task.Event.Text + ".txt", MediaType: "text/plain", Size: blob.Size, Blob: blob.SHA256}
			return bot.Outcome{State: bot.TaskDone, Message: "answer to " + run.Task.Event.Text, Files: []bot.Artifact{file}}, err
		}, nil)
		time.Sleep(time.Minute)
		first := w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: slacktest.Mention + " n0"})
		var want []string
		for i := range 6 {
			if i > 0 {
				time.Sleep(time.Second) // two envelopes at once may pass each other
				w.Say(slacktest.Post{Channel: w.channel, User: w.ada, Text: fmt.Sprintf("%s n%d", slacktest.Mention, i), Thread: first})
			}
			want = append(want, fmt.Sprintf("answer to n%d", i), fmt.Sprintf("n%d.txt", i))
		}
		time.Sleep(15 * time.Second)
		w.SetDown(true)
		time.Sleep(10 * time.Minute)
		if got := w.Replies(w.channel, first); len(got) != 1 && len(got) != 6 { // progress messages only
			t.Errorf("%d replies while Slack was down:\n%s", len(got), w.Transcript(w.channel))
		}
		w.SetDown(false)
		time.Sleep(15 * time.Minute)
		var got []string
		for _, m := range w.Replies(w.channel, first) {
			switch {
			case len(m.Files) > 0:
				got = append(got, m.FileNames()...)
			case strings.HasPrefix(m.Shown(), "answer"):
				got = append(got, m.Shown())
			case !strings.HasPrefix(m.Shown(), "✅"):
				t.Errorf("a progress message does not show its end: %q", m.Shown())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("delivered %q\nwant      %q\n%s", got, want, w.Transcript(w.channel))
		}
		w.stop()
	})
}

// burst has 200 people's mentions come within ten seconds and waits until each
// has its task. It returns how long Slack waited for each acknowledgement.
func burst(t testing.TB, within time.Duration) []time.Duration {
	t.Helper()
	const mentions = 200
	w := assemble(t, slacktest.Options{Unlimited: true}, func(context.Context, bot.Run) (bot.Outcome, error) {
		return bot.Outcome{State: bot.TaskDone, Message: "42"}, nil
	}, func(o *bot.OrchestratorOptions) {
		o.Limits = bot.Limits{WaitingPerActor: 1000, Running: 8, RunningPerActor: 8}
	})
	defer w.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := w.Await(ctx, func() bool { return w.Sockets() > 0 }); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(within / mentions)
	defer ticker.Stop()
	var roots []string
	for i := range mentions {
		<-ticker.C
		roots = append(roots, w.Say(slacktest.Post{
			Channel: w.channel, User: w.ada, Text: fmt.Sprintf("%s n%03d", slacktest.Mention, i),
			Delivery: slacktest.Delivery{MentionFirst: i%2 == 0, Copies: 1 + i%3},
		}))
	}
	answered := func() bool {
		for _, root := range roots {
			if !slices.ContainsFunc(w.Replies(w.channel, root), func(m slacktest.Message) bool { return m.Shown() == "42" }) {
				return false
			}
		}
		return true
	}
	if err := w.Await(ctx, answered); err != nil {
		t.Fatalf("not all were answered: %v", err)
	}
	tasks, err := w.core.Tasks(ctx, bot.TaskQuery{Limit: 1000})
	if err != nil || len(tasks) != mentions {
		t.Errorf("%d tasks for %d mentions (%v)", len(tasks), mentions, err)
	}
	for _, root := range roots {
		n := 0
		for _, m := range w.Replies(w.channel, root) {
			if m.Shown() == "42" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d answers in the thread %s", n, root)
		}
	}
	if a := w.Acks(); a.Lost > 0 || a.GivenUp > 0 {
		t.Errorf("acks %+v", a)
	}
	return w.Acks().Times
}

// TestBurst shows that of 200 mentions at once none is lost and none taken twice.
func TestBurst(t *testing.T) { burst(t, 500*time.Millisecond) }

// BenchmarkMentions has 200 mentions in ten seconds and prints how long Slack
// waits for the acknowledgements.
func BenchmarkMentions(b *testing.B) {
	for b.Loop() {
		times := burst(b, 10*time.Second)
		slices.Sort(times)
		p99 := times[len(times)*99/100]
		verdict := "met"
		if p99 >= time.Second {
			verdict = "MISSED"
		}
		b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
		b.Logf("200 mentions in 10 s: acknowledged p50 %v, p99 %v; goal p99 under 1 s: %s", times[len(times)/2], p99, verdict)
	}
}
