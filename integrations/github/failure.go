package github

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// apiAnswer is what GitHub said in an error answer.
type apiAnswer struct {
	status int
	text   string
	route  string // without its query: "POST /repos/o/r/issues/1/comments"
	date   string // the Date header
}

// answerOf returns GitHub's error answer inside err; false where there was
// none.
func answerOf(err error) (apiAnswer, bool) {
	if e, ok := errors.AsType[*github.ErrorResponse](err); ok && e.Response != nil {
		text := e.Message
		for _, inner := range e.Errors {
			text += "; " + inner.Message
		}
		return newAnswer(e.Response, text), true
	}
	if e, ok := errors.AsType[*ghinstallation.HTTPError](err); ok && e.Response != nil {
		const enough = 4 << 10
		text, _ := io.ReadAll(io.LimitReader(e.Response.Body, enough))
		return newAnswer(e.Response, string(text)), true
	}
	return apiAnswer{}, false
}

func newAnswer(response *http.Response, text string) apiAnswer {
	a := apiAnswer{status: response.StatusCode, text: text, route: "a call", date: response.Header.Get("Date")}
	if response.Request != nil && response.Request.URL != nil {
		a.route = response.Request.Method + " " + response.Request.URL.Path
	}
	return a
}

// statusOf is the status of GitHub's error answer; 0 where there was none.
func statusOf(err error) int {
	answer, _ := answerOf(err)
	return answer.status
}

// sendError classes a failed call for the outbox. creates says that the call
// makes something new each time it is made: only then may a lost answer have
// left something behind.
func sendError(err error, creates bool) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*bot.SendError](err); ok {
		return known
	}
	failed := &bot.SendError{Class: bot.Retryable, Err: err}
	if limit, ok := errors.AsType[*limitedError](err); ok {
		failed.After = limit.after
		return failed
	}
	answer, answered := answerOf(err)
	if !answered {
		if creates && !neverSent(err) {
			failed.Class = bot.Ambiguous
		}
		return failed
	}
	switch status := answer.status; {
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		if creates {
			failed.Class = bot.Ambiguous
		}
	case status == http.StatusUnauthorized || strings.Contains(answer.text, "Resource not accessible"):
		// Credentials and permissions are mended by people.
		failed.After = 5 * time.Minute
	case status == http.StatusConflict:
		failed.After = time.Second
	default:
		failed.Class = bot.Permanent
	}
	return failed
}

// neverSent says that the request surely did not reach GitHub.
func neverSent(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// final says that asking again cannot help: GitHub answered, and the answer
// is neither a limit nor a fault of its own nor one of our credentials.
func final(err error) bool {
	status := statusOf(err)
	return status >= 400 && status < 500 && status != http.StatusUnauthorized && status != http.StatusRequestTimeout && status != http.StatusConflict &&
		!errors.Is(err, context.Canceled)
}
