package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/sandpiper-bot/sandpiper/agent"
)

// errBroken is an answer that ended before its end.
var errBroken = errors.New("the answer broke off")

// errStream is an error that the server reported within a stream.
type errStream struct{ said string }

func (e *errStream) Error() string { return "the server reported an error in the middle of its answer" }

// serverHint is what to look at where a server answers, but not well.
const serverHint = "Check the model's server and its log, and model.base_url (OPENAI_BASE_URL); model.fallbacks names models that take over."

// windowSize finds the context's size in what servers say.
var windowSize = regexp.MustCompile(`(?:maximum context length is|n_ctx["': =]+|context (?:size|window|length) (?:of|is)) ?(\d{3,8})`)

// classify turns a failed try into a ModelError. Remote bodies are looked at
// but never passed on.
func (c *Client) classify(ctx context.Context, err error, d *doer) *agent.ModelError {
	var said string
	var refused *api.APIError
	var rejected *api.RequestError
	var stream *errStream
	status := 0
	switch {
	case errors.As(err, &refused):
		status, said = refused.HTTPStatusCode, fmt.Sprint(refused.Type, " ", refused.Code, " ", refused.Message)
	case errors.As(err, &rejected):
		status, said = rejected.HTTPStatusCode, string(rejected.Body)
	case errors.As(err, &stream):
		said = stream.said
	}
	if contextExceeded(said) {
		window := 0
		if m := windowSize.FindStringSubmatch(said); m != nil {
			window, _ = strconv.Atoi(m[1]) // digits by the pattern
		}
		return &agent.ModelError{Kind: agent.ModelContext, Message: "the conversation is longer than the model's context", Window: window, Err: quiet(err)}
	}
	out := &agent.ModelError{Kind: agent.ModelUnavailable, After: d.after, Err: quiet(err)}
	switch {
	case errors.Is(err, errNoAPI):
		out.Kind, out.Message = agent.ModelProtocol, "what answers at the model's address is no OpenAI-compatible server"
		out.Hint = "Check OPENAI_BASE_URL: it must be the complete base, for most servers ending in /v1."
	case errors.Is(err, errTooLarge):
		out.Kind, out.Message = agent.ModelProtocol, errTooLarge.Error()
		out.Hint = serverHint
	case errors.Is(err, errFirstToken), errors.Is(err, errTurn), errors.Is(err, errBroken), stream != nil:
		out.Message, out.Hint = err.Error(), serverHint
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		out.Kind, out.Message = agent.ModelDenied, fmt.Sprintf("the model's server refused the key (%d)", status)
		out.Hint = "Check OPENAI_API_KEY and that it may use this model."
	case status == http.StatusNotFound:
		out.Kind, out.Message = agent.ModelBadRequest, "the model's server knows no such model or address (404)"
		out.Hint = "Check SANDPIPER_MODEL, and that OPENAI_BASE_URL ends in /v1."
	case status == http.StatusTooManyRequests:
		out.Message = "the model's server asks to wait (429)"
		out.Hint = "Its rate limit or quota is used up; try again later."
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		out.Message = fmt.Sprintf("the model's server failed (%d)", status)
		out.Hint = serverHint
	case status >= 300:
		out.Kind, out.Message = agent.ModelBadRequest, fmt.Sprintf("the model's server refused the request (%d)", status)
		out.Hint = "The server may not support tools; try another model."
	case refused != nil:
		out.Message, out.Hint = (&errStream{}).Error(), serverHint
	default:
		out.Message = "the model's server at " + c.host + " does not answer"
		out.Hint = "Check OPENAI_BASE_URL and that the server runs."
	}
	return out
}

// contextExceeded knows the servers' ways to say that a prompt is too long.
func contextExceeded(said string) bool {
	said = strings.ToLower(said)
	for _, sign := range []string{
		"context_length_exceeded", "exceed_context_size", "maximum context length", "exceeds the available context size",
		"context window", "prompt is too long", "too many tokens", "input is too long",
	} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// quiet keeps an error's identity without a remote body or a URL's query.
func quiet(err error) error {
	for _, known := range []error{errNoAPI, errTooLarge, errFirstToken, errTurn, errBroken, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}
