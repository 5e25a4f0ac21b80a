package slack_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// TestIgnored sends messages of 30 kinds that are no requests and asserts that
// none becomes one, and that each is acknowledged.
func TestIgnored(t *testing.T) {
	w := build(t, setup{})
	at := func(more map[string]any) map[string]any {
		e := map[string]any{
			"type": "message", "channel": w.sales, "channel_type": "channel", "user": w.ada,
			"text": slacktest.Mention + " do it", "ts": fmt.Sprintf("1700000000.%06d", len(more)), "event_ts": "1700000000.000100",
		}
		maps.Copy(e, more)
		return e
	}
	inner := func(more map[string]any) map[string]any { return at(more) }
	dm := map[string]any{"channel": w.DM(w.ada), "channel_type": "im"}
	with := func(a, b map[string]any) map[string]any { a = maps.Clone(a); maps.Copy(a, b); return a }
	kinds := map[string]map[string]any{
		"our own user":              at(map[string]any{"user": slacktest.BotUser}),
		"our own bot id":            at(map[string]any{"user": "", "bot_id": slacktest.BotID}),
		"our own in a DM":           at(with(dm, map[string]any{"user": slacktest.BotUser, "bot_id": slacktest.BotID})),
		"another bot":               at(map[string]any{"bot_id": "B0OTHER"}),
		"another bot's mention":     at(map[string]any{"type": "app_mention", "bot_id": "B0OTHER"}),
		"bot_message":               at(map[string]any{"subtype": "bot_message", "user": ""}),
		"a workflow":                at(map[string]any{"user": "", "workflow_id": "W1"}),
		"slackbot":                  at(map[string]any{"user": "USLACKBOT"}),
		"no mention":                at(map[string]any{"text": "thanks!"}),
		"thanks in a thread":        at(map[string]any{"text": "thanks!", "thread_ts": "1699999999.000001"}),
		"somebody else's mention":   at(map[string]any{"text": "<@U0OTHER> do it"}),
		"a longer id":               at(map[string]any{"text": "<@" + slacktest.BotUser + "2> do it"}),
		"our name in words":         at(map[string]any{"text": "ask sandpiper to do it"}),
		"channel_join":              at(map[string]any{"subtype": "channel_join"}),
		"channel_leave":             at(map[string]any{"subtype": "channel_leave"}),
		"channel_topic":             at(map[string]any{"subtype": "channel_topic"}),
		"channel_purpose":           at(map[string]any{"subtype": "channel_purpose"}),
		"channel_name":              at(map[string]any{"subtype": "channel_name"}),
		"pinned_item":               at(map[string]any{"subtype": "pinned_item"}),
		"me_message":                at(map[string]any{"subtype": "me_message"}),
		"reminder_add":              at(map[string]any{"subtype": "reminder_add"}),
		"ekm_access_denied":         at(map[string]any{"subtype": "ekm_access_denied"}),
		"message_replied":           at(map[string]any{"subtype": "message_replied"}),
		"assistant_app_thread":      at(with(dm, map[string]any{"subtype": "assistant_app_thread"})),
		"hidden":                    at(map[string]any{"hidden": true}),
		"an edited mention":         at(map[string]any{"type": "app_mention", "edited": map[string]any{"user": w.ada, "ts": "1700000001.000000"}}),
		"an edit of a bot":          at(map[string]any{"subtype": "message_changed", "message": inner(map[string]any{"bot_id": "B0OTHER"}), "previous_message": inner(map[string]any{"text": "x"})}),
		"an edit of ours":           at(map[string]any{"subtype": "message_changed", "user": "", "message": inner(map[string]any{"user": slacktest.BotUser})}),
		"a count of replies":        at(map[string]any{"subtype": "message_changed", "message": inner(map[string]any{"reply_count": 3}), "previous_message": inner(nil)}),
		"a deletion of a bot's":     at(map[string]any{"subtype": "message_deleted", "deleted_ts": "1700000000.000001", "previous_message": inner(map[string]any{"bot_id": "B0OTHER"})}),
		"another tab":               {"type": "app_home_opened", "user": w.ada, "tab": "messages"},
		"reaction_added":            {"type": "reaction_added", "user": w.ada, "reaction": "eyes"},
		"a kind that Slack invents": {"type": "future_event", "user": w.ada, "text": slacktest.Mention + " do it", "channel": w.sales},
	}
	for _, e := range kinds {
		w.SendEvent(e)
	}
	w.Unfurl(w.sales, w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "see https://example.com " + slacktest.Mention, Delivery: slacktest.Delivery{Silent: true}}))
	w.wait(t, "acknowledgements", func() bool { a := w.Acks(); return a.Acked == len(kinds)+1 })
	if got := w.core.all(); len(got) != 0 {
		t.Errorf("%d of %d kinds became events: %+v", len(got), len(kinds)+1, got)
	}
	if len(kinds)+1 < 30 {
		t.Errorf("only %d kinds", len(kinds)+1)
	}
}

// TestAnswered sends requests in all ways that people have and asserts that
// each becomes one event in the right conversation.
func TestAnswered(t *testing.T) {
	w := build(t, setup{options: func(o *slack.Options, w *world) {
		o.Allow.Channels = append(o.Allow.Channels, "C0GROUP", "C0MPIM")
	}})
	w.AddChannel(slacktest.Channel{ID: "C0GROUP", Name: "secret", Private: true})
	w.AddChannel(slacktest.Channel{ID: "C0MPIM", Name: "mpdm", MPIM: true})
	file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n1\n")})
	say := func(p slacktest.Post) func() string {
		return func() string { p.User = w.ada; return w.Say(p) }
	}
	mention := slacktest.Mention + " report"
	root := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "a talk among people"})
	dmRoot := w.Say(slacktest.Post{Channel: w.DM(w.ada), User: w.ada, Text: "first"})
	w.wait(t, "the first DM", func() bool { return len(w.core.all()) == 1 })
	cases := []struct {
		name string
		do   func() string
		text string
	}{
		{"mention", say(slacktest.Post{Channel: w.sales, Text: mention}), "report"},
		{"mention with a file", say(slacktest.Post{Channel: w.sales, Text: mention, Files: []string{file}}), "report"},
		{"mention in a thread", say(slacktest.Post{Channel: w.sales, Text: mention, Thread: root}), "report"},
		{"mention at the end", say(slacktest.Post{Channel: w.sales, Text: "report please, <@" + slacktest.BotUser + "|sandpiper>"}), "report please,"},
		{"private channel", say(slacktest.Post{Channel: "C0GROUP", Text: mention}), "report"},
		{"talk of several", say(slacktest.Post{Channel: "C0MPIM", Text: mention}), "report"},
		{"thread_broadcast", say(slacktest.Post{Channel: w.sales, Text: mention, Thread: root, Subtype: "thread_broadcast"}), "report"},
		{"DM", say(slacktest.Post{Channel: w.DM(w.ada), Text: "report"}), "report"},
		{"DM with a file", say(slacktest.Post{Channel: w.DM(w.ada), Text: "report", Files: []string{file}}), "report"},
		{"DM in its thread", say(slacktest.Post{Channel: w.DM(w.ada), Text: "now by month", Thread: dmRoot}), "now by month"},
		{"slash command", func() string { w.Slash(w.ada, w.sales, "/sandpiper", "report"); return "" }, "report"},
		{"shortcut", func() string {
			ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "numbers", Files: []string{file}})
			w.Shortcut(w.ada, w.sales, ts, "analyse")
			return ts
		}, "numbers"},
		{"mention added by an edit", func() string {
			ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "report"})
			w.Edit(w.sales, ts, mention)
			return ts
		}, "report"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.core.all())
			ts := c.do()
			w.wait(t, "the event", func() bool { return len(w.core.all()) == before+1 })
			w.settled(t)
			e := w.core.all()[before]
			if e.Kind != bot.EventRequest || e.Text != c.text || e.Actor.ID != "slack:T0FAKE/"+w.ada {
				t.Errorf("event %+v", e)
			}
			if strings.Contains(c.name, "file") && (len(e.Inputs) != 1 || e.Inputs[0].Name != "a.csv") {
				t.Errorf("inputs %+v", e.Inputs)
			}
			if ts != "" && !strings.HasSuffix(e.Source, ts) {
				t.Errorf("source %s is not of %s", e.Source, ts)
			}
			if got := len(w.core.all()); got != before+1 {
				t.Errorf("%d events", got-before)
			}
		})
	}
}

// TestTwins shows that a mention's two events make one request with its file,
// in whichever order and however often they come.
func TestTwins(t *testing.T) {
	cases := map[string]slacktest.Delivery{
		"message first":                {},
		"mention first":                {MentionFirst: true},
		"fileless mention first":       {MentionFirst: true, Fileless: true},
		"fileless mention long before": {MentionFirst: true, Fileless: true, Gap: 800 * time.Millisecond},
		"fileless mention alone":       {MentionOnly: true, Fileless: true},
		"message alone":                {MessageOnly: true},
		"a storm of both":              {Copies: 20, Fileless: true},
		"a storm, mentions first":      {Copies: 20, Fileless: true, MentionFirst: true},
	}
	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			w := build(t, setup{})
			file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n1\n")})
			w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go", Files: []string{file}, Delivery: d})
			w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
			w.settled(t)
			if got := w.core.all(); len(got) != 1 || len(got[0].Inputs) != 1 {
				t.Errorf("events %+v", got)
			}
		})
	}
}

// TestCommitThenAcknowledge shows that an envelope whose event could not be
// committed is not acknowledged, and that Slack's next try is.
func TestCommitThenAcknowledge(t *testing.T) {
	c := newCore()
	failures := 0
	c.answer = func(bot.Event) (bot.Ticket, error) {
		if failures++; failures <= 2 {
			return bot.Ticket{}, errors.New("disk full")
		}
		return bot.Ticket{}, nil
	}
	w := build(t, setup{core: c, workspace: slacktest.Options{AckTimeout: 50 * time.Millisecond, Redelivery: []time.Duration{0, time.Millisecond, time.Millisecond}}})
	w.Say(slacktest.Post{Channel: w.DM(w.ada), User: w.ada, Text: "go"})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 && w.Acks().Acked == 1 })
	if a := w.Acks(); a.Sent != 3 || a.GivenUp != 0 {
		t.Errorf("acks %+v", a)
	}
}

// TestEdits shows what becomes of a changed text: before the start it replaces
// the request, afterwards it is offered.
func TestEdits(t *testing.T) {
	w := build(t, setup{})
	ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " by week"})
	w.wait(t, "the request", func() bool { return len(w.core.of(bot.EventRequest)) == 1 })
	w.Edit(w.sales, ts, slacktest.Mention+" by month")
	w.wait(t, "the edit", func() bool { return len(w.core.of(bot.EventEdit)) == 1 })
	w.settled(t)
	request, change := w.core.of(bot.EventRequest)[0], w.core.of(bot.EventEdit)[0]
	if change.Text != "by month" || change.Source != request.Source || change.Key == request.Key {
		t.Errorf("edit %+v of %+v", change, request)
	}
	if len(w.Ephemerals(w.sales, w.ada)) != 0 {
		t.Error("an edit before the start was offered")
	}

	task := started(t, w)
	w.Edit(w.sales, ts, slacktest.Mention+" by quarter")
	w.wait(t, "the offer", func() bool { return len(w.Ephemerals(w.sales, w.ada)) == 1 })
	w.Press(w.ada, w.sales, w.Ephemerals(w.sales, w.ada)[0].TS, "Run edited")
	w.wait(t, "the new request", func() bool { return len(w.core.of(bot.EventRequest)) == 2 })
	second := w.core.of(bot.EventRequest)[1]
	if second.Text != "by quarter" || second.Key == task.Event.Key || second.Origin.Conversation != task.Event.Origin.Conversation {
		t.Errorf("run edited: %+v", second)
	}
	w.wait(t, "the offer to go", func() bool { return len(w.Ephemerals(w.sales, w.ada)) == 0 })
}

// started makes the only task look as if it had begun.
func started(t *testing.T, w *world) bot.Task {
	t.Helper()
	tasks, err := w.core.Tasks(t.Context(), bot.TaskQuery{Actor: "slack:T0FAKE/" + w.ada})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("tasks %v, error %v", tasks, err)
	}
	task := tasks[0]
	task.State, task.Attempts, task.Started = bot.TaskRunning, 1, time.Now()
	w.core.set(task)
	return task
}

// TestDeletions shows that a deleted message and its files are told to the core.
func TestDeletions(t *testing.T) {
	w := build(t, setup{})
	file := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n")})
	ts := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go", Files: []string{file}})
	w.wait(t, "the request", func() bool { return len(w.core.of(bot.EventRequest)) == 1 })
	w.Delete(w.sales, ts)
	w.DeleteFile(file)
	w.wait(t, "the deletions", func() bool { return len(w.core.of(bot.EventDelete)) == 2 })
	w.settled(t)
	request := w.core.of(bot.EventRequest)[0]
	sources := map[string]bool{}
	for _, e := range w.core.of(bot.EventDelete) {
		sources[e.Source] = true
	}
	if !sources[request.Source] || !sources[request.Inputs[0].Ref] {
		t.Errorf("deleted %v, want %s and %s", sources, request.Source, request.Inputs[0].Ref)
	}
}

// TestCommands shows which texts are commands: words that stand alone.
func TestCommands(t *testing.T) {
	w := build(t, setup{})
	id := "01KB8ZC5T3V9QXJ2M4N6P8R0ST"
	cases := []struct {
		text string
		want bot.Command
	}{
		{"cancel", bot.Command{Name: "cancel"}},
		{"Stop!", bot.Command{Name: "cancel"}},
		{"статус", bot.Command{Name: "status"}},
		{"cancel " + id, bot.Command{Name: "cancel", Task: id}},
		{"", bot.Command{Name: "help"}},
		{"retry", bot.Command{Name: "retry"}},
		{"cancel rates by month", bot.Command{}},
		{"help me with this", bot.Command{}},
		{"status of orders", bot.Command{}},
	}
	for i, c := range cases {
		w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " " + c.text})
		w.wait(t, c.text, func() bool { return len(w.core.all()) == i+1 })
		e := w.core.all()[i]
		if e.Command != c.want || (e.Kind == bot.EventCommand) != (c.want.Name != "") || e.Kind == bot.EventCommand && e.Inline {
			t.Errorf("%q became %+v", c.text, e)
		}
	}
}

// TestText shows that what people typed reaches the core as they typed it.
func TestText(t *testing.T) {
	w := build(t, setup{})
	in := slacktest.Mention + " is 3 &lt; 4 &amp; 5? see <https://x.example/a?b=1&amp;c=2|x.example/a?b=1&amp;c=2>, <http://y.example|y.example>, <#C1|sales>, <@U0OTHER|bob>, <!here>, <mailto:a@b.example|a@b.example>"
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: in})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
	want := "is 3 < 4 & 5? see https://x.example/a?b=1&c=2, http://y.example, #sales, @bob, @here, a@b.example"
	if got := w.core.all()[0].Text; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
