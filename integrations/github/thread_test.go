package github_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
)

// A question takes the progress comment's place; what follows the answer to it
// is a new comment.
func TestQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{runner: func(_ context.Context, run bot.Run) (bot.Outcome, error) {
		run.Report(bot.Progress{Now: "thinking"})
		if len(run.Task.Answers) == 0 {
			return bot.Outcome{State: bot.TaskWaiting, Question: &bot.Question{Text: "Net or gross, @ann?", Choices: []string{"net", "gross"}}}, nil
		}
		return bot.Outcome{State: bot.TaskDone, Message: "So it is " + run.Task.Answers[0].Text}, nil
	}})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper sum up")
	w.until("it asks", func() bool {
		got := w.answers(n)
		return len(got) == 1 && strings.Contains(got[0].Body, "Net or gross")
	})
	if body := w.one(n).Body; !strings.Contains(body, "- gross") || strings.Contains(body, "@ann") || !strings.Contains(body, "begins with `@sandpiper`") {
		t.Errorf("question %q", body)
	}
	w.hub.Comment(repo, n, "ann", "@sandpiper gross")
	w.idle(l)
	got := w.answers(n)
	if len(got) != 2 || !strings.Contains(got[0].Body, "Net or gross") || !strings.Contains(got[1].Body, "So it is gross") {
		t.Errorf("comments %+v", got)
	}
}

// A long answer is parted outside of fences, each part once, whatever is lost.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A paragraph of the answer with some words in it.\n\n", 1500) + "```text\n" + strings.Repeat("a line of code\n", 2000) + "```\n\nThe end."
	w := newWorld(t, setup{runner: func(context.Context, bot.Run) (bot.Outcome, error) {
		return bot.Outcome{State: bot.TaskDone, Message: long}, nil
	}})
	l := w.start()
	for range 3 {
		w.hub.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Kind: githubtest.LoseResponse})
	}
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper tell me everything")
	w.idle(l)
	got := w.answers(n)
	if len(got) != 3 {
		t.Fatalf("%d parts", len(got))
	}
	all := ""
	for i, c := range got {
		if size := utf8.RuneCountInString(c.Body); size > 60_000 {
			t.Errorf("part %d has %d characters", i, size)
		}
		if strings.Count(c.Body, "```")%2 != 0 {
			t.Errorf("part %d ends inside a fence", i)
		}
		all += c.Body
	}
	if strings.Count(all, "A paragraph") != 1500 || strings.Count(all, "a line of code") != 2000 || !strings.Contains(got[2].Body, "The end") {
		t.Error("something is missing")
	}
}

// A comment of somebody else that carries a marker of ours, or ours with a
// marker of another issue or task, is never taken for the answer; a deleted
// progress comment is no obstacle.
func TestForgedMarker(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, setup{runner: func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		run.Report(bot.Progress{Now: "working"})
		select {
		case <-release:
		case <-ctx.Done():
			return bot.Outcome{}, context.Cause(ctx)
		}
		return bot.Outcome{State: bot.TaskDone, Message: "The answer."}, nil
	}})
	l := w.start()
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, n, "ann", "@sandpiper work")
	w.until("it works", func() bool { return len(w.answers(n)) == 1 })
	progress := w.one(n)
	marker := progress.Body[strings.LastIndex(progress.Body, "\n<!--"):]
	w.hub.Comment(repo, n, "eve", "Not the answer."+marker)
	m := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, m, "sandpiper-bot", "Of another issue."+marker)
	w.hub.Comment(repo, n, "sandpiper-bot", "Quoted:"+marker+"\nand more")
	w.hub.DeleteComment(repo, progress.ID)
	close(release)
	w.idle(l)
	var answers []string
	for _, c := range w.hub.Comments(repo, n) {
		if strings.Contains(c.Body, "The answer.") {
			answers = append(answers, c.Author)
		}
		if c.Author == "eve" && !strings.HasPrefix(c.Body, "Not the answer.") {
			t.Error("somebody else's comment was edited")
		}
	}
	if len(answers) != 1 || answers[0] != "sandpiper-bot" {
		t.Errorf("answers by %v", answers)
	}
	if c := w.hub.Comments(repo, m); len(c) != 1 || !strings.HasPrefix(c[0].Body, "Of another issue.") {
		t.Errorf("the other issue: %+v", c)
	}
}

// An edit before the start replaces the request, its files included; one by a
// deletion ends it.
func TestEditAndDeleteWhileWaiting(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, setup{tune: func(o *bot.OrchestratorOptions) { o.Limits.Running = 1 }, runner: func(ctx context.Context, run bot.Run) (bot.Outcome, error) {
		select {
		case <-release:
		case <-ctx.Done():
			return bot.Outcome{}, context.Cause(ctx)
		}
		message := "On: " + run.Task.Event.Text
		for _, in := range run.Task.Inputs {
			message += " [" + in.Name + "]"
		}
		return bot.Outcome{State: bot.TaskDone, Message: message}, nil
	}})
	l := w.start()
	first := w.hub.OpenIssue(repo, "ann", "t", "b")
	w.hub.Comment(repo, first, "ann", "@sandpiper hold")
	w.until("the place is taken", func() bool { return len(w.answers(first)) == 1 })
	n := w.hub.OpenIssue(repo, "ann", "t", "b")
	edited := w.hub.Comment(repo, n, "ann", "@sandpiper old\n\n```csv name=old.csv\nx\n```")
	w.hub.Settle()
	w.hub.EditComment(repo, edited, "@sandpiper new\n\n```csv name=new.csv\nx\n```")
	m := w.hub.OpenIssue(repo, "ann", "t", "b")
	deleted := w.hub.Comment(repo, m, "ann", "@sandpiper forget this")
	w.hub.Settle()
	w.hub.DeleteComment(repo, deleted)
	w.hub.Settle()
	close(release)
	w.idle(l)
	if body := w.one(n).Body; !strings.Contains(body, "On: new") || strings.Contains(body, "old") || !strings.Contains(body, "[new.csv") {
		t.Errorf("edited: %q", body)
	}
	for _, c := range w.answers(m) {
		if strings.Contains(c.Body, "forget this") {
			t.Errorf("deleted: %q", c.Body)
		}
	}
}
