package github

import (
	"slices"
	"strings"
	"testing"
)

// TestTriggers decides on the corpus of texts: quotes, code, nested fences,
// HTML, links, look-alike handles, and plain calls.
func TestTriggers(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for i, c := range []struct {
		body   string
		called bool
		text   string // of a call, without the mention
	}{
		{"@sandpiper plot it", true, "plot it"},
		{"@sandpiper, plot it", true, "plot it"},
		{"@sandpiper: plot it", true, "plot it"},
		{"@Sandpiper plot it", true, "plot it"},
		{"@SANDPIPER\nplot it", true, "plot it"},
		{"@sandpiper[bot] plot it", true, "plot it"},
		{"Hi @sandpiper, can you plot it?", true, "Hi , can you plot it?"},
		{"Could @sandpiper plot it?", true, "Could plot it?"},
		{"(@sandpiper) plot it", true, "() plot it"},
		{"plot it, @sandpiper!", true, "plot it, !"},
		{"plot it @sandpiper", true, "plot it"},
		{"plot it @sandpiper.", true, "plot it ."},
		{"- @sandpiper plot it", true, "- plot it"},
		{"1. first\n2. @sandpiper plot it", true, "1. first\n2. plot it"},
		{"# @sandpiper plot it", true, "# plot it"},
		{"**@sandpiper** plot it", true, "**** plot it"},
		{"*@sandpiper* plot it", true, "** plot it"},
		{"~~@sandpiper~~ plot it", true, "~~~~ plot it"},
		{"> quoted\n\n@sandpiper plot it", true, "> quoted\n\nplot it"},
		{fence + "\ncode\n" + fence + "\n@sandpiper plot it", true, fence + "\ncode\n" + fence + "\nplot it"},
		{"@sandpiper plot it\n" + fence + "csv\na,b\n" + fence, true, "plot it\n" + fence + "csv\na,b\n" + fence},
		{"| a | b |\n|---|---|\n| @sandpiper plot | x |", true, "| a | b |\n|---|---|\n| plot | x |"},
		{"<b>@sandpiper</b> plot it", true, "<b></b> plot it"},
		{"a <!-- note --> @sandpiper plot it", true, "a <!-- note --> plot it"},
		{"<details>\n\n@sandpiper plot it\n\n</details>", true, "<details>\n\nplot it\n\n</details>"},
		{"@sandpiper нарисуй по месяцам", true, "нарисуй по месяцам"},
		{"привет,@sandpiper нарисуй", true, "привет, нарисуй"},
		{"@sandpiper @sandpiper plot it", true, "plot it"},
		{"@bob @sandpiper plot it", true, "@bob plot it"},
		{"cc @sandpiper/", true, "cc /"},
		{"@sandpiper\r\nplot it\r\n", true, "plot it"},

		{"    /cancel", false, ""},
		{"\n\t/status", false, ""},
		{"plot it", false, ""},
		{"", false, ""},
		{"sandpiper plot it", false, ""},
		{"@ sandpiper plot it", false, ""},
		{"> @sandpiper plot it", false, ""},
		{"> > @sandpiper plot it", false, ""},
		{"> a\n@sandpiper lazy continuation of the quote", false, ""},
		{"- > @sandpiper plot it", false, ""},
		{"`@sandpiper plot it`", false, ""},
		{"``a ` @sandpiper``", false, ""},
		{fence + "\n@sandpiper plot it\n" + fence, false, ""},
		{"~~~\n" + fence + "\n@sandpiper\n" + fence + "\n~~~", false, ""},
		{"````\n" + fence + "\n@sandpiper plot it\n" + fence + "\n````", false, ""},
		{fence + "\n@sandpiper never closed", false, ""},
		{"- list\n\n  " + fence + "\n  @sandpiper\n  " + fence, false, ""},
		{"    @sandpiper indented code", false, ""},
		{"<!-- @sandpiper plot it -->", false, ""},
		{"<!--\n\n@sandpiper plot it\n\n-->", false, ""},
		{"<!-- a block of HTML to its line's end --> @sandpiper plot it", false, ""},
		{"<pre>\n@sandpiper plot it\n</pre>", false, ""},
		{"<code>@sandpiper</code> is its name", false, ""},
		{"<blockquote>\n\n@sandpiper plot it\n\n</blockquote>", false, ""},
		{"[@sandpiper](https://example.org)", false, ""},
		{"![@sandpiper](https://example.org/a.png)", false, ""},
		{"https://example.org/@sandpiper", false, ""},
		{"<https://example.org/@sandpiper>", false, ""},
		{"mail@sandpiper", false, ""},
		{"mail@sandpiper.example", false, ""},
		{"@sandpiper.example is a host", false, ""},
		{"@sandpiper-dev plot it", false, ""},
		{"@sandpiperx plot it", false, ""},
		{"@sandpiper_ plot it", false, ""},
		{"@sandpiper/team plot it", false, ""},
		{"x@sandpiper plot it", false, ""},
		{"@@sandpiper plot it", false, ""},
		{"\\@sandpiper plot it", false, ""},
		{"@s\u0430ndpiper plot it", false, ""}, // a Cyrillic letter
		{"@sandpiper\u0430 plot it", false, ""},
		{"@sandpiper\u0301 plot it", false, ""},
		{"@\u200bsandpiper plot it", false, ""},
		{"@sandpiper\u200dx plot it", false, ""},
		{"＠sandpiper plot it", false, ""},
		{"@sandpiper@example.social", false, ""},
	} {
		got := read(c.body, "sandpiper")
		if got.called != c.called {
			t.Errorf("%d: %q called %v, want %v", i, c.body, got.called, c.called)
		}
		if c.called && got.text != c.text {
			t.Errorf("%d: %q text %q, want %q", i, c.body, got.text, c.text)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"@sandpiper /cancel": "cancel", "@sandpiper /retry 01ABC": "retry 01ABC", "/cancel": "cancel bare", " /status \n": "status bare", "/retry": "retry bare",
		"@sandpiper /save weekly\nmore": "save weekly", "@sandpiper: /status": "status",
		"/approve": "", "/cancel please": "", "> /cancel": "", "`/cancel`": "", "@sandpiper cancel": "cancel", "@sandpiper Status?": "status", "@sandpiper": "help", "Hey @sandpiper!": "", "@sandpiper\n\n": "help", "**@sandpiper**": "help", "@sandpiper cancel the order": "", "@sandpiper /data/x.csv": "", "/cancel\n/status": "",
		"text\n/cancel": "", "@sandpiper look at /cancel": "",
	} {
		r := read(body, "sandpiper")
		got := strings.TrimSpace(r.command + " " + r.args)
		if r.bare {
			got += " bare"
		}
		if got != want {
			t.Errorf("%q: command %q, want %q", body, got, want)
		}
	}
}

func TestBlocksLinksAndPaths(t *testing.T) {
	t.Parallel()
	body := "@sandpiper use data/x.csv, `my data/y.xlsx`, \"out/*.json\", data/*.csv and data/*.tsv or **bold/z.csv**, https://github.com/o/r/blob/main/z.csv. and [this](https://example.org/a(b).csv) e.g. v1.2\n\n" +
		"```csv name=\"sales 1.csv\"\na\n1\n```\n\n```json\n{}\n```\n\n```python\nprint()\n```\n\n```text name=../../etc/passwd\nx\n```\n\n> ```csv name=quoted.csv\n> x\n> ```\n\n" +
		"<img src=\"https://github.com/user-attachments/assets/0a1b2c3d\">"
	r := read(body, "sandpiper")
	var names []string
	for _, b := range r.blocks {
		names = append(names, b.name)
	}
	if !slices.Equal(names, []string{"sales 1.csv", "block-2.json", "passwd"}) || r.blocks[0].text != "a\n1\n" {
		t.Errorf("blocks %q", r.blocks)
	}
	if want := []string{"https://github.com/o/r/blob/main/z.csv", "https://example.org/a(b).csv", "https://github.com/user-attachments/assets/0a1b2c3d"}; !slices.Equal(r.links, want) {
		t.Errorf("links %q", r.links)
	}
	var got []string
	for _, n := range namedPaths(r) {
		got = append(got, n.word)
	}
	if !slices.Equal(got, []string{"data/x.csv", "my data/y.xlsx", "out/*.json", "data/*.csv", "data/*.tsv", "bold/z.csv"}) {
		t.Errorf("paths %q", got)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	files := map[string]int64{"a.csv": 1, "data/b.csv": 1, "data/c.csv": 1, "data/deep/d.csv": 1, "x/same.csv": 1, "y/same.csv": 1, "data/[1].csv": 1}
	for word, want := range map[string][]string{
		"a.csv": {"a.csv"}, "b.csv": {"data/b.csv"}, "same.csv": {"x/same.csv", "y/same.csv"}, "data/*.csv": {"data/[1].csv", "data/b.csv", "data/c.csv"},
		"data/**/*.csv": {"data/[1].csv", "data/b.csv", "data/c.csv", "data/deep/d.csv"}, "data/[bc].csv": {"data/b.csv", "data/c.csv"},
		"data/?.csv": {"data/b.csv", "data/c.csv"}, "*.csv": {"a.csv"}, "none.csv": nil, "data/[.csv": nil, "(.*)/b.csv": nil,
	} {
		if got := matches(files, word); !slices.Equal(got, want) {
			t.Errorf("matches(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("@sandpiper plot\n> @sandpiper\n```csv name=a\nx\n```")
	f.Add("<code>@sandpiper</code> [a](b) `c` <!-- -->")
	f.Fuzz(func(t *testing.T, body string) {
		r := read(body, "sandpiper")
		if r.command != "" && !r.called {
			t.Error("a command without a call")
		}
		for _, b := range r.blocks {
			if b.name == "" || strings.ContainsAny(b.name, "/\\") {
				t.Errorf("block named %q", b.name)
			}
		}
		if r.called && !r.bare && !strings.Contains(strings.ToLower(body), "@sandpiper") {
			t.Error("called without its handle")
		}
	})
}
