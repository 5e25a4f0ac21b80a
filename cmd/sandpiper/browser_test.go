package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	keys "github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/proto"
)

// watchful runs in every document before its own scripts: whatever hostile
// text manages to do is noted. The hostile texts of the tests call pwned.
const watchful = `
window.__noise = [];
window.pwned = (by) => window.__noise.push("ran: " + by);
addEventListener("securitypolicyviolation", (e) => window.__noise.push("policy: " + e.violatedDirective + " " + e.blockedURI));
addEventListener("error", (e) => window.__noise.push("error: " + (e.message || (e.target && e.target.src))), true);
for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = () => window.__noise.push("called: " + name);
`

// browser is Debian's Chromium, driven by a test.
type browser struct {
	*rod.Browser
	t     *testing.T
	shots string // folder of screenshots, kept with -artifacts
}

// newBrowser starts Chromium. In CI it must be there.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	bin, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("chromium is not installed, and in CI it must be: %v", err)
		}
		t.Skipf("skipped: chromium is not installed: %v", err)
	}
	l := launcher.New().Context(t.Context()).Bin(bin).Leakless(false).HeadlessNew(true).NoSandbox(os.Getuid() == 0).
		UserDataDir(t.TempDir()).Set("disable-dev-shm-usage").Set("disable-background-networking")
	control, err := l.Launch()
	if err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	b := &browser{Browser: rod.New().ControlURL(control), t: t, shots: t.ArtifactDir()}
	t.Cleanup(func() {
		_ = b.Close() // ended already, but for a test that failed
		l.Kill()
		l.Cleanup() // waits for its end
	})
	if err := b.Connect(); err != nil {
		t.Fatalf("connect to chromium: %v", err)
	}
	return b
}

// tab is one page of the browser and all that it did which it should not.
type tab struct {
	*rod.Page
	t       *testing.T
	browser *browser
	own     string // the address of the bot

	mu    sync.Mutex // guards noise
	noise []string
}

// tabOptions say how the tab looks at pages.
type tabOptions struct {
	width, height int  // 0: 1200 × 900
	dark          bool // prefers dark colours
	noScript      bool
}

// tabLife is how long one tab's part of a test may take.
const tabLife = 4 * time.Minute

// open makes a tab that looks at one bot's pages.
func (b *browser) open(own string, o tabOptions) *tab {
	b.t.Helper()
	page, err := b.Page(proto.TargetCreateTarget{URL: "about:blank"})
	if err != nil {
		b.t.Fatal(err)
	}
	// A page that leaves while Chromium answers can leave a call without an
	// answer: that fails the test instead of standing still with it.
	page = page.Timeout(tabLife)
	tb := &tab{Page: page, t: b.t, browser: b, own: own}
	if o.width == 0 {
		o.width, o.height = 1200, 900
	}
	scheme := "light"
	if o.dark {
		scheme = "dark"
	}
	tb.must(page.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: o.width, Height: o.height, DeviceScaleFactor: 1}))
	tb.must(proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}.Call(page))
	if o.noScript {
		tb.must(proto.EmulationSetScriptExecutionDisabled{Value: true}.Call(page))
	}
	_, err = page.EvalOnNewDocument(watchful)
	tb.must(err)
	tb.listen()
	return tb
}

// listen notes dialogs, complaints of the console and requests to anywhere
// but the bot.
func (tb *tab) listen() {
	host, err := url.Parse(tb.own)
	tb.must(err)
	tb.must(proto.LogEnable{}.Call(tb.Page))
	tb.must(proto.NetworkEnable{}.Call(tb.Page))
	go tb.EachEvent(
		func(e *proto.PageJavascriptDialogOpening) {
			tb.note("dialog: " + e.Message)
			_ = proto.PageHandleJavaScriptDialog{Accept: false}.Call(tb.Page)
		},
		func(e *proto.RuntimeExceptionThrown) { tb.note("exception: " + e.ExceptionDetails.Text) },
		func(e *proto.RuntimeConsoleAPICalled) { tb.note("console: " + string(e.Type)) },
		func(e *proto.LogEntryAdded) {
			if e.Entry.Level == proto.LogLogEntryLevelError || e.Entry.Level == proto.LogLogEntryLevelWarning {
				tb.note("log: " + e.Entry.Text + " " + e.Entry.URL)
			}
		},
		func(e *proto.NetworkRequestWillBeSent) {
			to, err := url.Parse(e.Request.URL)
			if err != nil || to.Host != host.Host && to.Scheme != "about" {
				tb.note("request: " + e.Request.URL)
			}
		},
	)()
}

func (tb *tab) note(what string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.noise = append(tb.noise, what)
}

// quiet fails the test where anything was noted.
func (tb *tab) quiet() {
	tb.t.Helper()
	var inside []string
	tb.eval(&inside, `() => window.__noise || []`)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, what := range append(inside, tb.noise...) {
		tb.t.Errorf("the page %s did what it must not: %s", tb.where(), what)
	}
	tb.noise = nil
}

func (tb *tab) must(err error) {
	tb.t.Helper()
	if err != nil {
		tb.t.Fatal(err)
	}
}

// where is the path that the tab shows.
func (tb *tab) where() string {
	info, err := tb.Info()
	if err != nil {
		return "?"
	}
	return strings.TrimPrefix(info.URL, tb.own)
}

// go to a path of the bot's and wait until it is there.
func (tb *tab) visit(path string) {
	tb.t.Helper()
	tb.must(tb.Navigate(tb.own + path))
	tb.must(tb.WaitLoad())
}

// eval runs a function in the page and reads what it gives.
func (tb *tab) eval(into any, js string, args ...any) {
	tb.t.Helper()
	got, err := tb.Eval(js, args...)
	tb.must(err)
	if into != nil {
		raw, err := got.Value.MarshalJSON()
		tb.must(err)
		tb.must(json.Unmarshal(raw, into))
	}
}

// text is what a reader sees of the page; "" while it changes.
func (tb *tab) text() string {
	got, err := tb.Eval(`() => document.body.innerText`)
	if err != nil {
		return ""
	}
	return got.Value.Str()
}

// quietBut is quiet about what holds a word.
func (tb *tab) quietBut(word string) {
	tb.t.Helper()
	tb.mu.Lock()
	tb.noise = slices.DeleteFunc(tb.noise, func(what string) bool { return strings.Contains(what, word) })
	tb.mu.Unlock()
	tb.quiet()
}

// find waits for an element.
func (tb *tab) find(selector string) *rod.Element {
	tb.t.Helper()
	el, err := tb.Timeout(30 * time.Second).Element(selector)
	if err != nil {
		tb.t.Fatalf("%s has no %s: %v\n%s", tb.where(), selector, err, tb.text())
	}
	return el.CancelTimeout()
}

func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.must(tb.find(selector).Click(proto.InputMouseButtonLeft, 1))
}

func (tb *tab) press(pressed ...keys.Key) {
	tb.t.Helper()
	typed := make(chan error, 1)
	go func() { typed <- tb.Keyboard.Type(pressed...) }()
	select {
	case err := <-typed:
		tb.must(err)
	case <-time.After(5 * time.Second):
		// A key that leads to another page is sometimes not acknowledged; what it
		// did is what the test looks at.
	}
}

// shot keeps a picture of the whole page.
func (tb *tab) shot(name string) {
	tb.t.Helper()
	picture, err := tb.Screenshot(true, &proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng})
	tb.must(err)
	tb.must(os.WriteFile(filepath.Join(tb.browser.shots, name+".png"), picture, 0o644))
}

// faint lists texts whose contrast is below what people can read (WCAG AA),
// and whatever makes the page wider than its window.
func (tb *tab) faint() (faults []string) {
	tb.t.Helper()
	tb.eval(&faults, `() => {
  const faults = [];
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (el) => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  for (const el of document.querySelectorAll("body *")) {
    if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !el.getClientRects().length) continue;
    const a = light(parse(getComputedStyle(el).color)), b = light(behind(el));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faults.push("contrast " + ratio.toFixed(1) + " of " + el.tagName + "." + el.className + " " + el.textContent.trim().slice(0, 40));
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is " + document.documentElement.scrollWidth + " wide in a window of " + innerWidth);
  return faults;
}`)
	return faults
}

// focused describes the element that has the focus, and whether that shows.
func (tb *tab) focused() (what string, shows bool) {
	tb.t.Helper()
	var got struct {
		What  string
		Shows bool
	}
	tb.eval(&got, `() => { const el = document.activeElement, s = getComputedStyle(el);
return {What: el.tagName.toLowerCase() + ":" + (el.name || el.getAttribute("href") || el.textContent.trim().slice(0, 30)),
  Shows: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1}; }`)
	return got.What, got.Shows
}

// files writes files and returns their paths, for a file input.
func (h *home) files(contents map[string]string) []string {
	h.t.Helper()
	var paths []string
	for name, content := range contents {
		h.write(filepath.Join("upload", name), content)
		paths = append(paths, filepath.Join(h.dir, "upload", name))
	}
	return paths
}
