package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Name is the adapter's name in events and origins.
const Name = "github"

// Outsiders say how people without the right are answered.
const (
	OutsidersSilent = "silent" // not at all
	OutsidersReply  = "reply"  // one polite refusal a day
)

// Secrets are the values that may change while the bot runs (SIGHUP).
type Secrets struct {
	// Webhook signs what GitHub sends; Previous is still accepted during a
	// rotation.
	Webhook, Previous string
	// Token is a personal token; unused where AppID is set.
	Token string
	// AppKey is the App's private key (PEM).
	AppKey string
}

// Options make an Adapter. Secrets, MarkerKey, Records, Blobs, History and
// Logger must be given, and either a token or an App.
type Options struct {
	// Secrets is asked at each use. An empty webhook secret is refused by New
	// and later lets nothing in.
	Secrets func() Secrets
	// AppID makes the bot a GitHub App; 0: Secrets.Token is used.
	AppID int64
	// APIURL is what "repos/…" is appended to; empty: https://api.github.com/.
	APIURL string

	// Handle is what people write after the @.
	Handle string
	// Repositories may ask: "owner/name" or "owner/*". Empty: nobody may.
	Repositories []string
	// MinPermission is what an asker needs: read, triage, write (the default),
	// maintain or admin.
	MinPermission string
	// Outsiders is OutsidersSilent (the default) or OutsidersReply.
	Outsiders string
	// Label, where set, makes an issue's text a request when it is put on it.
	Label string
	// Catchup is the age up to which a missed request is still answered; an
	// older one is answered with how to run it now. 0: 6 h.
	Catchup time.Duration
	// WebhookPath tells our hooks from others when deliveries are looked
	// through; empty: "/webhooks/github".
	WebhookPath string

	Artifacts Artifacts
	Limits    Limits
	// AllowHosts are fetch.allow_hosts: links to these in a request are inputs
	// that the adapter "fetch" brings.
	AllowHosts []string

	// MarkerKey signs the hidden marker in our comments and commits; at least
	// 32 bytes, kept over restarts.
	MarkerKey []byte
	Records   bot.Records
	Blobs     bot.Blobs
	History   History
	Clock     bot.Clock // nil: the system's
	Logger    *slog.Logger
}

// Artifacts say where an answer's files are committed.
type Artifacts struct {
	// Branch is the prefix of the monthly branches; empty:
	// "sandpiper-artifacts".
	Branch string
	// Repository takes the files instead of the asking one ("owner/name").
	Repository string
	// Keep is the age at which a whole month's branch is deleted; 0: never.
	Keep time.Duration
}

// Limits bound what the adapter takes and does; 0 takes the default.
type Limits struct {
	Input            int64         // bytes of one file in; 256 MiB
	Webhooks         int           // requests in work at once; 64
	ContentPerMinute int           // comments made or changed; 60 (GitHub: 80)
	ContentPerHour   int           // 400 (GitHub: 500)
	Requests         int           // API calls at once; 50 (GitHub: 100)
	Progress         time.Duration // between two edits of a progress comment; 5 s
	Sweep            time.Duration // between two looks for missed deliveries; 1 h
	Settle           time.Duration // wait for a webhook's body; 10 s
	Probe            time.Duration // first wait before refused credentials are tried again, doubled up to a minute; 1 s
}

// History reads tasks and their steps: for the folded section of an answer,
// and to see whether a conversation is ours. The Store and the Orchestrator
// both have these methods.
type History interface {
	Task(ctx context.Context, id string) (bot.Task, error)
	Tasks(ctx context.Context, query bot.TaskQuery) ([]bot.Task, error)
	Steps(ctx context.Context, task string) ([]bot.Step, error)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func orDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

func (o *Options) setDefaults() {
	orDefault(&o.APIURL, "https://api.github.com/")
	if !strings.HasSuffix(o.APIURL, "/") {
		o.APIURL += "/"
	}
	o.Handle = strings.TrimPrefix(o.Handle, "@")
	orDefault(&o.Handle, "sandpiper")
	orDefault(&o.MinPermission, "write")
	orDefault(&o.Outsiders, OutsidersSilent)
	orDefault(&o.Catchup, 6*time.Hour)
	orDefault(&o.WebhookPath, "/webhooks/github")
	orDefault(&o.Artifacts.Branch, "sandpiper-artifacts")
	l := &o.Limits
	orDefault(&l.Input, 256<<20)
	orDefault(&l.Webhooks, 64)
	orDefault(&l.ContentPerMinute, 60)
	orDefault(&l.ContentPerHour, 400)
	orDefault(&l.Requests, 50)
	orDefault(&l.Progress, 5*time.Second)
	orDefault(&l.Sweep, time.Hour)
	orDefault(&l.Settle, 10*time.Second)
	orDefault(&l.Probe, time.Second)
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
}

func (o *Options) check() error {
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if o.Secrets == nil || o.Records == nil || o.Blobs == nil || o.History == nil || o.Logger == nil {
		fail("secrets, records, blobs, history and logger must be given")
	}
	if o.Secrets != nil {
		switch secrets := o.Secrets(); {
		case secrets.Webhook == "":
			fail("GITHUB_WEBHOOK_SECRET is empty: anybody could call the bot; set it to the secret of the webhook")
		case o.AppID == 0 && secrets.Token == "":
			fail("no credentials: set GITHUB_TOKEN, or GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY")
		case o.AppID != 0 && secrets.AppKey == "":
			fail("GITHUB_APP_ID is set without GITHUB_APP_PRIVATE_KEY")
		}
	}
	if len(o.MarkerKey) < 32 {
		fail("marker key must have at least 32 bytes")
	}
	if u, err := url.Parse(o.APIURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		fail("GITHUB_API_URL %q is no URL", o.APIURL)
	}
	if permissionRank(o.MinPermission) < permissionRank("read") {
		fail("min_permission %q is none of read, triage, write, maintain, admin", o.MinPermission)
	}
	if o.Outsiders != OutsidersSilent && o.Outsiders != OutsidersReply {
		fail("outsiders %q is neither %s nor %s", o.Outsiders, OutsidersSilent, OutsidersReply)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9](-?[A-Za-z0-9])*$`).MatchString(o.Handle) {
		fail("handle %q is no GitHub name", o.Handle)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*[A-Za-z0-9]$`).MatchString(o.Artifacts.Branch) || strings.Contains(o.Artifacts.Branch, "..") {
		fail("artifacts.branch %q is no branch name", o.Artifacts.Branch)
	}
	for _, name := range slices.Concat(o.Repositories, []string{o.Artifacts.Repository}) {
		if name != "" && !regexp.MustCompile(`^[A-Za-z0-9-]+/(\*|[A-Za-z0-9._-]+)$`).MatchString(name) {
			fail("repository %q is neither owner/name nor owner/*", name)
		}
	}
	if strings.HasSuffix(o.Artifacts.Repository, "*") {
		fail("artifacts.repository %q must name one repository", o.Artifacts.Repository)
	}
	return errors.Join(problems...)
}

// allowed says whether repository ("owner/name") is among Repositories.
func (o *Options) allowed(repository string) bool {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || name == "" {
		return false
	}
	return slices.ContainsFunc(o.Repositories, func(pattern string) bool {
		patternOwner, patternName, _ := strings.Cut(pattern, "/")
		return strings.EqualFold(patternOwner, owner) && (patternName == "*" || strings.EqualFold(patternName, name))
	})
}

// permissionRank orders GitHub's roles; an unknown one is below all.
func permissionRank(role string) int {
	return slices.Index([]string{"none", "read", "triage", "write", "maintain", "admin"}, role)
}
