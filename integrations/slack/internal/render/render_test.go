package render_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

func TestMarkdown(t *testing.T) {
	links := []string{"https://ours.example/a?b=c"}
	cases := []struct{ name, in, want string }{
		{"emphasis", "**Revenue** rose *fast* and ~~slow~~", "**Revenue** rose _fast_ and ~~slow~~"},
		{"heading", "##### Deep `x`", "### Deep `x`"},
		{"list", "1. one\n2. two\n   - in\n   - out", "1. one\n2. two\n   - in\n   - out"},
		{"tasks", "- [x] done\n- [ ] open", "- ☑ done\n- ☐ open"},
		{"quote", "> said\n> twice", "> said\n> twice"},
		{"code", "```go\na := `b`\n```", "```go\na := `b`\n```"},
		{"code with a fence in it", "````\n```\nx\n```\n````", "````\n```\nx\n```\n````"},
		{"indented code", "    x := 1", "```\nx := 1\n```"},
		{"table", "| Region | Sum |\n|---|---:|\n| Nord | 1,200 |\n| Süd | 7 |", "```\nRegion    Sum\n─────────────\nNord    1,200\nSüd         7\n```"},
		{"foreign link", "[report](https://evil.example/?q=1)", "report (`https://evil.example/?q=1`)"},
		{"typed link", "see https://ours.example/a?b=c now", "see https://ours.example/a?b=c now"},
		{"typed link with a label", "[the page](https://ours.example/a?b=c)", "[the page](https://ours.example/a?b=c)"},
		{"label that is another address", "[https://bank.example](https://ours.example/a?b=c)", "`https://bank.example` (https://ours.example/a?b=c)"},
		{"image", "![chart](https://evil.example/p.png)", "chart (`https://evil.example/p.png`)"},
		{"autolink", "<https://evil.example>", "`https://evil.example`"},
		{"bare domain", "go to evil.example/x.", "go to `evil.example/x`."},
		{"file name", "see report.csv", "see `report.csv`"},
		{"channel", "hello <!channel> and @here", "hello `<!channel>` and `@here`"},
		{"user", "ask <@U0123>", "ask `<@U0123>`"},
		{"html", "a <img src=x> b", "a `<img src=x>` b"},
		{"html block", "<script>\nx\n</script>", "```\n<script>\nx\n</script>\n```"},
		{"escapes", `1\. not a list \* no`, `1\. not a list \* no`},
		{"numbers", "3 < 4 & 5 > 2, 1_000", "3 &lt; 4 &amp; 5 &gt; 2, 1\\_000"},
		{"rule", "a\n\n---\n\nb", "a\n\n---\n\nb"},
		{"mail", "write to a.b@evil.example", "write to `a.b@evil.example`"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(render.Markdown(c.in, links, 10_000), "¶")
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestInert shows that Markdown's marks do not reach people as they are, and
// that what only looks like them stays.
func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"**weekly** `0 9 * * 1` (Europe/Berlin), next": "*weekly* `0 9 * * 1` (Europe/Berlin), next",
		"- **a** is on\n- b":                           "• *a* is on\n• b",
		"the **file `a.csv`** is gone":                 "the *file `a.csv`* is gone",
		"`a**b**c` and 2**3**4 and ** x **":            "`a**b**c` and 2**3**4 and ** x **",
		"***x***":                                      "***x***",
		"minus -5, a - b":                              "minus -5, a - b",
		"**<!channel>**":                               "*`&lt;!channel&gt;`*",
	} {
		if got := render.Inert(in, 1_000); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestSplit shows that parts stay under the limit, with fences closed and
// table heads repeated.
func TestSplit(t *testing.T) {
	var code, rows strings.Builder
	for i := range 200 {
		fmt.Fprintf(&code, "line %d\n", i)
		fmt.Fprintf(&rows, "| r%d | %d |\n", i, i)
	}
	for name, in := range map[string]string{
		"code":  "intro\n\n```python\n" + code.String() + "```\n\nend",
		"table": "| Name | N |\n|---|---|\n" + rows.String(),
		"words": strings.Repeat("word ", 900),
		"solid": strings.Repeat("x", 3000),
		"lines": strings.Repeat("a line of text\n", 300),
	} {
		parts := render.Markdown(in, nil, 500)
		if len(parts) < 3 {
			t.Errorf("%s: %d parts", name, len(parts))
		}
		for i, p := range parts {
			if n := utf8.RuneCountInString(p); n > 500 {
				t.Errorf("%s: part %d has %d runes", name, i, n)
			}
			if strings.Count(p, "```")%2 != 0 {
				t.Errorf("%s: part %d leaves a fence open:\n%s", name, i, p)
			}
			if name == "table" && !strings.Contains(p, "Name") {
				t.Errorf("part %d has no head:\n%s", i, p)
			}
		}
		flat := strings.Join(parts, "\n")
		if name == "code" && (strings.Count(flat, "line ") != 200 || !strings.Contains(flat, "```python")) {
			t.Errorf("%s lost lines", name)
		}
		if name == "table" && strings.Count(flat, "r1") != 111 {
			t.Errorf("%s lost rows: %d", name, strings.Count(flat, "r1"))
		}
	}
}

// TestNothingComesToLife draws texts out of what makes links, pings and code,
// and asserts that nothing in any part or notification is live.
func TestNothingComesToLife(t *testing.T) {
	bits := []string{
		"https://evil.example/x", "http://a.b", "<!channel>", "<@U0123>", "<!subteam^S1>", "@here", "@channel", "www.evil.example",
		"mailto:a@b.example", "`", "``", "```", "\n", "\n\n", " ", "[", "](", ")", "![", "<", ">", "\\", "*", "_", "|", "| a | b |\n|---|---|\n", "> ", "- ", "1. ",
		"text", "&lt;!here&gt;", "&amp;", "\u200b", "<a href=\"https://evil.example\">", "    ", "<https://evil.example>", "~~", "#", "[x]: https://evil.example\n", "[x]",
	}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "bits"), "")
		limit := rapid.IntRange(60, 400).Draw(t, "limit")
		for _, part := range render.Markdown(source, nil, limit) {
			if n := utf8.RuneCountInString(part); n > limit {
				t.Fatalf("part of %d runes: %q", n, part)
			}
			blocks, err := json.Marshal([]map[string]string{{"type": "markdown", "text": part}})
			if err != nil {
				t.Fatal(err)
			}
			m := slacktest.Message{Blocks: blocks}
			if links, pings := slacktest.LiveLinks(m), slacktest.LivePings(m); len(links)+len(pings) > 0 {
				t.Fatalf("live %q %q in %q", links, pings, part)
			}
		}
		for _, text := range []string{render.Plain(source, limit), render.Inert(source, limit)} {
			m := slacktest.Message{Text: text}
			if links, pings := slacktest.LiveLinks(m), slacktest.LivePings(m); len(links)+len(pings) > 0 {
				t.Fatalf("live %q %q in %q", links, pings, text)
			}
			if n := utf8.RuneCountInString(text); n > limit {
				t.Fatalf("text of %d runes: %q", n, text)
			}
		}
	})
}
