package saved

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// skillText is the report's SKILL.md.
func skillText(d definition, now time.Time) string {
	var names []string
	for _, in := range d.Inputs {
		names = append(names, in.Name)
	}
	request := oneLine(d.Request, 300)
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\n", d.Name)
	fmt.Fprintf(&b, "description: %s\n", strconv.Quote(oneLine(fmt.Sprintf(
		"Saved report: %s. Use it when somebody asks for the report %s, on files like %s.", request, d.Name, strings.Join(names, ", ")), 900)))
	fmt.Fprintf(&b, "metadata:\n  run: scripts/report.py\n  owner: %s\n  version: %q\n  task: %s\n", strconv.Quote(d.Owner), strconv.Itoa(d.Version), d.Task)
	fmt.Fprintf(&b, "---\n# %s\n\nMade on %s from a finished task. It runs the same programs on new files and writes the same words with new figures; it needs no model.\n\n", d.Name, now.UTC().Format("2 January 2006"))
	b.WriteString("Inputs, with the columns the programs were written for:\n\n")
	for _, in := range d.Inputs {
		for _, t := range in.Tables {
			var cols []string
			for _, c := range t.Columns {
				cols = append(cols, fmt.Sprintf("%s (%s)", oneLine(c.Name, 60), c.Type))
			}
			fmt.Fprintf(&b, "- `%s`: %s\n", strings.ReplaceAll(oneLine(in.Name, 120), "`", "'"), strings.Join(cols, ", "))
		}
	}
	b.WriteString("\nWhere a column is gone, the report says so and gives no figures.\n")
	return b.String()
}

// script joins the programs into one.
func script(d definition, programs []bot.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"The report %s: the programs of task %s, in their order.\"\"\"\n\nfrom sandpiper import saved\n\nreport = saved.begin(__file__)\n", d.Name, d.Task)
	for i, p := range programs {
		fmt.Fprintf(&b, "\n# %%%% Program %d\nreport.program(%d)\n", i+1, i+1)
		if p.Language == "python" {
			b.WriteString(strings.TrimRight(p.Code, "\n") + "\n")
			continue
		}
		fmt.Fprintf(&b, "report.run(%s, %s)\n", pythonText(p.Language), pythonText(p.Code))
	}
	b.WriteString("\n# %% The answer\nreport.finish()\n")
	return b.String()
}

// pythonText writes text as a Python string literal over as many lines.
func pythonText(text string) string {
	if !strings.Contains(text, "\n") {
		return strconv.QuoteToASCII(text)
	}
	var b strings.Builder
	b.WriteString("(\n")
	for l := range strings.SplitAfterSeq(text, "\n") {
		if l != "" {
			b.WriteString("    " + pythonLine(l) + "\n")
		}
	}
	b.WriteString(")")
	return b.String()
}

// pythonLine quotes one line; Go's \U and \u escapes are Python's too.
func pythonLine(l string) string { return strconv.QuoteToASCII(l) }

// oneLine folds white space and cuts text to n characters.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > n {
		text = strings.TrimSpace(string(r[:n])) + "…"
	}
	return text
}
