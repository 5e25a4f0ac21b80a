package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	api "github.com/sashabaranov/go-openai"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// API says which of the server's interfaces is used.
type API string

// The interfaces.
const (
	Auto      API = "auto" // chat, and responses where the model needs it
	Chat      API = "chat"
	Responses API = "responses"
)

// Options configure a Client.
type Options struct {
	// BaseURL is the complete base, ending in /v1 for most servers; empty
	// takes OpenAI's.
	BaseURL string
	// APIKey is asked for at each request, so that a changed key serves the next
	// one; nil or empty for own servers that want none.
	APIKey func() string
	// Model is the model's name; required.
	Model string
	// Fallbacks are further models of the same server, asked in order when
	// the first does not answer.
	Fallbacks []string
	// Prices by model name; a model without one costs nothing.
	Prices map[string]agent.Price
	// Window and MaxOutput describe the model in tokens; 0 takes the agent's
	// defaults.
	Window, MaxOutput int
	API               API
	// FirstToken bounds the wait for the first sign of an answer and for each
	// further one (default 90 s), TurnTimeout the whole of one try (default 3 min).
	FirstToken, TurnTimeout time.Duration
	// Tries bounds the tries with each model (default 4), MaxWait what the
	// server may ask us to wait between them (default 1 min).
	Tries   int
	MaxWait time.Duration
	// FirstWait is the first pause between tries, doubled from try to try
	// (default 500 ms).
	FirstWait time.Duration
	// Concurrency bounds the turns under way at once (default 8).
	Concurrency int
	// HTTP is used for all requests; nil takes one that honours the standard
	// proxy variables.
	HTTP *http.Client
	Log  *slog.Logger
}

// Client is an agent.Model. It is safe for concurrent use.
type Client struct {
	o    Options
	host string
	free chan struct{} // one token per turn that may be under way

	mu     sync.Mutex // guards habits
	habits map[string]habit
}

// habit is what was learned about one model of this server.
type habit struct {
	responses       bool // wants the Responses API
	otherMax        bool // wants the other name for the output limit
	noMax           bool
	noStreamOptions bool
	noToolChoice    bool
}

var (
	_ agent.Model = (*Client)(nil)

	errFirstToken = errors.New("no sign of an answer in time")
	errTurn       = errors.New("the answer took too long")
)

// New checks o and makes a Client. It does not ask the server anything.
func New(o Options) (*Client, error) {
	if o.Model == "" {
		return nil, errors.New("make model client: no model is named (SANDPIPER_MODEL or model.name)")
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.openai.com/v1"
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("make model client: the base URL must be a full http or https URL ending in /v1")
	}
	fill(&o.API, Auto)
	fill(&o.FirstToken, 90*time.Second)
	fill(&o.TurnTimeout, 3*time.Minute)
	fill(&o.Tries, 4)
	fill(&o.MaxWait, time.Minute)
	fill(&o.FirstWait, 500*time.Millisecond)
	fill(&o.Concurrency, 8)
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{o: o, host: base.Hostname(), free: make(chan struct{}, o.Concurrency), habits: map[string]habit{}}, nil
}

// fill sets *value where it is zero.
func fill[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// Info implements agent.Model.
func (c *Client) Info() agent.ModelInfo {
	return agent.ModelInfo{Name: c.o.Model, Window: c.o.Window, MaxOutput: c.o.MaxOutput, Price: c.o.Prices[c.o.Model]}
}

// Check asks the server for its list of models, to see that it answers and
// takes the key. A server without that list counts as well.
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	d := &doer{http: c.o.HTTP}
	_, err := c.client(d).ListModels(ctx)
	if err == nil || d.status == http.StatusNotFound || d.status == http.StatusMethodNotAllowed {
		return nil
	}
	return c.classify(ctx, err, d)
}

// Complete implements agent.Model.
func (c *Client) Complete(ctx context.Context, req agent.Request) (agent.Reply, error) {
	select {
	case c.free <- struct{}{}:
		defer func() { <-c.free }()
	case <-ctx.Done():
		return agent.Reply{}, context.Cause(ctx)
	}
	var failed *agent.ModelError
	retries := 0
	models := append([]string{c.o.Model}, c.o.Fallbacks...)
	if req.Model != "" {
		models = []string{req.Model} // a policy's choice has no fallback
	}
	for _, model := range models {
		reply, err := c.ask(ctx, model, req, &retries)
		if err == nil {
			reply.Model, reply.Price, reply.Retries = model, c.o.Prices[model], retries
			return reply, nil
		}
		if ctx.Err() != nil {
			return agent.Reply{}, context.Cause(ctx)
		}
		if !errors.As(err, &failed) {
			return agent.Reply{}, fmt.Errorf("ask model: %w", err)
		}
		// Another model has the same key and, most likely, no larger window.
		if failed.Kind == agent.ModelContext || failed.Kind == agent.ModelDenied {
			break
		}
		retries++
	}
	return agent.Reply{}, failed
}

// ask tries one model until it answers or no further try is worth it.
func (c *Client) ask(ctx context.Context, model string, req agent.Request, retries *int) (agent.Reply, error) {
	adapted := 0
	try := func() (agent.Reply, error) {
		for {
			d := &doer{http: c.o.HTTP}
			reply, err := c.try(ctx, model, req, d)
			if err == nil {
				return reply, nil
			}
			if adapted < 5 && c.adapt(model, err) {
				adapted++
				continue
			}
			failed := c.classify(ctx, err, d)
			if failed.Kind != agent.ModelUnavailable && failed.Kind != agent.ModelProtocol || failed.After > c.o.MaxWait {
				return agent.Reply{}, backoff.Permanent(failed)
			}
			if failed.After > 0 {
				return agent.Reply{}, errors.Join(failed, &backoff.RetryAfterError{Duration: failed.After})
			}
			return agent.Reply{}, failed
		}
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = c.o.FirstWait, 2, c.o.MaxWait
	return backoff.Retry(ctx, try, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(c.o.Tries)),
		backoff.WithNotify(func(err error, pause time.Duration) {
			*retries++
			c.o.Log.Warn("asking the model again", "model", model, "error", err.Error(), "pause", pause)
		}))
}

// try makes one request and reads the answer, bounded in time.
func (c *Client) try(ctx context.Context, model string, req agent.Request, d *doer) (agent.Reply, error) {
	ctx, stop := context.WithTimeoutCause(ctx, c.o.TurnTimeout, errTurn)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.o.FirstToken, func() { cancel(errFirstToken) })
	defer silence.Stop()
	d.alive = func() { silence.Reset(c.o.FirstToken) }

	habit := c.habit(model)
	var reply agent.Reply
	var err error
	if c.o.API == Responses || c.o.API == Auto && habit.responses {
		reply, err = c.responses(ctx, model, req, d)
	} else {
		reply, err = c.chat(ctx, model, req, d)
	}
	if err != nil && ctx.Err() != nil {
		return agent.Reply{}, context.Cause(ctx)
	}
	return reply, err
}

// client makes the library's client around d.
func (c *Client) client(d *doer) *api.Client {
	key := ""
	if c.o.APIKey != nil {
		key = c.o.APIKey()
	}
	cfg := api.DefaultConfig(key)
	cfg.BaseURL = strings.TrimRight(c.o.BaseURL, "/")
	cfg.HTTPClient = d
	return api.NewClientWithConfig(cfg)
}

func (c *Client) habit(model string) habit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.habits[model]
}

// adapt learns from a refusal how this model wants to be asked; true when
// another form is worth a try.
func (c *Client) adapt(model string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.habits[model]
	before := h
	var refused *api.APIError
	switch {
	case errors.Is(err, api.ErrReasoningToolsRequireResponses):
		h.responses = true
	case errors.As(err, &refused) && (refused.HTTPStatusCode == http.StatusBadRequest || refused.HTTPStatusCode == http.StatusNotFound || refused.HTTPStatusCode == http.StatusUnprocessableEntity):
		said := strings.ToLower(refused.Message)
		switch {
		case strings.Contains(said, "v1/responses"):
			h.responses = true
		case strings.Contains(said, "stream_options"):
			h.noStreamOptions = true
		case strings.Contains(said, "tool_choice"):
			h.noToolChoice = true
		case strings.Contains(said, "max_tokens"), strings.Contains(said, "max_completion_tokens"):
			if h.otherMax {
				h.noMax = true
			}
			h.otherMax = true
		}
	}
	c.habits[model] = h
	return h != before
}
