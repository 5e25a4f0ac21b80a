package schedules

import (
	"regexp"
	"strings"
)

// newIssue is what people write of an issue that each answer is to open.
type newIssue struct {
	title      string
	repository string // "owner/name"; "" is the event's own
}

const (
	repositoryWords = `(?:\s+(?:in|at|в|во)\s+([\w.-]+/[\w.-]*\w))`
	newIssueWords   = `(?i)(?:^|\s)(?:(?:as|in|into|to|как|в|во|и|and)\s+)*(?:an?\s+)?(?:new|separate|нов\pL+|отдельн\pL+)\s+(?:github\s+)?(?:issue|задач\pL*|тикет\pL*|ишью)` +
		`(?:\s+(?:(?:each|every)\s+time|каждый\s+раз))?` + repositoryWords + `?`
	titledWords = `\s*,?\s+(?:titled|called|named|entitled|with\s+(?:the\s+|a\s+)?title|с\s+(?:заголовком|названием)|под\s+названием|озаглавленн\pL+)\s+`
)

var (
	newIssueForm = regexp.MustCompile(newIssueWords + `(?:[.,;]?\s|[.,;]?$)`)
	quotedForm   = regexp.MustCompile(newIssueWords + titledWords + "(?:\"([^\"]*)\"|“([^”]*)”|«([^»]*)»|'([^']*)'|`([^`]*)`)" + repositoryWords + `?(?:[.,;]?\s|[.,;]?$)`)
	plainForm    = regexp.MustCompile(newIssueWords + titledWords + `(.+?)(?:` + repositoryWords + `(?:[.,;]?\s|[.,;]?$)|$)`)
)

// newIssueIn takes "as a new issue titled … in owner/name" out of a request: what
// a title says is neither a time nor a place nor a file. Without such words the
// request comes back whole.
func newIssueIn(text string) (*newIssue, string, error) {
	for _, form := range []*regexp.Regexp{quotedForm, plainForm} {
		m := form.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		var group []string
		for i := 2; i < len(m); i += 2 {
			if m[i] < 0 {
				group = append(group, "")
				continue
			}
			group = append(group, strings.TrimSpace(text[m[i]:m[i+1]]))
		}
		found := &newIssue{title: strings.Join(group[1:len(group)-1], ""), repository: group[0] + group[len(group)-1]}
		if group[0] != "" && group[len(group)-1] != "" {
			found.repository = group[len(group)-1]
		}
		if found.title == "" {
			break
		}
		return found, strings.TrimSpace(text[:m[0]] + " " + text[m[1]:]), nil
	}
	if newIssueForm.MatchString(text) {
		return nil, text, user("for instance `as a new issue titled \"Weekly sales, {{date}}\"`; there are "+titleVocabulary(), "What should the new issues be called?")
	}
	return nil, text, nil
}
