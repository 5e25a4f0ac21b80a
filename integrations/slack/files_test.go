package slack_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

// requestWith posts a mention with files and returns the event it became.
func requestWith(t *testing.T, w *world, files ...string) bot.Event {
	t.Helper()
	before := len(w.core.all())
	w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " go", Files: files})
	w.wait(t, "the event", func() bool { return len(w.core.all()) == before+1 })
	return w.core.all()[before]
}

// like gives a file a kind and a content.
func like(kind, data string) func(*slacktest.File) {
	return func(f *slacktest.File) { f.Type, f.Data, f.Size = kind, []byte(data), int64(len(data)) }
}

// TestFetch shows what becomes of each kind of file.
func TestFetch(t *testing.T) {
	cases := []struct {
		name    string
		change  func(*slacktest.File)
		fault   *slacktest.Fault
		problem string // in the reference already
		reason  string // of the InputError
		fails   bool   // is tried again
	}{
		{name: "plain"},
		{name: "empty", change: func(f *slacktest.File) { f.Data, f.Size = nil, 0 }},
		{name: "html of its own", change: func(f *slacktest.File) {
			f.Name, f.Type, f.Data = "a.html", "text/html", []byte("<!DOCTYPE html><html><body>Sign in</body></html>")
			f.Size = int64(len(f.Data))
		}},
		{name: "markdown that begins like a page", change: like("text/markdown", "<p align=\"center\">\n# Title\n")},
		{name: "text that begins with a comment", change: like("text/plain", "<!-- made by a tool -->\na,b\n1,2\n")},
		{name: "a page saved as text", change: like("text/plain", "<!DOCTYPE html><html><body>Sign in</body></html>")},
		{name: "a table of another kind", change: like("application/xml", "<table><row/></table>")},
		{name: "stub", change: func(f *slacktest.File) { f.Stub = true }},
		{name: "sign-in page for text that begins like one", change: func(f *slacktest.File) {
			like("text/markdown", "<b>bold</b>")(f)
			f.Locked = true
		}, reason: "files:read"},
		{name: "sign-in page", change: func(f *slacktest.File) { f.Locked = true }, reason: "files:read"},
		{name: "sign-in page for a page", change: func(f *slacktest.File) { f.Type, f.Locked = "text/html", true }, reason: "files:read"},
		{name: "deleted later", change: nil, fault: &slacktest.Fault{Method: "files.info", Kind: slacktest.Fail, Error: "file_deleted"}, reason: "deleted"},
		{name: "no scope", fault: &slacktest.Fault{Method: "files.info", Kind: slacktest.Fail, Error: "missing_scope"}, reason: "missing_scope"},
		{name: "tombstone", change: func(f *slacktest.File) { f.Tombstone = true }, problem: "deleted"},
		{name: "hidden", change: func(f *slacktest.File) { f.Hidden = true }, problem: "limit of storage"},
		{name: "external", change: func(f *slacktest.File) { f.External = "https://drive.example/x" }, problem: "outside of Slack"},
		{name: "half", fault: &slacktest.Fault{Method: "download", Kind: slacktest.Lose}, fails: true},
		{name: "503", fault: &slacktest.Fault{Method: "download", Kind: slacktest.Status}, fails: true},
		{name: "404", fault: &slacktest.Fault{Method: "download", Kind: slacktest.Status, Code: 404}, reason: "deleted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := build(t, setup{})
			data := []byte(strings.Repeat("a,b\n1,2\n", 1000))
			id := w.AddFile(slacktest.File{Name: "a.csv", Data: data})
			if c.change != nil {
				w.ChangeFile(id, c.change)
			}
			e := requestWith(t, w, id)
			if len(e.Inputs) != 1 || !strings.Contains(e.Inputs[0].Problem, c.problem) || (e.Inputs[0].Problem != "") != (c.problem != "") {
				t.Fatalf("inputs %+v, want a problem with %q", e.Inputs, c.problem)
			}
			if c.problem != "" {
				return
			}
			if c.name == "stub" && e.Inputs[0].Name != "a.csv" {
				t.Errorf("the stub was not resolved: %+v", e.Inputs[0])
			}
			if c.fault != nil {
				w.Inject(*c.fault)
			}
			var got bytes.Buffer
			_, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], &got)
			var final *bot.InputError
			switch {
			case c.fails:
				if err == nil || errors.As(err, &final) {
					t.Errorf("error %v, want one that is tried again", err)
				}
			case c.reason != "":
				if !errors.As(err, &final) || !strings.Contains(final.Reason, c.reason) {
					t.Errorf("error %v, want an InputError with %q", err, c.reason)
				}
				if got.Len() > 0 {
					t.Errorf("%d bytes of something else were handed on", got.Len())
				}
			case err != nil:
				t.Errorf("fetch: %v", err)
			default:
				w.ChangeFile(id, func(f *slacktest.File) { data = f.Data })
				if !bytes.Equal(got.Bytes(), data) {
					t.Errorf("%d bytes came, want the file's %d", got.Len(), len(data))
				}
			}
		})
	}
}

// TestTokenStaysAtSlack shows that the token goes to Slack's hosts only, also
// when a file's address names another, and that redirects are not followed.
func TestTokenStaysAtSlack(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for _, url := range []string{other.URL + "/f", "http://files.slack.com/f", "https://slack.com.evil.example/f", "https://user@files.slack.com/f", "file:///etc/passwd"} {
		w := build(t, setup{})
		id := w.AddFile(slacktest.File{Name: "a.csv", Data: []byte("a\n")})
		e := requestWith(t, w, id)
		w.ChangeFile(id, func(f *slacktest.File) { f.External = url })
		_, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], io.Discard)
		var final *bot.InputError
		if !errors.As(err, &final) || asked.Load() != 0 {
			t.Errorf("%s: error %v, %d requests there", url, err, asked.Load())
		}
	}
}

// TestTooLarge shows the cap by what Slack says and by what comes.
func TestTooLarge(t *testing.T) {
	w := build(t, setup{options: func(o *slack.Options, _ *world) { o.MaxInput = 100 }})
	for n, tooLarge := range map[int]bool{100: false, 101: true} {
		id := w.AddFile(slacktest.File{Name: "a.csv", Data: bytes.Repeat([]byte("x"), n)})
		e := requestWith(t, w, id)
		for _, said := range []int64{int64(n), 50} { // 50: Slack says less than comes
			w.ChangeFile(id, func(f *slacktest.File) { f.Size = said })
			_, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], io.Discard)
			if said == int64(n) && errors.Is(err, bot.ErrTooLarge) != tooLarge {
				t.Errorf("%d bytes: %v", n, err)
			}
			if said == 50 && err == nil {
				t.Errorf("%d bytes under the name of 50 were taken", n)
			}
		}
	}
}

// counter counts bytes and keeps none.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

// TestLargeFileInConstantMemory streams 200 MB and watches the heap.
func TestLargeFileInConstantMemory(t *testing.T) {
	w := build(t, setup{})
	const size = 200 << 20
	id := w.AddFile(slacktest.File{Name: "big.csv", Size: size, Fill: "1234567,89\n"})
	e := requestWith(t, w, id)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got counter
	peak := uint64(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			runtime.Gosched()
		}
	}()
	if _, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], &got); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-watched
	runtime.ReadMemStats(&after)
	if got.n != size {
		t.Errorf("%d bytes came", got.n)
	}
	if grown := int64(peak) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("the heap grew by %d MB for a file of 200 MB", grown>>20)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
		t.Errorf("%d MB were allocated for a file of 200 MB", allocated>>20)
	}
}

// TestThreadFiles shows which earlier files of a thread a request brings.
func TestThreadFiles(t *testing.T) {
	cases := []struct {
		name  string
		root  []string
		text  string
		own   []string
		want  []string
		fault *slacktest.Fault
	}{
		{name: "the root's", root: []string{"root.csv"}, text: "go", want: []string{"root.csv"}},
		{name: "the root's and its own", root: []string{"root.csv"}, text: "go", own: []string{"own.csv"}, want: []string{"own.csv", "root.csv"}},
		{name: "all, where it would have none", text: "go", want: []string{"one.csv", "two.csv"}},
		{name: "by place", root: []string{"root.csv"}, text: "now the second file", want: []string{"root.csv", "one.csv"}},
		{name: "by place in Russian", root: []string{"root.csv"}, text: "а теперь третий файл", want: []string{"root.csv", "two.csv"}},
		{name: "the last", text: "use the last file", want: []string{"two.csv"}},
		{name: "by name", root: []string{"root.csv"}, text: "now TWO.csv please", want: []string{"root.csv", "two.csv"}},
		{name: "own only", text: "go", own: []string{"own.csv"}, want: []string{"own.csv"}},
		{
			name: "Slack does not answer", root: []string{"root.csv"}, text: "go", want: []string{"earlier files of this thread"},
			fault: &slacktest.Fault{Method: "conversations.replies", Kind: slacktest.Limit, Times: -1},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := build(t, setup{})
			add := func(names []string) (ids []string) {
				for _, n := range names {
					ids = append(ids, w.AddFile(slacktest.File{Name: n, Data: []byte(n)}))
				}
				return ids
			}
			root := w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "look", Files: add(c.root)})
			for _, n := range []string{"one.csv", "two.csv"} {
				w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: "and this", Thread: root, Files: add([]string{n})})
			}
			if c.fault != nil {
				w.Inject(*c.fault)
			}
			w.Say(slacktest.Post{Channel: w.sales, User: w.ada, Text: slacktest.Mention + " " + c.text, Thread: root, Files: add(c.own)})
			w.wait(t, "the event", func() bool { return len(w.core.all()) == 1 })
			var got []string
			for _, in := range w.core.all()[0].Inputs {
				got = append(got, in.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("inputs %q, want %q", got, c.want)
			}
		})
	}
}

// TestFileOfAnotherChannel shows that a file is read only for the channel that
// it is shared in, whatever a reference says.
func TestFileOfAnotherChannel(t *testing.T) {
	w := build(t, setup{})
	secret := w.AddChannel(slacktest.Channel{Name: "board", Private: true})
	boss := w.AddUser(slacktest.User{Name: "Boss"})
	id := w.AddFile(slacktest.File{Name: "salaries.csv", Data: []byte("a\n")})
	w.Say(slacktest.Post{Channel: secret, User: boss, Text: "our salaries", Files: []string{id}})
	own := w.AddFile(slacktest.File{Name: "own.csv", Data: []byte("a\n")})
	e := requestWith(t, w, own)
	forged := e.Inputs[0]
	forged.Ref = strings.Replace(forged.Ref, own, id, 1)
	var final *bot.InputError
	if _, err := w.adapter.Fetch(t.Context(), e, forged, io.Discard); !errors.As(err, &final) {
		t.Errorf("read: %v", err)
	}
	if _, err := w.adapter.Fetch(t.Context(), e, e.Inputs[0], io.Discard); err != nil {
		t.Error(err)
	}
}
