package agent

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/agent/internal/figures"
	"github.com/sandpiper-bot/sandpiper/bot"
)

type finishArgs struct {
	Message string   `json:"message" jsonschema:"the answer, in Markdown"`
	Files   []string `json:"files,omitempty" jsonschema:"files of /workspace/out, the most important first"`
}

func finishTool() (*tool, error) {
	return makeTool("finish", func(ctx context.Context, l *loop, args finishArgs) (observation, error) {
		if strings.TrimSpace(args.Message) == "" {
			return failed("The message is empty: write the answer."), nil
		}
		return l.finish(args), nil
	})
}

// finish accepts an ending, or gives it back once for mending: figures that no
// program printed, and files that were never made.
func (l *loop) finish(args finishArgs) observation {
	args.Message = bot.CloseFence(args.Message) // remarks are appended to it
	unproven := l.unproven(args.Message)
	absent := l.absentFiles(args)
	outside := l.outsideFiles(args.Files)
	if len(unproven)+len(absent)+len(outside) > 0 && !l.mended {
		var b strings.Builder
		b.WriteString("Not sent yet. Mend this and call finish again:\n")
		if len(unproven) > 0 {
			b.WriteString("- These figures stand in no program's output and in no profile: " + strings.Join(figureTexts(unproven, 20), "; ") + ". Calculate and print them, or correct or drop them.\n")
		}
		if len(absent) > 0 {
			b.WriteString("- These files are named but do not exist in /workspace/out: " + strings.Join(absent, ", ") + ". Make them or do not name them.\n")
		}
		if len(outside) > 0 {
			b.WriteString("- These files do not lie in /workspace/out, from where alone files are delivered: " + strings.Join(outside, ", ") + ". Copy them to /workspace/out or do not list them.\n")
		}
		o := failed("%s", strings.TrimRight(b.String(), "\n"))
		o.Mend = true
		return o
	}
	end := &ending{Message: args.Message, Order: args.Files}
	for _, f := range unproven {
		end.Unproven = append(end.Unproven, f.Text)
	}
	if l.depth == 0 {
		end.Message = l.t.marked(args.Message, unproven)
		for _, name := range absent {
			end.Message += "\n\n" + fmt.Sprintf(l.t.words.MissingFile, code(name))
		}
		for _, name := range outside {
			end.Message += "\n\n" + fmt.Sprintf(l.t.words.OutsideFile, code(name))
		}
		end.Message += "\n\n" + l.restsOn()
	}
	o := told("Ended.")
	o.Ending = end
	return o
}

// figureTexts gives the texts of figures, each once, at most most of them.
func figureTexts(list []figures.Figure, most int) []string {
	var out []string
	for _, f := range list {
		if !slices.Contains(out, f.Text) && len(out) < most {
			out = append(out, f.Text)
		}
	}
	return out
}

// unproven gives the figures of a message that nothing calculated.
func (l *loop) unproven(message string) []figures.Figure {
	evidence := l.t.evidence()
	var out []figures.Figure
	for _, f := range figures.In(message) {
		if !evidence.Holds(f) {
			out = append(out, f)
		}
	}
	return out
}

// marked writes a mark behind each unproven figure and names them at the end.
func (t *task) marked(message string, unproven []figures.Figure) string {
	if len(unproven) == 0 {
		return message
	}
	var b strings.Builder
	at := 0
	for _, f := range unproven {
		b.WriteString(message[at:f.End])
		b.WriteString(" [" + t.words.UnprovenMark + "]")
		at = f.End
	}
	b.WriteString(message[at:])
	return b.String() + "\n\n⚠ " + fmt.Sprintf(t.words.Unproven, strings.Join(figureTexts(unproven, 20), "; "))
}

// fileName matches what looks like the name of a file that could be delivered.
var fileName = regexp.MustCompile(`[\p{L}\p{N}_][\p{L}\p{N}_.()-]*\.(?i:csv|tsv|xlsx|ods|docx|odt|pptx|pdf|png|jpe?g|svg|html?|md|txt|json|zip)\b`)

// absentFiles gives the files that a message or its list names and that
// neither came with the request nor were made.
func (l *loop) absentFiles(args finishArgs) []string {
	known := map[string]bool{}
	for _, in := range l.w.inputs {
		known[in.Name] = true
	}
	for _, e := range l.w.log {
		for _, f := range e.puts {
			known[path.Base(f.Name)] = true
		}
		if e.program == nil {
			continue
		}
		for _, f := range e.program.Files {
			known[path.Base(f)] = true
		}
	}
	for _, name := range l.t.earlierFiles() {
		known[name] = true
	}
	var absent []string
	named := fileName.FindAllString(args.Message, -1)
	for _, name := range append(named, args.Files...) {
		base := path.Base(name)
		if !known[base] && !slices.ContainsFunc(keys(known), func(k string) bool { return strings.HasSuffix(k, " "+base) }) && !slices.Contains(absent, base) {
			absent = append(absent, base)
		}
	}
	return absent
}

// outsideFiles gives the listed files that exist, but not in /workspace/out:
// inputs, what helpers gave, and what programs wrote elsewhere.
func (l *loop) outsideFiles(listed []string) []string {
	out, elsewhere := map[string]bool{}, map[string]bool{}
	sort := func(name string) {
		name = strings.TrimPrefix(path.Clean(name), "/workspace/")
		if strings.HasPrefix(name, "out/") {
			out[path.Base(name)] = true
			return
		}
		elsewhere[path.Base(name)] = true
	}
	for _, in := range l.w.inputs {
		sort("in/" + in.Name)
	}
	for _, e := range l.w.log {
		for _, f := range e.puts {
			sort(f.Name)
		}
		if e.program == nil {
			continue
		}
		for _, f := range e.program.Files {
			sort(f)
		}
	}
	var outside []string
	for _, name := range listed {
		base := path.Base(path.Clean(name))
		if elsewhere[base] && !out[base] && !slices.Contains(outside, cleanLine(name, 120)) {
			outside = append(outside, cleanLine(name, 120))
		}
	}
	return outside
}

func keys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}
