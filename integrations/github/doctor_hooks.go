package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
)

// errNoHook says that a list of hooks could be read and none leads here.
var errNoHook = errors.New("no webhook leads here")

// webhookEvents are the events that can hold a request.
func webhookEvents() []string {
	return []string{"issues", "issue_comment", "pull_request_review_comment"}
}

// CheckHooks looks at the settings of the webhooks that lead to us, and at what
// became of their last delivery, for sandpiper doctor. A hook that our
// credentials may not read is passed over: whether it works is seen by what
// comes.
func (a *Adapter) CheckHooks(ctx context.Context) (found []*IdentityError) {
	if a.clients.app != nil {
		return a.checkAppHook(ctx)
	}
	owners := map[string]error{}
	for _, repository := range a.options.Repositories {
		owner, name, _ := strings.Cut(repository, "/")
		err := errors.ErrUnsupported
		if name != "*" {
			var problems []*IdentityError
			problems, err = a.checkHookList(ctx, "the webhook of "+repository, &repositoryHooks{a.clients.token, owner, name})
			found = append(found, problems...)
		}
		if err == nil {
			continue
		}
		key := strings.ToLower(owner)
		if _, known := owners[key]; !known {
			problems, of := a.checkHookList(ctx, "the webhook of "+owner, &organizationHooks{a.clients.token, owner})
			owners[key] = of
			found = append(found, problems...)
		}
		if errors.Is(err, errNoHook) && owners[key] != nil {
			found = append(found, &IdentityError{
				Problem: repository + " has no active webhook that leads to " + a.options.WebhookPath,
				Hint:    "add one in its settings, unless its organization has one; until then comments are only found by the hourly look",
			})
		}
	}
	return found
}

// checkHookList checks each active hook of a list that leads to us; the error
// says that the list cannot be read, or that there is none.
func (a *Adapter) checkHookList(ctx context.Context, name string, of hookList) (found []*IdentityError, err error) {
	list, err := of.hooks(ctx)
	if err != nil {
		return nil, err
	}
	err = errNoHook
	for _, hook := range list {
		if hook.GetActive() && a.leadsHere(hook.GetConfig()) {
			err = nil
			found = append(found, a.checkHook(ctx, name, hook.GetConfig(), hook.Events, of.deliveries(hook.GetID()))...)
		}
	}
	return found, err
}

func (a *Adapter) leadsHere(config *github.HookConfig) bool {
	u, err := url.Parse(config.GetURL())
	return err == nil && strings.HasSuffix(u.Path, a.options.WebhookPath)
}

func (a *Adapter) checkAppHook(ctx context.Context) []*IdentityError {
	const name = "the App's webhook"
	config, _, err := a.clients.app.Apps.GetHookConfig(ctx)
	if err != nil {
		return nil
	}
	if !a.leadsHere(config) {
		return []*IdentityError{{
			Problem: name + " does not lead to " + a.options.WebhookPath,
			Hint:    "set the webhook URL in the App's settings to https://YOUR-HOST" + a.options.WebhookPath + " and make it active",
		}}
	}
	app, _, err := a.clients.app.Apps.Get(ctx, "")
	if err != nil {
		return nil
	}
	return a.checkHook(ctx, name, config, app.Events, &appHook{a.clients.app})
}

func (a *Adapter) checkHook(ctx context.Context, name string, config *github.HookConfig, events []string, of hookDeliveries) (found []*IdentityError) {
	if kind := config.GetContentType(); kind != "json" {
		found = append(found, &IdentityError{
			Problem: name + " sends another content type than JSON", Hint: "set its content type to application/json",
		})
	}
	var missing []string
	for _, event := range webhookEvents() {
		if !slices.Contains(events, event) && !slices.Contains(events, "*") {
			missing = append(missing, event)
		}
	}
	if len(missing) > 0 {
		found = append(found, &IdentityError{
			Problem: name + " does not send: " + strings.Join(missing, ", "), Hint: "add these events in its settings",
		})
	}
	if config.GetSecret() == "" {
		found = append(found, &IdentityError{
			Problem: name + " has no secret: what it sends is refused", Hint: "set its secret to the value of GITHUB_WEBHOOK_SECRET",
		})
	}
	list, _, err := of.list(ctx, "")
	if err != nil || len(list) == 0 {
		return found
	}
	if last := list[0]; last.GetStatusCode() < 200 || last.GetStatusCode() > 299 {
		found = append(found, &IdentityError{
			Problem: fmt.Sprintf("%s failed at its last delivery (%d)", name, last.GetStatusCode()), Hint: deliveryHint(last.GetStatusCode()),
		})
	}
	return found
}

// deliveryHint is what the answer to a delivery tells.
func deliveryHint(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "its secret is not the bot's: make GITHUB_WEBHOOK_SECRET the same"
	case http.StatusUnsupportedMediaType:
		return "set its content type to application/json"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "another server answers there: correct its URL, or the route to the bot"
	case http.StatusServiceUnavailable:
		return "the bot was not ready, or has no GITHUB_WEBHOOK_SECRET: see its log and /readyz"
	}
	return "GitHub does not reach the bot: check the URL, and the tunnel, proxy and certificate before it; what was missed is asked for again"
}
