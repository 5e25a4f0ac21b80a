package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// slackHome is a user's machine with a fake Slack workspace and a scripted
// model beside it.
type slackHome struct {
	*home
	ws      *slacktest.Workspace
	model   *modeltest.Server
	env     []string
	ada     string
	channel string
}

// analysis is what the scripted model writes: two files, and a line to answer with.
const analysis = `import os, time
lines = open("/workspace/in/sales.csv").read().splitlines()
os.makedirs("/workspace/out", exist_ok=True)
open("/workspace/out/rows.csv", "w").write("\n".join(lines[:3]) + "\n")
open("/workspace/out/notes.txt", "w").write(f"{len(lines) - 1} rows\n")
print(f"The file has {len(lines) - 1} rows.")
`

func newSlackHome(t *testing.T) *slackHome {
	t.Helper()
	h := newHome(t)
	model := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Turns: []modeltest.Turn{
		modeltest.Do("create_todo_list", map[string]any{"items": []string{"Count the rows", "Write two files"}}),
		modeltest.Do("execute_code", map[string]any{"language": "python", "code": analysis}),
		modeltest.Do("finish", map[string]any{"message": "The file has **6 rows**.", "files": []string{"rows.csv", "notes.txt"}}),
	}}}})
	ws, err := slacktest.New(slacktest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &slackHome{home: h, ws: ws, model: model}
	s.ada = ws.AddUser(slacktest.User{Name: "Ada"})
	s.channel = ws.AddChannel(slacktest.Channel{Name: "sales"})
	h.write("conf.yaml", "listen: 127.0.0.1:0\nweb: {url: https://bot.example/}\nslack: {allow: {channels: ["+s.channel+"]}}\nsandbox: {pool: 0}\n")
	s.env = []string{
		"SLACK_APP_TOKEN=" + ws.AppToken(), "SLACK_BOT_TOKEN=" + ws.BotToken(), "SLACK_API_URL=" + ws.APIURL(),
		"OPENAI_BASE_URL=" + model.URL(), "SANDPIPER_MODEL=scripted",
	}
	return s
}

// serve starts the binary and waits until it is connected.
func (s *slackHome) serve(more ...string) *process {
	s.t.Helper()
	p := s.start(append(slices.Clone(s.env), more...), "serve")
	s.eventually("a connection to Slack", func() bool { return s.ws.Sockets() > 0 })
	return p
}

// ask mentions the bot with a file and returns the thread.
func (s *slackHome) ask(d slacktest.Delivery) (root string) {
	s.t.Helper()
	file := s.ws.AddFile(slacktest.File{Name: "sales.csv", Data: []byte(sales)})
	return s.ws.Say(slacktest.Post{Channel: s.channel, User: s.ada, Text: slacktest.Mention + " count the rows", Files: []string{file}, Delivery: d})
}

// answered waits until a thread holds all that it should, and asserts that it
// holds nothing else: a finished progress message, one answer, one group of two
// files.
func (s *slackHome) answered(root string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	count := func() (progress, answers, files int) {
		for _, m := range s.ws.Replies(s.channel, root) {
			switch shown := m.Shown(); {
			case len(m.Files) > 0:
				files++
			case strings.HasPrefix(shown, "✅ Done in ") && strings.Contains(string(m.Blocks), "https://bot.example/tasks/01"):
				progress++
			case strings.Contains(shown, "6 rows"):
				answers++
			}
		}
		return progress, answers, files
	}
	err := s.ws.Await(ctx, func() bool { p, a, f := count(); return p > 0 && a > 0 && f > 0 })
	replies := s.ws.Replies(s.channel, root)
	if p, a, f := count(); err != nil || p != 1 || a != 1 || f != 1 || len(replies) != 3 || len(s.ws.Lost()) > 0 {
		s.t.Errorf("progress %d, answers %d, files %d (%v):\n%s", p, a, f, err, s.ws.Transcript(s.channel))
		return
	}
	for _, m := range replies {
		if names := m.FileNames(); len(names) > 0 && !slices.Equal(names, []string{"rows.csv", "notes.txt"}) {
			s.t.Errorf("files %q", names)
		}
	}
	if u := s.ws.Unfurled(); len(u) > 0 {
		s.t.Errorf("unfurled %q", u)
	}
}

// TestSlack asks through Slack, the scripted model and the real sandbox, in all
// weathers: always one answer and each file once.
func TestSlack(t *testing.T) {
	s := newSlackHome(t)
	defer s.stop(s.serve())
	lost := func() (out []slacktest.Fault) {
		for _, method := range []string{
			"users.info", "conversations.info", "reactions.add", "files.info", "download", "chat.postMessage",
			"chat.update", "files.getUploadURLExternal", "upload", "files.completeUploadExternal",
		} {
			out = append(out, slacktest.Fault{Method: method, Kind: slacktest.Lose})
		}
		return append(out, slacktest.Fault{Method: "chat.postMessage", Kind: slacktest.Lose, After: 1})
	}
	weathers := []struct {
		name     string
		delivery slacktest.Delivery
		faults   []slacktest.Fault
		then     func()
	}{
		{name: "fair"},
		{name: "the mention first", delivery: slacktest.Delivery{MentionFirst: true}},
		{name: "the fileless mention first", delivery: slacktest.Delivery{MentionFirst: true, Fileless: true, Gap: 600 * time.Millisecond}},
		{name: "a storm of retries", delivery: slacktest.Delivery{Copies: 25, Fileless: true}},
		{name: "a disconnect in the middle", then: func() { s.ws.Disconnect("refresh_requested"); s.ws.DropSockets() }},
		{name: "the answer to each call lost", faults: lost()},
		{name: "429 everywhere", faults: []slacktest.Fault{{Kind: slacktest.Limit, Times: -1, Every: 2}}},
	}
	for _, weather := range weathers {
		t.Run(weather.name, func(t *testing.T) {
			s.t, s.home.t = t, t
			for _, f := range weather.faults {
				defer s.ws.Inject(f)()
			}
			root := s.ask(weather.delivery)
			if weather.then != nil {
				s.eventually("progress", func() bool { return len(s.ws.Replies(s.channel, root)) > 0 })
				weather.then()
			}
			s.answered(root)
		})
	}
	s.t, s.home.t = t, t
}

// TestSlackRotation revokes the tokens of a serving process and gives it new
// ones: files that it reads again on SIGHUP.
func TestSlackRotation(t *testing.T) {
	s := newSlackHome(t)
	give := func() {
		s.write("app", s.ws.AppToken()+"\n")
		s.write("bot", s.ws.BotToken()+"\n")
	}
	give()
	s.env = slices.DeleteFunc(s.env, func(v string) bool {
		return strings.HasPrefix(v, "SLACK_APP_TOKEN") || strings.HasPrefix(v, "SLACK_BOT_TOKEN")
	})
	s.env = append(s.env, "SLACK_APP_TOKEN_FILE="+filepath.Join(s.dir, "app"), "SLACK_BOT_TOKEN_FILE="+filepath.Join(s.dir, "bot"))
	p := s.serve()
	defer s.stop(p)
	s.ws.RotateTokens()
	s.eventually("the end", func() bool { return strings.Contains(p.err.String(), "Slack stopped for good") })
	root := s.ask(slacktest.Delivery{}) // nobody hears it yet
	give()
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.answered(root)
}

// stop ends a serving process in order.
func (s *slackHome) stop(p *process) {
	s.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	p.wait()
}

// TestSlackKills kills the process at named points of the way of a request and
// starts it again: one answer, each file once.
func TestSlackKills(t *testing.T) {
	for _, point := range []string{"committed", "started", "inputs-stored", "step-recorded", "outcome-committed", "delivery-begun", "delivered", "receipt-recorded"} {
		t.Run(point, func(t *testing.T) {
			s := newSlackHome(t)
			first := s.serve(killVariable + "=1:" + point)
			root := s.ask(slacktest.Delivery{})
			if status := first.wait(); status != -1 {
				t.Fatalf("exit status %d; stderr:\n%s", status, first.err.String())
			}
			second := s.serve()
			s.answered(root)
			s.stop(second)
			s.tasks() // the next start removes containers that outlived the killed life's last moment
		})
	}
}
