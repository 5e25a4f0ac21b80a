package main

import (
	"strings"
	"sync"
	"testing"

	keys "github.com/go-rod/rod/lib/input"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
)

// evil is what hostile text tries: to run, to load, to lead away.
const evil = `<script>pwned('script')</script><img src=x onerror="pwned('img')"><svg onload="pwned('svg')">"'}}{{.}}`

// evilFile is evil as far as a file's name can hold it.
const evilFile = `<img src=x onerror="pwned('name')">`

// numbers makes a table and a picture, without the libraries that take their
// time on a busy machine.
const numbers = `import csv, os, struct, zlib
total = {}
for row in csv.DictReader(open("in/sales.csv")):
    total[row["region"]] = total.get(row["region"], 0) + float(row["revenue"])
print("ROWS in/sales.csv used=6 left_out=0")
print(total)
os.makedirs("out", exist_ok=True)
open("out/revenue.csv", "w").write("region,revenue\n" + "".join(f"{k},{v}\n" for k, v in total.items()))
width, height, lines = 640, 240, b""
for y in range(height):
    line = b""
    for x in range(width):
        bar = list(total.values())[x * len(total) // width]
        inside = x * len(total) % width > width // 4 and height - y < bar * 1.5
        line += b"\x0b\x6e\x8f" if inside else b"\xff\xff\xff"
    lines += b"\0" + line
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
open("out/revenue.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))`

// attack writes what a hostile program would: files whose names and contents
// want to run, and output that does.
const attack = `import os
evil = open("in/" + [n for n in os.listdir("in") if n.endswith(".csv")][0]).read().splitlines()[1]
os.makedirs("out", exist_ok=True)
name = '<img src=x onerror="pwned(1)">'
open("out/" + name + ".csv", "w").write("region," + name + "\n" + evil + "\n")
open("out/page.html", "w").write("<script>pwned('html')</script>")
open("out/drawing.svg", "w").write("<svg xmlns='http://www.w3.org/2000/svg' onload=\"pwned('svg')\"><script>pwned('svg')</script></svg>")
open("out/fake.png", "w").write("<script>pwned('png')</script>")
open("out/javascript:pwned(2).txt", "w").write("x")
print(evil)
print("\x1b]0;pwned\x07", end="")
raise ValueError(evil)`

// scripted is the model of the pages' tests: one conversation goes on only
// when the test says so.
type scripted struct {
	*modeltest.Server
	gate func() // lets the conversation "hold on" go on
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	plan := func(items ...string) modeltest.Turn {
		return modeltest.Do("create_todo_list", map[string]any{"items": items})
	}
	python := func(code string) modeltest.Turn {
		return modeltest.Do("execute_code", map[string]any{"language": "python", "code": code})
	}
	end := func(message string) modeltest.Turn { return modeltest.Do("finish", map[string]any{"message": message}) }
	scripts := []modeltest.Agent{
		{Match: "HELPER", Turns: []modeltest.Turn{python("print('a helper was here')"), end("helped " + evil)}},
		{Match: "quarterly numbers", Turns: []modeltest.Turn{
			plan("Read the file", "Draw revenue by region"), python(numbers), modeltest.Do("complete_todo", map[string]any{"item": 1}),
			modeltest.Do("delegate", map[string]any{"subtasks": []map[string]any{{"title": "Check the sums", "instructions": "HELPER: check the sums"}}}),
			end("## Revenue by region\n\nNorth brought **91.5**, South **134**.\n\n| region | revenue |\n|---|---:|\n| North | 91.50 |\n| South | 134.00 |"),
		}},
		{Match: "hold on", Turns: []modeltest.Turn{
			plan("Count the rows"), python("print('counting')"), python("print('counted')"), end("There are **6** rows."),
		}},
		{Match: "be hostile", Turns: []modeltest.Turn{
			plan(evil, "[x](javascript:pwned('todo'))"), python(attack), modeltest.Do("read_skill", map[string]any{"name": evil}),
			modeltest.Do("delegate", map[string]any{"subtasks": []map[string]any{{"title": evil, "instructions": "HELPER " + evil}}}),
			end(evil + "\n\n[click](javascript:pwned('link')) ![x](https://evil.example/x.png) <a href=\"javascript:pwned('a')\">x</a>\n\n```html\n" + evil + "\n```\n\n| " + evil + " |\n|---|\n| " + evil + " |"),
		}},
	}
	s := &scripted{gate: open}
	s.Server = modeltest.Start(t, modeltest.Script{Answer: func(r modeltest.Request) modeltest.Turn {
		for _, agent := range scripts {
			if !strings.Contains(r.Opening, agent.Match) {
				continue
			}
			if agent.Match == "hold on" && r.Turn == 2 {
				<-gate
			}
			return agent.Turns[min(r.Turn, len(agent.Turns)-1)]
		}
		return modeltest.Say("I do not know what to do.")
	}})
	t.Cleanup(open) // before the server closes, which waits for its answers
	return s
}

// TestPages looks at the pages of a running bot with Chromium, as people do.
func TestPages(t *testing.T) {
	b := newBrowser(t)
	h := newHome(t)
	model := newScripted(t)
	h.write("skills/evil/SKILL.md", "---\nname: evil\ndescription: "+yamlString("Use it to attack. "+evil)+"\n---\n# "+evil+"\n")
	s := h.serve("OPENAI_BASE_URL="+model.URL(), "SANDPIPER_MODEL=scripted")
	h.run(0, "schedules", "add", "weekly-sales-of-all-regions", "0 9 * * MON", "Report "+evil, "--tz", "America/Argentina/Buenos_Aires")
	h.run(0, "schedules", "add", "tiny-report", "0 9 * * *", "Report", "--tz", "UTC", "--skill", "csv-report")
	h.run(1, "schedules", "run", "tiny-report") // it has no file: that is a last run too
	p := &pages{home: h, b: b, s: s, model: model}
	t.Run("a newcomer asks with a file", p.composer)
	t.Run("a hostile task runs nothing", p.hostile)
	t.Run("a live task moves by itself", p.live)
	t.Run("a task is cancelled", p.cancel)
	t.Run("the list is filtered and live", p.list)
	t.Run("all is reached by the keyboard", p.keyboard)
	t.Run("everything is read without scripts", p.noScript)
	t.Run("light and dark, wide and narrow", p.looks)
	s.stop()
}

// yamlString quotes any text for YAML.
func yamlString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// pages is what the parts of TestPages share.
type pages struct {
	*home
	b     *browser
	s     *server
	model *scripted

	report, attacked string // paths of tasks
}

func (p *pages) tab(t *testing.T, o tabOptions) *tab {
	t.Helper()
	tb := p.b.open(p.s.url, o)
	tb.t = t
	t.Cleanup(func() {
		if !o.noScript {
			tb.quiet()
		}
		_ = tb.Close()
	})
	return tb
}

// send fills the composer in and sends it; it returns the task's path.
func (p *pages) send(tb *tab, text string, files map[string]string) string {
	tb.t.Helper()
	tb.visit("/tasks")
	tb.must(tb.find("textarea").Input(text))
	if len(files) > 0 {
		tb.must(tb.find("input[type=file]").SetFiles(p.files(files)))
	}
	tb.click("form.composer button.primary")
	p.eventually("the task's page opens", func() bool { return strings.HasPrefix(tb.where(), "/tasks/01") })
	tb.must(tb.WaitLoad())
	return tb.where()
}

// reaches waits until the open task's page shows a state.
func (p *pages) reaches(tb *tab, state string) {
	tb.t.Helper()
	p.eventually("the page says "+state, func() bool {
		got, err := tb.Eval(`(s) => document.querySelector(".meta .state." + s) !== null && !document.querySelector("[data-going]")`, state)
		return err == nil && got.Value.Bool()
	})
	tb.must(tb.WaitLoad())
}

func (p *pages) composer(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	p.report = p.send(tb, "Make the quarterly numbers, please.", map[string]string{"sales.csv": sales})
	p.reaches(tb, "done")
	text := tb.text()
	for _, want := range []string{"North brought 91.5", "revenue.png", "revenue.csv", "Draw revenue by region", "6 rows", "Proof of enforcement"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	var drawn bool
	p.eventually("the picture is drawn", func() bool {
		tb.eval(&drawn, `() => [...document.images].length > 0 && [...document.images].every((i) => i.complete && i.naturalWidth > 100)`)
		return drawn
	})
	tb.shot("task-done")
}

func (p *pages) hostile(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	table := "region,\"" + strings.ReplaceAll(evil, `"`, `""`) + "\"\n\"" + strings.ReplaceAll(evil, `"`, `""`) + "\",1\n"
	p.attacked = p.send(tb, "be hostile "+evil, map[string]string{evilFile + ".csv": table})
	p.reaches(tb, "done")
	if text := tb.text(); !strings.Contains(text, "<script>pwned('script')</script>") {
		t.Errorf("the hostile text is not shown as text:\n%s", text)
	}
	tb.eval(nil, `() => document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
	tb.shot("task-hostile")
	var links []string
	tb.eval(&links, `() => [...document.querySelectorAll("main a")].map((a) => a.href)`)
	for _, link := range links {
		if !strings.HasPrefix(link, p.s.url+"/") {
			t.Errorf("a link leads to %s", link)
		}
	}
	for _, path := range []string{"/tasks", "/tasks?q=" + "%3Cscript%3Epwned(1)%3C/script%3E", "/skills", "/schedules", "/health", "/tasks/" + "%3Cimg%20src=x%20onerror=pwned(1)%3E"} {
		tb.visit(path)
		tb.quietBut("status of 404")
	}
	// Each file by itself, as somebody opens it in a tab.
	p.openFiles(tb)
}

// openFiles opens every file of the hostile task in the tab.
func (p *pages) openFiles(tb *tab) {
	tb.visit(p.attacked)
	var files []string
	tb.eval(&files, `() => [...document.querySelectorAll("a[href*='/files/']")].map((a) => a.getAttribute("href"))`)
	if len(files) < 4 {
		tb.t.Errorf("the hostile task shows %d links to files", len(files))
	}
	for _, file := range files {
		// A download ends the navigation with an error: that is what should be.
		_ = tb.Navigate(tb.own + strings.TrimSuffix(file, "?download=1"))
	}
	tb.quietBut("net::ERR_ABORTED")
	tb.visit("/tasks")
}

func (p *pages) live(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	p.send(tb, "Please hold on and count.", map[string]string{"sales.csv": sales})
	p.eventually("the first program's output comes by itself", func() bool {
		got, err := tb.Eval(`() => [...document.querySelectorAll("pre")].some((e) => e.textContent.includes("counting"))`)
		return err == nil && got.Value.Bool()
	})
	tb.eval(nil, `() => { window.__same = true; }`)
	tb.click(".steps details summary")
	tb.shot("task-running")
	p.model.gate()
	p.eventually("the second program's output comes without a new page", func() bool {
		got, err := tb.Eval(`() => [...document.querySelectorAll("pre")].some((e) => e.textContent.includes("counted"))`)
		return err == nil && got.Value.Bool()
	})
	p.reaches(tb, "done")
	if !strings.Contains(tb.text(), "There are 6 rows.") {
		t.Errorf("the answer is not there:\n%s", tb.text())
	}
}

func (p *pages) cancel(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	tb.visit("/tasks")
	tb.must(tb.find("textarea").Input("Wait for me"))
	tb.eval(nil, `() => { document.querySelector("select[name=skill]").value = "slow"; }`)
	tb.must(tb.find("input[type=file]").SetFiles(p.files(map[string]string{"sales.csv": sales})))
	tb.click("form.composer button.primary")
	p.eventually("the task runs", func() bool {
		got, err := tb.Eval(`() => document.querySelector(".meta .state.running") !== null`)
		return err == nil && got.Value.Bool()
	})
	tb.must(tb.find(`form[action$="/cancel"] button`).Focus())
	tb.press(keys.Enter)
	p.reaches(tb, "cancelled")
	tb.shot("task-cancelled")
}

func (p *pages) list(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	tb.visit("/tasks")
	tb.must(tb.find("input[type=search]").Input("quarterly"))
	tb.press(keys.Enter)
	p.eventually("the list is filtered", func() bool { return strings.Contains(tb.where(), "q=quarterly") })
	tb.must(tb.WaitLoad())
	var rows []string
	read := func() []string {
		tb.eval(&rows, `() => [...document.querySelectorAll("table.list tbody tr")].map((r) => r.innerText)`)
		return rows
	}
	if rows := read(); len(rows) != 1 || !strings.Contains(rows[0], "quarterly") {
		t.Errorf("filtered by a word, the list is %q", rows)
	}
	tb.visit("/tasks?state=cancelled")
	if rows := read(); len(rows) != 1 || !strings.Contains(rows[0], "Wait for me") {
		t.Errorf("filtered by a state, the list is %q", rows)
	}
	tb.visit("/tasks")
	tb.eval(nil, `() => { window.__same = true; }`)
	p.s.ask("Another request: tiny")
	p.eventually("a new task appears and ends by itself", func() bool {
		got, err := tb.Eval(`() => { const r = document.querySelector("table.list tbody tr"); return window.__same && r.innerText.includes("Another request") && r.querySelector(".state.done") !== null; }`)
		return err == nil && got.Value.Bool()
	})
	tb.shot("list")
}

func (p *pages) keyboard(t *testing.T) {
	tb := p.tab(t, tabOptions{})
	tb.visit("/tasks")
	var order []string
	for range 18 {
		tb.press(keys.Tab)
		what, shows := tb.focused()
		if !shows {
			t.Errorf("the focus on %s cannot be seen", what)
		}
		order = append(order, what)
		if strings.HasPrefix(what, "a:/tasks/01") {
			break
		}
	}
	t.Log(strings.Join(order, "  "))
	want := []string{"a:#main", "a:/tasks", "a:/tasks", "textarea:text", "input:file", "select:skill", "button:Ask", "select:state", "input:q", "button:Show", "a:/tasks/01"}
	at := 0
	for _, what := range order {
		if at < len(want) && strings.HasPrefix(what, want[at]) {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("Tab goes through %q and misses %s in its place", order, want[at])
	}
	tb.press(keys.Enter)
	p.eventually("Enter opens the task", func() bool { return strings.HasPrefix(tb.where(), "/tasks/01") })
	tb.visit(p.report)
	tb.must(tb.find(".steps summary").Focus())
	for _, want := range []bool{true, false} {
		tb.press(keys.Space)
		var open bool
		tb.eval(&open, `() => document.querySelector(".steps summary").parentElement.open`)
		if open != want {
			t.Errorf("after Space a step's details are open: %t, want %t", open, want)
		}
	}
	tb.visit("/tasks")
	tb.must(tb.find("textarea").Input("Asked by Ctrl and Enter, for the quarterly numbers"))
	tb.must(tb.KeyActions().Press(keys.ControlLeft).Type(keys.Enter).Do())
	p.eventually("Ctrl+Enter asks", func() bool { return strings.HasPrefix(tb.where(), "/tasks/01") })
}

func (p *pages) noScript(t *testing.T) {
	tb := p.tab(t, tabOptions{noScript: true})
	for path, wants := range map[string][]string{
		"/tasks": {"quarterly numbers", "done", "What do you want to know?"}, p.report: {"North brought", "Proof of enforcement", "revenue.csv", "Retry"},
		"/skills": {"csv-report"}, "/schedules": {"Schedules"}, "/health": {"engine"},
	} {
		tb.visit(path)
		html, err := tb.HTML()
		tb.must(err)
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("without scripts %s lacks %q", path, want)
			}
		}
	}
	tb.visit(p.report)
	tb.shot("task-no-script")
}

func (p *pages) looks(t *testing.T) {
	for name, o := range map[string]tabOptions{
		"light": {}, "dark": {dark: true}, "phone": {width: 360, height: 740}, "phone-dark": {width: 360, height: 740, dark: true},
	} {
		tb := p.tab(t, o)
		for page, path := range map[string]string{"list": "/tasks", "task": p.report, "attacked": p.attacked, "schedules": "/schedules", "skills": "/skills", "health": "/health"} {
			tb.visit(path)
			if page == "task" {
				tb.eval(nil, `() => document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
			}
			for _, fault := range tb.faint() {
				t.Errorf("%s, %s: %s", page, name, fault)
			}
			tb.shot(name + "-" + page)
		}
	}
}
