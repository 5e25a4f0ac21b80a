package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
)

// clients gives API clients: one for a token, or one for the App itself and
// one for each installation. Each has its own gate and memory.
type clients struct {
	options *Options
	base    *url.URL
	wire    http.RoundTripper
	apps    *ghinstallation.AppsTransport // nil with a token
	signer  *appSigner                    // nil with a token
	app     *github.Client                // signed with the App's key; nil with a token
	token   *github.Client                // nil with an App
	health  *health

	mu            sync.Mutex // guards what follows
	installations map[int64]*github.Client
	byRepository  map[string]int64 // lower-case full name to installation
}

func newClients(options *Options) (*clients, error) {
	base, err := url.Parse(options.APIURL)
	if err != nil {
		return nil, fmt.Errorf("parse api url: %w", err)
	}
	wire := http.DefaultTransport.(*http.Transport).Clone()
	wire.ResponseHeaderTimeout = time.Minute
	c := &clients{
		options: options, base: base, wire: wire, health: newHealth(options.Logger),
		installations: map[int64]*github.Client{}, byRepository: map[string]int64{},
	}
	if options.AppID == 0 {
		c.token = c.client(ownCredential, &tokenTransport{next: wire, host: base.Host, token: func() string { return options.Secrets().Token }})
		return c, nil
	}
	c.signer = &appSigner{key: func() string { return options.Secrets().AppKey }}
	if _, err := c.signer.parsed(); err != nil {
		return nil, err
	}
	if c.apps, err = ghinstallation.NewAppsTransportWithOptions(wire, options.AppID, ghinstallation.WithSigner(c.signer)); err != nil {
		return nil, fmt.Errorf("sign as the App: %w", err)
	}
	c.apps.BaseURL = strings.TrimSuffix(options.APIURL, "/")
	c.app = c.client(ownCredential, c.apps)
	return c, nil
}

// tokenTransport signs requests to the API's host, and to no other.
type tokenTransport struct {
	next  http.RoundTripper
	host  string
	token func() string
}

// RoundTrip implements http.RoundTripper.
func (t *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	if request.URL.Host == t.host {
		request.Header.Set("Authorization", "Bearer "+t.token())
	}
	return t.next.RoundTrip(request)
}

func (c *clients) client(credential string, signed http.RoundTripper) *github.Client {
	watched := &watch{next: signed, clients: c, credential: credential}
	transport := newConditional(newGate(watched, c.options.Clock, c.options.Limits.Requests))
	client := github.NewClient(&http.Client{
		Transport: transport,
		CheckRedirect: func(request *http.Request, via []*http.Request) error {
			if request.URL.Host != c.base.Host || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	})
	client.BaseURL = c.base
	client.UserAgent = "sandpiper"
	return client
}

// forRepository returns the client that may work in repository ("owner/name").
// installation is what the webhook named; 0 where it named none.
func (c *clients) forRepository(ctx context.Context, repository string, installation int64) (*github.Client, error) {
	if c.token != nil {
		return c.token, nil
	}
	if installation == 0 {
		var err error
		if installation, err = c.installation(ctx, repository); err != nil {
			return nil, err
		}
	}
	return c.forInstallation(installation), nil
}

func (c *clients) forInstallation(installation int64) *github.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.installations[installation]
	if client == nil {
		client = c.client(installationCredential+itoa(installation), ghinstallation.NewFromAppsTransport(c.apps, installation))
		c.installations[installation] = client
	}
	return client
}

// installation asks which installation serves repository.
func (c *clients) installation(ctx context.Context, repository string) (int64, error) {
	key := strings.ToLower(repository)
	c.mu.Lock()
	id := c.byRepository[key]
	c.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	owner, name, _ := strings.Cut(repository, "/")
	found, _, err := c.app.Apps.FindRepositoryInstallation(ctx, owner, name)
	if err != nil {
		if statusOf(err) == http.StatusNotFound {
			return 0, fmt.Errorf("find installation for %s: the App is not installed there: %w", repository, err)
		}
		return 0, fmt.Errorf("find installation for %s: %w", repository, c.explain(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byRepository[key] = found.GetID()
	return found.GetID(), nil
}

// installationOf finds the installation of an account among the App's.
func (c *clients) installationOf(ctx context.Context, owner string) (int64, error) {
	for page := 1; page != 0; {
		list, response, err := c.app.Apps.ListInstallations(ctx, &github.ListOptions{PerPage: 100, Page: page})
		if err != nil {
			return 0, fmt.Errorf("list installations: %w", c.explain(err))
		}
		for _, i := range list {
			if strings.EqualFold(i.GetAccount().GetLogin(), owner) {
				return i.GetID(), nil
			}
		}
		page = response.NextPage
	}
	return 0, fmt.Errorf("list installations: the App is not installed for %s", owner)
}

// login asks who we are: the App's slug with "[bot]", or the token's user.
func (c *clients) login(ctx context.Context) (string, error) {
	if c.token != nil {
		user, _, err := c.token.Users.Get(ctx, "")
		if err != nil {
			return "", fmt.Errorf("ask who the token belongs to: %w", c.explain(err))
		}
		return user.GetLogin(), nil
	}
	app, _, err := c.app.Apps.Get(ctx, "")
	if err != nil {
		return "", fmt.Errorf("ask for the App: %w", c.explain(err))
	}
	return app.GetSlug() + "[bot]", nil
}

// IdentityError says why GitHub does not know us, and what to do.
type IdentityError struct {
	Problem string
	Hint    string
	Err     error
}

// Error implements error.
func (e *IdentityError) Error() string { return e.Problem + "; " + e.Hint }

// Unwrap implements errors.Unwrap.
func (e *IdentityError) Unwrap() error { return e.Err }

// explain turns what GitHub says about credentials into an *IdentityError.
// Other errors stay as they are.
func (c *clients) explain(err error) error {
	if known, ok := errors.AsType[*IdentityError](err); ok {
		return known
	}
	answer, ok := answerOf(err)
	if !ok {
		if c.signer != nil && err != nil {
			// The library keeps only the text of what the signer says.
			if _, none := c.signer.parsed(); none != nil {
				return none
			}
		}
		return err
	}
	switch {
	case answer.status == http.StatusForbidden && strings.Contains(answer.text, "Resource not accessible"):
		return &IdentityError{Problem: "a permission is missing for " + answer.route, Hint: "compare the App's or token's permissions with deploy/github, and accept the new ones in the installation's settings", Err: err}
	case answer.status != http.StatusUnauthorized:
		return err
	}
	return c.unauthorized(answer, err)
}

// unauthorized says why GitHub answered 401.
func (c *clients) unauthorized(answer apiAnswer, err error) *IdentityError {
	switch {
	case c.apps == nil:
		return &IdentityError{Problem: "GitHub does not accept GITHUB_TOKEN", Hint: "it is mistyped, expired or revoked: make a new one", Err: err}
	case strings.Contains(answer.text, "'Issued at'") || strings.Contains(answer.text, "'Expiration time'"):
		return &IdentityError{Problem: "GitHub finds the App's token to be from the wrong time" + c.skew(answer.date), Hint: "set this machine's clock (NTP)", Err: err}
	case strings.Contains(answer.text, "could not be decoded"):
		return &IdentityError{Problem: "GITHUB_APP_PRIVATE_KEY is not a key of this App", Hint: "generate a private key in the App's settings and use that", Err: err}
	case strings.Contains(answer.text, "Integration not found"):
		return &IdentityError{Problem: fmt.Sprintf("there is no App with GITHUB_APP_ID %d at %s", c.options.AppID, c.base.Host), Hint: "use the App ID (a number) from the App's settings", Err: err}
	}
	return &IdentityError{Problem: "GitHub does not accept the App's credentials", Hint: "check GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY", Err: err}
}

// skew says how far this clock is from a response's Date.
func (c *clients) skew(date string) string {
	at, err := http.ParseTime(date)
	if err != nil {
		return ""
	}
	ahead := c.options.Clock.Now().Sub(at).Round(time.Second)
	if ahead < 0 {
		return fmt.Sprintf(": this machine's clock is %s behind GitHub's", -ahead)
	}
	return fmt.Sprintf(": this machine's clock is %s ahead of GitHub's", ahead)
}

func (c *clients) closeIdle() {
	if t, ok := c.wire.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}
