package slacktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options shape a Workspace. The zero value is a workspace that behaves as
// Slack does, with Slack's own times.
type Options struct {
	Team       string // id of the workspace; default "T0FAKE"
	Enterprise string // id of the Enterprise Grid organization; empty for none
	// OrgInstall makes the app installed for the organization: auth.test names
	// the enterprise and events name the workspace they come from.
	OrgInstall bool
	// Scopes are those the bot token holds. Nil means all.
	Scopes []string

	AckTimeout   time.Duration   // how long an envelope waits for its answer; default 3 s
	Redelivery   []time.Duration // waits before each redelivery; default 0, 1 min, 5 min
	PingInterval time.Duration   // between WebSocket pings; default 5 s
	ShareDelay   time.Duration   // from the completed upload to its message; default 200 ms

	// Unlimited switches the rate limits off; sizes are still enforced.
	Unlimited bool
	// Commercial applies the limits of apps sold outside the Marketplace.
	Commercial bool
	// InMemory serves over net.Pipe instead of a TCP port, for
	// testing/synctest: use HTTPClient and Dial.
	InMemory bool
	// Listen is the TCP address, default "127.0.0.1:0".
	Listen string
}

// Tokens of every Workspace, until they are rotated.
const (
	botToken = "xoxb-fake-bot-token"
	appToken = "xapp-fake-app-token"
)

// Ids of the app itself.
const (
	BotUser = "U0SANDPIPER" // the bot's user id
	BotID   = "B0SANDPIPER" // the bot's bot_id
	AppID   = "A0SANDPIPER" // the app's id
)

// Workspace is a fake workspace. Its methods are safe for concurrent use.
type Workspace struct {
	options  Options
	server   *http.Server
	listener net.Listener
	base     string // scheme and host
	pipe     *pipeListener
	wait     sync.WaitGroup // the server, sockets, redeliveries, shares
	closed   chan struct{}  // closed by Close
	closing  sync.Once

	mu       sync.Mutex // guards everything below
	changed  chan struct{}
	now      time.Time // the last ts given out
	serial   int
	users    map[string]*User
	channels map[string]*Channel
	groups   map[string]*Group
	messages map[string][]*Message // by channel, in order of ts
	files    map[string]*File
	homes    map[string]View   // by user
	views    map[string][]View // modals by user, newest last
	status   map[string]string // assistant status by channel/thread
	triggers map[string]trigger
	answers  map[string]*responseURL
	tickets  map[string]bool // unused socket URLs
	sockets  []*socket
	next     int // socket that gets the next envelope
	pending  map[string]*envelope
	acks     Acks
	faults   []*Fault
	calls    []Call
	buckets  map[string]*bucket
	down     bool
	disabled bool // socket mode was switched off
	unfurls  []string
	rotated  int // how often the tokens were
}

// New starts a workspace with the bot in it and nobody else.
func New(options Options) (*Workspace, error) {
	options = withDefaults(options)
	w := &Workspace{
		options: options, changed: make(chan struct{}), closed: make(chan struct{}),
		users: map[string]*User{}, channels: map[string]*Channel{}, groups: map[string]*Group{},
		messages: map[string][]*Message{}, files: map[string]*File{},
		homes: map[string]View{}, views: map[string][]View{}, status: map[string]string{},
		triggers: map[string]trigger{}, answers: map[string]*responseURL{},
		tickets: map[string]bool{}, pending: map[string]*envelope{}, buckets: map[string]*bucket{},
	}
	w.users[BotUser] = &User{ID: BotUser, Name: "Sandpiper", Bot: true}
	if options.InMemory {
		w.pipe = newPipeListener()
		w.listener, w.base = w.pipe, "http://slack.test"
	} else {
		listener, err := listen(options.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen for the fake workspace: %w", err)
		}
		w.listener, w.base = listener, "http://"+listener.Addr().String()
	}
	w.server = &http.Server{Handler: w.routes(), ReadHeaderTimeout: 10 * time.Second}
	w.wait.Go(func() { _ = w.server.Serve(w.listener) })
	return w, nil
}

func listen(addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp", tcp)
}

func withDefaults(o Options) Options {
	if o.Team == "" {
		o.Team = "T0FAKE"
	}
	if o.AckTimeout == 0 {
		o.AckTimeout = 3 * time.Second
	}
	if o.Redelivery == nil {
		o.Redelivery = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if o.PingInterval == 0 {
		o.PingInterval = 5 * time.Second
	}
	if o.ShareDelay == 0 {
		o.ShareDelay = 200 * time.Millisecond
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	return o
}

// Close ends the server, all sockets and all waiting redeliveries.
func (w *Workspace) Close() error {
	w.closing.Do(func() { close(w.closed) })
	w.DropSockets()
	err := w.server.Close()
	w.wait.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// APIURL is the base of the Web API as slack.OptionAPIURL wants it.
func (w *Workspace) APIURL() string { return w.base + "/api/" }

// BotToken is the xoxb- token.
func (w *Workspace) BotToken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current(botToken)
}

// AppToken is the xapp- token that opens sockets.
func (w *Workspace) AppToken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current(appToken)
}

// current is what a token has become by rotating. The caller holds mu.
func (w *Workspace) current(token string) string {
	if w.rotated > 0 {
		token += fmt.Sprintf("-%d", w.rotated)
	}
	return token
}

// RotateTokens revokes both tokens, breaks the connections made with them, and
// gives new ones.
func (w *Workspace) RotateTokens() {
	w.mu.Lock()
	w.rotated++
	w.mu.Unlock()
	w.DropSockets()
}

// Team is the id of the workspace.
func (w *Workspace) Team() string { return w.options.Team }

// HTTPClient reaches the workspace, over net.Pipe with Options.InMemory.
func (w *Workspace) HTTPClient() *http.Client {
	if w.pipe == nil {
		return &http.Client{}
	}
	return &http.Client{Transport: &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}}
}

// Dial opens a connection to the workspace whatever addr says.
func (w *Workspace) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	if w.pipe != nil {
		return w.pipe.dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, w.listener.Addr().String())
}

func (w *Workspace) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", w.serveAPI)
	mux.HandleFunc("GET /socket", w.serveSocket)
	mux.HandleFunc("POST /upload/{file}", w.serveUpload)
	mux.HandleFunc("GET /files-pri/{file}/download/{name}", w.serveDownload)
	mux.HandleFunc("GET /signin", serveSignIn)
	mux.HandleFunc("POST /response/{id}", w.serveResponse)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.isDown() {
			http.Error(rw, "Slack is down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

// notify wakes all who wait in Await. The caller holds mu.
func (w *Workspace) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Await waits until cond is true, and looks again after every change of the
// workspace. It returns the context's cause when that ends first.
func (w *Workspace) Await(ctx context.Context, cond func() bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// nextTS gives a ts later than all before. The caller holds mu.
func (w *Workspace) nextTS() string {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(w.now) {
		now = w.now.Add(time.Microsecond)
	}
	w.now = now
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}

// id gives an id that was not given before. The caller holds mu.
func (w *Workspace) id(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s0%05d", prefix, w.serial)
}

// SetDown makes every request fail with 503 and closes all sockets, until it
// is called with false. Events meanwhile are lost, as with Slack.
func (w *Workspace) SetDown(down bool) {
	w.mu.Lock()
	w.down = down
	w.notify()
	w.mu.Unlock()
	if down {
		w.DropSockets()
	}
}

func (w *Workspace) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down
}

func (w *Workspace) holds(scope string) bool {
	if w.options.Scopes == nil || scope == "" {
		return true
	}
	for _, alternative := range strings.Split(scope, "|") {
		for _, s := range w.options.Scopes {
			if s == alternative {
				return true
			}
		}
	}
	return false
}

// pipeListener is a net.Listener over net.Pipe.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "slacktest", Net: "pipe"} }
