package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// repositoryOf asks for a repository as it stands.
func (a *Adapter) repositoryOf(ctx context.Context, repository string) (*github.Repository, error) {
	client, err := a.clients.forRepository(ctx, repository, 0)
	if err != nil {
		return nil, err
	}
	owner, name, _ := strings.Cut(repository, "/")
	found, _, err := client.Repositories.Get(ctx, owner, name)
	if err != nil {
		return nil, fmt.Errorf("ask for repository: %w", a.clients.explain(err))
	}
	return found, nil
}

// visibility is public, internal or private; what is not known is private.
func (a *Adapter) visibility(ctx context.Context, repository string) (string, error) {
	found, err := a.repositoryOf(ctx, repository)
	if err != nil {
		return "", err
	}
	return visibilityOf(found), nil
}

func visibilityOf(r *github.Repository) string {
	switch {
	case r.GetVisibility() == "public" && !r.GetPrivate():
		return "public"
	case r.GetVisibility() == "internal":
		return "internal"
	case r.GetVisibility() == "" && r.Private != nil && !r.GetPrivate():
		return "public"
	}
	return "private"
}

// fit says why a file of repository from must not be answered in repository
// to; "" where it may. What is more public than the file's own place would
// show it to people who may not see it, and so would another private
// repository of somebody else.
func fit(from, to *github.Repository) string {
	openness := map[string]int{"private": 0, "internal": 1, "public": 2}
	source, target := visibilityOf(from), visibilityOf(to)
	switch {
	case from.GetID() == to.GetID():
		return ""
	case openness[target] > openness[source]:
		return fmt.Sprintf("it lies in a %s repository, and this one is %s", source, target)
	case source != "public" && !strings.EqualFold(from.GetOwner().GetLogin(), to.GetOwner().GetLogin()):
		return fmt.Sprintf("it lies in a %s repository of another owner", source)
	}
	return ""
}

// file reads a file of a repository at a pinned commit. The repository must be
// allowed, the asker must be able to read it, and the answer must not become
// more public than the file.
func (f *fetching) file(ctx context.Context, r ref) (bot.Fetched, error) {
	if !f.options.allowed(r.Repository) {
		return bot.Fetched{}, f.problem("its repository %s is not among those I may read", r.Repository)
	}
	if err := f.mayRead(ctx, r); err != nil {
		return bot.Fetched{}, err
	}
	client, err := f.clients.forRepository(ctx, r.Repository, f.installationFor(r.Repository))
	if err != nil {
		return bot.Fetched{}, err
	}
	commit, name := r.Commit, r.Path
	if r.Rest != "" {
		if commit, name, err = f.pin(ctx, client, r); err != nil {
			return bot.Fetched{}, err
		}
	}
	owner, repository, _ := strings.Cut(r.Repository, "/")
	request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/contents/%s?ref=%s", owner, repository, escapePath(name), commit), nil)
	if err != nil {
		return bot.Fetched{}, f.problem("its path cannot be asked for")
	}
	request.Header.Set("Accept", "application/vnd.github.raw")
	response, err := client.BareDo(ctx, request)
	if err != nil {
		return bot.Fetched{}, f.apiProblem(err)
	}
	defer func() { _ = response.Body.Close() }()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && !strings.HasSuffix(name, ".json") {
		return bot.Fetched{}, f.problem("it is a folder, not a file")
	}
	const pointer = "version https://git-lfs.github.com/spec/"
	head := make([]byte, len(pointer))
	n, err := io.ReadFull(response.Body, head)
	if err != nil && n == 0 && !errors.Is(err, io.EOF) {
		return bot.Fetched{}, fmt.Errorf("read %s: %w", f.name, err)
	}
	if string(head[:n]) == pointer {
		return bot.Fetched{}, f.problem("it is kept in Git LFS, which I cannot read; %s", waysThatWork)
	}
	body := io.MultiReader(strings.NewReader(string(head[:n])), response.Body)
	return bot.Fetched{Source: fmt.Sprintf("%s@%s:%s", r.Repository, commit, name)}, f.copy(body, response.ContentLength)
}

func escapePath(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), "@", "%40")
	}
	return strings.Join(parts, "/")
}

// installationFor returns the installation that the webhook named, where it
// serves that repository, too.
func (f *fetching) installationFor(repository string) int64 {
	if strings.EqualFold(repository, f.to.Repository) {
		return f.to.Installation
	}
	return 0
}

// mayCross checks that the asker may read repository and that its content may
// be answered here.
func (f *fetching) mayCross(ctx context.Context, repository string) error {
	if strings.EqualFold(repository, f.to.Repository) {
		return nil // the asker's right here was confirmed
	}
	from, err := f.repositoryOf(ctx, repository)
	if err != nil {
		if final(err) {
			return f.problem("GitHub does not show me the repository %s", repository)
		}
		return err
	}
	to, err := f.repositoryOf(ctx, f.to.Repository)
	if err != nil {
		return err
	}
	if why := fit(from, to); why != "" {
		return f.problem("%s", why)
	}
	people := []string{f.asker()}
	if f.to.Author != "" {
		people = append(people, f.to.Author)
	}
	for _, login := range people {
		role, err := f.rights.role(ctx, repository, 0, login)
		if err != nil {
			return fmt.Errorf("ask whether %s may read %s: %w", login, repository, err)
		}
		if permissionRank(role) < permissionRank("read") {
			return f.problem("you have no access to its repository %s", repository)
		}
	}
	return nil
}

// mostRefSegments bounds how many segments of a link are tried as a branch's
// name: "blob/feature/x/data.csv" may be branch "feature" or "feature/x".
const mostRefSegments = 5

// pin finds which part of a link is the ref, and the commit it names now.
func (f *fetching) pin(ctx context.Context, client *github.Client, r ref) (commit, name string, err error) {
	owner, repository, _ := strings.Cut(r.Repository, "/")
	segments := strings.Split(r.Rest, "/")
	for n := 1; n < len(segments) && n <= mostRefSegments; n++ {
		branch := strings.Join(segments[:n], "/")
		commit, _, err := client.Repositories.GetCommitSHA1(ctx, owner, repository, branch, "")
		if err == nil {
			return commit, strings.Join(segments[n:], "/"), nil
		}
		if !final(err) {
			return "", "", fmt.Errorf("find commit: %w", f.clients.explain(err))
		}
	}
	return "", "", f.problem("its link names no branch or commit that exists in %s", r.Repository)
}

// head returns where a request's paths are read: the pull request's head, or
// the default branch, pinned to a commit.
func (a *Adapter) head(ctx context.Context, to address) (repository, commit string, err error) {
	client, err := a.client(ctx, to)
	if err != nil {
		return "", "", err
	}
	if to.Pull {
		pull, _, err := client.PullRequests.Get(ctx, to.owner(), to.name(), to.Number)
		if err != nil {
			return "", "", a.clients.explain(err)
		}
		// The base repository serves a fork's head, too.
		return to.Repository, pull.GetHead().GetSHA(), nil
	}
	branch := to.Branch
	if branch == "" {
		found, err := a.repositoryOf(ctx, to.Repository)
		if err != nil {
			return "", "", err
		}
		branch = found.GetDefaultBranch()
	}
	commit, _, err = client.Repositories.GetCommitSHA1(ctx, to.owner(), to.name(), branch, "")
	if err != nil {
		return "", "", a.clients.explain(err)
	}
	return to.Repository, commit, nil
}

// list returns the files at commit with their sizes; cut says that GitHub did
// not list all.
func (a *Adapter) list(ctx context.Context, to address, repository, commit string) (files map[string]int64, cut bool, err error) {
	installation := to.Installation
	if !strings.EqualFold(repository, to.Repository) {
		installation = 0
	}
	client, err := a.clients.forRepository(ctx, repository, installation)
	if err != nil {
		return nil, false, err
	}
	owner, name, _ := strings.Cut(repository, "/")
	tree, _, err := client.Git.GetTree(ctx, owner, name, commit, true)
	if err != nil {
		return nil, false, a.clients.explain(err)
	}
	files = make(map[string]int64, len(tree.Entries))
	for _, e := range tree.Entries {
		if e.GetType() == "blob" && e.GetMode() != "120000" { // no symbolic links
			files[e.GetPath()] = int64(e.GetSize())
		}
	}
	return files, tree.GetTruncated(), nil
}
