package slacktest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
)

// Transcript is a channel as a person would see it: who said what, threads
// under their roots, files, reactions and buttons.
func (w *Workspace) Transcript(channel string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	name := channel
	if c := w.channels[channel]; c != nil {
		if name = "#" + c.Name; c.IM != "" {
			name = "direct message with " + w.name(c.IM)
		}
	}
	fmt.Fprintf(&out, "── %s ──\n", name)
	for _, m := range w.messages[channel] {
		if m.Deleted || m.Lost || m.ThreadTS != "" && m.ThreadTS != m.TS {
			continue
		}
		w.render(&out, m, "")
		w.renderReplies(&out, channel, m.TS)
	}
	for _, m := range w.messages[channel] {
		if !m.Deleted && m.Lost {
			fmt.Fprintf(&out, "(lost: a reply to %s, which is no root) %s\n", m.ThreadTS, firstLine(m.Shown()))
		}
	}
	return out.String()
}

func (w *Workspace) renderReplies(out *strings.Builder, channel, root string) {
	for _, m := range w.messages[channel] {
		if !m.Deleted && !m.Lost && m.ThreadTS == root && m.TS != root {
			w.render(out, m, "    ")
		}
	}
}

// render writes one message, each line behind indent.
func (w *Workspace) render(out *strings.Builder, m *Message, indent string) {
	head := w.name(m.User) + "  " + clock(m.TS)
	if m.OnlyFor != "" {
		head += "  (only visible to " + w.name(m.OnlyFor) + ")"
	}
	if m.Edits > 0 || m.EditedTS != "" {
		head += "  (edited)"
	}
	lines := []string{head}
	text := unescape(m.Text)
	if blocks, _ := parseBlocks(string(m.Blocks)); len(blocks) > 0 {
		text = strings.Join(blockLines(blocks), "\n")
	}
	if text = w.names(text); text != "" {
		lines = append(lines, strings.Split(text, "\n")...)
	}
	for _, f := range m.Files {
		lines = append(lines, fileLine(f))
	}
	if names := m.Buttons(); len(names) > 0 {
		lines = append(lines, "["+strings.Join(names, "] [")+"]")
	}
	if len(m.Reactions) > 0 {
		var names []string
		for name := range m.Reactions {
			names = append(names, ":"+name+":")
		}
		slices.Sort(names)
		lines = append(lines, strings.Join(names, " "))
	}
	for i, line := range lines {
		if i > 0 {
			line = "  " + line
		}
		out.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

// blockLines are the lines of text that blocks show.
func blockLines(blocks []block) []string {
	var lines []string
	for _, b := range blocks {
		switch b.Type {
		case "divider":
			lines = append(lines, "────")
		case "context":
			var parts []string
			for _, raw := range b.Elements {
				parts = append(parts, unescape(asText(raw).Text))
			}
			lines = append(lines, strings.Join(parts, "  ·  "))
		case "actions":
		default:
			o := b.text()
			if o.Text != "" && o.Type == "markdown" {
				lines = append(lines, unescape(unmark(o.Text)))
			} else if o.Text != "" {
				lines = append(lines, unescape(o.Text))
			}
			for _, f := range b.Fields {
				lines = append(lines, unescape(f.Text))
			}
		}
	}
	return lines
}

// unmark takes Markdown's backslashes away, outside code.
func unmark(text string) string {
	var out strings.Builder
	code := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '`' && (i == 0 || text[i-1] != '\\'):
			code = !code
		case !code && text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\\`*_{}[]()<>#+-.!|~&@:$\"", text[i+1]) >= 0:
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// names puts people's names where their ids are mentioned. The caller holds mu.
func (w *Workspace) names(text string) string {
	for id := range w.users {
		text = strings.ReplaceAll(text, "<@"+id+">", "@"+w.name(id))
	}
	return text
}

func fileLine(f *File) string {
	line := fmt.Sprintf("📎 %s (%s)", f.Name, size(f.Size))
	if f.Alt != "" {
		line += " “" + f.Alt + "”"
	}
	return line
}

func size(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}

func clock(ts string) string {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return ts
	}
	return time.Unix(n, 0).UTC().Format("15:04:05")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}
