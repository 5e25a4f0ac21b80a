package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

// issueText stands for an issue's own text where comments have their ids.
const issueText int64 = -1

// errNoIssue says that what belongs into a task's issue has none.
var errNoIssue = errors.New("its issue was not opened")

// sendNew makes a delivery to an issue that the task opens: its answer is the
// issue's own text, and all else goes where it goes in any issue. Nobody is told
// no by a new issue.
func (a *Adapter) sendNew(ctx context.Context, to address, d bot.Delivery) (bot.Receipt, error) {
	if d.State == bot.TaskRefused || d.Kind == bot.DeliverNotice && d.Task == "" {
		return bot.Receipt{ID: "silent", At: a.options.Clock.Now()}, nil
	}
	switch d.Kind {
	case bot.DeliverProgress:
		return a.endProgress(ctx, d)
	case bot.DeliverAnswer, bot.DeliverQuestion:
		return a.sendAnswer(ctx, to, d)
	}
	t, err := a.readThread(ctx, threadKey(d.Task, d.Origin))
	if err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	if t.Issue == 0 && d.Kind == bot.DeliverNotice && d.State == bot.TaskDone {
		return a.sendAnswer(ctx, to, d) // words of their own, not about an answer that has no issue
	}
	if t.Issue == 0 {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: errNoIssue}
	}
	if d.Kind == bot.DeliverFiles {
		return a.sendFiles(ctx, t.in(to), d)
	}
	return a.sendNotice(ctx, t.in(to), d)
}

// in is where the thread's comments stand: to, or the issue that was opened.
func (t *thread) in(to address) address {
	if to.Kind == inNew {
		to.Number = t.Issue
	}
	return to
}

// keep remembers what stands for a part, and forgets those after it.
func (t *thread) keep(part int, p posted) {
	t.Comments = append(t.Comments[:part], p.id)
	if p.id == issueText {
		t.Issue = p.number
	}
}

// markedIn is the address that a text's mark is made for. An issue's own text
// is marked before it has a number.
func markedIn(to address, id int64) address {
	if id == issueText {
		to.Number = 0
	}
	return to
}

// before says which of two texts for one slot is the one that counts.
func (p posted) before(other posted) bool {
	if p.id == issueText && other.id == issueText {
		return p.number < other.number
	}
	return p.id < other.id
}

// gone says that what was to be edited is deleted: a comment or an issue.
func gone(err error) bool {
	status := statusOf(err)
	return status == http.StatusNotFound || status == http.StatusGone
}

// titleOf is the issue's title: inert, one line, within GitHub's limit.
func titleOf(to address) string {
	if title := inert.Title(to.title); title != "" {
		return title
	}
	return "Report"
}

func (a *Adapter) openIssue(ctx context.Context, client *github.Client, to address, body string) (posted, error) {
	title := titleOf(to)
	made, _, err := client.Issues.Create(ctx, to.owner(), to.name(), &github.IssueRequest{Title: &title, Body: &body})
	if err != nil {
		return posted{}, fmt.Errorf("open issue: %w", a.clients.explain(err))
	}
	return posted{id: issueText, number: made.GetNumber(), link: made.GetHTMLURL()}, nil
}

func (a *Adapter) editIssue(ctx context.Context, client *github.Client, to address, body string) (posted, error) {
	made, _, err := client.Issues.Edit(ctx, to.owner(), to.name(), to.Number, &github.IssueRequest{Body: &body})
	if err != nil {
		return posted{}, fmt.Errorf("edit issue: %w", a.clients.explain(err))
	}
	return posted{id: issueText, number: to.Number, link: made.GetHTMLURL()}, nil
}

// issueNow reads an issue's own text as it stands.
func (a *Adapter) issueNow(ctx context.Context, client *github.Client, to address) (posted, error) {
	found, _, err := client.Issues.Get(ctx, to.owner(), to.name(), to.Number)
	if err != nil {
		return posted{}, fmt.Errorf("read issue: %w", a.clients.explain(err))
	}
	return ownText(found), nil
}

func ownText(issue *github.Issue) posted {
	return posted{id: issueText, number: issue.GetNumber(), author: issue.GetUser().GetLogin(), body: issue.GetBody(), link: issue.GetHTMLURL()}
}

// standing lists what of ours stands since a time where a task's answer goes, by
// what it shows: comments and, where the task opens an issue, that issue's text.
func (a *Adapter) standing(ctx context.Context, to address, task string, since time.Time) (map[slot]posted, error) {
	if to.Kind != inNew {
		return a.ours(ctx, to, since)
	}
	opened, err := a.opened(ctx, to, task, since)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(opened)
	for _, p := range opened {
		to.Number = p.number
		comments, err := a.ours(ctx, to, since)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, comments)
	}
	return out, nil
}

// opened lists the issues that we opened for a task since a time, closed ones
// too: only our own author with a valid mark counts.
func (a *Adapter) opened(ctx context.Context, to address, task string, since time.Time) (map[slot]posted, error) {
	self, err := a.login(ctx)
	if err != nil {
		return nil, err
	}
	client, err := a.client(ctx, to)
	if err != nil {
		return nil, err
	}
	to.Number = 0
	since = since.Add(-clockSlack)
	out := map[slot]posted{}
	page := github.ListOptions{PerPage: 100}
	for {
		list, response, err := client.Issues.ListByRepo(ctx, to.owner(), to.name(), &github.IssueListByRepoOptions{
			State: "all", Sort: "created", Direction: "desc", Since: since, ListOptions: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list issues: %w", a.clients.explain(err))
		}
		for _, issue := range list {
			if issue.GetCreatedAt().Before(since) {
				return out, nil // older ones were merely changed since
			}
			p := ownText(issue)
			if s, ok := a.readMarker(to, p.body); ok && s.task == task && strings.EqualFold(p.author, self) {
				if have, twice := out[s]; !twice || p.before(have) {
					out[s] = p
				}
			}
		}
		if response.NextPage == 0 {
			return out, nil
		}
		page.Page = response.NextPage
	}
}
