package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

// commitTries is how often a branch that moved meanwhile is tried again.
const commitTries = 6

// sendFiles commits the files of an answer and shows them in it. Each step can
// be repeated: objects are named by their content, and before the branch moves
// it is looked whether it holds the task's folder already.
func (a *Adapter) sendFiles(ctx context.Context, to address, d bot.Delivery) (bot.Receipt, error) {
	key := threadKey(d.Task, d.Origin)
	defer a.hold(key)()
	t, err := a.readThread(ctx, key)
	if err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	c := &committing{Adapter: a, to: to, d: d, asked: a.asked(ctx, d.Task)}
	note := ""
	if len(t.Files) == 0 {
		files, err := c.commit(ctx)
		t.Files, t.Lost = files, c.lost
		if denied, ok := errors.AsType[*deniedError](err); ok {
			note, t.Lost = c.instead(ctx, denied)
		} else if err != nil {
			return bot.Receipt{}, sendError(err, false)
		}
	}
	if note == "" && len(t.Lost) > 0 {
		note = undelivered(t.Lost)
	}
	shown := true
	if len(t.Files) > 0 || note != "" {
		if shown, err = a.showFiles(ctx, to, key, t, note); err != nil {
			return bot.Receipt{}, sendError(err, false)
		}
	}
	t.FilesSent, t.Untold = d.ID, !shown
	if err := a.writeThread(ctx, key, t); err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	receipt := bot.Receipt{ID: d.ID, Link: t.Link, At: a.options.Clock.Now(), Undelivered: t.Lost, Told: shown}
	if c.sha != "" {
		receipt.ID = c.sha
	}
	return receipt, nil
}

// asked is the text of a task's request; "" where it cannot be read.
func (a *Adapter) asked(ctx context.Context, id string) string {
	task, err := a.options.History.Task(ctx, id)
	if err != nil {
		return ""
	}
	return strings.ToLower(task.Event.Text)
}

// showFiles puts the files, and a note on those that are not there, into the
// last part of the answer. It reports false where there is no answer to put
// them into.
func (a *Adapter) showFiles(ctx context.Context, to address, key string, t *thread, note string) (bool, error) {
	// Sent before the answer, they are shown by it.
	if len(t.Comments) == 0 {
		return note == "", a.writeThread(ctx, key, t)
	}
	id := t.Comments[len(t.Comments)-1]
	standing, err := a.current(ctx, to, id)
	if err != nil {
		if statusOf(err) == http.StatusNotFound {
			return false, a.writeThread(ctx, key, t) // somebody deleted the answer
		}
		return false, err
	}
	body := withFiles(standing.body, t.Files, note)
	if body == standing.body {
		return true, nil
	}
	if err := a.budget.answer(); err != nil {
		return false, err
	}
	_, err = a.edit(ctx, to, id, body)
	return err == nil, err
}

// deniedError says that the artifact branch cannot be written by us, now or
// later.
type deniedError struct{ reason string }

// Error implements error.
func (e *deniedError) Error() string { return e.reason }

// committing is one task's commit of files.
type committing struct {
	*Adapter
	to     address
	d      bot.Delivery
	client *github.Client
	owner  string
	name   string
	branch string
	folder string
	asked  string // the request, in small letters
	sha    string // of the commit that holds the files
	lost   []bot.Undelivered
}

// commit puts the files on the branch and returns where they lie.
func (c *committing) commit(ctx context.Context) ([]placed, error) {
	if err := c.choose(ctx); err != nil {
		return nil, err
	}
	defer c.hold("branch " + strings.ToLower(c.owner+"/"+c.name+"/"+c.branch))()
	names := safePaths(c.d.Files)
	var entries []*github.TreeEntry
	for range commitTries {
		head, err := c.head(ctx)
		if err != nil {
			return nil, err
		}
		if head != "" {
			if c.sha, err = c.standing(ctx, head); err != nil || c.sha != "" {
				return c.placed(names), err
			}
		}
		if entries == nil {
			if entries, err = c.upload(ctx, names); err != nil || len(entries) == 0 {
				return nil, err
			}
		}
		moved, err := c.push(ctx, head, entries)
		if err != nil {
			return nil, err
		}
		if !moved {
			return c.placed(names), nil
		}
	}
	return nil, errors.New("commit files: the artifact branch keeps moving")
}

// choose decides on repository, branch and folder, and refuses those that
// must not be written to.
func (c *committing) choose(ctx context.Context) error {
	origin, err := c.repositoryOf(ctx, c.to.Repository)
	if err != nil {
		return err
	}
	target, installation := origin, c.to.Installation
	c.folder = fmt.Sprintf("issue-%d/task-%s", c.to.Number, c.d.Task)
	if other := c.options.Artifacts.Repository; other != "" && !strings.EqualFold(other, c.to.Repository) {
		installation = 0
		if target, err = c.repositoryOf(ctx, other); err != nil {
			if final(err) {
				return &deniedError{reason: "GitHub does not show me the repository for files, " + other}
			}
			return err
		}
		if why := fit(origin, target); why != "" {
			return &deniedError{reason: "the repository for files does not fit: this issue's content would leave its place, for " + why}
		}
		c.folder = c.to.Repository + "/" + c.folder
	}
	c.owner, c.name = target.GetOwner().GetLogin(), target.GetName()
	c.branch = c.options.Artifacts.Branch + "-" + month(c.d.Created)
	if c.client, err = c.clients.forRepository(ctx, c.owner+"/"+c.name, installation); err != nil {
		return err
	}
	if c.branch == target.GetDefaultBranch() {
		return &deniedError{reason: "the branch for files is this repository's default branch"}
	}
	if !target.GetHasPages() {
		return nil
	}
	pages, _, err := c.client.Repositories.GetPagesInfo(ctx, c.owner, c.name)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return nil
	case final(err):
		return &deniedError{reason: "I may not read which branch GitHub Pages publishes here (permission pages: read), and do not publish files by accident"}
	case err != nil:
		return c.clients.explain(err)
	case pages.GetSource().GetBranch() == c.branch:
		return &deniedError{reason: "the branch for files is published by GitHub Pages"}
	}
	return nil
}

// head is the commit that the branch stands at; "" where there is none.
func (c *committing) head(ctx context.Context) (string, error) {
	found, _, err := c.client.Git.GetRef(ctx, c.owner, c.name, "heads/"+c.branch)
	if statusOf(err) == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", c.denied(err)
	}
	return found.GetObject().GetSHA(), nil
}

// denied turns a final refusal into a *deniedError.
func (c *committing) denied(err error) error {
	if answer, _ := answerOf(err); answer.status == http.StatusConflict && strings.Contains(answer.text, "is empty") {
		return &deniedError{reason: "the repository " + c.owner + "/" + c.name + " is empty, and its first branch would become its default branch; commit something to it first"}
	}
	if !final(err) {
		return c.clients.explain(err)
	}
	if statusOf(err) == http.StatusForbidden || statusOf(err) == http.StatusNotFound {
		return &deniedError{reason: "I may not write to " + c.owner + "/" + c.name + " (permission contents: write)"}
	}
	return &deniedError{reason: "GitHub refused the branch " + c.branch + ", as its protection or rules say (exempt " + c.options.Artifacts.Branch + "-* from them, or set artifacts.repository)"}
}

// standing returns the commit that an earlier try made for this task; "" where
// there is none.
func (c *committing) standing(ctx context.Context, head string) (string, error) {
	list, _, err := c.client.Repositories.ListCommits(ctx, c.owner, c.name, &github.CommitsListOptions{
		SHA: head, Path: c.folder, ListOptions: github.ListOptions{PerPage: 10},
	})
	if err != nil {
		return "", c.denied(err)
	}
	for _, each := range list {
		if strings.Contains(each.GetCommit().GetMessage(), c.trailer()) {
			return each.GetSHA(), nil
		}
	}
	return "", nil
}

// trailer signs the commit as this task's.
func (c *committing) trailer() string { return c.Adapter.trailer(c.owner+"/"+c.name, c.folder) }

func (a *Adapter) trailer(repository, folder string) string {
	return fmt.Sprintf("Sandpiper-Folder: %s\nSandpiper-Mac: %s", folder, a.mac("commit", strings.ToLower(repository), folder))
}

// signedCommit says that a commit's message was written by us for repository.
func (a *Adapter) signedCommit(repository, message string) bool {
	_, rest, _ := strings.Cut(message, "\nSandpiper-Folder: ")
	folder, _, _ := strings.Cut(rest, "\n")
	return strings.HasSuffix(strings.TrimSpace(message), "\n"+a.trailer(repository, folder))
}

// message holds nothing that anybody else wrote, and refers to nothing.
func (c *committing) message() string {
	return fmt.Sprintf("Add files of task %s\n\nThey answer issue %d.\n\n%s", c.d.Task, c.to.Number, c.trailer())
}

// push makes the commit on top of head and moves the branch to it; moved says
// that the branch went elsewhere meanwhile. It never forces.
func (c *committing) push(ctx context.Context, head string, entries []*github.TreeEntry) (moved bool, err error) {
	base := ""
	made := &github.Commit{Message: github.String(c.message())}
	if head != "" {
		parent, _, err := c.client.Git.GetCommit(ctx, c.owner, c.name, head)
		if err != nil {
			return false, c.denied(err)
		}
		base = parent.GetTree().GetSHA()
		made.Parents = []*github.Commit{{SHA: github.String(head)}}
	}
	tree, _, err := c.client.Git.CreateTree(ctx, c.owner, c.name, base, entries)
	if err != nil {
		return false, c.denied(err)
	}
	made.Tree = tree
	done, _, err := c.client.Git.CreateCommit(ctx, c.owner, c.name, made, nil)
	if err != nil {
		return false, c.denied(err)
	}
	ref := &github.Reference{Ref: github.String("refs/heads/" + c.branch), Object: &github.GitObject{SHA: done.SHA}}
	if head == "" {
		_, _, err = c.client.Git.CreateRef(ctx, c.owner, c.name, ref)
	} else {
		_, _, err = c.client.Git.UpdateRef(ctx, c.owner, c.name, ref, false)
	}
	if err != nil {
		answer, _ := answerOf(err)
		if answer.status == http.StatusUnprocessableEntity && (strings.Contains(answer.text, "fast forward") ||
			strings.Contains(answer.text, "already exists") || strings.Contains(answer.text, "does not exist")) {
			return true, nil
		}
		return false, c.denied(err)
	}
	c.sha = done.GetSHA()
	return false, nil
}

// upload makes a blob of each file. A file that GitHub refuses is lost, the
// others are not.
func (c *committing) upload(ctx context.Context, names []string) ([]*github.TreeEntry, error) {
	var entries []*github.TreeEntry
	for i, file := range c.d.Files {
		sha, err := c.uploadOne(ctx, file)
		if status := statusOf(err); status == http.StatusRequestEntityTooLarge || (status == http.StatusUnprocessableEntity && final(err)) {
			c.lost = append(c.lost, bot.Undelivered{Name: file.Name, Reason: "GitHub refused it, most likely for its size"})
			names[i] = ""
			continue
		}
		if errors.Is(err, bot.ErrNotFound) {
			c.lost = append(c.lost, bot.Undelivered{Name: file.Name, Reason: "it is no longer stored"})
			names[i] = ""
			continue
		}
		if err != nil {
			return nil, c.denied(err)
		}
		entries = append(entries, &github.TreeEntry{
			Path: github.String(c.folder + "/" + names[i]), Mode: github.String("100644"), Type: github.String("blob"), SHA: github.String(sha),
		})
	}
	return entries, nil
}

func (c *committing) placed(names []string) []placed {
	var out []placed
	for i, file := range c.d.Files {
		if names[i] == "" {
			continue
		}
		out = append(out, placed{
			Name: file.Name, Size: file.Size, Alt: file.Alt, Image: isPicture(file),
			Aside: file.Auxiliary && !strings.Contains(c.asked, strings.ToLower(file.Name)),
			URL:   fmt.Sprintf("%s/%s/%s/blob/%s/%s", c.web, c.owner, c.name, c.sha, escapePath(c.folder+"/"+names[i])),
		})
	}
	return out
}

// isPicture says that GitHub shows a file inline. SVG is a program as much as
// a picture: it is linked.
func isPicture(file bot.Artifact) bool {
	kind, _, _ := strings.Cut(file.MediaType, ";")
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// safePaths are the files' names as paths below the task's folder: without
// "..", without git's own names, each once.
func safePaths(files []bot.Artifact) []string {
	out := make([]string, len(files))
	taken := map[string]bool{}
	for i, file := range files {
		clean := path.Clean("/" + strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\\' || r == ':' {
				return '_'
			}
			return r
		}, file.Name))[1:]
		parts := strings.Split(clean, "/")
		for j, part := range parts {
			if part == "" || strings.EqualFold(part, ".git") || strings.HasPrefix(part, ".git") {
				parts[j] = "_" + strings.TrimPrefix(part, ".")
			}
		}
		clean = strings.Join(parts, "/")
		for n, try := 2, clean; ; n++ {
			if !taken[strings.ToLower(try)] {
				taken[strings.ToLower(try)] = true
				out[i] = try
				break
			}
			try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(clean, path.Ext(clean)), n, path.Ext(clean))
		}
	}
	return out
}

// Text files that are shown in the comment where no branch can be written.
const (
	inlineFile = 4 << 10
	inlineAll  = 8 << 10
)

// instead is the next way where the branch is denied: small texts go into the
// comment, the rest is named. The reason stands there once.
func (c *committing) instead(ctx context.Context, denied *deniedError) (string, []bot.Undelivered) {
	c.options.Logger.Warn("files are not committed", "task", c.d.Task, "repository", c.to.Repository, "reason", denied.reason)
	var texts strings.Builder
	var lost []bot.Undelivered
	var names []string
	for _, file := range c.d.Files {
		text, ok := c.smallText(ctx, file)
		if !ok || texts.Len()+len(text) > inlineAll {
			lost = append(lost, bot.Undelivered{Name: file.Name, Reason: denied.reason})
			names = append(names, inert.Code(file.Name))
			continue
		}
		language := strings.TrimPrefix(path.Ext(file.Name), ".")
		fmt.Fprintf(&texts, "\n\n<details><summary>%s</summary>\n\n%s\n\n</details>", inert.Text(file.Name), inert.Fence(language, text))
	}
	note := "The files of this answer could not be committed: " + inert.Text(denied.reason) + "."
	switch {
	case len(names) == 0:
		note += " They stand here instead:"
	case texts.Len() == 0:
		note += " Not delivered: " + strings.Join(names, ", ") + "."
	default:
		note += " Not delivered: " + strings.Join(names, ", ") + ". The small texts stand here instead:"
	}
	return note + texts.String(), lost
}
