package main

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter/testplatform"
)

// TestKilledAnywhereUnderLoad kills the serving binary with SIGKILL at the Nth
// point that any of its rooms names, N from a seed, while events come in, a
// platform loses responses and programs run in containers. At the end each event
// has one task, each task one ending, each delivery one message, and no
// container is left. BINARY_KILLS and CRASH_SEED set the length and repeat a run.
//
// The kills are shared out between homes, each with a data folder and containers
// of its own, because a life waits more than it works. The first home keeps a
// session ready; the others save themselves that, and meet the cold starts.
func TestKilledAnywhereUnderLoad(t *testing.T) {
	const homes = 3
	kills, seed := number(t, "BINARY_KILLS", 6), number(t, "CRASH_SEED", 1)
	for n := range homes {
		t.Run(fmt.Sprint("home ", n), func(t *testing.T) {
			t.Parallel()
			c := newCrashRun(t, uint64(seed*homes+n))
			pool := 0
			if n == 0 {
				pool = 1
			}
			c.configure(fmt.Sprintf("sandbox: {pool: %d}\nbudgets: {actor_daily_tasks: 0, daily_tasks: 0}\n", pool))
			lives := (kills + homes - 1 - n) / homes
			for life := range lives {
				// Up to two tasks' points: what the earlier life left is met too.
				c.killed(strconv.Itoa(1 + c.random.IntN(45)))
				t.Logf("life %d of %d: %d events so far", life+1, lives, len(c.events))
			}
			c.finish()
			c.check()
		})
	}
}

func number(t *testing.T, name string, fallback int) int {
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

// crashRun is one run of the crash test.
type crashRun struct {
	*home
	platform *testplatform.Platform
	model    *modeltest.Server
	url      string
	random   *rand.Rand
	events   []bot.Event
	points   map[string]int // how often a life ended at each
}

func newCrashRun(t *testing.T, seed uint64) *crashRun {
	t.Helper()
	c := &crashRun{home: newHome(t), points: map[string]int{}, random: rand.New(rand.NewPCG(seed, 3))}
	c.platform = testplatform.New(testplatform.Faults{LoseRequest: 0.02, LoseResponse: 0.08, Busy: 0.02, Duplicate: 0.2}, seed)
	c.platform.Store("sales", sales)
	server := httptest.NewUnstartedServer(c.platform)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	c.url = server.URL
	// The model writes a program that makes a file, then answers.
	c.model = modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Turns: []modeltest.Turn{
		modeltest.Do("execute_code", map[string]string{"language": "python", "code": "open('/workspace/out/rows.txt', 'w').write('6 rows')\nprint('6 rows')"}),
		modeltest.Do("finish", map[string]any{"message": "There are 6 rows."}),
	}}}})
	return c
}

// happen makes one more event: most name a skill that needs no model.
func (c *crashRun) happen() {
	n := len(c.events)
	conversation := fmt.Sprint("room", n%5)
	e := bot.Event{
		Key: fmt.Sprint("test:", n), Kind: bot.EventRequest, Text: fmt.Sprint("Report ", n), Source: fmt.Sprint("message ", n),
		Origin: bot.Origin{Adapter: testadapter.Name, Conversation: conversation, Place: "test:room", Address: conversation},
		Actor:  bot.Actor{ID: fmt.Sprint("test:actor", n%3)},
		Inputs: []bot.InputRef{{Name: "sales.csv", Ref: "sales"}},
	}
	if n%4 != 3 {
		e.Options.Skill = "tiny"
	}
	c.events = append(c.events, e)
	c.platform.Happen(e)
}

// answered counts the tasks whose answer has arrived.
func (c *crashRun) answered() int {
	tasks := map[string]bool{}
	for _, m := range c.platform.Messages() {
		if m.Delivery.Kind == bot.DeliverAnswer {
			tasks[m.Delivery.Task] = true
		}
	}
	return len(tasks)
}

func (c *crashRun) serve(kill string) *process {
	return c.start([]string{
		killVariable + "=" + kill, platformVariable + "=" + c.url,
		"OPENAI_BASE_URL=" + c.model.URL(), "SANDPIPER_MODEL=scripted",
	}, "serve")
}

// killed runs one life, and lets things happen until it has killed itself.
func (c *crashRun) killed(kill string) {
	c.t.Helper()
	p := c.serve(kill)
	c.eventually("the life is killed at point "+kill, func() bool {
		select {
		case <-p.done:
			return true
		default:
		}
		if len(c.events)-c.answered() < 3 {
			c.happen()
		}
		return false
	})
	if status := p.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		c.t.Fatalf("the life to be killed at point %s ended with %d\n%s", kill, p.ProcessState.ExitCode(), p.err.String())
	}
	lines := strings.Split(strings.TrimSpace(p.err.String()), "\n")
	c.points[strings.TrimPrefix(lines[len(lines)-1], "killed at ")]++
}

// finish runs a life that nobody kills, until all is answered.
func (c *crashRun) finish() {
	c.t.Helper()
	c.platform.Heal()
	p := c.serve("")
	c.eventually("everything is answered and settled", func() bool {
		return c.platform.Unacknowledged() == 0 && c.answered() >= len(c.events) && !strings.Contains(c.state(), `"running"`)
	})
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if status := p.wait(); status != 0 {
		c.t.Errorf("the last life ended with %d\n%s", status, p.err.String())
	}
	c.noContainers()
	c.run(0, "audit", "verify")
}

// check counts what there is.
func (c *crashRun) check() {
	c.t.Helper()
	store, err := boltstore.Open(boltstore.Options{Dir: c.dataDir()})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	if err := store.Verify(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	tasks, err := store.Tasks(c.t.Context(), bot.TaskQuery{Limit: 1 << 20})
	if err != nil || len(tasks) != len(c.events) {
		c.t.Errorf("%d events made %d tasks (%v)", len(c.events), len(tasks), err)
	}
	arrived, kinds := map[string]int{}, map[string]string{}
	for _, m := range c.platform.Messages() {
		arrived[m.Delivery.ID]++
		if m.Delivery.Kind != bot.DeliverProgress {
			kinds[m.Delivery.Task] += string(m.Delivery.Kind) + " "
		}
	}
	begun := 0
	for i := range tasks {
		task := &tasks[i]
		begun = max(begun, task.Attempts)
		endings := 0
		for _, tr := range task.Transitions {
			if tr.To.Final() {
				endings++
			}
		}
		if task.State != bot.TaskDone || endings != 1 || kinds[task.ID] != "answer files " {
			c.t.Errorf("task %s (%s) is %s with %d endings and sent %q: %+v", task.ID, task.Title, task.State, endings, kinds[task.ID], task.Outcome)
		}
		deliveries, err := store.Deliveries(c.t.Context(), task.ID)
		if err != nil {
			c.t.Error(err)
		}
		for j := range deliveries {
			if d := &deliveries[j]; d.Status != bot.DeliverySent || arrived[d.ID] != 1 {
				c.t.Errorf("delivery %s (%s) is %s and arrived %d times", d.ID, d.Kind, d.Status, arrived[d.ID])
			}
		}
	}
	c.t.Logf("lives ended at %v", c.points)
	c.t.Logf("%d tasks, %d messages, a task was begun up to %d times, the model was asked %d times", len(tasks), len(arrived), begun, len(c.model.Requests()))
}
