package github

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

var (
	repositoryForm = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)
	namedForm      = regexp.MustCompile(`^(?:([\w.-]+/[\w.-]+):)?([^@:]+)(?:@(.+))?$`)
)

// IsRepository says that text is written as owner/name.
func IsRepository(text string) bool { return repositoryForm.MatchString(text) }

// Named returns an input that is, at each run, a repository's file as it stands
// then. text is "path", "path@ref" or "owner/name:path@ref"; without a
// repository it is the given one, without a ref the default branch. vouched
// says that whoever runs the bot named it: then it is read for an owner who is
// nobody of GitHub, too.
func Named(text, repository string, vouched bool) (bot.InputRef, error) {
	found := namedForm.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil {
		return bot.InputRef{}, fmt.Errorf("file %q: write path, path@branch or owner/name:path@branch", text)
	}
	if found[1] != "" {
		repository = found[1]
	}
	name := strings.TrimPrefix(path.Clean("/"+found[2]), "/")
	switch {
	case !repositoryForm.MatchString(repository):
		return bot.InputRef{}, fmt.Errorf("file %q: name its repository, owner/name:%s", text, found[2])
	case name == "" || strings.Contains(found[2], ".."):
		return bot.InputRef{}, fmt.Errorf("file %q: name a file of the repository", text)
	}
	in := ref{Kind: refNamed, Repository: repository, Path: name, Commit: found[3], Vouched: vouched}.input(path.Base(name))
	in.Adapter = Name
	return in, nil
}

// Allowed says whether a repository is among those that may ask.
func (a *Adapter) Allowed(repository string) bool { return a.options.allowed(repository) }

// named reads a file that a schedule names. Its ref is pinned now.
func (f *fetching) named(ctx context.Context, r ref) (bot.Fetched, error) {
	if !f.options.allowed(r.Repository) {
		return bot.Fetched{}, f.problem("its repository %s is not among those I may read", r.Repository)
	}
	client, err := f.clients.forRepository(ctx, r.Repository, f.installationFor(r.Repository))
	if err != nil {
		return bot.Fetched{}, err
	}
	owner, name, _ := strings.Cut(r.Repository, "/")
	branch := r.Commit
	if branch == "" {
		found, err := f.repositoryOf(ctx, r.Repository)
		if err != nil {
			if final(err) {
				return bot.Fetched{}, f.problem("GitHub does not show me the repository %s", r.Repository)
			}
			return bot.Fetched{}, err
		}
		branch = found.GetDefaultBranch()
	}
	commit, _, err := client.Repositories.GetCommitSHA1(ctx, owner, name, branch, "")
	if err != nil {
		if final(err) {
			return bot.Fetched{}, f.problem("%s has no branch, tag or commit %s that I may see", r.Repository, branch)
		}
		return bot.Fetched{}, fmt.Errorf("find commit: %w", f.clients.explain(err))
	}
	r.Kind, r.Commit = refFile, commit
	return f.file(ctx, r)
}

// mayRead checks what a schedule reads for an owner, or for a place, of another
// platform: who runs the bot vouched for it, or everybody may read it.
func (f *fetching) mayRead(ctx context.Context, r ref) error {
	if f.event.Origin.Adapter == Name && strings.HasPrefix(f.event.Actor.ID, Name+":") {
		return f.mayCross(ctx, r.Repository)
	}
	if r.Vouched {
		return nil
	}
	visibility, err := f.visibility(ctx, r.Repository)
	if err != nil {
		if final(err) {
			return f.problem("GitHub does not show me the repository %s", r.Repository)
		}
		return err
	}
	if visibility == "public" {
		return nil
	}
	return f.problem("its repository %s is %s, and GitHub cannot tell me whether you may read it: ask there, or have whoever runs this bot put the schedule into its configuration", r.Repository, visibility)
}

// maySpread checks that no further place which the answer goes to shows a file
// to people who may not see it: one of a schedule's several destinations.
func (f *fetching) maySpread(ctx context.Context, r ref) error {
	owned := strings.HasPrefix(f.event.Actor.ID, Name+":")
	repository := r.Repository
	if repository == "" {
		repository = f.to.Repository
	}
	for _, also := range f.event.Also {
		to, err := readAddress(also)
		switch {
		case r.Vouched && !owned, repository == "":
			return nil // who runs the bot named both
		case also.Adapter == Name && err == nil && strings.EqualFold(to.Repository, repository), also.Adapter == folderAdapter:
			continue
		}
		from, err := f.repositoryOf(ctx, repository)
		if err != nil {
			if final(err) {
				return f.problem("GitHub does not show me the repository %s", repository)
			}
			return err
		}
		why := ""
		if also.Adapter == Name {
			there, err := f.repositoryOf(ctx, to.Repository)
			if err != nil {
				return err
			}
			why = fit(from, there)
		} else if visibilityOf(from) != "public" {
			why = fmt.Sprintf("it lies in a %s repository", visibilityOf(from))
		}
		if why != "" {
			return f.problem("%s: the answer goes to %s, too", why, also.Place)
		}
	}
	return nil
}

// folderAdapter is that of local folders, which only who runs the bot can name.
const folderAdapter = "console"
