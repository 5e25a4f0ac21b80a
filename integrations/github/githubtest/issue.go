package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTitleRunes is GitHub's limit of a title, by its error message.
const maxTitleRunes = 256

// listIssues lists issues and pull requests, the newest first unless the caller
// asks otherwise. All are open here.
func (c *call) listIssues() (int, any) {
	out := []any{}
	if state := c.query("state"); state == "closed" {
		return http.StatusOK, out
	} else if !slices.Contains([]string{"", "open", "all"}, state) {
		return invalid("Issue", "state", "state is not one of open, closed, all")
	}
	since := c.since()
	var found []*issue
	for _, i := range c.repo.issues {
		if i.updated.Before(since) || c.query("creator") != "" && !strings.EqualFold(c.query("creator"), i.author.login) {
			continue
		}
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b *issue) int {
		order := int(a.number - b.number)
		if c.query("sort") == "updated" {
			if by := a.updated.Compare(b.updated); by != 0 {
				order = by
			}
		}
		if c.query("direction") != "asc" {
			order = -order
		}
		return order
	})
	for _, i := range page(c, found) {
		out = append(out, c.issueJSON(c.repo, i))
	}
	return http.StatusOK, out
}

func (c *call) issue() *issue { return c.repo.issues[c.number("number")] }

// noIssue is the answer about an issue that is not there: 410 where it was
// deleted.
func (c *call) noIssue() (int, any) {
	if slices.Contains(c.repo.deleted, c.number("number")) {
		return http.StatusGone, message("This issue was deleted")
	}
	return notFound()
}

func (c *call) getIssue() (int, any) {
	i := c.issue()
	if i == nil {
		return c.noIssue()
	}
	out := c.issueJSON(c.repo, i)
	c.rendered(out, i.body)
	return http.StatusOK, out
}

// issueFields are what of an issue can be written here. Labels and people are
// what the bot never sets.
type issueFields struct {
	Title json.RawMessage `json:"title"` // text or a number
	Body  *string         `json:"body"`
}

// check refuses what GitHub refuses; creating needs a title.
func (f issueFields) check(creating bool) (title string, status int, answer any) {
	switch raw := string(f.Title); {
	case raw == "" && creating:
		return "", http.StatusUnprocessableEntity, message("Invalid request.\n\n\"title\" wasn't supplied.")
	case raw == "":
	case json.Unmarshal(f.Title, &title) != nil:
		title = strings.Trim(raw, `"`)
	}
	switch {
	case len(f.Title) > 0 && strings.TrimSpace(title) == "":
		status, answer = http.StatusUnprocessableEntity, map[string]any{
			"message": "Validation Failed", "documentation_url": "https://docs.github.com/rest",
			"errors": []any{map[string]string{"resource": "Issue", "field": "title", "code": "missing_field"}},
		}
	case utf8.RuneCountInString(title) > maxTitleRunes:
		status, answer = invalid("Issue", "title", fmt.Sprintf("title is too long (maximum is %d characters)", maxTitleRunes))
	case f.Body != nil && utf8.RuneCountInString(*f.Body) > maxCommentRunes:
		status, answer = invalid("Issue", "body", fmt.Sprintf("body is too long (maximum is %d characters)", maxCommentRunes))
	}
	return title, status, answer
}

// createIssue opens an issue as whoever may read the repository.
func (c *call) createIssue() (int, any) {
	switch {
	case c.repo.archived:
		return http.StatusForbidden, message("Repository was archived so is read-only.")
	case c.repo.noIssues:
		return http.StatusGone, message("Issues are disabled for this repo")
	}
	var in issueFields
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	title, status, answer := in.check(true)
	if status != 0 {
		return status, answer
	}
	made := &issue{author: c.caller.user, title: title}
	if in.Body != nil {
		made.body = *in.Body
	}
	return http.StatusCreated, c.issueJSON(c.repo, c.enroll(c.repo, made))
}

// editIssue changes an issue's title or text, as its author or somebody who may
// write.
func (c *call) editIssue() (int, any) {
	i := c.issue()
	if i == nil {
		return c.noIssue()
	}
	if status, answer := c.needPulls(i, "write"); status != 0 {
		return status, answer
	}
	if c.repo.archived {
		return http.StatusForbidden, message("Repository was archived so is read-only.")
	}
	if i.author != c.caller.user && rank(c.repo.permission(c.caller.user.login)) < rank("write") {
		return http.StatusForbidden, message("Must have admin rights to Repository.")
	}
	var in issueFields
	if status, answer := c.decode(&in); status != 0 {
		return status, answer
	}
	title, status, answer := in.check(false)
	if status != 0 {
		return status, answer
	}
	changes := map[string]any{}
	if len(in.Title) > 0 && title != i.title {
		changes["title"] = map[string]any{"from": i.title}
		i.title = title
	}
	if in.Body != nil && *in.Body != i.body {
		changes["body"] = map[string]any{"from": i.body}
		i.body = *in.Body
	}
	i.updated = c.options.Now()
	c.emit(c.repo, "issues", "edited", c.caller.user, map[string]any{"issue": c.issueJSON(c.repo, i), "changes": changes})
	return http.StatusOK, c.issueJSON(c.repo, i)
}
