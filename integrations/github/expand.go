package github

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

var diffWords = regexp.MustCompile(`(?i)\b(?:diff|patch|pull request|changes?|changed|changeset|PR)\b|дифф|изменени|пулл?-?реквест`)

// mostMatches bounds how many files one pattern brings, mostUnread how many
// things that cannot be had are named one by one.
const (
	mostMatches = 20
	mostUnread  = 20
)

// Expand implements bot.Expander: it looks the words that may be paths up in
// the repository, at the pull request's head or the default branch, pins what
// exists to a commit, and adds a pull request's diff where the text speaks of
// it. What the text names and cannot be had comes back with the reason.
func (a *Adapter) Expand(ctx context.Context, event bot.Event) ([]bot.InputRef, error) {
	to, err := readAddress(event.Origin)
	if err != nil {
		return nil, nil //nolint:nilerr // an origin without an issue has no repository to look in
	}
	said := read(event.Text, a.options.Handle)
	var out, unread []bot.InputRef
	if to.Pull && diffWords.MatchString(said.text) {
		out = append(out, ref{Kind: refDiff, Repository: to.Repository, Number: to.Number}.input(fmt.Sprintf("pull-%d.diff", to.Number)))
	}
	var look []named
	for _, n := range namedPaths(said) {
		if n.problem != "" {
			unread = append(unread, n.unread(n.problem))
		} else {
			look = append(look, n)
		}
	}
	if len(look) > 0 {
		found, missing, err := a.lookUp(ctx, to, look, event.Inputs)
		if err != nil {
			return nil, err
		}
		out, unread = append(out, found...), append(unread, missing...)
	}
	unread = append(unread, a.unreadLinks(said, to.Kind)...)
	if more := len(unread) - mostUnread; more > 0 {
		unread = append(unread[:mostUnread], named{word: "others", maybe: true}.unread(fmt.Sprintf("%d more things that the text names were not read either", more)))
	}
	return append(out, unread...), nil
}

// lookUp finds words among the repository's files. What given brings already
// is left out.
func (a *Adapter) lookUp(ctx context.Context, to address, words []named, given []bot.InputRef) (found, missing []bot.InputRef, err error) {
	repository, commit, err := a.head(ctx, to)
	if err != nil {
		missing, err := a.unlisted(words, fmt.Errorf("find the commit to read: %w", err))
		return nil, missing, err
	}
	files, cut, err := a.list(ctx, to, repository, commit)
	if err != nil {
		missing, err := a.unlisted(words, fmt.Errorf("list files: %w", err))
		return nil, missing, err
	}
	where := repository + "'s default branch"
	if to.Pull {
		where = "the pull request's head"
	}
	for _, n := range words {
		match := matches(files, n.word)
		switch {
		case slices.ContainsFunc(given, func(in bot.InputRef) bool { return brings(in, append(match, n.word)) }):
			continue // a task that is done again brings them pinned already, a schedule names them
		case len(match) == 0 && cut:
			missing = append(missing, n.unread("the repository is too large to list; link the file instead"))
		case len(match) == 0 && isPattern(n.word):
			missing = append(missing, n.unread("no file of the repository matches it, at "+where))
		case len(match) == 0:
			missing = append(missing, n.unread("there is no "+n.word+" at "+where))
		case len(match) > 1 && !isPattern(n.word):
			missing = append(missing, n.unread("it lies in several folders: write which ("+strings.Join(match[:min(len(match), 5)], ", ")+")"))
			continue
		}
		for i, name := range match {
			if i == mostMatches {
				missing = append(missing, n.unread(fmt.Sprintf("it matches %d files, of which I read the first %d", len(match), mostMatches)))
				break
			}
			in := ref{Kind: refFile, Repository: repository, Commit: commit, Path: name}.input(path.Base(name))
			in.Size = files[name]
			found = append(found, in)
		}
	}
	return found, missing, nil
}

// unlisted decides what follows when a repository cannot be listed: GitHub is
// asked again where it did not answer; where it said no (a permission is
// missing, the repository is empty), the words are named as not read.
func (a *Adapter) unlisted(words []named, err error) ([]bot.InputRef, error) {
	reason := "GitHub does not let me list this repository's files"
	switch {
	case statusOf(err) == http.StatusConflict:
		reason = "the repository is empty"
	case !final(err):
		return nil, err
	}
	a.options.Logger.Warn("a repository's files cannot be listed", "error", err)
	var out []bot.InputRef
	for _, n := range words {
		out = append(out, n.unread(reason))
	}
	return out, nil
}
