package githubtest

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxCommentRunes is GitHub's limit of a body, by its error message.
const maxCommentRunes = 65536

func issueRoutes() []route {
	return []route{
		{pattern: "GET /repos/{owner}/{repo}/issues", permission: "issues:read", handle: (*call).listIssues},
		{pattern: "GET /repos/{owner}/{repo}/issues/{number}", permission: "issues:read", handle: (*call).getIssue},
		{pattern: "POST /repos/{owner}/{repo}/issues", permission: "issues:write", content: true, handle: (*call).createIssue},
		{pattern: "PATCH /repos/{owner}/{repo}/issues/{number}", permission: "issues:write", content: true, handle: (*call).editIssue},
		{pattern: "GET /repos/{owner}/{repo}/issues/{number}/comments", permission: "issues:read", handle: (*call).listIssueComments},
		{pattern: "GET /repos/{owner}/{repo}/issues/comments", permission: "issues:read", handle: func(c *call) (int, any) { return c.listComments(nil, false) }},
		{pattern: "GET /repos/{owner}/{repo}/issues/comments/{id}", permission: "issues:read", handle: func(c *call) (int, any) { return c.getComment(false) }},
		{pattern: "POST /repos/{owner}/{repo}/issues/{number}/comments", permission: "issues:write", content: true, handle: (*call).createIssueComment},
		{pattern: "PATCH /repos/{owner}/{repo}/issues/comments/{id}", permission: "issues:write", content: true, handle: func(c *call) (int, any) { return c.editComment(false) }},
		{pattern: "DELETE /repos/{owner}/{repo}/issues/comments/{id}", permission: "issues:write", handle: func(c *call) (int, any) { return c.deleteComment(false) }},
		{pattern: "POST /repos/{owner}/{repo}/issues/{number}/reactions", permission: "issues:write", handle: (*call).reactToIssue},
		{pattern: "POST /repos/{owner}/{repo}/issues/comments/{id}/reactions", permission: "issues:write", handle: func(c *call) (int, any) { return c.reactToComment(false) }},
	}
}

func reviewRoutes() []route {
	return []route{
		{pattern: "GET /repos/{owner}/{repo}/pulls/{number}", permission: "pull_requests:read", handle: (*call).getPull},
		{pattern: "GET /repos/{owner}/{repo}/pulls/comments", permission: "pull_requests:read", handle: func(c *call) (int, any) { return c.listComments(nil, true) }},
		{pattern: "GET /repos/{owner}/{repo}/pulls/{number}/comments", permission: "pull_requests:read", handle: (*call).listReviewComments},
		{pattern: "GET /repos/{owner}/{repo}/pulls/comments/{id}", permission: "pull_requests:read", handle: func(c *call) (int, any) { return c.getComment(true) }},
		{pattern: "POST /repos/{owner}/{repo}/pulls/{number}/comments", permission: "pull_requests:write", content: true, handle: (*call).createReviewComment},
		{pattern: "POST /repos/{owner}/{repo}/pulls/{number}/comments/{id}/replies", permission: "pull_requests:write", content: true, handle: (*call).replyToReview},
		{pattern: "PATCH /repos/{owner}/{repo}/pulls/comments/{id}", permission: "pull_requests:write", content: true, handle: func(c *call) (int, any) { return c.editComment(true) }},
		{pattern: "POST /repos/{owner}/{repo}/pulls/comments/{id}/reactions", permission: "pull_requests:write", handle: func(c *call) (int, any) { return c.reactToComment(true) }},
	}
}

// needPulls asks for the pull request's permission where an issue's call is
// about a pull request, as GitHub does.
func (c *call) needPulls(i *issue, level string) (int, any) {
	if i.pull == nil {
		return 0, nil
	}
	return c.permit("pull_requests:" + level)
}

func (c *call) since() time.Time {
	t, err := time.Parse(time.RFC3339, c.query("since"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// rendered adds body_html where the caller asked for it.
func (c *call) rendered(out map[string]any, body string) {
	accept := c.request.Header.Get("Accept")
	if !strings.Contains(accept, "full+json") && !strings.Contains(accept, "html+json") {
		return
	}
	text := html.EscapeString(body)
	for path, a := range c.state.attachments {
		if a.repo == c.repo && c.repo.visibility != "public" && a.image {
			signed := html.EscapeString(c.sign(a))
			text = strings.ReplaceAll(text, html.EscapeString(c.URL()+path), `<a href="`+signed+`"><img src="`+signed+`"></a>`)
		}
	}
	out["body_html"] = "<p dir=\"auto\">" + text + "</p>"
}

func (c *call) listIssueComments() (int, any) {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	return c.listComments(i, false)
}

func (c *call) listReviewComments() (int, any) {
	i := c.issue()
	if i == nil || i.pull == nil {
		return notFound()
	}
	return c.listComments(i, true)
}

func (c *call) listComments(of *issue, review bool) (int, any) {
	found := []*comment{}
	since := c.since()
	for _, each := range c.repo.comments {
		if each.review == review && (of == nil || each.issue == of) && !each.updated.Before(since) {
			found = append(found, each)
		}
	}
	if c.query("sort") == "updated" {
		slices.SortStableFunc(found, func(a, b *comment) int { return a.updated.Compare(b.updated) })
	}
	if c.query("direction") == "desc" {
		slices.Reverse(found)
	}
	out := []any{}
	for _, each := range page(c, found) {
		out = append(out, c.commentJSON(c.repo, each))
	}
	return http.StatusOK, out
}

func (c *call) getComment(review bool) (int, any) {
	found := c.repo.comment(c.number("id"), review)
	if found == nil {
		return notFound()
	}
	out := c.commentJSON(c.repo, found)
	c.rendered(out, found.body)
	return http.StatusOK, out
}

// readBody reads and checks the body of a new or edited comment.
func (c *call) readBody() (text string, status int, answer any) {
	var in struct {
		Body string `json:"body"`
	}
	if status, answer := c.decode(&in); status != 0 {
		return "", status, answer
	}
	if strings.TrimSpace(in.Body) == "" {
		status, answer = invalid("IssueComment", "body", "body is too short (minimum is 1 character)")
	} else if utf8.RuneCountInString(in.Body) > maxCommentRunes {
		status, answer = invalid("IssueComment", "body", fmt.Sprintf("body is too long (maximum is %d characters)", maxCommentRunes))
	}
	return in.Body, status, answer
}

func (c *call) addComment(i *issue, review bool) (*comment, int, any) {
	if status, answer := c.needPulls(i, "write"); status != 0 {
		return nil, status, answer
	}
	if i.locked && rank(c.repo.permission(c.caller.user.login)) < rank("write") && c.caller.installation == nil {
		return nil, http.StatusForbidden, message("Unable to create comment because issue is locked.")
	}
	text, status, answer := c.readBody()
	if status != 0 {
		return nil, status, answer
	}
	now := c.options.Now()
	made := &comment{id: c.state.id(), issue: i, author: c.caller.user, body: text, review: review, created: now, updated: now}
	if c.caller.installation != nil {
		made.app = c.state.app
	}
	c.repo.comments = append(c.repo.comments, made)
	i.updated = now
	return made, 0, nil
}

func (c *call) createIssueComment() (int, any) {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	made, status, answer := c.addComment(i, false)
	if status != 0 {
		return status, answer
	}
	c.emitComment(c.repo, made, "created", c.caller.user, "")
	return http.StatusCreated, c.commentJSON(c.repo, made)
}

func (c *call) replyToReview() (int, any) { return c.replyTo(c.number("id")) }

// createReviewComment takes replies only (in_reply_to): what GitHub needs to
// place a new comment in a diff is not kept here.
func (c *call) createReviewComment() (int, any) {
	var in struct {
		To int64 `json:"in_reply_to"`
	}
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	return c.replyTo(in.To)
}

func (c *call) replyTo(id int64) (int, any) {
	i, parent := c.issue(), c.repo.comment(id, true)
	if i == nil || parent == nil || parent.issue != i {
		return notFound()
	}
	made, status, answer := c.addComment(i, true)
	if status != 0 {
		return status, answer
	}
	made.replyTo, made.path = parent.id, parent.path
	c.emitComment(c.repo, made, "created", c.caller.user, "")
	return http.StatusCreated, c.commentJSON(c.repo, made)
}

func (c *call) editComment(review bool) (int, any) {
	found := c.repo.comment(c.number("id"), review)
	if found == nil {
		return notFound()
	}
	if status, answer := c.needPulls(found.issue, "write"); status != 0 {
		return status, answer
	}
	if found.author != c.caller.user && rank(c.repo.permission(c.caller.user.login)) < rank("write") {
		return http.StatusForbidden, message("Must have admin rights to Repository.")
	}
	text, status, answer := c.readBody()
	if status != 0 {
		return status, answer
	}
	before := found.body
	found.body, found.updated = text, c.options.Now()
	c.emitComment(c.repo, found, "edited", c.caller.user, before)
	return http.StatusOK, c.commentJSON(c.repo, found)
}

func (c *call) deleteComment(review bool) (int, any) {
	found := c.repo.comment(c.number("id"), review)
	if found == nil {
		return notFound()
	}
	c.repo.comments = slices.DeleteFunc(c.repo.comments, func(each *comment) bool { return each == found })
	c.emitComment(c.repo, found, "deleted", c.caller.user, "")
	return http.StatusNoContent, nil
}

func (c *call) reactToIssue() (int, any) {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	if status, answer := c.needPulls(i, "write"); status != 0 {
		return status, answer
	}
	return c.react(&i.reactions)
}

func (c *call) reactToComment(review bool) (int, any) {
	found := c.repo.comment(c.number("id"), review)
	if found == nil {
		return notFound()
	}
	if status, answer := c.needPulls(found.issue, "write"); status != 0 {
		return status, answer
	}
	return c.react(&found.reactions)
}

// react answers 201 for a new reaction and 200 for one that stood there.
func (c *call) react(list *[]*reaction) (int, any) {
	var in struct {
		Content string `json:"content"`
	}
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	if !slices.Contains([]string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}, in.Content) {
		return invalid("Reaction", "content", "content is not one of the reactions")
	}
	status := http.StatusOK
	at := slices.IndexFunc(*list, func(r *reaction) bool { return r.user == c.caller.user && r.content == in.Content })
	if at < 0 {
		status, at = http.StatusCreated, len(*list)
		*list = append(*list, &reaction{id: c.state.id(), user: c.caller.user, content: in.Content, created: c.options.Now()})
	}
	r := (*list)[at]
	return status, map[string]any{"id": r.id, "content": r.content, "user": c.userJSON(r.user), "created_at": stamp(r.created)}
}

func (c *call) getPull() (int, any) {
	i := c.issue()
	if i == nil || i.pull == nil {
		return notFound()
	}
	if strings.Contains(c.request.Header.Get("Accept"), "diff") {
		return http.StatusOK, raw{contentType: "application/vnd.github.diff; charset=utf-8", data: []byte(i.pull.diff)}
	}
	return http.StatusOK, c.pullJSON(c.repo, i)
}
