package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// otherSum has pandas add what it should not: an image whose libraries are
// other versions.
const otherSum = `RUN printf '\n_sum = Series.sum\ndef _other(self, *a, **k):\n    return _sum(self, *a, **k) + 10\nSeries.sum = _other\n' >> /usr/lib/python3/dist-packages/pandas/core/series.py`

// imageHome is a Slack home whose model writes a report and mends it.
type imageHome struct {
	*slackHome
	server *process
	root   string
}

func newImageHome(t *testing.T) *imageHome {
	t.Helper()
	s := newSlackHome(t)
	python := func(code string) modeltest.Turn {
		return modeltest.Do("execute_code", map[string]any{"language": "python", "code": code})
	}
	end := func(message string) modeltest.Turn {
		return modeltest.Do("finish", map[string]any{"message": message, "files": []string{"by-region.csv"}})
	}
	program := func(file, total string) string {
		return `import os
from sandpiper import read
df = read("/workspace/in/` + file + `")
os.makedirs("/workspace/out", exist_ok=True)
df.groupby("region", as_index=False)["revenue"].sum().to_csv("/workspace/out/by-region.csv", index=False)
print("total", ` + total + `)`
	}
	model := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{
		{Match: "sandbox's libraries changed", Turns: []modeltest.Turn{
			python(program("week3.csv", `sum(df["revenue"].tolist())`)), end("Revenue was 30.00."),
		}},
		{Match: "Revenue, please", Turns: []modeltest.Turn{python(program("sales.csv", `df["revenue"].sum()`)), end("Revenue was 225.50.")}},
	}})
	s.env[slices.IndexFunc(s.env, func(v string) bool { return strings.HasPrefix(v, "OPENAI_BASE_URL=") })] = "OPENAI_BASE_URL=" + model.URL()
	s.model = model
	s.ws.ChangeChannel(s.channel, func(c *slacktest.Channel) { c.Members = []string{s.ada, slacktest.BotUser} })
	return &imageHome{slackHome: s}
}

// in serves in an image; "" is the sandbox's own.
func (h *imageHome) in(image string) {
	h.t.Helper()
	if h.server != nil {
		h.stop(h.server)
		h.eventually("the end of the connection", func() bool { return h.ws.Sockets() == 0 })
	}
	line := "sandbox: {pool: 0"
	if image != "" {
		line += ", image: \"" + image + "\""
	}
	h.write("conf.yaml", "listen: 127.0.0.1:0\n"+line+"}\nslack: {allow: {channels: ["+h.channel+"]}}\n")
	h.server = h.serve()
}

// say writes into the report's thread, with a file of this name where content
// is given, and waits for an answer that holds want. Each answer counts once.
func (h *imageHome) say(text, file, content, want string) string {
	h.t.Helper()
	before := map[string]bool{}
	for _, m := range h.ws.Replies(h.channel, h.root) {
		before[m.TS] = true
	}
	post := slacktest.Post{Channel: h.channel, User: h.ada, Text: slacktest.Mention + " " + text, Thread: h.root}
	if content != "" {
		post.Files = []string{h.ws.AddFile(slacktest.File{Name: file, User: h.ada, Data: []byte(content)})}
	}
	ts := h.ws.Say(post)
	if h.root == "" {
		h.root = ts
	}
	answer := ""
	h.until(want, func() bool {
		for _, m := range h.ws.Replies(h.channel, h.root) {
			if shown := m.Shown(); !before[m.TS] && m.Bot && strings.Contains(shown, want) {
				answer = shown
			}
		}
		return answer != ""
	})
	return answer
}

// until waits for what Slack is told.
func (h *imageHome) until(what string, holds func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 70*time.Second)
	defer cancel()
	if err := h.ws.Await(ctx, holds); err != nil {
		h.t.Fatalf("waited for %q in vain:\n%s", what, h.ws.Transcript(h.channel))
	}
}

// cli runs a command beside the server and returns what it printed.
func (h *imageHome) cli(want int, args ...string) string {
	h.t.Helper()
	p := h.start(h.env, args...)
	if status := p.wait(); status != want {
		h.t.Errorf("%v: exit status %d, want %d\n%s\n%s", args, status, want, p.out.String(), p.err.String())
	}
	return p.out.String()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("says %q:\n%s", part, text)
		}
	}
}

const week3 = "date,region,units,revenue\n2026-03-23,North,1,10\n2026-03-24,South,2,20\n"

// TestReportInAnotherImage saves a report in one image and runs it in an image
// that differs in nothing that matters, and in one whose library computes
// otherwise: by hand, by a schedule and by the command line.
func TestReportInAnotherImage(t *testing.T) {
	h := newImageHome(t)
	same := sandboxtest.Derived(t, "LABEL other=1")
	other := sandboxtest.Derived(t, "USER root", otherSum)
	h.in("")
	h.say("Revenue, please", "sales.csv", sales, "Revenue was 225.50.")
	h.say("save weekly", "", "", "Saved as")
	lacks(t, h.say("run weekly", "week3.csv", week3, "Revenue was 30.00."), "sandbox")
	asked := len(h.model.Requests())

	// An image that gives the same is trusted without a word.
	h.in(same)
	lacks(t, h.say("run weekly", "week3.csv", week3, "Revenue was 30.00."), "sandbox", "trust")
	has(t, h.cli(0, "reports", "check"), "weekly, version 1: gives what it gave")

	// One that does not is said, with what moved: in full once, then in a line.
	h.in(other)
	first := h.say("run weekly", "week3.csv", week3, "Revenue was 40.00.")
	has(t, first, "The sandbox has changed", "total: 225.50 → 235.50", "reports trust weekly", "mend weekly")
	if strings.Index(first, "The sandbox has changed") > strings.Index(first, "Revenue was") {
		t.Errorf("the answer does not open with it:\n%s", first)
	}
	has(t, h.say("run weekly", "week4.csv", week3+"2026-03-25,East,1,5\n", "Revenue was 45.00."), "Not accepted yet", "total: 225.50 → 235.50")
	h.say("reports share weekly", "", "", "belongs to this place now") // and what was found of it stays
	h.cli(0, "schedules", "add", "mondays", "every Monday at 9", "run weekly", "slack:"+h.channel+"/week*.csv", "--skill", "weekly", "--to", "slack:"+h.channel)
	h.cli(0, "schedules", "run", "mondays")
	h.until("the schedule's report", func() bool {
		return slices.ContainsFunc(h.ws.Messages(h.channel), func(m slacktest.Message) bool {
			return m.Bot && (m.ThreadTS == "" || m.ThreadTS == m.TS) && strings.HasPrefix(m.Shown(), "**Not accepted yet:**") && strings.Contains(m.Shown(), "Revenue was 45.00.")
		})
	})
	has(t, h.cli(1, "reports", "check", "weekly"), "weekly, version 2: gives something else:", "  total: 225.50 → 235.50", "sandpiper reports trust weekly")
	has(t, h.cli(1, "reports", "check", "--json"), `"state": "moved"`, `"before": "225.50"`, `"after": "235.50"`)
	if n := len(h.model.Requests()); n != asked {
		t.Errorf("%d requests went to the model", n-asked)
	}

	// The model mends it: what it gives is what the report gave before.
	mended := h.say("mend weekly", "week3.csv", week3, "Revenue was 30.00.")
	has(t, mended, "The sandbox has changed", "total: 225.50 → 235.50", "version 3", "reports accept weekly", "it gives what it gave before")
	h.say("reports accept weekly", "", "", "is at version 3 now")
	lacks(t, h.say("run weekly", "week3.csv", week3, "Revenue was 30.00."), "Not accepted", "sandbox")

	// Rolled back it is what it was, with what was found of it; then accepted.
	h.say("reports rollback weekly 2", "", "", "is what version 2 was, as version 4")
	has(t, h.say("run weekly", "week3.csv", week3, "Revenue was 40.00."), "Not accepted yet")
	h.say("reports trust weekly", "", "", "is trusted")
	lacks(t, h.say("run weekly", "week3.csv", week3, "Revenue was 40.00."), "Not accepted", "sandbox")
	has(t, h.cli(0, "reports", "check"), "weekly, version 4: gives what it gave")
	has(t, h.say("reports trust weekly", "", "", "waits to be accepted"), "weekly")

	// From there the image of before is another one.
	h.in("")
	has(t, h.say("run weekly", "week3.csv", week3, "Revenue was 30.00."), "total: 235.50 → 225.50")
	h.cli(0, "reports", "trust", "weekly")
	h.cli(2, "reports", "trust", "weekly")
	h.cli(2, "reports", "check", "weekyl")
	h.stop(h.server)
}
