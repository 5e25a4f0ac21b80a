package github

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"
)

// person, place and the others have the members that GitHub documents for
// webhook payloads, those that nobody here reads included.
func person(login, kind string) map[string]any {
	return map[string]any{
		"login": login, "id": 21031067, "node_id": "MDQ6VXNlcjIx", "avatar_url": "https://avatars1.githubusercontent.com/u/1?v=4", "gravatar_id": "",
		"url": "https://api.github.com/users/" + login, "html_url": "https://github.com/" + login, "type": kind, "site_admin": false,
	}
}

func place() map[string]any {
	return map[string]any{
		"id": 186853002, "node_id": "MDEwOlJlcG9zaXRvcnk=", "name": "sales", "full_name": "octo/sales", "private": false, "owner": person("octo", "Organization"),
		"html_url": "https://github.com/octo/sales", "description": nil, "fork": false, "url": "https://api.github.com/repos/octo/sales",
		"created_at": "2019-05-15T15:19:25Z", "pushed_at": "2019-05-15T15:20:33Z", "has_pages": true, "license": nil, "topics": []any{}, "visibility": "public", "default_branch": "master",
	}
}

func reactions() map[string]any {
	return map[string]any{"url": "https://api.github.com/x/reactions", "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0}
}

func anIssue(body any) map[string]any {
	return map[string]any{
		"url": "https://api.github.com/repos/octo/sales/issues/1", "html_url": "https://github.com/octo/sales/issues/1", "id": 444500041, "node_id": "MDU6SXNzdWU=",
		"number": 1, "title": "Spelling error", "user": person("ann", "User"), "labels": []any{map[string]any{"id": 1, "name": "bug", "color": "d73a4a", "default": true}},
		"state": "open", "locked": false, "assignee": nil, "assignees": []any{}, "milestone": nil, "comments": 0, "author_association": "NONE", "active_lock_reason": nil,
		"created_at": "2019-05-15T15:20:18Z", "updated_at": "2019-05-15T16:20:21Z", "closed_at": nil, "body": body, "reactions": reactions(), "performed_via_github_app": nil,
	}
}

func aPull() map[string]any {
	pull := anIssue("a change")
	maps.Copy(pull, map[string]any{"number": 2, "head": map[string]any{"ref": "changes", "sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821"}, "base": map[string]any{"ref": "master"}, "merge_commit_sha": nil, "draft": false})
	return pull
}

func aComment(body, kind string) map[string]any {
	return map[string]any{
		"url": "https://api.github.com/repos/octo/sales/issues/comments/492700400", "html_url": "https://github.com/octo/sales/issues/1#issuecomment-492700400",
		"issue_url": "https://api.github.com/repos/octo/sales/issues/1", "id": 492700400, "node_id": "MDEy", "user": person("ann", kind),
		"created_at": "2019-05-15T15:20:21Z", "updated_at": "2019-05-15T15:20:21Z", "author_association": "OWNER", "body": body, "reactions": reactions(), "performed_via_github_app": nil,
	}
}

// TestPayloads decides on every event and action that GitHub can send of the
// three that the App subscribes to, in the shapes it documents.
func TestPayloads(t *testing.T) {
	t.Parallel()
	const call = "@sandpiper plot"
	type m = map[string]any
	changed := func(from string) m { return m{"body": m{"from": from}} }
	for _, c := range []struct {
		event, action string
		members       m
		want          string // "kind key" of the event, or the reason
	}{
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment(call, "User")}, "request github:comment:492700400"},
		{"issue_comment", "created", m{"issue": anIssue(nil), "comment": aComment(call, "User"), "installation": m{"id": 375706, "node_id": "x"}}, "request github:comment:492700400"},
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment("no call", "User")}, "not called"},
		{"issue_comment", "created", m{"issue": anIssue(call), "comment": aComment("> "+call, "User")}, "not called"},
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment(call, "Bot")}, "written by a bot"},
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment(call, "User"), "sender": person("dependabot[bot]", "Bot")}, "written by a bot"},
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment("@sandpiper /status", "User")}, "command github:comment:492700400"},
		{"issue_comment", "created", m{"issue": anIssue("b"), "comment": aComment(" @sandpiper! \n", "User")}, "command github:comment:492700400"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment(call, "User"), "changes": changed("no call")}, "request github:comment:492700400"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment(call, "User"), "changes": changed("@sandpiper draw")}, "edit github:comment:492700400:1557933621"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment("no call", "User"), "changes": changed(call)}, "the edit took the call away"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment("@sandpiper /cancel", "User"), "changes": changed("x")}, "a command in an edit is not obeyed"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment(call, "User"), "changes": changed("x"), "sender": person("maintainer", "User")}, "edited by somebody else"},
		{"issue_comment", "edited", m{"issue": anIssue("b"), "comment": aComment(call, "User"), "changes": m{}}, "the text did not change"},
		{"issue_comment", "deleted", m{"issue": anIssue("b"), "comment": aComment(call, "User")}, "delete github:comment:492700400:deleted"},
		{"issue_comment", "deleted", m{"issue": anIssue("b"), "comment": aComment("no call", "User")}, "not called"},
		{"issue_comment", "pinned", m{"issue": anIssue("b"), "comment": aComment(call, "User")}, "nothing to do on pinned"},
		{"pull_request_review_comment", "created", m{"pull_request": aPull(), "comment": aComment(call, "User")}, "request github:review:492700400"},
		{"pull_request_review_comment", "edited", m{"pull_request": aPull(), "comment": aComment(call, "User"), "changes": changed("x")}, "request github:review:492700400"},
		{"pull_request_review_comment", "deleted", m{"pull_request": aPull(), "comment": aComment(call, "User")}, "delete github:review:492700400:deleted"},
		{"issues", "opened", m{"issue": anIssue(call)}, "request github:issue:444500041"},
		{"issues", "opened", m{"issue": anIssue(nil)}, "not called"},
		{"issues", "opened", m{"issue": anIssue(call), "changes": m{"old_issue": m{}, "old_repository": m{}}}, "request github:issue:444500041"},
		{"issues", "edited", m{"issue": anIssue(call), "changes": m{"title": m{"from": "x"}}}, "the text did not change"},
		{"issues", "edited", m{"issue": anIssue(call), "changes": changed("x")}, "request github:issue:444500041"},
		{"issues", "labeled", m{"issue": anIssue("b"), "label": m{"id": 1, "name": "Analyse", "color": "d73a4a"}, "sender": person("boss", "User")}, "request github:issue:444500041:label:1557937221"},
		{"issues", "labeled", m{"issue": anIssue("b"), "label": m{"id": 1, "name": "bug"}}, "another label"},
		{"issues", "deleted", m{"issue": anIssue(call)}, "delete github:issue:444500041:deleted"},
		{"issues", "assigned", nil, ""},
		{"issues", "unassigned", nil, ""},
		{"issues", "unlabeled", nil, ""},
		{"issues", "closed", nil, ""},
		{"issues", "reopened", nil, ""},
		{"issues", "locked", nil, ""},
		{"issues", "unlocked", nil, ""},
		{"issues", "pinned", nil, ""},
		{"issues", "unpinned", nil, ""},
		{"issues", "milestoned", nil, ""},
		{"issues", "demilestoned", nil, ""},
		{"issues", "transferred", nil, ""},
		{"issues", "typed", nil, ""},
		{"issues", "untyped", nil, ""},
	} {
		if c.members == nil {
			c.members, c.want = m{"issue": anIssue(call)}, "nothing to do on "+c.action
		}
		payload := m{"action": c.action, "repository": place(), "sender": person("ann", "User"), "organization": person("octo", "Organization")}
		maps.Copy(payload, c.members)
		data, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := github.ParseWebHook(c.event, data)
		if err != nil {
			t.Errorf("%s %s: %v", c.event, c.action, err)
			continue
		}
		a := &Adapter{}
		a.options.Repositories, a.options.Label = []string{"Octo/Sales"}, "analyse"
		a.options.setDefaults()
		h := fromPayload(parsed)
		got := a.ignore(h, "sandpiper-bot")
		if got == "" {
			event, reason := a.decide(h)
			if got = reason; reason == "" {
				got = string(event.Kind) + " " + event.Key
				to, err := readAddress(event.Origin)
				if err != nil || to.Repository != "octo/sales" || event.Origin.Place != "github:octo/sales" || !strings.HasPrefix(event.Origin.Conversation, "github:octo/sales#") {
					t.Errorf("%s %s: origin %+v %v", c.event, c.action, event.Origin, err)
				}
				if event.Kind == "request" && (!event.NeedsRight || !strings.Contains(event.Text+"plot", "plot")) {
					t.Errorf("%s %s: %+v", c.event, c.action, event)
				}
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.event, c.action, got, c.want)
		}
	}
}
