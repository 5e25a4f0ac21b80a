package testadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Name is the adapter's name in origins.
const Name = "test"

// Options hold where the platform is.
type Options struct {
	URL    string // of a testplatform.Platform
	Logger *slog.Logger
	// Submitters is how many events are submitted at once; 0: 8.
	Submitters int
}

// Adapter is a bot.Source and a bot.Channel.
type Adapter struct {
	base       string
	log        *slog.Logger
	submitters int
	client     *http.Client
}

var (
	_ bot.Source  = (*Adapter)(nil)
	_ bot.Channel = (*Adapter)(nil)
)

// Delivered is an event as the platform hands it out, under the number that its
// acknowledgement names.
type Delivered struct {
	Number int       `json:"number"`
	Event  bot.Event `json:"event"`
}

// Message is a delivery as the platform keeps it.
type Message struct {
	ID       string       `json:"id"`
	Delivery bot.Delivery `json:"delivery"`
}

// Shown is a progress message as the platform keeps it.
type Shown struct {
	ID       string       `json:"id"` // empty in a call that makes a new one
	Task     string       `json:"task"`
	Progress bot.Progress `json:"progress"`
}

// New checks opts and returns the adapter.
func New(opts Options) (*Adapter, error) {
	if _, err := url.ParseRequestURI(opts.URL); err != nil {
		return nil, fmt.Errorf("new test adapter: %w", err)
	}
	if opts.Logger == nil {
		return nil, errors.New("new test adapter: no logger given")
	}
	if opts.Submitters == 0 {
		opts.Submitters = 8
	}
	// Lost responses leave connections that nobody can use again.
	transport := &http.Transport{DisableKeepAlives: true}
	return &Adapter{base: opts.URL, log: opts.Logger, submitters: opts.Submitters, client: &http.Client{Transport: transport}}, nil
}

// Name implements bot.Source.
func (a *Adapter) Name() string { return Name }

// Run implements bot.Source: it asks the platform for events and acknowledges
// each after it was submitted.
func (a *Adapter) Run(ctx context.Context, intake bot.Intake) error {
	const pause = 20 * time.Millisecond
	for ctx.Err() == nil {
		events, err := a.events(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Debug("no events from the test platform", "error", err)
		}
		var submitters sync.WaitGroup
		places := make(chan struct{}, a.submitters)
		for _, event := range events {
			places <- struct{}{}
			submitters.Go(func() {
				defer func() { <-places }()
				a.submit(ctx, intake, event)
			})
		}
		submitters.Wait()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (a *Adapter) events(ctx context.Context) ([]Delivered, error) {
	var events []Delivered
	err := a.call(ctx, http.MethodGet, "/events", nil, &events)
	return events, err
}

// submit acknowledges only what was accepted, or refused for good.
func (a *Adapter) submit(ctx context.Context, intake bot.Intake, d Delivered) {
	ticket, err := intake.Submit(ctx, d.Event)
	if err == nil {
		err = a.call(ctx, http.MethodPost, "/events/"+strconv.Itoa(d.Number)+"/ack", ticket, nil)
	}
	if err != nil && ctx.Err() == nil {
		a.log.Debug("event comes again", "key", d.Event.Key, "error", err)
	}
}

// Authorize implements bot.Channel.
func (a *Adapter) Authorize(ctx context.Context, event bot.Event) (d bot.Decision, err error) {
	err = a.call(ctx, http.MethodPost, "/authorize", event, &d)
	return d, err
}

// Fetch implements bot.Channel.
func (a *Adapter) Fetch(ctx context.Context, _ bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	resp, err := a.do(ctx, http.MethodGet, "/files/"+url.PathEscape(ref.Ref), nil)
	if err != nil {
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusNotFound {
			return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "there is no such file"}
		}
		return bot.Fetched{}, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return bot.Fetched{}, fmt.Errorf("fetch file: %w", err)
	}
	return bot.Fetched{MediaType: resp.Header.Get("Content-Type"), Source: "test:" + ref.Ref}, nil
}

// Progress implements bot.Channel.
func (a *Adapter) Progress(ctx context.Context, task bot.Task, progress bot.Progress, earlier *bot.Receipt) (*bot.Receipt, error) {
	shown := Shown{Task: task.ID, Progress: progress}
	if earlier != nil {
		shown.ID = earlier.ID
	}
	if err := a.call(ctx, http.MethodPost, "/progress", shown, &shown); err != nil {
		return nil, err
	}
	return &bot.Receipt{ID: shown.ID}, nil
}

// Send implements bot.Channel. A refused connection was surely not a message; a
// status is the platform's own word; everything else may have arrived.
func (a *Adapter) Send(ctx context.Context, delivery bot.Delivery) (bot.Receipt, error) {
	var m Message
	err := a.call(ctx, http.MethodPost, "/messages", delivery, &m)
	if err == nil {
		return bot.Receipt{ID: m.ID}, nil
	}
	failure := &bot.SendError{Class: bot.Ambiguous, Err: err}
	var status *statusError
	if errors.As(err, &status) {
		failure.Class, failure.After = bot.Permanent, status.after
		if status.code == http.StatusTooManyRequests || status.code == http.StatusServiceUnavailable {
			failure.Class = bot.Retryable
		}
	}
	return bot.Receipt{}, failure
}

// Find implements bot.Channel.
func (a *Adapter) Find(ctx context.Context, delivery bot.Delivery) (bot.Receipt, bool, error) {
	var found []Message
	if err := a.call(ctx, http.MethodGet, "/messages?delivery="+url.QueryEscape(delivery.ID), nil, &found); err != nil {
		return bot.Receipt{}, false, err
	}
	if len(found) == 0 {
		return bot.Receipt{}, false, nil
	}
	return bot.Receipt{ID: found[0].ID}, true, nil
}

// statusError is an answer of the platform that is no success.
type statusError struct {
	code  int
	after time.Duration
}

func (e *statusError) Error() string { return "test platform answered " + strconv.Itoa(e.code) }

// call sends in as JSON and decodes the answer into out; either may be nil.
func (a *Adapter) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := a.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

func (a *Adapter) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call test platform: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // absent: 0
		return nil, errors.Join(&statusError{code: resp.StatusCode, after: time.Duration(after) * time.Second}, resp.Body.Close())
	}
	return resp, nil
}
