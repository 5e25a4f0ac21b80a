package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// posted is a comment as it stands, of an issue or of a review.
type posted struct {
	id     int64 // issueText for that of an issue itself
	number int   // of the issue whose own text it is
	author string
	body   string
	link   string
}

// create makes a comment where the request came from, or opens the issue that
// the answer is to have.
func (a *Adapter) create(ctx context.Context, to address, body string) (posted, error) {
	client, err := a.client(ctx, to)
	if err != nil {
		return posted{}, err
	}
	if to.Kind == inNew && to.Number == 0 {
		return a.openIssue(ctx, client, to, body)
	}
	if to.Kind == inReview {
		made, _, err := client.PullRequests.CreateCommentInReplyTo(ctx, to.owner(), to.name(), to.Number, body, to.Thread)
		if err != nil {
			return posted{}, fmt.Errorf("create review comment: %w", a.clients.explain(err))
		}
		return posted{id: made.GetID(), link: made.GetHTMLURL()}, nil
	}
	made, _, err := client.Issues.CreateComment(ctx, to.owner(), to.name(), to.Number, &github.IssueComment{Body: &body})
	if err != nil {
		return posted{}, fmt.Errorf("create comment: %w", a.clients.explain(err))
	}
	return posted{id: made.GetID(), link: made.GetHTMLURL()}, nil
}

// edit replaces a comment's text. Done twice it does nothing more.
func (a *Adapter) edit(ctx context.Context, to address, id int64, body string) (posted, error) {
	client, err := a.client(ctx, to)
	if err != nil {
		return posted{}, err
	}
	if id == issueText {
		return a.editIssue(ctx, client, to, body)
	}
	if to.Kind == inReview {
		made, _, err := client.PullRequests.EditComment(ctx, to.owner(), to.name(), id, &github.PullRequestComment{Body: &body})
		if err != nil {
			return posted{}, fmt.Errorf("edit review comment: %w", a.clients.explain(err))
		}
		return posted{id: id, link: made.GetHTMLURL()}, nil
	}
	made, _, err := client.Issues.EditComment(ctx, to.owner(), to.name(), id, &github.IssueComment{Body: &body})
	if err != nil {
		return posted{}, fmt.Errorf("edit comment: %w", a.clients.explain(err))
	}
	return posted{id: id, link: made.GetHTMLURL()}, nil
}

// current reads a comment as it stands.
func (a *Adapter) current(ctx context.Context, to address, id int64) (posted, error) {
	client, err := a.client(ctx, to)
	if err != nil {
		return posted{}, err
	}
	if id == issueText {
		return a.issueNow(ctx, client, to)
	}
	if to.Kind == inReview {
		found, _, err := client.PullRequests.GetComment(ctx, to.owner(), to.name(), id)
		if err != nil {
			return posted{}, fmt.Errorf("read review comment: %w", a.clients.explain(err))
		}
		return posted{id: id, author: found.GetUser().GetLogin(), body: found.GetBody(), link: found.GetHTMLURL()}, nil
	}
	found, _, err := client.Issues.GetComment(ctx, to.owner(), to.name(), id)
	if err != nil {
		return posted{}, fmt.Errorf("read comment: %w", a.clients.explain(err))
	}
	return posted{id: id, author: found.GetUser().GetLogin(), body: found.GetBody(), link: found.GetHTMLURL()}, nil
}

// clockSlack is how far GitHub's clock and ours may be apart when comments
// are listed since a time.
const clockSlack = 10 * time.Minute

// ours lists the comments since a time that we wrote and signed for this
// issue, by what they show.
func (a *Adapter) ours(ctx context.Context, to address, since time.Time) (map[slot]posted, error) {
	self, err := a.login(ctx)
	if err != nil {
		return nil, err
	}
	client, err := a.client(ctx, to)
	if err != nil {
		return nil, err
	}
	since = since.Add(-clockSlack)
	out := map[slot]posted{}
	keep := func(p posted) {
		if s, ok := a.readMarker(to, p.body); ok && strings.EqualFold(p.author, self) {
			out[s] = p
		}
	}
	page := github.ListOptions{PerPage: 100}
	for {
		var response *github.Response
		if to.Kind == inReview {
			var list []*github.PullRequestComment
			list, response, err = client.PullRequests.ListComments(ctx, to.owner(), to.name(), to.Number,
				&github.PullRequestListCommentsOptions{Since: since, ListOptions: page})
			for _, c := range list {
				keep(posted{id: c.GetID(), author: c.GetUser().GetLogin(), body: c.GetBody(), link: c.GetHTMLURL()})
			}
		} else {
			var list []*github.IssueComment
			list, response, err = client.Issues.ListComments(ctx, to.owner(), to.name(), to.Number,
				&github.IssueListCommentsOptions{Since: &since, ListOptions: page})
			for _, c := range list {
				keep(posted{id: c.GetID(), author: c.GetUser().GetLogin(), body: c.GetBody(), link: c.GetHTMLURL()})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("list comments: %w", a.clients.explain(err))
		}
		if response.NextPage == 0 {
			return out, nil
		}
		page.Page = response.NextPage
	}
}

// react puts a reaction on what the request was written in. GitHub keeps one
// of a kind, so doing it twice does nothing more.
func (a *Adapter) react(ctx context.Context, to address, content string) error {
	if to.ID == 0 {
		return nil
	}
	client, err := a.client(ctx, to)
	if err != nil {
		return err
	}
	switch to.Kind {
	case inReview:
		_, _, err = client.Reactions.CreatePullRequestCommentReaction(ctx, to.owner(), to.name(), to.ID, content)
	case inComment:
		_, _, err = client.Reactions.CreateIssueCommentReaction(ctx, to.owner(), to.name(), to.ID, content)
	default:
		_, _, err = client.Reactions.CreateIssueReaction(ctx, to.owner(), to.name(), to.Number, content)
	}
	if err != nil && statusOf(err) != http.StatusNotFound {
		return fmt.Errorf("react: %w", a.clients.explain(err))
	}
	return nil
}
