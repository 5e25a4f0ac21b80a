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

// answerOf returns GitHub's error answer inside err and its message; nil
// where there was no answer.
func answerOf(err error) (*http.Response, string) {
	if e, ok := errors.AsType[*github.ErrorResponse](err); ok && e.Response != nil {
		text := e.Message
		for _, inner := range e.Errors {
			text += "; " + inner.Message
		}
		return e.Response, text
	}
	if e, ok := errors.AsType[*ghinstallation.HTTPError](err); ok && e.Response != nil {
		const enough = 4 << 10
		text, _ := io.ReadAll(io.LimitReader(e.Response.Body, enough))
		return e.Response, string(text)
	}
	return nil, ""
}

// statusOf is the status of GitHub's error answer; 0 where there was none.
func statusOf(err error) int {
	if response, _ := answerOf(err); response != nil {
		return response.StatusCode
	}
	return 0
}

// routeOf names a call without its query: "POST /repos/o/r/issues/1/comments".
func routeOf(response *http.Response) string {
	if response.Request == nil || response.Request.URL == nil {
		return "a call"
	}
	return response.Request.Method + " " + response.Request.URL.Path
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
	response, text := answerOf(err)
	if response == nil {
		if creates && !neverSent(err) {
			failed.Class = bot.Ambiguous
		}
		return failed
	}
	switch status := response.StatusCode; {
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		if creates {
			failed.Class = bot.Ambiguous
		}
	case status == http.StatusUnauthorized || strings.Contains(text, "Resource not accessible"):
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
