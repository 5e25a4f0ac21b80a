package bot_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// talk is a platform where people talk, in short messages.
type talk struct{ *platform }

func (talk) Fits(message string) bool { return len(message) < 200 }

// TestAuxiliaryFiles shows which files go where: to a talk those that were asked
// for and those that an answer needs, and the others by name; elsewhere all.
func TestAuxiliaryFiles(t *testing.T) {
	const remark = "\n\nAlso made: `report.md`, `profile.json`. Ask for one by its name to get it here."
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		name, text, answer string
		talks              bool
		want               []string
	}{
		{"a talk", "weekly sales report", "42", true, []string{"answer: 42" + remark, "files: [chart.png]"}},
		{"a talk that asks by name", "report, and profile.json please", "42", true, []string{
			"answer: 42\n\nAlso made: `report.md`. Ask for one by its name to get it here.", "files: [chart.png][profile.json]",
		}},
		{"a talk that asks by kind", "the report as Markdown", "42", true, []string{
			"answer: 42\n\nAlso made: `profile.json`. Ask for one by its name to get it here.", "files: [chart.png][report.md]",
		}},
		{"a long answer", "report", long, true, []string{"answer: " + long, "files: [chart.png][report.md][profile.json]"}},
		{"no talk", "report", "42", false, []string{"answer: 42", "files: [chart.png][report.md][profile.json]"}},
		{"an open fence", "report", "```\n42", true, []string{"answer: ```\n42\n```" + remark, "files: [chart.png]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
				blob, err := run.Blobs.Put(ctx, strings.NewReader("content"), 0)
				file := func(name, kind string, auxiliary bool) bot.Artifact {
					return bot.Artifact{Name: name, MediaType: kind, Size: blob.Size, Blob: blob.SHA256, Auxiliary: auxiliary}
				}
				return bot.Outcome{State: bot.TaskDone, Message: c.answer, Files: []bot.Artifact{
					file("chart.png", "image/png", false), file("report.md", "text/markdown", true), file("profile.json", "application/json", true),
				}}, err
			}, func(o *bot.OrchestratorOptions) {
				if c.talks {
					o.Channels = map[string]bot.Channel{"test": talk{o.Channels["test"].(*platform)}}
				}
			})
			task := w.settle(w.ask("c1", "alice", c.text))
			w.idle()
			if got := withoutProgress(w.platform.messages()); !slices.Equal(got, c.want) {
				t.Errorf("sent %q\nwant %q", got, c.want)
			}
			if len(task.Outcome.Files) != 3 || len(task.Outcome.Undelivered) != 0 {
				t.Errorf("outcome %+v", task.Outcome)
			}
		})
	}
}
