package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goslack "github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// talk is a request in a thread and what answers to it are made of.
type talk struct {
	*world
	event bot.Event
	root  string
}

func talkIn(t *testing.T, s setup) talk {
	t.Helper()
	w := build(t, s)
	root := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " report"})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
	return talk{world: w, event: w.core.all()[0], root: root}
}

// owed is a delivery to the talk.
func (k talk) owed(kind bot.DeliveryKind, d bot.Delivery) bot.Delivery {
	d.ID, d.Kind, d.Origin, d.Actor, d.Created = "01DELIVERY"+string(kind), kind, k.event.Origin, k.event.Actor, time.Now()
	if d.Task == "" {
		d.Task = "01TASK00000000000000000000"
	}
	if d.State == "" {
		d.State = bot.TaskDone
	}
	return d
}

// deliver sends d as the outbox does: failures that may be repeated are, no
// sooner than Slack said, and ambiguous ones are looked up first.
func (k talk) deliver(t *testing.T, d bot.Delivery) bot.Receipt {
	t.Helper()
	for range 20 {
		receipt, err := k.adapter.Send(t.Context(), d)
		if err == nil {
			return receipt
		}
		failure := &bot.SendError{Class: bot.Ambiguous}
		errors.As(err, &failure)
		switch failure.Class {
		case bot.Permanent:
			t.Fatalf("permanent: %v", err)
		case bot.Ambiguous:
			for {
				receipt, found, err := k.adapter.Find(t.Context(), d)
				if err != nil {
					continue
				}
				if found {
					return receipt
				}
				break
			}
		}
		select {
		case <-time.After(failure.After):
		case <-t.Context().Done():
		}
	}
	t.Fatal("never delivered")
	return bot.Receipt{}
}

// TestAnswer shows an answer in the thread: rendered, inert, with its buttons.
func TestAnswer(t *testing.T) {
	k := talkIn(t, setup{})
	receipt := k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{
		Message:     "# Revenue\n\n| Region | Sum |\n|---|---|\n| Nord | 12 |\n\n<!channel> see [this](https://evil.example/?d=1), https://typed.example/x and <@U0123>",
		Links:       []string{"https://typed.example/x"},
		Undelivered: []bot.Undelivered{{Name: "big.csv", Reason: "it is larger than 50 MiB"}},
	}))
	got := k.Replies(k.sales, k.root)
	if len(got) != 1 || got[0].TS != receipt.ID || receipt.Link == "" {
		t.Fatalf("replies %+v, receipt %+v", got, receipt)
	}
	if links := slacktest.LiveLinks(got[0]); !slices.Equal(links, []string{"https://typed.example/x"}) {
		t.Errorf("live links %q", links)
	}
	if pings := slacktest.LivePings(got[0]); len(pings) != 0 || len(k.Unfurled()) != 0 {
		t.Errorf("pings %q, unfurled %q", pings, k.Unfurled())
	}
	for _, want := range []string{"# Revenue", "Nord     12", "`big.csv`: it is larger than 50 MiB"} {
		if !strings.Contains(got[0].Shown(), want) {
			t.Errorf("%q is missing in:\n%s", want, got[0].Shown())
		}
	}
	if b := got[0].Buttons(); !slices.Equal(b, []string{"Retry"}) {
		t.Errorf("buttons %q", b)
	}
}

// TestLongAnswer shows answers around Slack's limits: whole, in order, and
// posted once although the answer to one part was lost.
func TestLongAnswer(t *testing.T) {
	for _, n := range []int{11_000, 11_499, 11_500, 11_501, 12_001, 30_000} {
		k := talkIn(t, setup{workspace: slacktest.Options{Unlimited: true}})
		k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose, After: min(1, n/12_000)})
		lines := make([]string, 0, n/10)
		for i := range n / 10 {
			lines = append(lines, fmt.Sprintf("word%05d", i))
		}
		k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: strings.Join(lines, " ") + strings.Repeat("x", n%10)}))
		shown := ""
		for _, m := range k.Replies(k.sales, k.root) {
			shown += m.Shown() + " "
		}
		if got := strings.Count(shown, "word"); got != len(lines) {
			t.Errorf("%d characters: %d of %d words in %d messages", n, got, len(lines), len(k.Replies(k.sales, k.root)))
		}
		if !slices.IsSortedFunc(strings.Fields(strings.ReplaceAll(shown, "x", "")), strings.Compare) {
			t.Errorf("%d characters: parts out of order", n)
		}
	}
	k := talkIn(t, setup{})
	k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: strings.Repeat("word ", 30_000)}))
	got := k.Replies(k.sales, k.root)
	if len(got) != 5 || !strings.Contains(got[4].Shown(), "too long for Slack") {
		t.Errorf("%d messages", len(got))
	}
	// Cut within code, the remark is text all the same.
	k = talkIn(t, setup{})
	k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: "```\n" + strings.Repeat("x = 1\n", 20_000) + "```"}))
	got = k.Replies(k.sales, k.root)
	var blocks []struct{ Text json.RawMessage }
	if err := json.Unmarshal(got[len(got)-1].Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	var last string
	if err := json.Unmarshal(blocks[0].Text, &last); err != nil || len(got) != 5 {
		t.Fatalf("%d messages: %v", len(got), err)
	}
	if fences := strings.Count(last, "```"); fences != 2 || !strings.Contains(last, "```\n\n_The rest") {
		t.Errorf("%d fences around the remark: %q", fences, last[len(last)-120:])
	}
}

// TestRefusedBlocks shows that an answer whose blocks Slack does not take is
// posted as plain text.
func TestRefusedBlocks(t *testing.T) {
	k := talkIn(t, setup{})
	k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Fail, Error: "invalid_blocks"})
	k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: "**42** rows"}))
	if got := k.Replies(k.sales, k.root); len(got) != 1 || got[0].Text != "42 rows" || len(got[0].Blocks) != 0 {
		t.Errorf("replies %+v", got)
	}
}

// TestForgedMark shows that only our own message with a valid mark counts as
// sent: not one of another author, of another key, or of another delivery.
func TestForgedMark(t *testing.T) {
	k := talkIn(t, setup{workspace: slacktest.Options{Unlimited: true}})
	d := k.owed(bot.DeliverAnswer, bot.Delivery{Message: "42"})
	forge := func(id string, mark any) {
		api := goslack.New(k.BotToken(), goslack.OptionAPIURL(k.APIURL()))
		_, _, err := api.PostMessageContext(t.Context(), k.sales, goslack.MsgOptionText("forged", false), goslack.MsgOptionTS(k.root),
			goslack.MsgOptionMetadata(goslack.SlackMetadata{EventType: "sandpiper_delivery", EventPayload: map[string]any{"delivery": id, "part": 0, "mark": mark}}))
		if err != nil {
			t.Fatal(err)
		}
	}
	find := func() bool {
		_, found, err := k.adapter.Find(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	forge(d.ID, "")
	forge(d.ID, "00112233445566778899aabbccddeeff")
	forge(d.ID, 7)
	if find() {
		t.Error("a forged mark counts")
	}
	k.deliver(t, d)
	if !find() {
		t.Error("our own mark does not count")
	}
	own := k.Replies(k.sales, k.root)
	mark := own[len(own)-1].Metadata.EventPayload["mark"]
	d.ID = "01DELIVERYother"
	forge(d.ID, mark)
	if find() {
		t.Error("the mark of another delivery counts")
	}
}

// TestLostResponses loses the answer to each outgoing call in turn, and breaks
// it in each other way, and asserts that all stands once.
func TestLostResponses(t *testing.T) {
	faults := []slacktest.Fault{
		{Kind: slacktest.Lose},
		{Kind: slacktest.Garbage},
		{Kind: slacktest.Refuse},
		{Kind: slacktest.Status},
		{Kind: slacktest.Limit},
		{Kind: slacktest.Fail, Error: "internal_error"},
		{Kind: slacktest.Fail, Error: "service_unavailable"},
	}
	for _, method := range []string{"chat.postMessage", "files.getUploadURLExternal", "upload", "files.completeUploadExternal", "files.info", "conversations.replies"} {
		for _, f := range faults {
			t.Run(fmt.Sprint(method, f.Kind, f.Error), func(t *testing.T) {
				t.Parallel()
				k := talkIn(t, setup{})
				f.Method = method
				k.Inject(f)
				k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: "42"}))
				k.deliver(t, k.owed(bot.DeliverFiles, bot.Delivery{Files: []bot.Artifact{k.blobs.add("a.csv", "text/csv", []byte("a\n")), k.blobs.add("b.png", "image/png", []byte("png"))}}))
				k.wait(t, "answer and files", func() bool { return len(k.Replies(k.sales, k.root)) >= 2 })
				got := k.Replies(k.sales, k.root)
				if len(got) != 2 || got[0].Shown() != "42" || !slices.Equal(got[1].FileNames(), []string{"a.csv", "b.png"}) {
					t.Errorf("transcript:\n%s", k.Transcript(k.sales))
				}
			})
		}
	}
}

// TestFiles shows one message with all files, their alternative texts, and the
// names of those that Slack does not take.
func TestFiles(t *testing.T) {
	k := talkIn(t, setup{})
	chart := k.blobs.add("chart.png", "image/png", []byte("png"))
	chart.Alt = "Revenue by week, rising"
	gone := bot.Artifact{Name: "gone.csv", Size: 3, Blob: "none"}
	receipt := k.deliver(t, k.owed(bot.DeliverFiles, bot.Delivery{Files: []bot.Artifact{chart, k.blobs.add("empty <b>.csv", "text/csv", nil), gone}}))
	got := k.Replies(k.sales, k.root)
	if len(got) != 1 || got[0].TS != receipt.ID || len(got[0].Files) != 1 || got[0].Files[0].Alt != chart.Alt {
		t.Fatalf("replies %+v", got)
	}
	if s := got[0].Shown(); !strings.Contains(s, "empty <b>.csv") || !strings.Contains(s, "takes no empty files") || !strings.Contains(s, "gone.csv") {
		t.Errorf("shown %q", s)
	}
	receipt = k.deliver(t, k.owed(bot.DeliverFiles, bot.Delivery{Task: "2", Files: []bot.Artifact{chart}}))
	if got := len(k.Replies(k.sales, k.root)); got != 1 {
		t.Errorf("the same delivery made %d messages (%+v)", got, receipt)
	}
	only := k.owed(bot.DeliverFiles, bot.Delivery{Files: []bot.Artifact{k.blobs.add("empty.csv", "text/csv", nil)}})
	only.ID = "01DELIVERYonly"
	if receipt = k.deliver(t, only); len(receipt.Undelivered) != 1 || len(k.Replies(k.sales, k.root)) != 1 {
		t.Errorf("receipt %+v", receipt)
	}
}

// TestRefusalIsWhispered shows that a refusal is shown to its asker alone.
func TestRefusalIsWhispered(t *testing.T) {
	k := talkIn(t, setup{})
	k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: "Not here.", State: bot.TaskRefused}))
	if got := k.Ephemerals(k.sales, k.ada); len(got) != 1 || got[0].Text != "Not here." || len(k.Replies(k.sales, k.root)) != 0 {
		t.Errorf("transcript:\n%s", k.Transcript(k.sales))
	}
}

// TestDestination shows that a schedule's destination, which has no address, is
// posted to its channel.
func TestDestination(t *testing.T) {
	k := talkIn(t, setup{})
	d := k.owed(bot.DeliverAnswer, bot.Delivery{Message: "Monday's report"})
	d.Origin = bot.Origin{Adapter: slack.Name, Conversation: "schedule:x", Place: "slack:" + k.sales}
	k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose})
	k.deliver(t, d)
	all := k.Messages(k.sales)
	if last := all[len(all)-1]; len(all) != 2 || last.ThreadTS != "" || last.Shown() != "Monday's report" {
		t.Errorf("transcript:\n%s", k.Transcript(k.sales))
	}
}

// TestProgress shows one message from the queue to its last line.
func TestProgress(t *testing.T) {
	k := talkIn(t, setup{options: func(o *slack.Options, _ *world) {
		o.TaskURL = func(id string) string { return "https://bot.example/tasks/" + id }
	}})
	now := time.Now()
	task := bot.Task{ID: "01TASK00000000000000000000", Event: k.event, Created: now, Attempts: 1}
	show := func(p bot.Progress, earlier *bot.Receipt) *bot.Receipt {
		t.Helper()
		got, err := k.adapter.Progress(t.Context(), task, p, earlier)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose})
	k.Inject(slacktest.Fault{Method: "conversations.replies", Kind: slacktest.Lose})
	if _, err := k.adapter.Progress(t.Context(), task, bot.Progress{State: bot.TaskQueued, Position: 2}, nil); err == nil {
		t.Fatal("two lost answers were no error")
	}
	receipt := show(bot.Progress{State: bot.TaskQueued, Position: 2}, nil) // finds the lost one
	if got := k.Replies(k.sales, k.root); len(got) != 1 || !strings.Contains(got[0].Shown(), "2 tasks before") || !slices.Equal(got[0].Buttons(), []string{"Cancel"}) {
		t.Fatalf("transcript:\n%s", k.Transcript(k.sales))
	}
	todo := []bot.TodoItem{{Text: "Read <!channel> sales.csv", Done: true}, {Text: "Draw https://evil.example"}}
	show(bot.Progress{State: bot.TaskRunning, Todo: todo, Now: "running Python", Started: now.Add(-65 * time.Second)}, receipt)
	m := k.Replies(k.sales, k.root)[0]
	for _, want := range []string{"☑ Read", "☐ Draw", "running Python", "1 min 5 s"} {
		if !strings.Contains(m.Shown(), want) {
			t.Errorf("%q is missing in:\n%s", want, m.Shown())
		}
	}
	if len(slacktest.LivePings(m))+len(slacktest.LiveLinks(m)) != 0 {
		t.Errorf("live: %s", m.Shown())
	}
	edits := m.Edits
	for range 20 { // too soon: left out, not queued up
		show(bot.Progress{State: bot.TaskRunning, Now: "again"}, receipt)
	}
	if got := k.Replies(k.sales, k.root)[0].Edits - edits; got > 1 {
		t.Errorf("%d edits at once", got)
	}
	task.State, task.Started, task.Ended = bot.TaskDone, now, now.Add(12*time.Second)
	task.Outcome = &bot.Outcome{
		State: bot.TaskDone, Usage: bot.Usage{InputTokens: 3000, OutputTokens: 200, CostUSD: 0.024},
		Provenance: bot.Provenance{Programs: make([]bot.ProgramVerdict, 3)},
	}
	k.core.set(task)
	k.Inject(slacktest.Fault{Method: "chat.update", Kind: slacktest.Lose})
	k.deliver(t, k.owed(bot.DeliverProgress, bot.Delivery{Earlier: receipt}))
	m = k.Replies(k.sales, k.root)[0]
	if want := "✅ Done in 12 s · 3 programs · 3.2k tokens · $0.02 · <https://bot.example/tasks/01TASK00000000000000000000|details>"; m.Shown() != want || len(m.Buttons()) != 0 {
		t.Errorf("last line %q, buttons %q", m.Shown(), m.Buttons())
	}
	if got := len(k.Replies(k.sales, k.root)); got != 1 {
		t.Errorf("%d messages", got)
	}
}

// TestFoundAnswerEndsProgress loses the receipt of a progress message, and then
// the response to the answer: finding the answer brings the message to its end
// as posting it would have.
func TestFoundAnswerEndsProgress(t *testing.T) {
	k := talkIn(t, setup{})
	task := bot.Task{ID: "01TASK00000000000000000000", Event: k.event, Created: time.Now(), Attempts: 1}
	k.core.set(task)
	k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose})
	k.Inject(slacktest.Fault{Method: "conversations.replies", Kind: slacktest.Lose})
	if _, err := k.adapter.Progress(t.Context(), task, bot.Progress{State: bot.TaskRunning, Now: "running Python"}, nil); err == nil {
		t.Fatal("two lost answers were no error")
	}
	k.Inject(slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose})
	answer := k.owed(bot.DeliverAnswer, bot.Delivery{Message: "42"})
	failure := &bot.SendError{}
	if _, err := k.adapter.Send(t.Context(), answer); !errors.As(err, &failure) || failure.Class != bot.Ambiguous {
		t.Fatalf("sent with %v", err)
	}
	if _, found, err := k.adapter.Find(t.Context(), answer); err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	got := k.Replies(k.sales, k.root)
	if len(got) != 2 || !strings.Contains(got[0].Shown(), "✅ Done") || len(got[0].Buttons()) != 0 || got[1].Shown() != "42" {
		t.Errorf("transcript:\n%s", k.Transcript(k.sales))
	}
}

// TestProgressLimits shows that the largest plan stays within Slack's limits.
func TestProgressLimits(t *testing.T) {
	k := talkIn(t, setup{})
	var todo []bot.TodoItem
	for range 200 {
		todo = append(todo, bot.TodoItem{Text: strings.Repeat("<ж&", 300)})
	}
	task := bot.Task{ID: "01TASK00000000000000000000", Event: k.event, Created: time.Now(), Attempts: 1}
	if _, err := k.adapter.Progress(t.Context(), task, bot.Progress{State: bot.TaskRunning, Todo: todo, Now: strings.Repeat("<&>", 5000)}, nil); err != nil {
		t.Fatal(err)
	}
	if got := k.Replies(k.sales, k.root); len(got) != 1 || len(got[0].Blocks) == 0 {
		t.Errorf("transcript:\n%s", k.Transcript(k.sales))
	}
}

// TestButtons shows what each button does, for whom, and after the end.
func TestButtons(t *testing.T) {
	k := talkIn(t, setup{})
	bob := k.AddUser(slacktest.User{Name: "Bob"})
	guest := k.AddUser(slacktest.User{Name: "Guest", Guest: true})
	id := k.event.Origin.Conversation
	task := bot.Task{ID: "01TASK00000000000000000000", State: bot.TaskWaiting, Event: k.event}
	k.core.set(task)

	// A question with choices: only who was asked may answer, once.
	k.deliver(t, k.owed(bot.DeliverQuestion, bot.Delivery{State: bot.TaskWaiting, Question: &bot.Question{Text: "Which year?", Choices: []string{"2024", "2025 <b>"}}}))
	q := k.Replies(k.sales, k.root)[0]
	k.Press(bob, k.sales, q.TS, "2024")
	k.wait(t, "the remark", func() bool { return len(k.Ephemerals(k.sales, bob)) == 1 })
	k.Press(k.ada, k.sales, q.TS, "2025 <b>")
	k.wait(t, "the answer", func() bool { return len(k.core.of(bot.EventRequest)) == 2 })
	if e := k.core.of(bot.EventRequest)[1]; e.Text != "2025 <b>" || e.Origin.Conversation != id || e.Actor != k.event.Actor {
		t.Errorf("answer %+v", e)
	}
	k.wait(t, "the buttons to go", func() bool {
		m, _ := k.Message(k.sales, q.TS)
		return len(m.Buttons()) == 0 && strings.Contains(m.Shown(), "You chose: 2025 <b>")
	})

	// After the end a press is answered kindly and asks for nothing.
	task.State = bot.TaskDone
	k.core.set(task)
	second := k.owed(bot.DeliverQuestion, bot.Delivery{State: bot.TaskWaiting, Question: &bot.Question{Text: "Again?", Choices: []string{"Yes"}}})
	second.ID = "01DELIVERYsecond"
	ts := k.deliver(t, second).ID
	k.Press(k.ada, k.sales, ts, "Yes")
	k.wait(t, "the kind answer", func() bool { return len(k.Ephemerals(k.sales, k.ada)) == 1 })
	if got := k.Ephemerals(k.sales, k.ada)[0].Text; !strings.Contains(got, "not open any more") || len(k.core.of(bot.EventRequest)) != 2 {
		t.Errorf("told %q", got)
	}

	// Retry and Show code under an answer; a guest gets neither.
	data, err := json.Marshal(bot.Program{Language: "python", Code: "print('<b>')\n" + strings.Repeat("x = 1\n", 3000), Verdict: "ok", Seconds: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	k.core.steps[task.ID] = []bot.Step{{Kind: bot.StepProgram, Data: data}}
	ts = k.deliver(t, k.owed(bot.DeliverAnswer, bot.Delivery{Message: "42"})).ID
	k.Press(guest, k.sales, ts, "Retry")
	k.wait(t, "the refusal", func() bool { return len(k.Ephemerals(k.sales, guest)) == 1 })
	k.Press(guest, k.sales, ts, "Show code")
	k.wait(t, "the refusal", func() bool { return len(k.Ephemerals(k.sales, guest)) == 2 })
	k.Press(bob, k.sales, ts, "Retry")
	k.wait(t, "the command", func() bool { return len(k.core.of(bot.EventCommand)) == 1 })
	if e := k.core.of(bot.EventCommand)[0]; e.Command != (bot.Command{Name: "retry", Task: task.ID}) || !e.Inline || e.Origin.Conversation != id || !strings.HasSuffix(e.Actor.ID, bob) {
		t.Errorf("command %+v", e)
	}
	k.wait(t, "its reply", func() bool { return len(k.Ephemerals(k.sales, bob)) == 2 })
	k.Press(bob, k.sales, ts, "Show code")
	k.wait(t, "the window", func() bool { return len(k.Modals(bob)) == 1 })
	if got := k.Modals(bob)[0].Shown(); !strings.Contains(got, "1. python") || !strings.Contains(got, "print('<b>')") || len(k.Modals(guest)) != 0 {
		t.Errorf("window %.200s", got)
	}
}

// TestHome shows a person's tasks and spending, and nobody else's.
func TestHome(t *testing.T) {
	k := talkIn(t, setup{options: func(o *slack.Options, _ *world) { o.DailyUSD = 20 }})
	bob := k.AddUser(slacktest.User{Name: "Bob", TZ: "Asia/Tokyo"})
	his := k.event
	his.Actor.ID = strings.Replace(his.Actor.ID, k.ada, bob, 1)
	at := time.Date(2026, time.March, 3, 20, 0, 0, 0, time.UTC)
	for i, state := range []bot.TaskState{bot.TaskQueued, bot.TaskWaiting, bot.TaskDone} {
		k.core.set(bot.Task{ID: fmt.Sprintf("01B%05d", i), Title: "churn", State: state, Created: at, Event: his})
	}
	for i := range 60 {
		state := bot.TaskDone
		if i%4 == 0 {
			state = bot.TaskRunning
		}
		k.core.set(bot.Task{
			ID: fmt.Sprintf("01T%05d", i), Title: fmt.Sprintf("report %d <!channel>", i), State: state, Created: time.Now(), Event: k.event,
			Outcome: &bot.Outcome{Usage: bot.Usage{InputTokens: 1000, CostUSD: 0.1}},
		})
	}
	k.OpenHome(k.ada)
	k.OpenHome(bob)
	k.wait(t, "the homes", func() bool { _, a := k.Home(k.ada); _, b := k.Home(bob); return a && b })
	ada, _ := k.Home(k.ada)
	for _, want := range []string{"How to begin", "In progress", "⏳ report", "· running", "This month", "61 tasks · 60.0k tokens · $6.00 · at most $20.00 a day", "Recent", "✅ report"} {
		if !strings.Contains(ada.Shown(), want) {
			t.Errorf("%q is missing in:\n%s", want, ada.Shown())
		}
	}
	view, _ := k.Home(bob)
	if strings.Contains(view.Shown(), "report 1") {
		t.Errorf("Bob sees:\n%s", view.Shown())
	}
	for _, want := range []string{"· in the queue", "💬 churn", "· waiting for your answer", "· 4 Mar 05:00 JST"} {
		if !strings.Contains(view.Shown(), want) {
			t.Errorf("%q is missing in Bob's:\n%s", want, view.Shown())
		}
	}
}
