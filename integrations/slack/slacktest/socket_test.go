package slacktest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// listen runs the library's own socket mode client and hands each event to
// handle; the returned function ends it.
func listen(t *testing.T, ws *slacktest.Workspace, handle func(*socketmode.Client, socketmode.Event)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	smc := socketmode.New(client(ws))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = smc.RunContext(ctx)
	}()
	handled := make(chan struct{})
	go func() {
		defer close(handled)
		for {
			select {
			case e := <-smc.Events:
				handle(smc, e)
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done; <-handled })
	await(t, ws, func() bool { return ws.Sockets() == 1 })
}

func await(t *testing.T, ws *slacktest.Workspace, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := ws.Await(ctx, cond); err != nil {
		t.Fatalf("wait: %v", err)
	}
}

// TestTwins shows that a mention comes as two events in either order, with
// files or without, and that a DM comes as one.
func TestTwins(t *testing.T) {
	ws, _ := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	file := ws.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n1\n")})
	kinds := make(chan string, 10)
	listen(t, ws, func(smc *socketmode.Client, e socketmode.Event) {
		api, ok := e.Data.(slackevents.EventsAPIEvent)
		if !ok {
			return
		}
		_ = smc.Ack(*e.Request)
		switch inner := api.InnerEvent.Data.(type) {
		case *slackevents.MessageEvent:
			kinds <- "message " + inner.SubType + " " + inner.ChannelType
		case *slackevents.AppMentionEvent:
			kinds <- strings.TrimSpace("app_mention " + strings.Repeat("file", len(inner.Files)))
		}
	})
	next := func() string { return <-kinds }
	ws.Say(slacktest.Post{
		Channel: channel, User: ada, Text: slacktest.Mention + " go", Files: []string{file},
		Delivery: slacktest.Delivery{MentionFirst: true, Fileless: true, Gap: 20 * time.Millisecond},
	})
	if got := []string{next(), next()}; !slices.Equal(got, []string{"app_mention", "message file_share channel"}) {
		t.Errorf("events %q", got)
	}
	ws.Say(slacktest.Post{Channel: ws.DM(ada), User: ada, Text: slacktest.Mention + " go"})
	if got := next(); got != "message  im" {
		t.Errorf("event %q", got)
	}
	await(t, ws, func() bool { return ws.Acks().Acked == 3 })
}

// TestRedelivery shows that an envelope without an answer comes again, with
// its attempt told, until the waits are used up.
func TestRedelivery(t *testing.T) {
	ws, _ := start(t, slacktest.Options{AckTimeout: 20 * time.Millisecond, Redelivery: []time.Duration{0, time.Millisecond}})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	attempts := make(chan int, 10)
	listen(t, ws, func(_ *socketmode.Client, e socketmode.Event) {
		if e.Type == socketmode.EventTypeEventsAPI {
			attempts <- e.Request.RetryAttempt
		}
	})
	ws.Say(slacktest.Post{Channel: ws.DM(ada), User: ada, Text: "hello"})
	await(t, ws, func() bool { return ws.Acks().GivenUp == 1 })
	if got := []int{<-attempts, <-attempts, <-attempts}; !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("attempts %v", got)
	}
}

// TestOversizedAck shows that an answer of MaxAck bytes is as none.
func TestOversizedAck(t *testing.T) {
	ws, _ := start(t, slacktest.Options{AckTimeout: 50 * time.Millisecond})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.DM(ada)
	length := make(chan int, 1)
	frames := func(id string) int { return len(`{"envelope_id":"","payload":{"text":""}}`) + len(id) }
	listen(t, ws, func(smc *socketmode.Client, e socketmode.Event) {
		if e.Type == socketmode.EventTypeSlashCommand {
			text := strings.Repeat("x", <-length-frames(e.Request.EnvelopeID))
			_ = smc.Ack(*e.Request, map[string]any{"text": text})
		}
	})
	length <- slacktest.MaxAck - 1
	ws.Slash(ada, channel, "/sandpiper", "help")
	await(t, ws, func() bool { return len(ws.Ephemerals(channel, ada)) == 1 })
}

// TestSocketURLServesOnce shows that a socket's URL is used up.
func TestSocketURLServesOnce(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	_, url, err := api.StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dialed := 0
	for range 2 {
		conn, err := dial(t.Context(), url)
		if err == nil {
			dialed++
			defer conn.Close()
		}
	}
	if dialed != 1 {
		t.Errorf("%d connections over one URL", dialed)
	}
	await(t, ws, func() bool { return ws.Sockets() == 1 })
}

// TestReconnect shows that the library reconnects after a disconnect, and that
// what is said in between is lost to it.
func TestReconnect(t *testing.T) {
	ws, _ := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	listen(t, ws, func(*socketmode.Client, socketmode.Event) {})
	ws.Disconnect("warning")
	await(t, ws, func() bool { return len(ws.Calls("apps.connections.open")) == 2 && ws.Sockets() == 1 })
	ws.SetDown(true)
	ws.Say(slacktest.Post{Channel: ws.DM(ada), User: ada, Text: "anybody there?"})
	await(t, ws, func() bool { return ws.Acks().Lost == 1 })
}

// TestPress shows a button's way: payload, response URL, modal.
func TestPress(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	handled := make(chan struct{})
	listen(t, ws, func(smc *socketmode.Client, e socketmode.Event) {
		in, ok := e.Data.(slack.InteractionCallback)
		if !ok {
			return
		}
		defer close(handled)
		_ = smc.Ack(*e.Request)
		answerPress(t, in)
		if _, err := api.OpenViewContext(t.Context(), in.TriggerID, slack.ModalViewRequest{
			Type:   slack.VTModal,
			Title:  slack.NewTextBlockObject(slack.PlainTextType, "Code", false, false),
			Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
		}); err != nil {
			t.Errorf("open view: %v", err)
		}
	})
	_, ts, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionBlocks(slack.NewActionBlock("",
		slack.NewButtonBlockElement("go", "7", slack.NewTextBlockObject(slack.PlainTextType, "Go", false, false)))))
	if err != nil {
		t.Fatal(err)
	}
	if ws.Press(ada, channel, ts, "Stop") {
		t.Error("pressed a button that is not there")
	}
	if !ws.Press(ada, channel, ts, "Go") {
		t.Fatal("no button Go")
	}
	<-handled
	if len(ws.Ephemerals(channel, ada)) != 1 || len(ws.Modals(ada)) != 1 {
		t.Fatalf("transcript:\n%s", ws.Transcript(channel))
	}
	if got := ws.Ephemerals(channel, ada)[0].Text; got != "pressed 7" {
		t.Errorf("answer %q", got)
	}
}

func answerPress(t *testing.T, in slack.InteractionCallback) {
	err := slack.PostWebhookContext(t.Context(), in.ResponseURL, &slack.WebhookMessage{
		Text: "pressed " + in.ActionCallback.BlockActions[0].Value, ResponseType: "ephemeral",
	})
	if err != nil {
		t.Errorf("answer the press: %v", err)
	}
}
