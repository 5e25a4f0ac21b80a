package schedules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// memory is a Records for tests of the clock alone; the real store's promises
// are bot/storetest's.
type memory struct {
	mu   sync.Mutex
	data map[string]bot.Record
}

func newMemory() *memory { return &memory{data: map[string]bot.Record{}} }

func (m *memory) Get(_ context.Context, bucket, key string) (bot.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.data[bucket+"\x00"+key]
	if !ok {
		return bot.Record{}, bot.ErrNotFound
	}
	return r, nil
}

func (m *memory) Put(_ context.Context, bucket, key string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data[bucket+"\x00"+key].Revision != revision {
		return 0, bot.ErrConflict
	}
	m.data[bucket+"\x00"+key] = bot.Record{Key: key, Value: value, Revision: revision + 1}
	return revision + 1, nil
}

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.data, bucket+"\x00"+key)
	return nil
}

func (m *memory) List(_ context.Context, bucket, prefix string) ([]bot.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []bot.Record
	prefix = bucket + "\x00" + prefix
	for k, r := range m.data {
		if strings.HasPrefix(k, prefix) {
			list = append(list, r)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key < list[j].Key })
	return list, nil
}

// world stands in for the core: it deduplicates by key as Submit promises.
type world struct {
	mu      sync.Mutex
	events  []bot.Event
	keys    map[string]string
	tasks   map[string]bot.Task
	notices []string
	told    []string // what owners were told
	deaf    int      // Tell fails this many times
	denied  string   // reason every decision gives
	crash   int      // Submit fails after storing, this many times
	failAll bool
	jumped  time.Duration // how far the wall clock is off
}

func newWorld() *world {
	return &world{keys: map[string]string{}, tasks: map[string]bot.Task{}}
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.jumped)
}

// jump puts the wall clock off by d: a host that slept, or whose clock was set.
func (w *world) jump(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jumped += d
}

func (w *world) Submit(_ context.Context, e bot.Event) (bot.Ticket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, known := w.keys[e.Key]
	if !known {
		id = fmt.Sprintf("task-%d", len(w.events))
		w.keys[e.Key] = id
		w.events = append(w.events, e)
		t := bot.Task{ID: id, State: bot.TaskDone, Event: e}
		if w.failAll {
			t.State, t.Outcome = bot.TaskFailed, &bot.Outcome{Error: &bot.TaskError{Kind: "sandbox", Message: "no engine"}}
		}
		w.tasks[id] = t
	}
	if w.crash > 0 {
		w.crash--
		return bot.Ticket{}, errors.New("the answer was lost")
	}
	return bot.Ticket{Task: id, Duplicate: known}, nil
}

func (w *world) Task(_ context.Context, id string) (bot.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tasks[id]
	if !ok {
		return bot.Task{}, bot.ErrNotFound
	}
	return t, nil
}

func (w *world) Deliveries(context.Context, string) ([]bot.Delivery, error) { return nil, nil }

func (w *world) Notify(_ context.Context, _ string, _ bot.Origin, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, message)
	return nil
}

func (w *world) Tell(_ context.Context, key string, s Schedule, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf > 0 {
		w.deaf--
		return errors.New("the store is full")
	}
	if _, known := w.keys[key]; !known {
		w.keys[key] = "told"
		w.told = append(w.told, s.Owner.ID+": "+message)
	}
	return nil
}

func (w *world) Decide(_ context.Context, _ bot.Event, right bot.Right) bot.Decision {
	return bot.Decision{Allowed: w.denied == "" && right != bot.MayAdmin, Reason: w.denied}
}

func (w *world) clock(t *testing.T, records bot.Records) *Clock {
	t.Helper()
	c, err := NewClock(ClockOptions{
		Book: NewBook(records), Tasks: w, Policy: w, Notify: w, Time: w,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func weekly(name, cron, zone string) Schedule {
	return Schedule{
		Name: name, Owner: bot.Actor{ID: "slack:U1"}, Cron: cron, Zone: zone, Request: "report",
		To: []bot.Origin{{Adapter: "slack", Place: "slack:C1"}}, From: FromConfig,
	}
}

func add(t *testing.T, c *Clock, s Schedule) {
	t.Helper()
	if _, err := NewService(c, Limits{MinInterval: 15 * time.Minute, PerOwner: 20}).Add(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// runUntil runs the clock's own loop until the bubble's time reaches end.
func runUntil(t *testing.T, c *Clock, w *world, end time.Time) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, w) }()
	time.Sleep(time.Until(end))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// changed are the runs at half past two that a change of the clock moves or
// makes ambiguous in 2000, synctest's year, worked out by hand: a time that does
// not exist runs at the next that does, one that exists twice at the first.
var changed = map[string]map[string]string{ // zone, local date, instant
	"America/New_York": {"2000-04-02": "2000-04-02T07:00:00Z"}, // 02:00 EST is 03:00 EDT
	"Europe/Berlin": {
		"2000-03-26": "2000-03-26T01:00:00Z", // 02:00 CET is 03:00 CEST
		"2000-10-29": "2000-10-29T00:30:00Z", // 03:00 CEST is 02:00 CET
	},
	"Australia/Lord_Howe": {"2000-08-27": "2000-08-26T15:30:00Z"}, // 02:00 is 02:30, the half hour's first minute
	"Australia/Sydney": {
		"2000-03-26": "2000-03-25T15:30:00Z", // 03:00 AEDT is 02:00 AEST
		"2000-08-27": "2000-08-26T16:00:00Z", // 02:00 AEST is 03:00 AEDT, early for the Olympics
	},
	"Pacific/Auckland": {
		"2000-03-19": "2000-03-18T13:30:00Z", // 03:00 NZDT is 02:00 NZST
		"2000-10-01": "2000-09-30T14:00:00Z", // 02:00 NZST is 03:00 NZDT
	},
}

// A whole year through the clock's own loop, in twelve zones: each local day
// makes one event, at its instant, changes of the clock included.
func TestClockThroughAYear(t *testing.T) {
	zones := []string{
		"UTC", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Europe/Berlin", "Europe/London",
		"Africa/Cairo", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland",
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.clock(t, newMemory())
		start := time.Now()
		for i, zone := range zones {
			add(t, c, weekly(fmt.Sprintf("z%d", i), "30 2 * * *", zone))
		}
		runUntil(t, c, w, start.AddDate(1, 0, 0))
		days := map[string]map[string]bool{}
		for _, e := range w.events {
			_, due, _ := strings.Cut(strings.TrimPrefix(e.Key, "schedule:"), ":")
			at, err := time.Parse(time.RFC3339, due)
			if err != nil {
				t.Fatal(err)
			}
			if late := e.Received.Sub(at); late < 0 || late > onTime {
				t.Fatalf("%s was submitted %s after its time", e.Key, late)
			}
			n, err := strconv.Atoi(strings.TrimPrefix(e.Options.Schedule, "z"))
			if err != nil {
				t.Fatal(err)
			}
			day := ranOn(t, zones[n], at)
			if days[zones[n]] == nil {
				days[zones[n]] = map[string]bool{}
			}
			if days[zones[n]][day] {
				t.Errorf("%s ran twice on %s", zones[n], day)
			}
			days[zones[n]][day] = true
		}
		whole := int(start.AddDate(1, 0, 0).Sub(start).Hours() / 24)
		for _, zone := range zones {
			if n := len(days[zone]); n != whole {
				t.Errorf("%s ran on %d of %d days", zone, n, whole)
			}
			for day := range changed[zone] {
				if !days[zone][day] {
					t.Errorf("%s did not run on %s, a day of change", zone, day)
				}
			}
		}
	})
}

// ranOn is the local day of a run, whose instant is checked.
func ranOn(t *testing.T, zone string, at time.Time) string {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	local := at.In(place)
	day := local.Format(time.DateOnly)
	want := time.Date(local.Year(), local.Month(), local.Day(), 2, 30, 0, 0, place).UTC().Format(time.RFC3339)
	if special := changed[zone][day]; special != "" {
		want = special
	}
	if got := at.UTC().Format(time.RFC3339); got != want {
		t.Errorf("%s ran at %s on %s, want %s", zone, got, day, want)
	}
	return day
}

func TestMissedRunsFollowThePolicy(t *testing.T) {
	for _, c := range []struct {
		misfire          Misfire
		down             time.Duration
		ran, skippedRows int
	}{
		{MisfireSkip, 5 * time.Hour, 0, 5},
		{MisfireOnce, 5 * time.Hour, 1, 4},
		{MisfireAll, 5 * time.Hour, 5, 0},
		{MisfireOnce, 40 * 24 * time.Hour, 1, 2*MaxCatchUp + 0},
		{MisfireAll, 40 * 24 * time.Hour, 6, 2*MaxCatchUp - 5},
	} {
		t.Run(fmt.Sprint(c.misfire, c.down), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, records := newWorld(), newMemory()
				clock := w.clock(t, records)
				s := weekly("hourly", "0 * * * *", "UTC")
				s.Misfire = c.misfire
				add(t, clock, s)
				time.Sleep(c.down + 10*time.Minute) // nothing runs: the bot is down
				clock.Tick(t.Context(), w)
				clock.Tick(t.Context(), w)
				fires, err := clock.Book.Fires(t.Context(), "hourly")
				if err != nil {
					t.Fatal(err)
				}
				ran, skipped, total := 0, 0, 0
				for _, f := range fires {
					if f.Result == Ran {
						ran++
						total++
						continue
					}
					if f.Why == "" {
						t.Errorf("%s was skipped without a reason", f.Due)
					}
					skipped++
					total += max(f.Count, 1)
				}
				if ran != c.ran || len(w.events) != c.ran || skipped != c.skippedRows {
					t.Errorf("ran %d (%d events), %d rows skipped; want %d and %d", ran, len(w.events), skipped, c.ran, c.skippedRows)
				}
				if want := int(c.down / time.Hour); total != want {
					t.Errorf("%d due times are accounted for, want %d", total, want)
				}
			})
		})
	}
}

// A crash between claiming and submitting, or after submitting, neither loses
// nor doubles a run.
func TestCrashAroundSubmitRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, records := newWorld(), newMemory()
		clock := w.clock(t, records)
		add(t, clock, weekly("daily", "0 9 * * *", "UTC"))
		w.crash = 2
		time.Sleep(time.Until(time.Date(2000, 1, 1, 9, 0, 1, 0, time.UTC)))
		for range 4 {
			w.clock(t, records).Tick(t.Context(), w) // each a new life
		}
		if len(w.events) != 1 {
			t.Fatalf("%d events", len(w.events))
		}
		fires, _ := clock.Book.Fires(t.Context(), "daily")
		if len(fires) != 1 || fires[0].Task != "task-0" || fires[0].Result != Ran {
			t.Fatalf("fires: %+v", fires)
		}
	})
}

func TestTwoProcessesFireOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, records := newWorld(), newMemory()
		a, b := w.clock(t, records), w.clock(t, records)
		add(t, a, weekly("daily", "0 9 * * *", "UTC"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, c := range []*Clock{a, b} {
			wg.Go(func() { _ = c.Run(ctx, w) })
		}
		time.Sleep(10 * 24 * time.Hour)
		cancel()
		wg.Wait()
		if len(w.events) != 10 {
			t.Fatalf("%d events in ten days", len(w.events))
		}
	})
}

func TestOverlapSkipsAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		time.Sleep(time.Hour + time.Second)
		clock.Tick(t.Context(), w)
		running := w.tasks["task-0"]
		running.State = bot.TaskRunning
		w.tasks["task-0"] = running
		time.Sleep(time.Hour)
		clock.Tick(t.Context(), w)
		fires, _ := clock.Book.Fires(t.Context(), "hourly")
		if len(w.events) != 1 || len(fires) != 2 || fires[1].Result != Skipped || !strings.Contains(fires[1].Why, "had not ended") {
			t.Fatalf("%d events, fires %+v", len(w.events), fires)
		}
	})
}

func TestOwnerWithoutRightPausesOnceAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		w.denied = "no such user any more"
		time.Sleep(3 * time.Hour)
		clock.Tick(t.Context(), w)
		clock.Tick(t.Context(), w)
		s, _, err := clock.Book.Get(t.Context(), "hourly")
		if err != nil || s.State != Paused || len(w.events) != 0 || len(w.told) != 1 || len(w.notices) != 0 {
			t.Fatalf("%+v, %v, %d events, told %q, notices %q", s, err, len(w.events), w.told, w.notices)
		}
		// Resumed, and paused once more for the same: that is another pause.
		if _, err := NewService(clock, Limits{}).Resume(t.Context(), "hourly"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		clock.Tick(t.Context(), w)
		clock.Tick(t.Context(), w)
		if len(w.told) != 2 {
			t.Errorf("told %q", w.told)
		}
	})
}

// A process that ends between the pause and its notice, or a core that does not
// answer, leaves the owner told once all the same.
func TestAPauseIsToldThoughTheProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, records := newWorld(), newMemory()
		clock := w.clock(t, records)
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		w.denied, w.deaf = "no such user any more", 2
		time.Sleep(time.Hour)
		clock.Tick(t.Context(), w)
		if s, _, _ := clock.Book.Get(t.Context(), "hourly"); s.State != Paused || len(w.told) != 0 {
			t.Fatalf("%+v, told %q", s, w.told)
		}
		clock = w.clock(t, records) // another life
		start := time.Now()
		runUntil(t, clock, w, start.Add(2*TickInterval+time.Second)) // fails once more, and is tried again soon
		if len(w.told) != 1 || !strings.Contains(w.told[0], "is paused: its owner may no longer schedule") {
			t.Fatalf("told %q", w.told)
		}
		runUntil(t, w.clock(t, records), w, start.Add(24*time.Hour))
		if s, _, _ := clock.Book.Get(t.Context(), "hourly"); len(w.told) != 1 || s.Untold != "" {
			t.Errorf("told %q, untold %q", w.told, s.Untold)
		}
	})
}

// A try runs with the owner's rights in the schedule's own places, answers
// its asker alone, and counts for nothing.
func TestATryCountsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.failAll = true
		clock := w.clock(t, newMemory())
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		service := NewService(clock, Limits{})
		aside := bot.Origin{Adapter: "slack", Place: "slack:@U1", Private: true}
		for range PauseAfter + 1 {
			if _, err := service.RunNow(t.Context(), w, "hourly", &aside); err != nil {
				t.Fatal(err)
			}
			clock.Tick(t.Context(), w)
			time.Sleep(time.Second)
		}
		e := w.events[0]
		if !e.Options.DryRun || len(e.Also) != 1 || e.Also[0] != aside || e.Origin.Place == aside.Place || e.Origin.Conversation != "schedule:hourly" || !e.Inline {
			t.Errorf("tried as %+v", e)
		}
		s, _, err := clock.Book.Get(t.Context(), "hourly")
		if err != nil || s.State != Active || s.Failures != 0 || s.LastTask != "" || !s.Last.IsZero() || len(w.told)+len(w.notices) != 0 {
			t.Errorf("%+v, %v, told %q", s, err, w.told)
		}
		fires, err := clock.Book.Fires(t.Context(), "hourly")
		if err != nil || len(fires) != PauseAfter+1 || fires[0].Result != Tried {
			t.Errorf("fires %+v, %v", fires, err)
		}
		w.failAll = false
		runUntil(t, clock, w, time.Now().Add(time.Hour))
		if fires, _ = clock.Book.Fires(t.Context(), "hourly"); fires[len(fires)-1].Result != Ran {
			t.Errorf("its own time: %+v", fires[len(fires)-1])
		}
	})
}

func TestFailuresInARowPauseAndRecoveryIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.failAll = true
		clock := w.clock(t, newMemory())
		add(t, clock, weekly("hourly", "0 * * * *", "UTC"))
		runUntil(t, clock, w, time.Now().Add(24*time.Hour))
		s, _, _ := clock.Book.Get(t.Context(), "hourly")
		if s.State != Paused || len(w.events) != PauseAfter || len(w.told) != 1 || !strings.Contains(w.told[0], "no engine") {
			t.Fatalf("%+v after %d runs, told %q", s, len(w.events), w.told)
		}
		if first, second := w.events[0].Options.KnownFailure, w.events[1].Options.KnownFailure; first != "" || second != "no engine" {
			t.Errorf("known failures %q, %q: the second run must not tell the same again", first, second)
		}
		service := NewService(clock, Limits{})
		if _, err := service.Resume(t.Context(), "hourly"); err != nil {
			t.Fatal(err)
		}
		runUntil(t, clock, w, time.Now().Add(3*time.Hour)) // fails some more, below the limit
		w.mu.Lock()
		w.failAll = false
		w.mu.Unlock()
		runUntil(t, clock, w, time.Now().Add(3*time.Hour))
		if s, _, _ = clock.Book.Get(t.Context(), "hourly"); s.State != Active || s.Failures != 0 {
			t.Fatalf("%+v", s)
		}
		if len(w.notices) != 1 || !strings.Contains(w.notices[0], "works again") {
			t.Fatalf("notices %q", w.notices)
		}
	})
}

func TestChatIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		service := NewService(clock, Limits{MinInterval: 15 * time.Minute, PerOwner: 2})
		chat := func(name, cron string) Schedule {
			s := weekly(name, cron, "UTC")
			s.From = FromChat
			return s
		}
		local := chat("local", "0 9 * * *")
		local.Inputs = []bot.InputRef{{Name: "a.csv", Adapter: LocalAdapter, Ref: "a.csv"}}
		folder := chat("folder", "0 9 * * *")
		folder.To = []bot.Origin{{Adapter: FolderAdapter}}
		for _, s := range []Schedule{chat("often", "*/5 * * * *"), local, folder, chat("Bad Name", "0 9 * * *")} {
			if _, err := service.Add(t.Context(), s); err == nil {
				t.Errorf("%s was accepted", s.Name)
			}
		}
		for _, name := range []string{"one", "two"} {
			if _, err := service.Add(t.Context(), chat(name, "0 9 * * *")); err != nil {
				t.Fatal(err)
			}
		}
		var denied *DeniedError
		if _, err := service.Add(t.Context(), chat("three", "0 9 * * *")); !errors.As(err, &denied) {
			t.Errorf("a third schedule: %v", err)
		}
		if _, err := service.Add(t.Context(), chat("two", "0 9 * * *")); !errors.As(err, &denied) {
			t.Errorf("the same name again: %v", err)
		}
	})
}

// A name that somebody took before the configuration did is not taken from them,
// and the operator is told whose it is and what to do.
func TestSyncLeavesWhatOthersMade(t *testing.T) {
	for from, place := range map[From]string{FromChat: "in a chat", FromCommand: "on the command line"} {
		synctest.Test(t, func(t *testing.T) {
			service := NewService(newWorld().clock(t, newMemory()), Limits{PerOwner: 20})
			theirs := weekly("a", "0 9 * * *", "UTC")
			theirs.From = from
			if _, err := service.Add(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			err := service.Sync(t.Context(), []Schedule{weekly("a", "0 10 * * *", "UTC")})
			if err == nil || !strings.Contains(err.Error(), theirs.Owner.ID+" made one of this name "+place) || !strings.Contains(err.Error(), "sandpiper schedules remove a") {
				t.Errorf("%s: told %v", from, err)
			}
			if list, err := service.List(t.Context()); err != nil || len(list) != 1 || list[0].Cron != "0 9 * * *" || list[0].From != from {
				t.Errorf("%s: %+v, %v", from, list, err)
			}
		})
	}
}

func TestSyncFollowsTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		service := NewService(clock, Limits{})
		if err := service.Sync(t.Context(), []Schedule{weekly("a", "0 9 * * *", "UTC"), weekly("b", "0 9 * * *", "UTC")}); err != nil {
			t.Fatal(err)
		}
		if _, err := service.Pause(t.Context(), "a", "holidays"); err != nil {
			t.Fatal(err)
		}
		if err := service.Sync(t.Context(), []Schedule{weekly("a", "0 10 * * *", "UTC")}); err != nil {
			t.Fatal(err)
		}
		list, err := service.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Cron != "0 10 * * *" || list[0].State != Paused || list[0].Next.Hour() != 10 {
			t.Fatalf("%+v, %v", list, err)
		}
	})
}
