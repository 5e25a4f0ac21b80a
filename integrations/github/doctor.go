package github

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Permissions are what the App needs; deploy/github/app-manifest.json asks for
// exactly these.
func Permissions() map[string]string {
	return map[string]string{
		"contents": "write", "issues": "write", "metadata": "read", "pages": "read", "pull_requests": "write",
	}
}

// CheckRepositories looks whether we may do our work in every repository that
// is listed by its whole name, for sandpiper doctor.
func (a *Adapter) CheckRepositories(ctx context.Context) (found []*IdentityError) {
	for _, repository := range a.options.Repositories {
		if strings.HasSuffix(repository, "/*") {
			continue
		}
		if problem := a.clients.checkRepository(ctx, repository); problem != nil {
			found = append(found, problem)
		}
	}
	return found
}

func (c *clients) checkRepository(ctx context.Context, repository string) *IdentityError {
	owner, name, _ := strings.Cut(repository, "/")
	if c.token != nil {
		got, _, err := c.token.Repositories.Get(ctx, owner, name)
		switch {
		case err != nil && statusOf(err) == http.StatusNotFound:
			return &IdentityError{Problem: "the token does not see " + repository, Hint: "give it access to this repository, or correct the name under github.repositories", Err: err}
		case err != nil:
			return c.wrong(repository, err)
		case !got.GetPermissions()["push"]:
			return &IdentityError{Problem: "the token may not write to " + repository + ": files of answers cannot be committed", Hint: "give its account the role Write there, or a fine-grained token Contents: write"}
		}
		return nil
	}
	installed, _, err := c.app.Apps.FindRepositoryInstallation(ctx, owner, name)
	switch {
	case err != nil && statusOf(err) == http.StatusNotFound:
		return &IdentityError{Problem: "the App is not installed for " + repository, Hint: "install it for this repository, or correct the name under github.repositories", Err: err}
	case err != nil:
		return c.wrong(repository, err)
	}
	if missing := missingPermissions(installed); len(missing) > 0 {
		return &IdentityError{
			Problem: "the App lacks in " + repository + ": " + strings.Join(missing, ", "),
			Hint:    "add them under Permissions & events of the App, then accept them in the installation's settings",
		}
	}
	return nil
}

func (c *clients) wrong(repository string, err error) *IdentityError {
	if explained, ok := c.explain(err).(*IdentityError); ok { //nolint:errorlint // explain returns it bare
		return explained
	}
	return &IdentityError{Problem: fmt.Sprintf("%s cannot be looked at: %v", repository, err), Hint: "check GITHUB_API_URL and that it can be reached from here", Err: err}
}

// missingPermissions compares an installation's permissions with ours.
func missingPermissions(i *github.Installation) (missing []string) {
	has := map[string]string{}
	raw, err := json.Marshal(i.Permissions)
	if err != nil || json.Unmarshal(raw, &has) != nil {
		return nil
	}
	levels := []string{"read", "write", "admin"}
	needed := Permissions()
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if slices.Index(levels, has[name]) < slices.Index(levels, needed[name]) {
			missing = append(missing, name+": "+needed[name])
		}
	}
	return missing
}
