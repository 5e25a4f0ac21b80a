package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// handClock is a clock that a test sets.
type handClock struct {
	mu sync.Mutex // guards at
	at time.Time
}

// Now implements bot.Clock.
func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// weekly is a process with a fake Slack, a scripted model and a clock in hand.
type weekly struct {
	t       *testing.T
	ws      *slacktest.Workspace
	model   *modeltest.Server
	clock   *handClock
	app     *app
	ada     string
	reports string // the channel
}

// revenue is what the model writes for a column of this name in this file.
func revenue(file, column string) string {
	return fmt.Sprintf(`from sandpiper import read
df = read("/workspace/in/%s")
by = df.groupby("region")["%s"].sum()
print("total", by.sum())
print("leader", by.idxmax())
print("share of the leader", by.max() / by.sum())`, file, column)
}

func newWeekly(t *testing.T) *weekly {
	t.Helper()
	sandboxtest.Engine(t)
	python := func(code string) modeltest.Turn {
		return modeltest.Do("execute_code", map[string]any{"language": "python", "code": code})
	}
	end := func(message string) modeltest.Turn {
		return modeltest.Do("finish", map[string]any{"message": message})
	}
	w := &weekly{t: t, clock: &handClock{at: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}}
	w.model = modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{
		{Match: "The saved report weekly-sales", Turns: []modeltest.Turn{
			python(revenue("sales-4.csv", "amount_eur")), end("Revenue was 400.00, and south led with 75 %."),
		}},
		{Match: "Revenue by region", Turns: []modeltest.Turn{python(revenue("sales-0.csv", "amount")), end("Revenue was 1,250.00, and north led with 80 %.")}},
	}})
	var err error
	if w.ws, err = slacktest.New(slacktest.Options{Unlimited: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.ws.Close(); err != nil {
			t.Error(err)
		}
	})
	w.ada = w.ws.AddUser(slacktest.User{Name: "Ada", TZ: "Europe/Berlin"})
	w.reports = w.ws.AddChannel(slacktest.Channel{Name: "reports", Members: []string{w.ada, slacktest.BotUser}})
	w.start(t.TempDir())
	return w
}

// start runs a whole server of this process, its clock in the test's hand.
func (w *weekly) start(dir string) {
	w.t.Helper()
	env := map[string]string{
		"SLACK_APP_TOKEN": w.ws.AppToken(), "SLACK_BOT_TOKEN": w.ws.BotToken(), "SLACK_API_URL": w.ws.APIURL(),
		"OPENAI_BASE_URL": w.model.URL(), "SANDPIPER_MODEL": "scripted", "SANDPIPER_DATA_DIR": dir, "SANDPIPER_LISTEN": "127.0.0.1:0",
		"HOME": dir,
	}
	h := &home{t: w.t, dir: w.t.TempDir()}
	h.write("conf.yaml", "sandbox: {wall: 15m, cpu: 10m}\nslack: {allow: {channels: ["+w.reports+"]}}\nusers: {\"slack:"+w.ada+"\": {zone: Asia/Tokyo}}\n")
	loaded, err := config.Load(config.Options{Path: h.dir + "/conf.yaml", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	if w.app, err = start(ctx, loaded, log, startOptions{serve: true, clock: w.clock}); err != nil {
		cancel()
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.app.serve(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		if err := w.app.stop(context.WithoutCancel(ctx)); err != nil {
			w.t.Error(err)
		}
	})
	w.await("a connection", func() bool { return w.ws.Sockets() > 0 })
}

func (w *weekly) await(what string, cond func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	if err := w.ws.Await(ctx, cond); err != nil {
		w.t.Fatalf("waited for %s in vain:\n%s", what, w.ws.Transcript(w.reports))
	}
}

// said waits for a message of the bot in a thread that holds text.
func (w *weekly) said(root, text string) slacktest.Message {
	w.t.Helper()
	var found slacktest.Message
	w.await(text, func() bool {
		for _, m := range w.ws.Replies(w.reports, root) {
			if strings.Contains(m.Shown(), text) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// tell writes to the bot and waits for words of its reply.
func (w *weekly) tell(root, text, reply string) slacktest.Message {
	w.t.Helper()
	ts := w.ws.Say(slacktest.Post{Channel: w.reports, User: w.ada, Text: slacktest.Mention + " " + text, Thread: root})
	if root == "" {
		root = ts
	}
	return w.said(root, reply)
}

// upload puts a file into the channel, as people do: without asking anything.
func (w *weekly) upload(name, content string) {
	w.t.Helper()
	file := w.ws.AddFile(slacktest.File{Name: name, Data: []byte(content), User: w.ada})
	w.ws.Say(slacktest.Post{Channel: w.reports, User: w.ada, Text: "this week's numbers", Files: []string{file}})
}

// posts are the bot's messages in the channel itself, outside threads.
func (w *weekly) posts() (out []string) {
	for _, m := range w.ws.Messages(w.reports) {
		if m.Bot && m.OnlyFor == "" && (m.ThreadTS == "" || m.ThreadTS == m.TS) {
			out = append(out, m.Shown())
		}
	}
	return out
}

// monday lets it be nine o'clock in Berlin on a day and returns what is posted.
func (w *weekly) monday(at time.Time) string {
	w.t.Helper()
	before := len(w.posts())
	w.clock.set(at)
	w.app.clock.Wake()
	w.await("the report of "+at.Format("2 January"), func() bool { return len(w.posts()) > before })
	return w.posts()[before]
}

// TestSavedReportOnFourMondays is the whole way: asked once with a model, saved,
// scheduled in words, then four Mondays with four states of the data.
func TestSavedReportOnFourMondays(t *testing.T) {
	w := newWeekly(t)
	file := w.ws.AddFile(slacktest.File{Name: "sales-0.csv", User: w.ada, Data: []byte("region,amount\nnorth,1000\nsouth,150\neast,70\nwest,30\n")})
	root := w.ws.Say(slacktest.Post{Channel: w.reports, User: w.ada, Text: slacktest.Mention + " Revenue by region, please", Files: []string{file}})
	w.said(root, "Revenue was 1,250.00, and north led with 80 %.")
	w.tell(root, "save weekly-sales", "Saved as")
	asked := len(w.model.Requests())

	proposed := w.tell(root, "schedule every Monday at 9 run weekly-sales from the newest sales-*.csv in <#"+w.reports+"|reports> to <#"+w.reports+"|reports>", "It is not on yet").Shown()
	for _, part := range []string{"0 9 * * 1", "Europe/Berlin", "the latest made up for once within 6h", "Mon 30 Nov 2026 09:00 CET", "Mon 7 Dec 2026", "Mon 14 Dec 2026"} {
		if !strings.Contains(proposed, part) {
			t.Errorf("the proposal lacks %q:\n%s", part, proposed)
		}
	}
	list, err := w.app.schedules.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Skill != "weekly-sales" {
		t.Fatalf("%+v, %v", list, err)
	}
	name := list[0].Name
	w.tell(root, "schedules confirm "+name, "is on; next on Mon 30 Nov 2026 09:00 CET")

	due := time.Date(2026, 11, 30, 8, 0, 5, 0, time.UTC)
	week := func(n int) time.Time { return due.AddDate(0, 0, 7*(n-1)) }
	has := func(n int, post string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(post, part) {
				t.Errorf("Monday %d lacks %q:\n%s", n, part, post)
			}
		}
	}
	w.upload("sales-1.csv", "region,amount\nnorth,100\nsouth,60\neast,40\n")
	has(1, w.monday(week(1)), "Revenue was 200.00, and north led with 50 %.")
	w.upload("sales-2.csv", "region,amount\nnorth,100\nsouth,300\neast,50\nwest,50\n")
	has(2, w.monday(week(2)), "Revenue was 500.00, and south led with 60 %.", "Compared with last time", "total: 200.00 → 500.00 (+150%)", "leader: north → south", "new in region: **west**")
	has(3, w.monday(week(3)), "no new one has come since the run of", "sales-2.csv", "The next run looks again.")
	if n := len(w.model.Requests()); n != asked {
		t.Errorf("%d requests went to the model for shapes that had not changed", n-asked)
	}
	w.upload("sales-4.csv", "region,amount_eur\nnorth,60\nsouth,300\neast,40\n")
	has(4, w.monday(week(4)), "“amount” is no longer there", "“amount_eur” may be its new name", "Revenue was 400.00, and south led with 75 %.", "version 2", "reports accept weekly-sales")
	if n := len(w.model.Requests()); n != asked+2 {
		t.Errorf("%d requests went to the model for the mending", n-asked)
	}
	if posts := w.posts(); len(posts) != 4 {
		t.Errorf("%d messages in the channel:\n%s", len(posts), w.ws.Transcript(w.reports))
	}

	// The mended version, once it is taken, needs no model either.
	w.tell(root, "reports accept weekly-sales", "is at version 2 now")
	w.upload("sales-5.csv", "region,amount_eur\nnorth,60\nsouth,30\neast,10\n")
	has(5, w.monday(week(5)), "Revenue was 100.00, and north led with 60 %.", "total: 400.00 → 100.00 (-75%)")
	if n := len(w.model.Requests()); n != asked+2 {
		t.Errorf("%d requests went to the model in all", n-asked)
	}
	w.tell(root, "reports versions weekly-sales", "is at version 2; kept are 2, 1")
	fires, err := w.app.schedules.Fires(t.Context(), name)
	if err != nil || len(fires) != 5 {
		t.Errorf("fires %+v, %v", fires, err)
	}
	for _, m := range w.ws.Messages(w.reports) {
		if strings.Contains(m.Shown(), "paused") {
			t.Errorf("the missing file paused the schedule: %s", m.Shown())
		}
	}
	if raw, _ := json.Marshal(w.ws.Lost()); string(raw) != "null" {
		t.Errorf("nobody sees %s", raw)
	}
}
