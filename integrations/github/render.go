package github

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/docker/go-units"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

// GitHub takes 65,536 characters. An answer's part stays under partLimit, so
// that the folded section and the files that are added later fit beside it.
const (
	partLimit    = 44_000
	detailsLimit = 10_000
	mostParts    = 4
)

// The lines between which the files are shown. No text from outside can hold
// them, for package inert lets no HTML through.
const (
	filesOpen  = "<!-- sandpiper:files -->"
	filesClose = "<!-- /sandpiper:files -->"
)

// explained reads what the folded section tells. An answer is worth more than
// its footnotes: where they cannot be read, there are none.
func (a *Adapter) explained(ctx context.Context, id string) (bot.Task, []bot.Step) {
	if id == "" {
		return bot.Task{}, nil
	}
	task, err := a.options.History.Task(ctx, id)
	if err != nil {
		a.options.Logger.Warn("answer goes without its footnotes", "task", id, "error", err)
		return bot.Task{}, nil
	}
	steps, err := a.options.History.Steps(ctx, id)
	if err != nil {
		a.options.Logger.Warn("answer goes without its programs", "task", id, "error", err)
	}
	return task, steps
}

// answerParts renders an answer or a question: each part is a comment's text
// without its marker.
func (a *Adapter) answerParts(d bot.Delivery, t *thread, task bot.Task, steps []bot.Step) []string {
	message := d.Message
	if d.Question != nil {
		message = strings.TrimSpace(message + "\n\n" + d.Question.Text)
		for _, choice := range d.Question.Choices {
			message += "\n- " + choice
		}
	}
	blocks := inert.Markdown(message, d.Links)
	if d.Question != nil {
		blocks = append(blocks, fmt.Sprintf("Answer with a comment that begins with `@%s`.", a.options.Handle))
	}
	if len(d.Undelivered) > 0 {
		blocks = append(blocks, undelivered(d.Undelivered))
	}
	parts := inert.Split(blocks, partLimit)
	if len(parts) == 0 {
		parts = []string{"Done."}
	}
	if len(parts) > mostParts {
		parts = parts[:mostParts]
		parts[mostParts-1] += fmt.Sprintf("\n\n*The rest of this answer is left out; the operator can show it: `sandpiper tasks show %s`.*", d.Task)
	}
	last := &parts[len(parts)-1]
	if d.Kind == bot.DeliverAnswer {
		note := ""
		if len(t.Lost) > 0 {
			note = undelivered(t.Lost)
		}
		*last = withFiles(*last, t.Files, note)
		if details := details(task, steps); details != "" {
			*last += "\n\n" + details
		}
	}
	for i := range parts {
		parts[i] += "\n"
	}
	return parts
}

func undelivered(files []bot.Undelivered) string {
	lines := []string{"Not delivered:", ""}
	for _, f := range files {
		lines = append(lines, "- "+inert.Code(f.Name)+": "+inert.Text(f.Reason))
	}
	return strings.Join(lines, "\n")
}

// filesSection shows pictures and links to all files. All URLs in it are ours.
func filesSection(files []placed) string {
	if len(files) == 0 {
		return ""
	}
	var out strings.Builder
	for _, f := range files {
		if f.Image {
			alt := f.Alt
			if alt == "" {
				alt = f.Name
			}
			fmt.Fprintf(&out, "\n![%s](<%s?raw=true>)\n", inert.Text(cutText(alt, 200)), f.URL)
		}
	}
	var asked, aside []string
	for _, f := range files {
		link := fmt.Sprintf("[%s](<%s>) (%s)", inert.Text(cutText(f.Name, 120)), f.URL, sizeText(f.Size))
		if f.Aside {
			aside = append(aside, link)
		} else {
			asked = append(asked, link)
		}
	}
	if len(asked) > 0 {
		out.WriteString("\nFiles:\n\n- " + strings.Join(asked, "\n- ") + "\n")
	}
	if len(aside) > 0 {
		out.WriteString("\nAlso made: " + strings.Join(aside, ", ") + "\n")
	}
	out.WriteString("\n")
	return out.String()
}

// withFiles puts the files, and a note on what is not among them, into a
// comment that stands already; without the lines they belong between, they go
// before the marker.
func withFiles(body string, files []placed, note string) string {
	section := filesOpen + "\n" + filesSection(files)
	if note != "" {
		section += "\n" + note + "\n\n"
	}
	section += filesClose
	from, to := strings.Index(body, filesOpen), strings.Index(body, filesClose)
	if from >= 0 && to > from {
		return body[:from] + section + body[to+len(filesClose):]
	}
	if at := markerPattern.FindStringIndex(body); at != nil {
		return body[:at[0]] + "\n" + section + "\n" + body[at[0]:]
	}
	return body + "\n\n" + section
}

// ran says that a program ran or a model was asked: a refusal, and what ended
// before it began, was not made by anything.
func ran(task bot.Task, steps []bot.Step) bool {
	out := task.Outcome
	if task.ID == "" || out == nil {
		return false
	}
	return out.Usage.Turns > 0 || out.Provenance.Model != "" || len(out.Provenance.Programs) > 0 ||
		slices.ContainsFunc(steps, func(s bot.Step) bool { return s.Kind == bot.StepProgram })
}

// details is the folded section: programs and provenance.
func details(task bot.Task, steps []bot.Step) string {
	if !ran(task, steps) {
		return ""
	}
	var rows []string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, "| "+name+" | "+value+" |")
		}
	}
	row("Task", inert.Code(task.ID))
	for _, in := range task.Inputs {
		value := inert.Code(cutText(in.Name, 80))
		if in.Blob != "" {
			value += ", SHA-256 " + inert.Code(in.Blob[:min(len(in.Blob), 16)])
		}
		if in.Source != "" {
			value += ", from " + inert.Code(cutText(in.Source, 200))
		}
		if in.Problem != "" {
			value += ": not read, " + inert.Text(cutText(in.Problem, 200))
		}
		row("Input", strings.ReplaceAll(value, "|", "¦"))
	}
	if out := task.Outcome; out != nil {
		p := out.Provenance
		row("Image", inert.Code(p.ImageID))
		row("Runtime", inert.Code(p.Runtime))
		row("Model", inert.Code(p.Model))
		row("Values sent to the model", inert.Code(p.Values))
		var skills []string
		for _, name := range sortedNames(p.Skills) {
			skills = append(skills, inert.Code(strings.TrimSpace(name+" "+p.Skills[name])))
		}
		row("Skills", strings.Join(skills, ", "))
		if out.Usage.Turns > 0 {
			row("Used", fmt.Sprintf("%d turns, %d tokens, $%.4f", out.Usage.Turns, out.Usage.InputTokens+out.Usage.OutputTokens, out.Usage.CostUSD))
		}
	}
	var out strings.Builder
	out.WriteString("<details><summary>How this was made</summary>\n\n|  |  |\n| --- | --- |\n" + strings.Join(rows, "\n") + "\n\n")
	programs(&out, steps)
	out.WriteString("</details>")
	return out.String()
}

// programs writes what ran, newest left out first when there is no room.
func programs(out *strings.Builder, steps []bot.Step) {
	room := detailsLimit - utf8.RuneCountInString(out.String())
	left := 0
	for _, step := range steps {
		var p bot.Program
		if step.Kind != bot.StepProgram || json.Unmarshal(step.Data, &p) != nil {
			continue
		}
		text := fmt.Sprintf("Program in %s: %s after %.1f s\n\n%s\n\n", inert.Code(p.Language), inert.Code(p.Verdict), p.Seconds, inert.Fence(p.Language, p.Code))
		n := utf8.RuneCountInString(text)
		if n > room {
			left++
			continue
		}
		room -= n
		out.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(out, "%d more programs are not shown here.\n\n", left)
	}
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// progressBody renders the progress comment.
func progressBody(p bot.Progress, handle string) string {
	var out strings.Builder
	switch {
	case p.State == bot.TaskQueued && p.Position > 0:
		fmt.Fprintf(&out, "**Waiting.** Tasks before this one: %d.\n", p.Position)
	default:
		out.WriteString("**Working on it.**")
		if p.Now != "" {
			out.WriteString(" " + inert.Text(cutText(p.Now, 300)))
		}
		out.WriteString("\n")
	}
	if len(p.Todo) > 0 {
		out.WriteString("\n")
	}
	for i, item := range p.Todo {
		if i == 50 {
			fmt.Fprintf(&out, "- and %d more\n", len(p.Todo)-i)
			break
		}
		mark := " "
		if item.Done {
			mark = "x"
		}
		fmt.Fprintf(&out, "- [%s] %s\n", mark, inert.Text(cutText(item.Text, 300)))
	}
	fmt.Fprintf(&out, "\n<sub>Task `%s`. `@%s /cancel` stops it.</sub>\n", p.Task, handle)
	return out.String()
}

func cutText(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

func sizeText(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}

// month is how artifact branches are named: one a month.
func month(at time.Time) string { return at.UTC().Format("2006-01") }
