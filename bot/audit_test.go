package bot_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func sha(content string) [32]byte { return sha256.Sum256([]byte(content)) }

// chain is an audit that only exists as a slice.
type chain []bot.AuditEntry

func (c chain) Audit(_ context.Context, after uint64) iter.Seq2[bot.AuditEntry, error] {
	return func(yield func(bot.AuditEntry, error) bool) {
		for _, e := range c {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (c chain) Checkpoint(context.Context) (bot.Checkpoint, error) { return bot.Checkpoint{}, nil }
func (c chain) Prune(context.Context, bot.Checkpoint) error        { return nil }

func TestTamperingWithTheAuditIsFound(t *testing.T) {
	var whole chain
	prev := ""
	for i := range uint64(5) {
		e, err := bot.AuditEntry{At: time.Unix(int64(i), 5), Kind: bot.AuditEvent, Task: "T", Actor: "A", Data: []byte(`{"n":1}`)}.Seal(i+1, prev)
		if err != nil {
			t.Fatal(err)
		}
		whole, prev = append(whole, e), e.Hash
	}
	if got, err := bot.VerifyAudit(t.Context(), whole, nil); err != nil || got.First != 1 || got.Last != 5 || got.Head != prev {
		t.Fatalf("whole: %+v %v", got, err)
	}
	reseal := func(c chain, i int) {
		e, err := c[i].Seal(c[i].Seq, c[i].Prev)
		if err != nil {
			t.Fatal(err)
		}
		c[i] = e
	}
	for name, tamper := range map[string]func(c chain) chain{
		"actor":             func(c chain) chain { c[2].Actor = "B"; return c },
		"time":              func(c chain) chain { c[2].At = c[2].At.Add(1); return c },
		"data":              func(c chain) chain { c[2].Data = []byte(`{"n":2}`); return c },
		"kind":              func(c chain) chain { c[2].Kind = bot.AuditErase; return c },
		"changed, resealed": func(c chain) chain { c[2].Actor = "B"; reseal(c, 2); return c },
		"removed":           func(c chain) chain { return slices.Delete(c, 2, 3) },
		"first removed":     func(c chain) chain { return c[1:] },
		"put in": func(c chain) chain {
			c = slices.Insert(c, 2, c[2])
			c[2].Task = "another"
			reseal(c, 2)
			return c
		},
		"swapped": func(c chain) chain { c[2], c[3] = c[3], c[2]; return c },
	} {
		var broken *bot.BrokenChainError
		if _, err := bot.VerifyAudit(t.Context(), tamper(slices.Clone(whole)), nil); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheAuditTellsTheWholeWayWithoutText(t *testing.T) {
	const secret = "nobody may read this"
	w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		code, err := json.Marshal(bot.Program{Language: "python", Code: "print('" + secret + "')", Verdict: "ok", Stdout: secret})
		if err != nil {
			return bot.Outcome{}, err
		}
		if _, err := run.Journal.Append(ctx, bot.Step{Kind: bot.StepProgram, Agent: "lead", Data: code}); err != nil {
			return bot.Outcome{}, err
		}
		return quoting(ctx, run)
	})
	e := request("c1", "alice", secret)
	e.Inputs = []bot.InputRef{{Name: secret + ".csv", Ref: "F1"}}
	e.Key, e.Source = "test:1", "message 1"
	ticket, err := w.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	w.settle(ticket.Task)
	w.idle()
	var kinds []string
	var all strings.Builder
	for entry, err := range w.store.Audit(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(body)
		if entry.Task == ticket.Task && !strings.Contains(string(entry.Data), `"kind":"progress"`) {
			kinds = append(kinds, string(entry.Kind))
		}
	}
	if got := strings.Join(kinds, " "); got != "event policy policy start inputs program outcome receipt receipt" {
		t.Errorf("the audit tells %q", got)
	}
	if strings.Contains(all.String(), secret) {
		t.Errorf("the audit holds text: %s", all.String())
	}
	if !strings.Contains(all.String(), hashed("a,b\n1,2\n")) {
		t.Error("the input's hash is missing")
	}
}

func TestASinkGetsEveryEntryInOrderOverLives(t *testing.T) {
	out := &lockedBuffer{}
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) { o.Sink = bot.NewJSONSink(out) })
	for life := range 3 {
		w.settle(w.ask("c1", "alice", strings.Repeat("q", life+1)))
		w.idle()
		last := entryCount(t, w)
		until(t, "the sink has them", func() bool { return strings.Count(out.String(), "\n") >= last })
		w.end()
		w.start()
	}
	var seen uint64
	lines := bufio.NewScanner(bytes.NewBufferString(out.String()))
	for lines.Scan() {
		var e bot.AuditEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq > seen+1 {
			t.Errorf("entry %d follows %d", e.Seq, seen)
		}
		seen = max(seen, e.Seq)
	}
	if want := entryCount(t, w); int(seen) != want {
		t.Errorf("the sink has %d entries of %d", seen, want)
	}
}

func entryCount(t *testing.T, w *world) (n int) {
	t.Helper()
	for _, err := range w.store.Audit(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// moody is a sink that fails when it is told to.
type moody struct {
	*bot.JSONSink
	failing atomic.Bool
	took    atomic.Int64
}

func (m *moody) Write(ctx context.Context, e bot.AuditEntry) error {
	if m.failing.Load() {
		return errors.New("no room for the audit")
	}
	m.took.Add(1)
	return m.JSONSink.Write(ctx, e)
}

func TestASinkThatFailsLosesNothingAndStopsNothing(t *testing.T) {
	out := &lockedBuffer{}
	sink := &moody{JSONSink: bot.NewJSONSink(out)}
	sink.failing.Store(true)
	clock := &handClock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	w := newWorld(t, echo, func(o *bot.OrchestratorOptions) {
		o.Sink, o.Clock, o.Retention = sink, clock, bot.Retention{Audit: time.Hour}
		_, o.Key, _ = ed25519.GenerateKey(rand.Reader)
	})
	w.settle(w.ask("c1", "alice", "q"))
	until(t, "the failure is told", func() bool { return w.SinkError() != nil })
	clock.add(48 * time.Hour)
	before := entryCount(t, w)
	if err := w.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := entryCount(t, w); after < before {
		t.Errorf("%d of %d entries are left before the sink has them", after, before)
	}
	w.idle()
	sink.failing.Store(false)
	w.RetrySink()
	until(t, "the sink has all", func() bool { return w.SinkError() == nil && int(sink.took.Load()) == entryCount(t, w) })
	until(t, "they may go", func() bool {
		if err := w.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		return entryCount(t, w) < before
	})
	if n := strings.Count(w.log.String(), "audit sink fails"); n != 1 {
		t.Errorf("the log tells the failure %d times", n)
	}
	if strings.Count(out.String(), `"seq":1,`) != 1 {
		t.Errorf("an entry came twice or never: %s", out.String())
	}
}
