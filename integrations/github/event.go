package github

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func itoa[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// Kinds of what a request was written in.
const (
	inComment = "comment" // a comment on an issue or pull request
	inReview  = "review"  // a review comment
	inIssue   = "issue"   // the text of an issue itself
	inNew     = "new"     // nothing yet: each task's answer opens an issue
)

// happening is a payload, or something a look for missed ones found, in the
// one shape that is decided on.
type happening struct {
	kind   string // inComment, inReview, inIssue
	action string // created, edited, deleted, opened, labeled
	id     int64  // of the comment or issue
	body   string
	before *string // the text before an edit
	title  string
	label  string
	link   string

	repository   *github.Repository
	number       int
	pull         bool
	author       *github.User // of the text
	sender       *github.User // of the action
	issueBody    string
	created      time.Time
	updated      time.Time
	installation int64
	replyTo      int64 // the first review comment of its thread
}

// address is Origin.Address: all that is needed to answer.
type address struct {
	Repository   string `json:"repo"`   // "owner/name"
	Number       int    `json:"number"` // 0 where the issue is still to be opened
	Pull         bool   `json:"pull,omitempty"`
	Kind         string `json:"kind"`
	ID           int64  `json:"id"`
	Thread       int64  `json:"thread,omitempty"` // the review thread's first comment
	Author       string `json:"author,omitempty"` // of the text, where it is not the actor's
	Branch       string `json:"branch,omitempty"` // the default branch
	Installation int64  `json:"installation,omitempty"`
	// title is what the issue is called that an answer opens; the Origin says it.
	title string
}

func (a address) owner() string { owner, _, _ := strings.Cut(a.Repository, "/"); return owner }
func (a address) name() string  { _, name, _ := strings.Cut(a.Repository, "/"); return name }

func readAddress(origin bot.Origin) (address, error) {
	var a address
	if err := json.Unmarshal([]byte(origin.Address), &a); err != nil {
		return a, fmt.Errorf("read address: %w", err)
	}
	a.title = origin.Title
	if a.owner() == "" || a.name() == "" || (a.Number == 0) != (a.Kind == inNew) {
		return a, fmt.Errorf("read address: %q names no issue", origin.Address)
	}
	return a, nil
}

// Place returns what policies and destinations call a repository.
func Place(repository string) string { return Name + ":" + repository }

// Address returns an origin that leads to an issue or pull request, for what
// is posted there without having been asked there (a schedule's answer).
func Address(repository string, number int) bot.Origin {
	a, _ := json.Marshal(address{Repository: repository, Number: number, Kind: inIssue})
	return bot.Origin{
		Adapter: Name, Conversation: conversation(repository, number), Place: Place(repository), Address: string(a),
	}
}

// NewIssue returns an origin where each task's answer opens an issue of its own,
// called as Origin.Title says then.
func NewIssue(repository, title string) bot.Origin {
	a, _ := json.Marshal(address{Repository: repository, Kind: inNew})
	return bot.Origin{
		Adapter: Name, Conversation: Name + ":" + strings.ToLower(repository) + "#new", Place: Place(repository),
		Address: string(a), Title: title,
	}
}

func conversation(repository string, number int) string {
	return Name + ":" + strings.ToLower(repository) + "#" + itoa(number)
}

// fromPayload reads the events that can hold a request; nil for others.
func fromPayload(event any) *happening {
	switch e := event.(type) {
	case *github.IssueCommentEvent:
		h := fromComment(e.GetRepo(), e.GetIssue(), e.GetComment())
		h.action, h.sender, h.installation = e.GetAction(), e.GetSender(), e.GetInstallation().GetID()
		h.before = beforeEdit(e.Changes)
		return h
	case *github.PullRequestReviewCommentEvent:
		h := fromReview(e.GetRepo(), e.GetPullRequest().GetNumber(), e.GetComment())
		h.action, h.sender, h.installation = e.GetAction(), e.GetSender(), e.GetInstallation().GetID()
		h.before = beforeEdit(e.Changes)
		return h
	case *github.IssuesEvent:
		h := fromIssue(e.GetRepo(), e.GetIssue())
		h.action, h.sender, h.installation = e.GetAction(), e.GetSender(), e.GetInstallation().GetID()
		h.label = e.GetLabel().GetName()
		h.before = beforeEdit(e.Changes)
		return h
	}
	return nil
}

func beforeEdit(changes *github.EditChange) *string {
	if changes == nil || changes.Body == nil {
		return nil
	}
	before := changes.Body.GetFrom()
	return &before
}

func fromComment(repository *github.Repository, issue *github.Issue, comment *github.IssueComment) *happening {
	return &happening{
		kind: inComment, id: comment.GetID(), body: comment.GetBody(), link: comment.GetHTMLURL(),
		repository: repository, number: issue.GetNumber(), pull: issue.GetPullRequestLinks() != nil, author: comment.GetUser(),
		issueBody: issue.GetBody(), created: comment.GetCreatedAt().Time, updated: comment.GetUpdatedAt().Time,
	}
}

func fromReview(repository *github.Repository, number int, comment *github.PullRequestComment) *happening {
	thread := comment.GetInReplyTo()
	if thread == 0 {
		thread = comment.GetID()
	}
	return &happening{
		kind: inReview, id: comment.GetID(), body: comment.GetBody(), link: comment.GetHTMLURL(), replyTo: thread,
		repository: repository, number: number, pull: true, author: comment.GetUser(),
		created: comment.GetCreatedAt().Time, updated: comment.GetUpdatedAt().Time,
	}
}

func fromIssue(repository *github.Repository, issue *github.Issue) *happening {
	return &happening{
		kind: inIssue, id: issue.GetID(), body: issue.GetBody(), title: issue.GetTitle(), link: issue.GetHTMLURL(),
		repository: repository, number: issue.GetNumber(), pull: issue.GetPullRequestLinks() != nil, author: issue.GetUser(),
		created: issue.GetCreatedAt().Time, updated: issue.GetUpdatedAt().Time,
	}
}

func (h *happening) repositoryName() string { return h.repository.GetFullName() }

// source identifies the text: its later edits and its end find the task by it.
func (h *happening) source() string { return Name + ":" + h.kind + ":" + itoa(h.id) }

// at is when the text became what it is.
func (h *happening) at() time.Time {
	if h.action == "edited" || h.action == "labeled" {
		return h.updated
	}
	return h.created
}

// ignore says why nothing is done about h, looking at nothing but h itself;
// "" where something may be. Our own and other bots' texts come first: a bot
// that answers bots never stops.
func (a *Adapter) ignore(h *happening, self string) string {
	isBot := func(u *github.User) bool {
		return u.GetType() == "Bot" || strings.HasSuffix(u.GetLogin(), "[bot]") || strings.EqualFold(u.GetLogin(), self)
	}
	switch {
	case isBot(h.sender) || isBot(h.author):
		return "written by a bot"
	case h.author.GetLogin() == "" || h.sender.GetLogin() == "" || h.id == 0 || h.number == 0:
		return "incomplete"
	case !a.options.allowed(h.repositoryName()):
		return "repository is not allowed"
	case h.action == "labeled":
		if a.options.Label == "" || !strings.EqualFold(h.label, a.options.Label) {
			return "another label"
		}
		if read(h.body, a.options.Handle).called && h.updated.Sub(h.created) < time.Minute {
			return "the issue called the bot itself"
		}
		return ""
	case h.action == "deleted" || (h.kind == inIssue && h.action == "opened") || (h.kind != inIssue && h.action == "created"):
		return ""
	case h.action == "edited":
		if h.before == nil {
			return "the text did not change"
		}
		if !strings.EqualFold(h.sender.GetLogin(), h.author.GetLogin()) {
			return "edited by somebody else"
		}
		return ""
	}
	return "nothing to do on " + h.action
}

// decide turns h into an event; reason says why there is none.
func (a *Adapter) decide(h *happening) (event bot.Event, reason string) {
	said := read(h.body, a.options.Handle)
	before := h.before != nil && read(*h.before, a.options.Handle).called
	if h.action == "labeled" {
		said.called, said.command = true, ""
	}
	if said.command == "help" && h.title != "" {
		said.command = "" // the title is the request of an issue that only calls
	}
	event = a.event(h, said)
	switch {
	case !said.called && h.action == "edited" && before:
		return event, "the edit took the call away; /cancel stops the task"
	case !said.called:
		return event, "not called"
	case h.action == "deleted":
		event.Kind, event.Key = bot.EventDelete, h.source()+":deleted"
		event.Text, event.Inputs, event.NeedsRight = "", nil, false
	case said.command != "" && !isRequest(said):
		if h.action == "edited" {
			return event, "a command in an edit is not obeyed"
		}
		event.Kind = bot.EventCommand
		event.Command = bot.Command{Name: said.command, Args: said.args}
		event.Inputs = nil
	case h.action == "edited" && before:
		event.Kind = bot.EventEdit
		event.Key = h.source() + ":" + itoa(h.updated.Unix())
	case strings.Trim(event.Text, " \t\n.,:;!?") == "" && len(event.Inputs) == 0 && h.action != "edited":
		event.Kind, event.Command = bot.EventCommand, bot.Command{Name: "help"} // called, and nothing said
	case h.action == "labeled":
		event.Key = h.source() + ":label:" + itoa(h.updated.Unix())
	}
	return event, ""
}

// isRequest says that what looks like a command is a request with files of its
// own: "/run weekly-sales" runs a report as a task.
func isRequest(said reading) bool {
	return (said.command == "run" || said.command == "mend") && said.args != ""
}

// event is the request that h makes when it makes one.
func (a *Adapter) event(h *happening, said reading) bot.Event {
	repository := h.repositoryName()
	to := address{
		Repository: repository, Number: h.number, Pull: h.pull, Kind: h.kind, ID: h.id, Thread: h.replyTo,
		Branch: h.repository.GetDefaultBranch(), Installation: h.installation,
	}
	if !strings.EqualFold(h.author.GetLogin(), h.sender.GetLogin()) {
		to.Author = h.author.GetLogin()
	}
	encoded, _ := json.Marshal(to) // strings and numbers only: it cannot fail
	text := said.text
	if h.title != "" {
		text = strings.TrimSpace(h.title + "\n\n" + text)
	}
	return bot.Event{
		Key: h.source(), Kind: bot.EventRequest, Source: h.source(), Text: text,
		Origin: bot.Origin{
			Adapter: Name, Conversation: conversation(repository, h.number), Place: Place(repository),
			Address: string(encoded), Link: h.link,
		},
		Actor:      bot.Actor{ID: Name + ":" + h.sender.GetLogin(), Name: h.sender.GetLogin()},
		Inputs:     a.inputs(h, said, to),
		NeedsRight: true,
		Received:   a.options.Clock.Now(),
	}
}
