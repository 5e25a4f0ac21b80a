package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"golang.org/x/time/rate"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Name is the adapter's name in events, origins and keys.
const Name = "slack"

// Tokens let the adapter into Slack.
type Tokens struct {
	App string // xapp-…, with connections:write
	Bot string // xoxb-…
}

// Options are what an Adapter works with. Tokens, Records, Blobs, Secret and
// Logger must be given.
type Options struct {
	// Tokens is asked before each call: what it gives may change while the bot
	// runs (SIGHUP).
	Tokens func() Tokens
	// APIURL is the complete base of the Web API, ending in "/api/"; empty is
	// Slack's own.
	APIURL string

	Allow    Allow
	Guests   bool // guests may ask
	External bool // people of other organizations and shared channels may ask
	// Catchup is how old a request may be that was made while we were away; an
	// older one gets a button. 0 takes 6 h.
	Catchup time.Duration
	// MaxInput is the most bytes of one input; 0 takes 256 MiB.
	MaxInput int64

	// Secret keys the marks on our messages. It must stay the same between
	// lives of the process, or earlier messages are not found again.
	Secret  []byte
	Records bot.Records
	Blobs   bot.Blobs // holds the files of deliveries

	// Command finds commands in the text of a mention beyond those built in
	// (cancel, status, help, retry); nil finds none.
	Command func(text string) (bot.Command, bool)
	// Seen, when set, is told of every event that Slack sends; it must not block.
	Seen func()
	// TaskURL is the address of a task's page; nil or "" where there is none.
	TaskURL func(task string) string
	// DailyUSD and DailyTokens are shown in the App Home as what an actor may
	// spend a day; 0 shows nothing.
	DailyUSD    float64
	DailyTokens int64

	HTTP   *http.Client // nil: one that honours the proxy variables
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Clock  bot.Clock // nil: the system's
	Logger *slog.Logger
}

// Allow lists who may ask; see Adapter.allowed for what an empty list means.
type Allow struct {
	Channels []string // "C0123", or "T0123/C0456" to name the workspace too
	Users    []string // "U0123"
	Groups   []string // "S0123"
}

// Tasks is what the adapter shows of the core; the Orchestrator has it.
type Tasks interface {
	Task(ctx context.Context, id string) (bot.Task, error)
	// Tasks returns what matches, newest first.
	Tasks(ctx context.Context, query bot.TaskQuery) ([]bot.Task, error)
	Steps(ctx context.Context, task string) ([]bot.Step, error)
}

// Adapter is Slack as a bot.Source and bot.Channel. Its methods are safe for
// concurrent use.
type Adapter struct {
	opts  Options
	http  *http.Client
	log   *slog.Logger
	clock bot.Clock
	cache *cache
	told  *told
	// unwanted are messages that get no reaction any more.
	unwanted *told
	// edits keeps all edits of progress messages within Slack's rate.
	edits *rate.Limiter

	// asking is held while Slack is asked who we are.
	asking sync.Mutex

	mu         sync.Mutex // guards what follows
	client     *slack.Client
	tokens     Tokens // that client has
	unfit      Tokens // were told of already
	tasks      Tasks
	scheduling Scheduling // nil where no schedules are offered
	self       identity
	state      error // why we are not connected; nil while we are
	// edited is when each progress message was last edited, by its ts; by a
	// task's id, when posting its first one was tried.
	edited map[string]time.Time
}

var (
	_ bot.Source  = (*Adapter)(nil)
	_ bot.Channel = (*Adapter)(nil)
	_ bot.Talk    = (*Adapter)(nil)
)

// identity is who we are, as auth.test says.
type identity struct {
	user, bot, team, enterprise string
	url                         string // of the workspace, ending in "/"
	token                       string // that said so
}

// ErrNotConnected is what Ready returns before the first connection.
var ErrNotConnected = errors.New("slack is not connected yet")

// New checks opts and returns an Adapter that does nothing before Run.
func New(opts Options) (*Adapter, error) {
	if opts.Tokens == nil {
		return nil, errors.New("slack: tokens must be given")
	}
	if err := opts.Tokens().check(); err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	switch {
	case opts.Records == nil, opts.Blobs == nil, opts.Logger == nil:
		return nil, errors.New("slack: records, blobs and logger must be given")
	case len(opts.Secret) < 16:
		return nil, errors.New("slack: the secret for marks needs at least 16 bytes")
	}
	if opts.APIURL == "" {
		opts.APIURL = slack.APIURL
	}
	if !strings.HasSuffix(opts.APIURL, "/") {
		opts.APIURL += "/"
	}
	if opts.Catchup == 0 {
		opts.Catchup = 6 * time.Hour
	}
	if opts.MaxInput == 0 {
		opts.MaxInput = 256 << 20
	}
	if opts.HTTP == nil {
		opts.HTTP = &http.Client{}
	}
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if opts.TaskURL == nil {
		opts.TaskURL = func(string) string { return "" }
	}
	a := &Adapter{
		opts: opts, http: opts.HTTP, log: opts.Logger.With("adapter", Name), clock: opts.Clock,
		told: newTold(), unwanted: newTold(), edits: rate.NewLimiter(rate.Every(time.Minute/40), 8), state: ErrNotConnected, edited: map[string]time.Time{},
	}
	a.cache = newCache(a.clock)
	return a, nil
}

// check says which variable holds what is no such token.
func (t Tokens) check() error {
	switch {
	case !strings.HasPrefix(t.App, "xapp-"):
		return errors.New("the app token (SLACK_APP_TOKEN) must begin with xapp- (Basic Information, App-Level Tokens)")
	case !strings.HasPrefix(t.Bot, "xoxb-"):
		return errors.New("the bot token (SLACK_BOT_TOKEN) must begin with xoxb- (OAuth & Permissions)")
	}
	return nil
}

// api is Slack's Web API with the tokens as they are now. Tokens that cannot be
// such leave the earlier ones in force.
func (a *Adapter) api() *slack.Client {
	now := a.opts.Tokens()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now == a.tokens {
		return a.client
	}
	if err := now.check(); err != nil && a.client != nil {
		if now != a.unfit {
			a.unfit = now
			a.log.Error("the new tokens are not used", "error", err)
		}
		return a.client
	}
	a.client = slack.New(now.Bot, slack.OptionAppLevelToken(now.App), slack.OptionAPIURL(a.opts.APIURL), slack.OptionHTTPClient(a.opts.HTTP))
	a.tokens = now
	return a.client
}

// token is the bot token as it is now.
func (a *Adapter) token() string {
	_ = a.api()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens.Bot
}

// Name implements bot.Source.
func (a *Adapter) Name() string { return Name }

// Show gives the adapter what App Home, "Show code" and the last line of a
// progress message are made from. Call it before Run.
func (a *Adapter) Show(tasks Tasks) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks = tasks
}

func (a *Adapter) shown() Tasks {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks
}

// Ready returns nil while a socket is up, or why none is.
func (a *Adapter) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *Adapter) setState(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = err
}

func (a *Adapter) whoami() identity {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.self
}

// identify asks Slack who we are, and logs the scopes that are missing.
func (a *Adapter) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	token := a.token()
	who, err := a.api().AuthTestContext(ctx)
	if err != nil {
		return fmt.Errorf("ask Slack who we are: %w", explain(err))
	}
	a.mu.Lock()
	a.self = identity{user: who.UserID, bot: who.BotID, team: who.TeamID, enterprise: who.EnterpriseID, url: who.URL, token: token}
	a.mu.Unlock()
	if missing := missingScopes(who.Header); len(missing) > 0 {
		a.log.Warn("the Slack app lacks scopes: add them under OAuth & Permissions and install it again", "missing", missing)
	}
	return nil
}

// known reports whether the bot token as it is now has said who we are.
func (a *Adapter) known() bool {
	self := a.whoami()
	return self.user != "" && self.token == a.token()
}

// know makes sure that we know who we are: nothing can be decided or found
// before. The core may call before Run has connected.
func (a *Adapter) know(ctx context.Context) error {
	if a.known() {
		return nil
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	if a.known() {
		return nil
	}
	return a.identify(ctx)
}

// Check asks Slack whether the tokens work, for sandpiper doctor. It returns
// what is missing, in words.
func (a *Adapter) Check(ctx context.Context) (problems []string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	who, err := a.api().AuthTestContext(ctx)
	if err != nil {
		return []string{"the bot token does not work: " + explain(err).Error()}
	}
	for _, scope := range missingScopes(who.Header) {
		problems = append(problems, "the app lacks the scope "+scope+": add it under OAuth & Permissions and install the app again")
	}
	if _, _, err := a.api().StartSocketModeContext(ctx); err != nil {
		problems = append(problems, "the app token opens no socket: "+explainToken(err, appVariable).Error())
	}
	return problems
}

// Scopes are the bot scopes that the adapter uses; deploy/slack/manifest.yaml
// asks for exactly these.
func Scopes() []string {
	return []string{
		"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
		"groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
		"reactions:write", "usergroups:read", "users:read",
	}
}

// Events are the bot events that the adapter handles; the manifest subscribes
// to exactly these.
func Events() []string {
	return []string{
		"app_home_opened", "app_mention", "file_deleted", "message.channels", "message.groups", "message.im", "message.mpim",
	}
}

// missingScopes compares what the token has, as Slack's answers name it, with
// Scopes. Where Slack names nothing, nothing is missing.
func missingScopes(header http.Header) []string {
	has := header.Get("X-OAuth-Scopes")
	if has == "" {
		return nil
	}
	have := map[string]bool{}
	for s := range strings.SplitSeq(has, ",") {
		have[strings.TrimSpace(s)] = true
	}
	var missing []string
	for _, s := range Scopes() {
		if !have[s] {
			missing = append(missing, s)
		}
	}
	return missing
}

type systemClock struct{}

// Now implements bot.Clock.
func (systemClock) Now() time.Time { return time.Now() }
