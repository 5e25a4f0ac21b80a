package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

const (
	// deliveriesKept is how long GitHub keeps deliveries.
	deliveriesKept = 3 * 24 * time.Hour
	// mostAttempts ends asking for a delivery that is refused every time.
	mostAttempts = 5
	// overlap is listed twice, so that clocks that differ lose nothing.
	overlap = 5 * time.Minute
)

// sweepLoop looks for what was missed: at once, again a minute later (the
// listener may not have been up for the first redeliveries), and then every
// Limits.Sweep.
func (a *Adapter) sweepLoop(ctx context.Context) {
	wait := min(time.Minute, a.options.Limits.Sweep)
	for {
		a.Sweep(ctx)
		if !sleep(ctx, wait) {
			return
		}
		wait = a.options.Limits.Sweep
	}
}

// Sweep asks GitHub to deliver again what was not delivered in the last three
// days. Where our hook cannot be read, comments and issues since the last
// look are gone through instead. Problems are logged: the next sweep goes on.
func (a *Adapter) Sweep(ctx context.Context) {
	log := a.options.Logger
	repositories, err := a.repositories(ctx)
	if err != nil {
		log.Warn("repositories cannot be listed; some are not looked through", "error", err)
	}
	if a.clients.app != nil {
		if err := a.sweepHook(ctx, &appHook{a.clients.app}); err != nil && ctx.Err() == nil {
			log.Warn("the App's deliveries cannot be read", "error", a.clients.explain(err))
		} else if err == nil {
			return
		}
	}
	owners := map[string]bool{}
	for _, repository := range repositories {
		owner, name, _ := strings.Cut(repository, "/")
		swept, err := a.sweepHooks(ctx, repository, func(c *github.Client) hookList { return &repositoryHooks{c, owner, name} })
		if err != nil && ctx.Err() == nil {
			log.Debug("hooks of a repository cannot be read", "repository", repository, "error", err)
		}
		if known, asked := owners[owner]; !asked {
			owners[owner], _ = a.sweepHooks(ctx, repository, func(c *github.Client) hookList { return &organizationHooks{c, owner} })
			swept = swept || owners[owner]
		} else {
			swept = swept || known
		}
		if swept || ctx.Err() != nil {
			continue
		}
		if err := a.lookThrough(ctx, repository); err != nil && ctx.Err() == nil {
			log.Warn("a repository's comments cannot be looked through", "repository", repository, "error", err)
		}
	}
}

// hookDeliveries is one hook's deliveries.
type hookDeliveries interface {
	list(ctx context.Context, cursor string) ([]*github.HookDelivery, *github.Response, error)
	again(ctx context.Context, id int64) error
}

// hookList finds hooks.
type hookList interface {
	hooks(ctx context.Context) ([]*github.Hook, error)
	deliveries(id int64) hookDeliveries
}

type appHook struct{ c *github.Client }

func (h *appHook) list(ctx context.Context, cursor string) ([]*github.HookDelivery, *github.Response, error) {
	return h.c.Apps.ListHookDeliveries(ctx, &github.ListCursorOptions{PerPage: 100, Cursor: cursor})
}

func (h *appHook) again(ctx context.Context, id int64) error {
	_, _, err := h.c.Apps.RedeliverHookDelivery(ctx, id)
	return accepted(err)
}

type repositoryHooks struct {
	c           *github.Client
	owner, name string
}

func (h *repositoryHooks) hooks(ctx context.Context) ([]*github.Hook, error) {
	list, _, err := h.c.Repositories.ListHooks(ctx, h.owner, h.name, &github.ListOptions{PerPage: 100})
	return list, err
}

func (h *repositoryHooks) deliveries(id int64) hookDeliveries { return &repositoryHook{h, id} }

type repositoryHook struct {
	*repositoryHooks
	id int64
}

func (h *repositoryHook) list(ctx context.Context, cursor string) ([]*github.HookDelivery, *github.Response, error) {
	return h.c.Repositories.ListHookDeliveries(ctx, h.owner, h.name, h.id, &github.ListCursorOptions{PerPage: 100, Cursor: cursor})
}

func (h *repositoryHook) again(ctx context.Context, id int64) error {
	_, _, err := h.c.Repositories.RedeliverHookDelivery(ctx, h.owner, h.name, h.id, id)
	return accepted(err)
}

type organizationHooks struct {
	c   *github.Client
	org string
}

func (h *organizationHooks) hooks(ctx context.Context) ([]*github.Hook, error) {
	list, _, err := h.c.Organizations.ListHooks(ctx, h.org, &github.ListOptions{PerPage: 100})
	return list, err
}

func (h *organizationHooks) deliveries(id int64) hookDeliveries { return &organizationHook{h, id} }

type organizationHook struct {
	*organizationHooks
	id int64
}

func (h *organizationHook) list(ctx context.Context, cursor string) ([]*github.HookDelivery, *github.Response, error) {
	return h.c.Organizations.ListHookDeliveries(ctx, h.org, h.id, &github.ListCursorOptions{PerPage: 100, Cursor: cursor})
}

func (h *organizationHook) again(ctx context.Context, id int64) error {
	_, _, err := h.c.Organizations.RedeliverHookDelivery(ctx, h.org, h.id, id)
	return accepted(err)
}

// accepted takes GitHub's 202, which the client library calls an error, for
// what it is.
func accepted(err error) error {
	if _, ok := errors.AsType[*github.AcceptedError](err); ok {
		return nil
	}
	return err
}

// sweepHooks sweeps those hooks that lead to us; it reports whether there was
// one.
func (a *Adapter) sweepHooks(ctx context.Context, repository string, of func(*github.Client) hookList) (bool, error) {
	client, err := a.clients.forRepository(ctx, repository, 0)
	if err != nil {
		return false, err
	}
	list := of(client)
	hooks, err := list.hooks(ctx)
	if err != nil {
		return false, fmt.Errorf("list hooks: %w", err)
	}
	swept := false
	for _, hook := range hooks {
		if !hook.GetActive() || !a.leadsHere(hook.GetConfig()) {
			continue
		}
		if err := a.sweepHook(ctx, list.deliveries(hook.GetID())); err != nil {
			return swept, fmt.Errorf("list deliveries: %w", err)
		}
		swept = true
	}
	return swept, nil
}

// sweepHook asks for each delivery of ours again that never succeeded.
func (a *Adapter) sweepHook(ctx context.Context, hook hookDeliveries) error {
	type fate struct {
		newest   int64
		attempts int
		done     bool
	}
	fates := map[string]*fate{}
	var order []string
	oldest := a.options.Clock.Now().Add(-deliveriesKept)
	for cursor := ""; ; {
		list, response, err := hook.list(ctx, cursor)
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.GetDeliveredAt().Before(oldest) || !ourEvent(d.GetEvent()) {
				continue
			}
			f := fates[d.GetGUID()]
			if f == nil {
				f = &fate{newest: d.GetID()} // newest first
				fates[d.GetGUID()] = f
				order = append(order, d.GetGUID())
			}
			f.attempts++
			f.done = f.done || (d.GetStatusCode() >= 200 && d.GetStatusCode() < 300)
		}
		if response.Cursor == "" || len(list) == 0 || list[len(list)-1].GetDeliveredAt().Before(oldest) {
			break
		}
		cursor = response.Cursor
	}
	asked := 0
	for i := range order {
		f := fates[order[len(order)-1-i]] // oldest first, as it happened
		if f.done || f.attempts >= mostAttempts {
			continue
		}
		if err := hook.again(ctx, f.newest); err != nil {
			return fmt.Errorf("ask for redelivery: %w", err)
		}
		asked++
	}
	if asked > 0 {
		a.options.Logger.Info("asked for missed deliveries", "count", asked)
	}
	return nil
}

func ourEvent(name string) bool {
	return slices.Contains(webhookEvents(), name)
}

// repositories lists the allowed repositories by name, patterns filled in.
func (a *Adapter) repositories(ctx context.Context) ([]string, error) {
	var out []string
	var problems []error
	for _, pattern := range a.options.Repositories {
		owner, name, _ := strings.Cut(pattern, "/")
		if name != "*" {
			out = append(out, pattern)
			continue
		}
		found, err := a.repositoriesOf(ctx, owner)
		if err != nil {
			problems = append(problems, fmt.Errorf("list repositories of %s: %w", owner, a.clients.explain(err)))
		}
		out = append(out, found...)
	}
	return out, errors.Join(problems...)
}

func (a *Adapter) repositoriesOf(ctx context.Context, owner string) ([]string, error) {
	var out []string
	keep := func(list []*github.Repository) {
		for _, r := range list {
			if strings.EqualFold(r.GetOwner().GetLogin(), owner) && !r.GetArchived() {
				out = append(out, r.GetFullName())
			}
		}
	}
	page := github.ListOptions{PerPage: 100}
	if a.clients.app != nil {
		id, err := a.clients.installationOf(ctx, owner)
		if err != nil {
			return nil, err
		}
		client := a.clients.forInstallation(id)
		for {
			list, response, err := client.Apps.ListRepos(ctx, &page)
			if err != nil {
				return out, err
			}
			keep(list.Repositories)
			if response.NextPage == 0 {
				return out, nil
			}
			page.Page = response.NextPage
		}
	}
	for {
		list, response, err := a.clients.token.Repositories.ListByOrg(ctx, owner, &github.RepositoryListByOrgOptions{ListOptions: page})
		if statusOf(err) == http.StatusNotFound {
			list, response, err = a.clients.token.Repositories.ListByUser(ctx, owner, &github.RepositoryListByUserOptions{ListOptions: page})
		}
		if err != nil {
			return out, err
		}
		keep(list)
		if response.NextPage == 0 {
			return out, nil
		}
		page.Page = response.NextPage
	}
}

// lookThrough takes a repository's issues and comments since the last look as
// if they had just been delivered: what was taken before is known by its key.
func (a *Adapter) lookThrough(ctx context.Context, repository string) error {
	key := watermarkMark + strings.ToLower(repository)
	begun := a.options.Clock.Now()
	last, _, err := a.readMark(ctx, key)
	if err != nil {
		return err
	}
	if last.At.IsZero() {
		return a.mark(ctx, key, mark{At: begun}) // what was written before we came is not for us
	}
	found, err := a.since(ctx, repository, last.At.Add(-overlap))
	if err != nil {
		return err
	}
	for _, h := range found {
		if _, err := a.take(ctx, h); err != nil {
			return err
		}
	}
	return a.mark(ctx, key, mark{At: begun})
}

// since lists what was written since a time: issues first, for comments need
// them.
func (a *Adapter) since(ctx context.Context, repository string, since time.Time) ([]*happening, error) {
	client, err := a.clients.forRepository(ctx, repository, 0)
	if err != nil {
		return nil, err
	}
	where, err := a.repositoryOf(ctx, repository)
	if err != nil {
		return nil, err
	}
	owner, name, _ := strings.Cut(repository, "/")
	var out []*happening
	add := func(h *happening, action string) {
		if h.created.Before(since) {
			return
		}
		h.action, h.sender = action, h.author
		out = append(out, h)
	}
	issues := map[string]*github.Issue{}
	for page := 1; page != 0; {
		list, response, err := client.Issues.ListByRepo(ctx, owner, name, &github.IssueListByRepoOptions{
			State: "all", Since: since, Sort: "updated", Direction: "asc", ListOptions: github.ListOptions{PerPage: 100, Page: page},
		})
		if err != nil {
			return nil, fmt.Errorf("list issues: %w", a.clients.explain(err))
		}
		for _, issue := range list {
			issues[itoa(issue.GetNumber())] = issue
			if !issue.IsPullRequest() {
				add(fromIssue(where, issue), "opened")
			}
		}
		page = response.NextPage
	}
	for page := 1; page != 0; {
		list, response, err := client.Issues.ListComments(ctx, owner, name, 0, &github.IssueListCommentsOptions{
			Since: &since, Sort: github.String("updated"), Direction: github.String("asc"), ListOptions: github.ListOptions{PerPage: 100, Page: page},
		})
		if err != nil {
			return nil, fmt.Errorf("list comments: %w", a.clients.explain(err))
		}
		for _, comment := range list {
			if issue := issues[lastSegment(comment.GetIssueURL())]; issue != nil {
				add(fromComment(where, issue, comment), "created")
			}
		}
		page = response.NextPage
	}
	for page := 1; page != 0; {
		list, response, err := client.PullRequests.ListComments(ctx, owner, name, 0, &github.PullRequestListCommentsOptions{
			Since: since, Sort: "updated", Direction: "asc", ListOptions: github.ListOptions{PerPage: 100, Page: page},
		})
		if err != nil {
			return nil, fmt.Errorf("list review comments: %w", a.clients.explain(err))
		}
		for _, comment := range list {
			number := 0
			if _, err := fmt.Sscan(lastSegment(comment.GetPullRequestURL()), &number); err == nil {
				add(fromReview(where, number, comment), "created")
			}
		}
		page = response.NextPage
	}
	return out, nil
}

func lastSegment(link string) string { return link[strings.LastIndex(link, "/")+1:] }
