package github

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

const (
	marksKept   = 4 * 24 * time.Hour   // longer than GitHub redelivers
	threadsKept = 400 * 24 * time.Hour // as long as the audit
)

// keepLoop keeps house once a day.
func (a *Adapter) keepLoop(ctx context.Context) {
	for {
		a.forgetOld(ctx)
		if a.options.Artifacts.Keep > 0 {
			a.dropMonths(ctx)
		}
		if !sleep(ctx, 24*time.Hour) {
			return
		}
	}
}

// forgetOld removes records that nothing will ask for again.
func (a *Adapter) forgetOld(ctx context.Context) {
	now := a.options.Clock.Now()
	for _, bucket := range []string{bucketMarks, bucketThreads} {
		records, err := a.options.Records.List(ctx, bucket, "")
		if err != nil {
			a.options.Logger.Warn("old records are kept", "error", err)
			return
		}
		for _, record := range records {
			var age struct{ At, Changed time.Time }
			if strings.HasPrefix(record.Key, watermarkMark) || json.Unmarshal(record.Value, &age) != nil {
				continue
			}
			if bucket == bucketMarks && now.Sub(age.At) > marksKept || bucket == bucketThreads && now.Sub(age.Changed) > threadsKept {
				if err := a.options.Records.Delete(ctx, bucket, record.Key); err != nil {
					a.options.Logger.Warn("an old record is kept", "error", err)
				}
			}
		}
	}
}

// dropMonths deletes the artifact branches whose month ended longer than
// Artifacts.Keep ago. Only branches named as ours are, and on which the
// newest commit is signed as ours, are touched.
func (a *Adapter) dropMonths(ctx context.Context) {
	repositories := []string{a.options.Artifacts.Repository}
	if repositories[0] == "" {
		var err error
		if repositories, err = a.repositories(ctx); err != nil {
			a.options.Logger.Warn("some artifact branches are not looked at", "error", err)
		}
	}
	for _, repository := range repositories {
		if err := a.dropMonthsOf(ctx, repository); err != nil && ctx.Err() == nil {
			a.options.Logger.Warn("old artifact branches are kept", "repository", repository, "error", err)
		}
	}
}

func (a *Adapter) dropMonthsOf(ctx context.Context, repository string) error {
	client, err := a.clients.forRepository(ctx, repository, 0)
	if err != nil {
		return err
	}
	owner, name, _ := strings.Cut(repository, "/")
	refs, _, err := client.Git.ListMatchingRefs(ctx, owner, name, &github.ReferenceListOptions{Ref: "heads/" + a.options.Artifacts.Branch + "-", ListOptions: github.ListOptions{PerPage: 100}})
	if err != nil {
		return a.clients.explain(err)
	}
	for _, ref := range refs {
		branch := strings.TrimPrefix(ref.GetRef(), "refs/heads/")
		begun, err := time.Parse("2006-01", strings.TrimPrefix(branch, a.options.Artifacts.Branch+"-"))
		if err != nil || a.options.Clock.Now().Sub(begun.AddDate(0, 1, 0)) < a.options.Artifacts.Keep {
			continue
		}
		commit, _, err := client.Git.GetCommit(ctx, owner, name, ref.GetObject().GetSHA())
		if err != nil {
			return a.clients.explain(err)
		}
		if !a.signedCommit(repository, commit.GetMessage()) {
			continue // somebody else works on it
		}
		if _, err := client.Git.DeleteRef(ctx, owner, name, "heads/"+branch); err != nil && statusOf(err) != http.StatusUnprocessableEntity {
			return a.clients.explain(err)
		}
		a.options.Logger.Info("deleted a month of artifacts", "repository", repository, "branch", branch)
	}
	return nil
}
