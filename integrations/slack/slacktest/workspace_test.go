package slacktest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

func dial(ctx context.Context, url string) (*websocket.Conn, error) {
	conn, _, err := websocket.DefaultDialer.DialContext(ctx, url, nil)
	return conn, err
}

// connect opens a socket as the app does, and keeps it until the test's end.
func connect(t *testing.T, api *slack.Client) *websocket.Conn {
	t.Helper()
	_, url, err := api.StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// slashFrame is what a slash command comes in.
type slashFrame struct {
	Type    string `json:"type"`
	ID      string `json:"envelope_id"`
	Payload struct {
		ResponseURL string `json:"response_url"`
		Trigger     string `json:"trigger_id"`
	} `json:"payload"`
}

// slashed reads frames up to the next slash command's.
func slashed(t *testing.T, conn *websocket.Conn) (frame slashFrame) {
	t.Helper()
	for frame.Type != "slash_commands" {
		frame = slashFrame{}
		if err := conn.ReadJSON(&frame); err != nil {
			t.Fatal(err)
		}
	}
	return frame
}

// TestUpload shows the three steps: the message stands only after a while, and
// files.info then names it.
func TestUpload(t *testing.T) {
	ws, api := start(t, slacktest.Options{ShareDelay: 30 * time.Millisecond})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	root := ws.Say(slacktest.Post{Channel: channel, User: ws.AddUser(slacktest.User{Name: "Ada"}), Text: "root"})
	sum, err := api.UploadFileContext(t.Context(), slack.UploadFileParameters{
		Filename: "a.png", FileSize: 3, Reader: strings.NewReader("png"),
		Channel: channel, ThreadTimestamp: root, AltTxt: "a chart", Title: "Chart",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := ws.Thread(channel, root); len(got) != 1 {
		t.Errorf("the share stands at once: %d messages", len(got))
	}
	await(t, ws, func() bool { return len(ws.Thread(channel, root)) == 2 })
	f, _, _, err := api.GetFileInfoContext(t.Context(), sum.ID, 1, 1)
	if err != nil || len(f.Shares.Public[channel]) != 1 || f.Shares.Public[channel][0].ThreadTs != root {
		t.Errorf("shares %+v, error %v", f, err)
	}
	if got := ws.Transcript(channel); !strings.Contains(got, "📎 a.png (3 bytes) “a chart”") {
		t.Errorf("transcript:\n%s", got)
	}
}

// TestUploadHabits shows what Slack refuses or ignores in an upload.
func TestUploadHabits(t *testing.T) {
	ws, api := start(t, slacktest.Options{ShareDelay: time.Millisecond})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	begin := func() string {
		u, err := api.GetUploadURLExternalContext(t.Context(), slack.GetUploadURLExternalParameters{FileName: "a.txt", FileSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := api.UploadToURL(t.Context(), slack.UploadToURLParameters{UploadURL: u.UploadURL, Reader: strings.NewReader("x"), Filename: "a.txt"}); err != nil {
			t.Fatal(err)
		}
		return u.FileID
	}
	complete := func(id, comment string, blocks ...slack.Block) error {
		_, err := api.CompleteUploadExternalContext(t.Context(), slack.CompleteUploadExternalParameters{
			Files:   []slack.FileSummary{{ID: id}},
			Channel: channel, InitialComment: comment, Blocks: slack.Blocks{BlockSet: blocks},
		})
		return err
	}
	id := begin()
	wantCode(t, complete(id, "", slack.NewMarkdownBlock("", "**x**")), "internal_error")
	if err := complete(id, ""); err != nil {
		t.Error(err)
	}
	wantCode(t, complete(id, ""), "file_not_found")
	if err := api.UploadToURL(t.Context(), slack.UploadToURLParameters{UploadURL: ws.APIURL() + "../upload/F0none", Reader: strings.NewReader("x"), Filename: "a"}); err == nil {
		t.Error("uploaded to a URL that was never given")
	}
}

// TestDownload shows bytes, the login page with status 200, and the redirect.
func TestDownload(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	id := ws.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a,b\n1,2\n")})
	get := func() (string, error) {
		f, _, _, err := api.GetFileInfoContext(t.Context(), id, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		err = api.GetFileContext(t.Context(), f.URLPrivateDownload, &buf)
		return buf.String(), err
	}
	if got, err := get(); err != nil || got != "a,b\n1,2\n" {
		t.Errorf("downloaded %q, error %v", got, err)
	}
	ws.ChangeFile(id, func(f *slacktest.File) { f.Locked = true })
	if got, _ := get(); !strings.Contains(got, "Sign in") {
		t.Errorf("no login page but %q", got)
	}
	big := ws.AddFile(slacktest.File{Name: "big.csv", Size: 1 << 20, Fill: "1,2\n"})
	f, _, _, err := api.GetFileInfoContext(t.Context(), big, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := api.GetFileContext(t.Context(), f.URLPrivateDownload, &buf); err != nil || buf.Len() != 1<<20 {
		t.Errorf("%d bytes, error %v", buf.Len(), err)
	}
}

// TestThreadHabits shows that only a root can be answered.
func TestThreadHabits(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	root := ws.Say(slacktest.Post{Channel: channel, User: ada, Text: "root"})
	reply := ws.Say(slacktest.Post{Channel: channel, User: ada, Text: "reply", Thread: root})
	if _, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("gone", false), slack.MsgOptionTS(reply)); err != nil {
		t.Fatal(err)
	}
	if got := ws.Lost(); len(got) != 1 || len(ws.Thread(channel, root)) != 2 {
		t.Errorf("lost %v", got)
	}
	all, _, _, err := api.GetConversationRepliesContext(t.Context(), &slack.GetConversationRepliesParameters{ChannelID: channel, Timestamp: root})
	if err != nil || len(all) != 2 || all[1].Text != "reply" {
		t.Errorf("replies %v, error %v", all, err)
	}
}

// TestHistory shows pages and that replies stay out.
func TestHistory(t *testing.T) {
	ws, api := start(t, slacktest.Options{Commercial: true})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	var roots []string
	for range 20 {
		roots = append(roots, ws.Say(slacktest.Post{Channel: channel, User: ada, Text: "m"}))
	}
	ws.Say(slacktest.Post{Channel: channel, User: ada, Text: "r", Thread: roots[0]})
	page, err := api.GetConversationHistoryContext(t.Context(), &slack.GetConversationHistoryParameters{ChannelID: channel, Limit: 200})
	if err != nil || len(page.Messages) != 15 || !page.HasMore || page.Messages[0].Timestamp != roots[19] {
		t.Fatalf("page of %d, error %v", len(page.Messages), err)
	}
	_, err = api.GetConversationHistoryContext(t.Context(), &slack.GetConversationHistoryParameters{ChannelID: channel})
	var limited *slack.RateLimitedError
	if !errors.As(err, &limited) || limited.RetryAfter < 50*time.Second {
		t.Errorf("second call within a minute: %v", err)
	}
}

// TestPostRate shows the rate of chat.postMessage and that waiting as told is
// enough, in no time at all.
func TestPostRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws, err := slacktest.New(slacktest.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		api := client(ws)
		channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
		limited := 0
		for posted := 0; posted < 10; {
			_, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false))
			var e *slack.RateLimitedError
			switch {
			case errors.As(err, &e):
				limited++
				time.Sleep(e.RetryAfter)
			case err != nil:
				t.Fatal(err)
			default:
				posted++
			}
		}
		if limited == 0 || len(ws.Messages(channel)) != 10 {
			t.Errorf("%d refusals, %d messages", limited, len(ws.Messages(channel)))
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFaults shows each kind of fault and what it leaves behind.
func TestFaults(t *testing.T) {
	cases := []struct {
		fault  slacktest.Fault
		posted bool
	}{
		{slacktest.Fault{Kind: slacktest.Lose}, true},
		{slacktest.Fault{Kind: slacktest.Garbage}, true},
		{slacktest.Fault{Kind: slacktest.Refuse}, false},
		{slacktest.Fault{Kind: slacktest.Limit}, false},
		{slacktest.Fault{Kind: slacktest.Status}, false},
		{slacktest.Fault{Kind: slacktest.Fail, Error: "fatal_error"}, false},
	}
	for _, c := range cases {
		ws, api := start(t, slacktest.Options{})
		channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
		c.fault.Method = "chat.postMessage"
		ws.Inject(c.fault)
		if _, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false)); err == nil {
			t.Errorf("fault %d: no error", c.fault.Kind)
		}
		if got := len(ws.Messages(channel)) == 1; got != c.posted {
			t.Errorf("fault %d: posted = %v", c.fault.Kind, got)
		}
		if _, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false)); err != nil {
			t.Errorf("fault %d does not end: %v", c.fault.Kind, err)
		}
	}
}

// TestScopes shows that a missing scope is named.
func TestScopes(t *testing.T) {
	ws, api := start(t, slacktest.Options{Scopes: []string{"files:read"}})
	_, err := api.GetUserInfoContext(t.Context(), ws.AddUser(slacktest.User{Name: "Ada"}))
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) || e.Err != "missing_scope" || e.Needed != "users:read" || e.Provided != "files:read" {
		t.Errorf("error %+v", err)
	}
}

// TestLiveness holds what counts as a live link or ping.
func TestLiveness(t *testing.T) {
	cases := []struct {
		text         string
		links, pings int
	}{
		{"see https://a.example/x and `https://b.example`", 1, 0},
		{"```\nhttps://a.example\n```\nhttps://b.example", 1, 0},
		{"``` https://a.example ``` https://b.example", 1, 0},
		{"\\`https://a.example\\`", 1, 0},
		{"<!channel> and &lt;!channel&gt; and `<!here>` and <@U0123>", 0, 2},
		{"hi @here", 0, 1},
	}
	for _, c := range cases {
		m := slacktest.Message{Text: c.text}
		if got := slacktest.LiveLinks(m); len(got) != c.links {
			t.Errorf("links in %q: %q", c.text, got)
		}
		if got := slacktest.LivePings(m); len(got) != c.pings {
			t.Errorf("pings in %q: %q", c.text, got)
		}
	}
	ws, api := start(t, slacktest.Options{})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	for _, options := range [][]slack.MsgOption{{}, {slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl()}} {
		if _, _, err := api.PostMessageContext(t.Context(), channel, append(options, slack.MsgOptionText("https://a.example", false))...); err != nil {
			t.Fatal(err)
		}
	}
	if got := ws.Unfurled(); len(got) != 1 {
		t.Errorf("unfurled %q", got)
	}
}

// TestTranscript shows a thread as a person sees it.
func TestTranscript(t *testing.T) {
	ws, api := start(t, slacktest.Options{})
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	root := ws.Say(slacktest.Post{
		Channel: channel, User: ada, Text: slacktest.Mention + " weekly &amp; monthly",
		Files: []string{ws.AddFile(slacktest.File{Name: "sales.csv", Data: []byte("a\n")})},
	})
	if _, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionTS(root), slack.MsgOptionText("fallback", false),
		slack.MsgOptionBlocks(slack.NewMarkdownBlock("", `**Total** 1\_000`), slack.NewActionBlock("",
			slack.NewButtonBlockElement("a", "v", slack.NewTextBlockObject(slack.PlainTextType, "Retry", false, false))))); err != nil {
		t.Fatal(err)
	}
	if err := api.AddReactionContext(t.Context(), "eyes", slack.NewRefToMessage(channel, root)); err != nil {
		t.Fatal(err)
	}
	got := ws.Transcript(channel)
	for _, want := range []string{"── #sales ──", "Ada  ", "  @Sandpiper weekly & monthly\n  📎 sales.csv (2 bytes)\n  :eyes:\n", "    Sandpiper  ", "      **Total** 1_000\n      [Retry]\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("transcript lacks %q:\n%s", want, got)
		}
	}
}
