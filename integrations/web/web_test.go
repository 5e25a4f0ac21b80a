package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// core stands in for the orchestrator: tasks by id, submitted events kept.
type core struct {
	tasks  []bot.Task
	steps  []bot.Step
	events []bot.Event
	blobs  map[string][]byte
	admin  string // the actor who may administer
	full   bool   // nothing can be stored
	refuse *bot.Refusal
	viewed []string
}

func (c *core) Task(_ context.Context, id string) (bot.Task, error) {
	for _, t := range c.tasks {
		if t.ID == id {
			return t, nil
		}
	}
	return bot.Task{}, bot.ErrNotFound
}

func (c *core) Tasks(_ context.Context, q bot.TaskQuery) ([]bot.Task, error) {
	var out []bot.Task
	for _, t := range c.tasks {
		if (q.State == "" || q.State == t.State) && (q.Before == "" || t.ID < q.Before) && len(out) < q.Limit {
			out = append(out, t)
		}
	}
	return out, nil
}
func (c *core) Steps(context.Context, string) ([]bot.Step, error)          { return c.steps, nil }
func (c *core) Deliveries(context.Context, string) ([]bot.Delivery, error) { return nil, nil }
func (c *core) Submit(_ context.Context, e bot.Event) (bot.Ticket, error) {
	if c.full {
		return bot.Ticket{}, fmt.Errorf("commit: %w", bot.ErrReadOnly)
	}
	if c.refuse != nil {
		return bot.Ticket{Refused: c.refuse}, nil
	}
	c.events = append(c.events, e)
	return bot.Ticket{Task: "NEW"}, nil
}

func (c *core) Put(_ context.Context, r io.Reader, limit int64) (bot.Blob, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return bot.Blob{}, err
	}
	if int64(len(data)) > limit {
		return bot.Blob{}, bot.ErrTooLarge
	}
	if c.full {
		return bot.Blob{}, fmt.Errorf("put blob: %w", bot.ErrReadOnly)
	}
	c.blobs["b"] = data
	return bot.Blob{SHA256: "b", Size: int64(len(data))}, nil
}

type seeker struct{ *bytes.Reader }

func (seeker) Close() error { return nil }

func (c *core) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	data, ok := c.blobs[sha]
	if !ok {
		return nil, bot.ErrNotFound
	}
	return seeker{bytes.NewReader(data)}, nil
}
func (c *core) Remove(context.Context, string, time.Time) error { return nil }
func (c *core) All(context.Context) iter.Seq2[bot.Blob, error]  { return nil }
func (c *core) Decide(_ context.Context, e bot.Event, right bot.Right) bot.Decision {
	if right == bot.MayAdmin {
		return bot.Decision{Allowed: e.Actor.ID == c.admin}
	}
	return bot.Decision{Allowed: e.Origin.Place == "slack:open"}
}

func task(id, actor, place string, private bool) bot.Task {
	return bot.Task{
		ID: id, State: bot.TaskDone, Title: "title of " + id, Created: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		Event:   bot.Event{Text: "text of " + id, Actor: bot.Actor{ID: actor}, Origin: bot.Origin{Adapter: "slack", Place: place, Private: private}},
		Outcome: &bot.Outcome{State: bot.TaskDone, Message: "answer of " + id},
	}
}

func server(t *testing.T, c *core, change func(*Options)) *httptest.Server {
	t.Helper()
	if c.blobs == nil {
		c.blobs = map[string][]byte{}
	}
	o := Options{
		Tasks: c, Intake: c, Blobs: c, Policy: c, Log: slog.New(slog.DiscardHandler), MaxInput: 1000, MaxInputs: 2,
		Changed: func() <-chan struct{} { return make(chan struct{}) },
		Viewed: func(_ context.Context, v bot.Actor, task string) error {
			c.viewed = append(c.viewed, v.ID+" "+task)
			return nil
		},
	}
	change(&o)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return ts
}

func fixed(token string) func() string { return func() string { return token } }

func open(o *Options) { o.OpenOnLoopback = true }

// request sends one request without following redirects.
func request(t *testing.T, method, target string, body io.Reader, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

func TestWhoMayLook(t *testing.T) {
	c := &core{tasks: []bot.Task{task("T1", "slack:U1", "slack:C1", false)}}
	for _, k := range []struct {
		name   string
		change func(*Options)
		header []string
		want   int
	}{
		{"open on loopback", open, nil, 200},
		{"open, by name", open, []string{"Host", "localhost:8080"}, 200},
		{"open, rebound name", open, []string{"Host", "evil.example"}, 421},
		{"open, rebound name with a port", open, []string{"Host", "127.0.0.1.evil.example:8080"}, 421},
		{"closed", func(*Options) {}, nil, 403},
		{"token, none sent", func(o *Options) { o.Token = fixed("secret") }, nil, 303},
		{"token, wrong", func(o *Options) { o.Token = fixed("secret") }, []string{"Authorization", "Bearer no"}, 303},
		{"token, right", func(o *Options) { o.Token = fixed("secret") }, []string{"Authorization", "Bearer secret"}, 200},
		{"token, forged cookie", func(o *Options) { o.Token = fixed("secret") }, []string{"Cookie", sessionCookie + "=secret"}, 303},
		{"token beats open loopback", func(o *Options) { o.Token, o.OpenOnLoopback = fixed("secret"), true }, nil, 303},
		{"proxy header from a stranger", func(o *Options) {
			o.ProxyHeader, o.TrustedProxies = "X-User", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		}, []string{"X-User", "alice"}, 403},
		{"proxy header from the proxy", func(o *Options) {
			o.ProxyHeader, o.TrustedProxies = "X-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}, []string{"X-User", "alice"}, 200},
		{"proxy without a header", func(o *Options) {
			o.ProxyHeader, o.TrustedProxies = "X-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}, nil, 403},
	} {
		t.Run(k.name, func(t *testing.T) {
			if status, body, _ := request(t, "GET", server(t, c, k.change).URL+"/tasks", nil, k.header...); status != k.want {
				t.Errorf("status %d, want %d: %.200s", status, k.want, body)
			}
		})
	}
	if _, err := New(Options{Tasks: c, Intake: c, Blobs: c, Policy: c, Log: slog.Default(), Changed: func() <-chan struct{} { return nil }, ProxyHeader: "X-User"}); err == nil {
		t.Error("a proxy header without trusted proxies was accepted")
	}
}

func TestSignInWithTheToken(t *testing.T) {
	ts := server(t, &core{}, func(o *Options) { o.Token = fixed("secret") })
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", ts.URL}
	if status, _, _ := request(t, "POST", ts.URL+"/login", strings.NewReader("token=wrong"), form...); status != 401 {
		t.Errorf("wrong token: %d", status)
	}
	status, _, h := request(t, "POST", ts.URL+"/login", strings.NewReader("token=secret"), form...)
	cookie := h.Get("Set-Cookie")
	if status != 303 || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "=secret") {
		t.Fatalf("%d, %q", status, cookie)
	}
	name, _, _ := strings.Cut(cookie, ";")
	if status, _, _ := request(t, "GET", ts.URL+"/tasks", nil, "Cookie", name); status != 200 {
		t.Errorf("with the cookie: %d", status)
	}
}

// TestAChangedTokenEndsSessions changes the token while somebody is signed in and
// has a live page open.
func TestAChangedTokenEndsSessions(t *testing.T) {
	var token atomic.Value
	token.Store("the first")
	changes := make(chan chan struct{}, 1)
	changes <- make(chan struct{})
	ts := server(t, &core{tasks: []bot.Task{task("T1", "slack:U1", "slack:C1", false)}}, func(o *Options) {
		o.Token = func() string { return token.Load().(string) }
		o.Changed = func() <-chan struct{} {
			next := <-changes
			changes <- next
			return next
		}
	})
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", ts.URL}
	_, _, h := request(t, "POST", ts.URL+"/login", strings.NewReader("token=the+first"), form...)
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	live, err := http.NewRequest(http.MethodGet, ts.URL+"/tasks/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	live.Header.Set("Cookie", cookie)
	resp, err := http.DefaultClient.Do(live)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("the live page gives %d", resp.StatusCode)
	}
	token.Store("the second")
	for name, test := range map[string]struct {
		header []string
		want   int
	}{
		"the session":   {[]string{"Cookie", cookie}, 303},
		"the old token": {[]string{"Authorization", "Bearer the first"}, 303},
		"the new token": {[]string{"Authorization", "Bearer the second"}, 200},
	} {
		if status, _, _ := request(t, "GET", ts.URL+"/tasks", nil, test.header...); status != test.want {
			t.Errorf("%s: %d, want %d", name, status, test.want)
		}
	}
	now := <-changes
	changes <- make(chan struct{})
	close(now)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- err
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the live page of the old token goes on")
	}
	// A token that is lost must let nobody in, an empty one least of all.
	token.Store("")
	empty := hmac.New(sha256.New, nil)
	empty.Write([]byte("sandpiper web session"))
	for _, header := range [][]string{{"Authorization", "Bearer "}, {"Cookie", sessionCookie + "=" + hex.EncodeToString(empty.Sum(nil))}} {
		if status, _, _ := request(t, "GET", ts.URL+"/tasks", nil, header...); status != 303 {
			t.Errorf("without a token, %q gives %d", header, status)
		}
	}
}

func TestChangesComeFromOurOwnPages(t *testing.T) {
	c := &core{tasks: []bot.Task{task("T1", "slack:U1", "slack:C1", false)}}
	ts := server(t, c, open)
	for _, k := range []struct {
		name   string
		header []string
		want   int
	}{
		{"our own page", []string{"Origin", ts.URL}, 303},
		{"our own page by referer", []string{"Referer", ts.URL + "/tasks/T1"}, 303},
		{"modern browser", []string{"Sec-Fetch-Site", "same-origin"}, 303},
		{"another site", []string{"Origin", "https://evil.example"}, 403},
		{"another site, modern", []string{"Sec-Fetch-Site", "cross-site", "Origin", ts.URL}, 403},
		{"sandboxed frame", []string{"Origin", "null"}, 403},
		{"nothing said", nil, 403},
	} {
		before := len(c.events)
		status, _, _ := request(t, "POST", ts.URL+"/tasks/T1/cancel", nil, k.header...)
		if status != k.want || (len(c.events) > before) != (k.want == 303) {
			t.Errorf("%s: status %d, want %d; %d events more", k.name, status, k.want, len(c.events)-before)
		}
	}
}

func TestWhoSeesWhat(t *testing.T) {
	c := &core{admin: "web:root", tasks: []bot.Task{
		task("T5", "web:alice", "web", false), task("T4", "slack:U1", "slack:open", false), task("T3", "slack:U1", "slack:closed", false),
		task("T2", "slack:U1", "slack:D1", true), task("T1", "web:alice", "slack:D2", true),
	}}
	proxy := func(o *Options) {
		o.ProxyHeader, o.TrustedProxies = "X-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	ts, local := server(t, c, proxy), server(t, c, open)
	for _, k := range []struct {
		viewer       string
		sees, listed []string
		titles       []string
	}{
		{"alice", []string{"T5", "T4", "T1"}, nil, []string{"T5", "T4", "T1"}},
		{"bob", []string{"T4"}, nil, []string{"T4"}},
		{"root", []string{"T5", "T4", "T3", "T2", "T1"}, nil, []string{"T5", "T4", "T3"}},
		{"", []string{"T5", "T4", "T3"}, nil, []string{"T5", "T4", "T3"}}, // the operator at the machine
	} {
		base, header := ts.URL, []string{"X-User", k.viewer}
		if k.viewer == "" {
			base, header = local.URL, nil
		}
		_, list, _ := request(t, "GET", base+"/tasks", nil, header...)
		for _, task := range c.tasks {
			status, _, _ := request(t, "GET", base+"/tasks/"+task.ID, nil, header...)
			if (status == 200) != slices.Contains(k.sees, task.ID) {
				t.Errorf("%q looks at %s: %d", k.viewer, task.ID, status)
			}
			if strings.Contains(list, "title of "+task.ID) != slices.Contains(k.titles, task.ID) {
				t.Errorf("%q: title of %s in the list: %t", k.viewer, task.ID, strings.Contains(list, "title of "+task.ID))
			}
		}
	}
	if want := []string{"web:root T2", "web:root T1"}; !slices.Equal(c.viewed, want) {
		t.Errorf("audited looks %q, want %q", c.viewed, want)
	}
}

func TestHostileTextIsShownAsText(t *testing.T) {
	evil := `<script>alert(1)</script><img src=x onerror=alert(1)>`
	tk := task("T1", evil, evil, false)
	tk.Title, tk.Event.Text = evil, evil+" see https://typed.example/a"
	tk.Inputs = []bot.Input{{Name: evil + ".csv", Problem: evil}}
	tk.Outcome.Message = evil + "\n\n![p](https://evil.example/x.png) [l](https://evil.example) <https://evil.example/auto> [ok](https://typed.example/a) [j](javascript:alert(1))\n\n| a |\n|---|\n| " + evil + " |\n"
	tk.Outcome.Files = []bot.Artifact{{Name: evil + ".svg", MediaType: "image/svg+xml", Blob: "b"}, {Name: "x.png", MediaType: "image/png", Blob: "b"}, {Name: "page.html", MediaType: "text/html", Blob: "b"}}
	tk.Outcome.Undelivered = []bot.Undelivered{{Name: evil, Reason: evil}}
	program, _ := json.Marshal(bot.Program{Language: "python", Code: evil, Stdout: evil, Stderr: evil, Verdict: "ok", Title: evil})
	c := &core{tasks: []bot.Task{tk}, steps: []bot.Step{{Kind: bot.StepProgram, Data: program}, {Kind: bot.StepNote, Data: json.RawMessage(`"` + "x" + `"`)}}, blobs: map[string][]byte{"b": []byte(evil)}}
	ts := server(t, c, open)
	for _, path := range []string{"/tasks", "/tasks/T1", "/tasks?q=" + url.QueryEscape(evil), "/tasks/" + url.PathEscape(evil)} {
		_, body, h := request(t, "GET", ts.URL+path, nil)
		lower := strings.ToLower(body)
		for _, bad := range []string{"<script>alert", "<img src=x", "src=\"https://evil", "href=\"https://evil", "href=\"javascript:"} {
			if strings.Contains(lower, bad) {
				t.Errorf("%s holds %s", path, bad)
			}
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
	_, body, _ := request(t, "GET", ts.URL+"/tasks/T1", nil)
	for _, part := range []string{`href="https://typed.example/a"`, "<code>https://evil.example/x.png</code>", "<code>https://evil.example</code>"} {
		if !strings.Contains(body, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	for i, want := range []string{"attachment", "inline", "attachment"} {
		_, _, h := request(t, "GET", ts.URL+"/tasks/T1/files/"+string(rune('0'+i))+"/x", nil)
		if !strings.HasPrefix(h.Get("Content-Disposition"), want) || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || strings.Contains(h.Get("Content-Type"), "svg") || strings.Contains(h.Get("Content-Type"), "html") {
			t.Errorf("file %d: %v", i, h)
		}
	}
}

func compose(t *testing.T, fields map[string]string, files map[string]string) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, content := range files {
		p, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Write([]byte(content))
	}
	for k, v := range fields {
		if err := w.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

func TestComposerSubmitsOnce(t *testing.T) {
	c := &core{}
	ts := server(t, c, open)
	for range 2 { // a form that is sent twice
		body, kind := compose(t, map[string]string{"text": "what is in it?", "key": "K1", "skill": "csv-report"}, map[string]string{`..\..\a.csv`: "a,b\n1,2\n"})
		if status, page, h := request(t, "POST", ts.URL+"/tasks", body, "Content-Type", kind, "Origin", ts.URL); status != 303 || h.Get("Location") != "/tasks/NEW" {
			t.Fatalf("%d %s", status, page)
		}
	}
	e := c.events[0]
	if e.Key != c.events[1].Key || e.Text != "what is in it?" || e.Options.Skill != "csv-report" || len(e.Inputs) != 1 || e.Inputs[0].Name != "a.csv" || e.Inputs[0].Blob != "b" || e.Inputs[0].Size != 8 {
		t.Errorf("%+v", e)
	}
	for name, k := range map[string]struct {
		fields, files map[string]string
		says          string
	}{
		"no text":        {map[string]string{"text": " "}, nil, "no request"},
		"too many files": {map[string]string{"text": "x"}, map[string]string{"a": "1", "b": "2", "c": "3"}, "Too many files"},
		"too large":      {map[string]string{"text": "x"}, map[string]string{"a": strings.Repeat("x", 1001)}, "larger than"},
		"long text":      {map[string]string{"text": strings.Repeat("x", maxText+1)}, nil, "longer than"},
		"another's task": {map[string]string{"text": "x", "after": "T9"}, nil, "your own"},
	} {
		body, kind := compose(t, k.fields, k.files)
		if status, page, _ := request(t, "POST", ts.URL+"/tasks", body, "Content-Type", kind, "Origin", ts.URL); status != 400 || !strings.Contains(page, k.says) {
			t.Errorf("%s: %d %.300s", name, status, page)
		}
	}
	if len(c.events) != 2 {
		t.Errorf("%d events", len(c.events))
	}
}

func TestLiveTellsOnlyThatSomethingChanged(t *testing.T) {
	c := &core{tasks: []bot.Task{task("T1", "slack:U1", "slack:C1", false)}}
	changes := make(chan chan struct{}, 1)
	changes <- make(chan struct{})
	ts := server(t, c, func(o *Options) {
		open(o)
		o.Changed = func() <-chan struct{} {
			next := <-changes
			changes <- next
			return next
		}
	})
	change := func() { // closes the channel in force and puts a new one in its place
		now := <-changes
		changes <- make(chan struct{})
		close(now)
	}
	resp, err := http.Get(ts.URL + "/tasks/T1/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && lines.Text() != "retry: 2000" {
	}
	next := func() (got []string) {
		for lines.Scan() {
			if lines.Text() == "" && len(got) > 0 {
				break
			}
			if lines.Text() != "" {
				got = append(got, lines.Text())
			}
		}
		return got
	}
	want := []string{"event: change", "data: {}"}
	// What changed since the page was drawn is told by the stream's beginning.
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("it begins with %q, want %q", got, want)
	}
	c.tasks[0].Revision = 7
	change()
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWhyNothingIsTaken tells a fault of ours from one of the asker's.
func TestWhyNothingIsTaken(t *testing.T) {
	for name, k := range map[string]struct {
		core *core
		body string
		want int
		says string
	}{
		"the disk is full, with a file":    {&core{full: true}, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\na\r\n--x--\r\n", 503, "disk is full"},
		"the disk is full, without a file": {&core{full: true}, "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhello\r\n--x--\r\n", 503, "disk is full"},
		"the upload breaks off":            {&core{}, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\na,b", 400, "broke off"},
		"not allowed":                      {&core{refuse: &bot.Refusal{Kind: "policy", Message: "not you"}}, "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhello\r\n--x--\r\n", 403, "not you"},
		"paused":                           {&core{refuse: &bot.Refusal{Kind: "paused", Message: "not now"}}, "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhello\r\n--x--\r\n", 503, "not now"},
		"too much":                         {&core{refuse: &bot.Refusal{Kind: "waiting", Message: "too many"}}, "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhello\r\n--x--\r\n", 429, "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			ts := server(t, k.core, open)
			status, body, _ := request(t, "POST", ts.URL+"/tasks", strings.NewReader(k.body), "Content-Type", "multipart/form-data; boundary=x", "Origin", ts.URL)
			if status != k.want || !strings.Contains(body, k.says) {
				t.Errorf("status %d, want %d, %q in %s", status, k.want, k.says, body)
			}
		})
	}
	if status, body, _ := request(t, "GET", server(t, &core{}, open).URL+"/nowhere", nil); status != 404 || !strings.Contains(body, "There is no such page") || !strings.Contains(body, "<nav") {
		t.Errorf("an unknown page: %d %s", status, body)
	}
}

func TestTablesAreAlignedWithoutStyles(t *testing.T) {
	got := string(renderMarkdown("| a | n |\n|---|---:|\n| x | 1 |\n", nil))
	if !strings.Contains(got, `<td align="right">1</td>`) || strings.Contains(got, "style=") {
		t.Errorf("%s", got)
	}
}
