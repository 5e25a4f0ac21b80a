package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

// The adapter's buckets in Records.
const (
	bucketThreads = "github.threads" // task to what stands in its issue
	bucketMarks   = "github.marks"   // watermarks and daily refusals
)

// Adapter is GitHub as a bot.Source and a bot.Channel. Make it with New; its
// methods are safe for concurrent use.
type Adapter struct {
	options Options
	clients *clients
	guard   *netguard.Guard
	files   *http.Client // fetches attachments, through the guard
	web     string       // base of the web pages, without a final slash
	webHost string

	budget *budget
	rights *rights
	shown  *shown
	guids  *recent
	hooks  chan struct{} // one place for each webhook in work
	large  chan struct{} // one place for each large payload in work
	greet  chan bot.Event

	mu     sync.Mutex // guards what follows
	intake bot.Intake // nil until Run
	self   string     // our login; "" until it was asked for
	// unknown is why GitHub has not told us yet who we are.
	unknown error
	locks   map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // guarded by Adapter.mu
}

var (
	_ bot.Source   = (*Adapter)(nil)
	_ bot.Channel  = (*Adapter)(nil)
	_ bot.Expander = (*Adapter)(nil)
	_ bot.Speller  = (*Adapter)(nil)
)

// New checks options and makes an Adapter. It talks to nobody before Run.
func New(options Options) (*Adapter, error) {
	options.setDefaults()
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("configure github: %w", err)
	}
	web, err := webURL(options.APIURL)
	if err != nil {
		return nil, fmt.Errorf("configure github: %w", err)
	}
	apiHost, err := netguard.HostOf(options.APIURL)
	if err != nil {
		return nil, fmt.Errorf("configure github: %w", err)
	}
	webHost, err := netguard.HostOf(web)
	if err != nil {
		return nil, fmt.Errorf("configure github: %w", err)
	}
	a := &Adapter{
		options: options,
		web:     web, webHost: webHost,
		budget:  newBudget(options.Limits.ContentPerMinute, options.Limits.ContentPerHour, options.Clock),
		shown:   &shown{known: map[string]showing{}},
		guids:   newRecent(10_000),
		hooks:   make(chan struct{}, options.Limits.Webhooks),
		large:   make(chan struct{}, largeAtOnce),
		greet:   make(chan bot.Event, 256),
		locks:   map[string]*lock{},
		unknown: errors.New("GitHub was not asked yet who we are"),
	}
	if a.clients, err = newClients(&a.options); err != nil {
		return nil, fmt.Errorf("configure github: %w", err)
	}
	a.rights = newRights(a)
	var exempt []string
	if apiHost != "api.github.com" {
		// With subdomain isolation an Enterprise server keeps files on two more.
		exempt = []string{apiHost, webHost, "media." + webHost, "raw." + webHost}
	}
	a.guard = netguard.New(netguard.Options{Known: fileHosts(), Listed: options.AllowHosts, Exempt: exempt})
	a.files = a.guard.Client(0)
	return a, nil
}

// webURL is where the pages of an API's GitHub live: github.com, or the same
// host on an Enterprise server.
func webURL(api string) (string, error) {
	if host, err := netguard.HostOf(api); err != nil || host == "api.github.com" {
		return "https://github.com", err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(api, "/"), "/api/v3")
	if rest, ok := strings.CutPrefix(base, "https://api."); ok && strings.HasSuffix(rest, ".ghe.com") {
		return "https://" + rest, nil
	}
	return base, nil
}

// fileHosts are the servers that github.com keeps attachments and files on.
func fileHosts() []string {
	return []string{
		"github.com", "raw.githubusercontent.com", "objects.githubusercontent.com", "user-images.githubusercontent.com",
		"private-user-images.githubusercontent.com", "media.githubusercontent.com", "release-assets.githubusercontent.com",
		"github-production-user-asset-6210df.s3.amazonaws.com", "github-production-repository-file-5c1aeb.s3.amazonaws.com",
	}
}

// Spell implements bot.Speller: how a command is written in a comment.
func (a *Adapter) Spell(command string) string { return "@" + a.options.Handle + " /" + command }

// Name implements bot.Source.
func (a *Adapter) Name() string { return Name }

// Run implements bot.Source: it asks who we are, sweeps for what was missed
// and keeps house, until ctx ends. Credentials that GitHub does not accept make
// it unready, and are tried again: the rest of the process goes on.
func (a *Adapter) Run(ctx context.Context, intake bot.Intake) error {
	a.mu.Lock()
	a.intake = intake
	a.mu.Unlock()
	defer a.guard.CloseIdleConnections()
	defer a.clients.closeIdle()
	if !a.identify(ctx) {
		return nil
	}
	var loops sync.WaitGroup
	loops.Go(func() { a.watchLoop(ctx) })
	loops.Go(func() { a.sweepLoop(ctx) })
	loops.Go(func() { a.greetLoop(ctx) })
	loops.Go(func() { a.keepLoop(ctx) })
	loops.Wait()
	return nil
}

// identify asks GitHub who we are until it answers, or ctx ends: then it
// reports false. A revoked token may be replaced, and a GitHub that is down
// comes back.
func (a *Adapter) identify(ctx context.Context) bool {
	for wait := a.options.Limits.Probe; ; wait = min(2*wait, time.Minute) {
		_, err := a.login(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		wrong, identity := errors.AsType[*IdentityError](err)
		switch {
		case identity && a.clients.health.problem() != nil:
			// That was said when the answer came, once.
			a.options.Logger.Debug("github is asked again for our credentials", "again_in", wait)
		case identity:
			a.options.Logger.Error("cannot sign in to github", "error", wrong.Problem, "hint", wrong.Hint, "again_in", wait)
		default:
			a.options.Logger.Warn("github does not answer", "error", err, "again_in", wait)
		}
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// sleep waits and reports false when ctx ended meanwhile.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// login returns our own login, asked for once.
func (a *Adapter) login(ctx context.Context) (string, error) {
	a.mu.Lock()
	self := a.self
	a.mu.Unlock()
	if self != "" {
		return self, nil
	}
	self, err := a.clients.login(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unknown = err
	if wrong, ok := errors.AsType[*IdentityError](err); ok {
		a.unknown = wrong // it says all
	}
	if err == nil {
		a.self = self
	}
	return self, err
}

// Check asks GitHub who we are, for doctor: it returns our login, or an
// *IdentityError that says what to do.
func (a *Adapter) Check(ctx context.Context) (string, error) { return a.clients.login(ctx) }

func (a *Adapter) client(ctx context.Context, to address) (*github.Client, error) {
	return a.clients.forRepository(ctx, to.Repository, to.Installation)
}

// hold locks key until the returned func is called: two calls never write one
// task's comment or one branch at a time.
func (a *Adapter) hold(key string) (release func()) {
	a.mu.Lock()
	l := a.locks[key]
	if l == nil {
		l = &lock{}
		a.locks[key] = l
	}
	l.users++
	a.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(a.locks, key)
		}
	}
}

// recent remembers the last ids it was given.
type recent struct {
	mu    sync.Mutex // guards what follows
	ids   map[string]bool
	order []string
	next  int
}

func newRecent(size int) *recent {
	return &recent{ids: make(map[string]bool, size), order: make([]string, size)}
}

func (r *recent) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}

func (r *recent) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return
	}
	delete(r.ids, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % len(r.order)
	r.ids[id] = true
}
