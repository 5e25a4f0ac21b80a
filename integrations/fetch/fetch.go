package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

// Name is the adapter's name in InputRef.Adapter; InputRef.Ref is the link.
const Name = "fetch"

// Options make a Fetcher.
type Options struct {
	// Hosts are fetch.allow_hosts: exact names, with ":port" where it is not
	// 443. Empty: nothing is fetched.
	Hosts []string
	// Exempt hosts may lie inside and speak plain HTTP; for tests.
	Exempt []string
	// Limit bounds one file in bytes; 0: 256 MiB.
	Limit int64
	// Timeout bounds one fetch; 0: 10 minutes.
	Timeout time.Duration
	// Proxy says which proxy a request takes; nil: the standard variables.
	Proxy func(*http.Request) (*url.URL, error)
}

// Fetcher fetches links. Close must follow.
type Fetcher struct {
	guard  *netguard.Guard
	client *http.Client
	limit  int64
}

var _ bot.Channel = (*Fetcher)(nil)

// New makes a Fetcher.
func New(options Options) *Fetcher {
	if options.Limit == 0 {
		options.Limit = 256 << 20
	}
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Minute
	}
	guard := netguard.New(netguard.Options{Listed: options.Hosts, Exempt: options.Exempt, Proxy: options.Proxy})
	return &Fetcher{guard: guard, client: guard.Client(options.Timeout), limit: options.Limit}
}

// Close closes the connections that wait for reuse.
func (f *Fetcher) Close() { f.guard.CloseIdleConnections() }

// Fetch implements bot.Channel: it streams the link that ref.Ref is into w.
// Fetched.Source is the link without its query, with the entity tag the server
// gave, for the query may hold a signature.
func (f *Fetcher) Fetch(ctx context.Context, _ bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	problem := func(format string, args ...any) error {
		return &bot.InputError{Name: ref.Name, Reason: fmt.Sprintf(format, args...)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ref.Ref, nil)
	if err != nil {
		return bot.Fetched{}, problem("its link is no URL")
	}
	response, err := f.client.Do(request)
	if netguard.Refused(err) {
		return bot.Fetched{}, problem("its link leads where I do not go: %s", netguard.Refusal(err))
	}
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("fetch link: %w", netguard.BareError(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return bot.Fetched{}, fmt.Errorf("fetch link: status %d", status)
	case status != http.StatusOK:
		return bot.Fetched{}, problem("its link answers with status %d", status)
	case response.ContentLength > f.limit:
		return bot.Fetched{}, problem("it is larger than allowed (%d MiB)", f.limit>>20)
	}
	n, err := io.Copy(w, io.LimitReader(response.Body, f.limit+1))
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("read link: %w", netguard.BareError(err))
	}
	if n > f.limit {
		return bot.Fetched{}, problem("it is larger than allowed (%d MiB)", f.limit>>20)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	source, _, _ := strings.Cut(ref.Ref, "?")
	if tag := response.Header.Get("ETag"); tag != "" && len(tag) < 100 {
		source += " " + tag
	}
	return bot.Fetched{MediaType: kind, Source: source}, nil
}

// errNoPlace says that nothing is asked or answered through links.
var errNoPlace = errors.New("links are only fetched from")

// Authorize implements bot.Channel.
func (f *Fetcher) Authorize(context.Context, bot.Event) (bot.Decision, error) {
	return bot.Decision{Reason: errNoPlace.Error(), Rule: Name}, nil
}

// Progress implements bot.Channel.
func (f *Fetcher) Progress(context.Context, bot.Task, bot.Progress, *bot.Receipt) (*bot.Receipt, error) {
	return nil, nil
}

// Send implements bot.Channel.
func (f *Fetcher) Send(context.Context, bot.Delivery) (bot.Receipt, error) {
	return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: errNoPlace}
}

// Find implements bot.Channel.
func (f *Fetcher) Find(context.Context, bot.Delivery) (bot.Receipt, bool, error) {
	return bot.Receipt{}, false, nil
}
