package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

const (
	// callTimeout bounds one call of the Web API that moves no file.
	callTimeout = 20 * time.Second
	// pingTimeout is how long a socket may be silent: Slack pings every few seconds.
	pingTimeout = 30 * time.Second
	// maxFrame bounds what one frame may hold.
	maxFrame = 4 << 20
	// maxAck is where Slack begins to drop answers.
	maxAck = 20 * 1024
)

// errDisabled is the end: socket mode was switched off.
var errDisabled = errors.New("socket mode is switched off for this app (link_disabled): switch it on under Settings, Socket Mode, and restart")

// connections keeps one socket up until ctx ends or Slack says that there will
// be none. The next socket is opened before the last one is closed.
func (in *inbox) connections(ctx context.Context) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, time.Minute
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for {
		conn, err := in.dial(ctx)
		if err != nil {
			if terminal(err) {
				return err
			}
			in.a.setState(err)
			pause := max(wait.NextBackOff(), retryAfter(err))
			in.a.log.Warn("no connection to Slack", "error", err, "next_try", pause)
			if sleep(ctx, pause) != nil {
				return endOf(ctx)
			}
			continue
		}
		wait.Reset()
		round, began := in.marks.begin(), in.a.clock.Now()
		in.a.setState(nil)
		in.a.log.Info("connected to Slack")
		ended := make(chan error, 1)
		open.Go(func() { ended <- in.read(ctx, conn, cancel) })
		in.work.Go(func() { in.catchUp(ctx, round, began) })
		select {
		case err = <-ended:
			in.a.setState(fmt.Errorf("the connection to Slack broke: %w", err))
			in.a.log.Info("the connection to Slack ended", "reason", err)
		case err = <-conn.leave: // the old socket goes on until the next one is up
			in.a.log.Info("Slack asks to reconnect", "reason", err)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return endOf(ctx)
		}
		if errors.Is(err, errCrowded) {
			_ = sleep(ctx, max(wait.NextBackOff(), 5*time.Second))
		}
		in.retire(conn)
	}
}

// endOf is why ctx ended, nil for an ordinary end.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errDisabled) {
		return cause
	}
	return nil
}

var errCrowded = errors.New("too many sockets (too_many_websockets)")

// link is one socket.
type link struct {
	conn  *websocket.Conn
	mu    sync.Mutex // guards writes to conn
	leave chan error // why Slack wants us to reconnect; holds one
}

// dial opens one socket; each URL serves once.
func (in *inbox) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, url, err := in.a.api().StartSocketModeContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", explainToken(err, appVariable))
	}
	dialer := &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, NetDialContext: in.a.opts.Dial,
		HandshakeTimeout: callTimeout, WriteBufferSize: 32 << 10,
	}
	conn, res, err := dialer.DialContext(ctx, url, nil)
	if err != nil {
		return nil, fmt.Errorf("connect the socket: %w", withoutURL(err))
	}
	_ = res.Body.Close()
	conn.SetReadLimit(maxFrame)
	l := &link{conn: conn, leave: make(chan error, 1)}
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(pingTimeout)) }
	conn.SetPingHandler(func(data string) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
		return alive()
	})
	return l, alive()
}

// read hands the frames of one socket on until it ends. stop ends all sockets.
func (in *inbox) read(ctx context.Context, l *link, stop context.CancelCauseFunc) error {
	done := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	defer done()
	defer func() { _ = l.conn.Close() }()
	for {
		_, r, err := l.conn.NextReader()
		if err != nil {
			return fmt.Errorf("read the socket: %w", err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("read the socket: %w", err)
		}
		var e envelope
		if err := json.Unmarshal(raw, &e); err != nil {
			in.a.log.Warn("a frame from Slack is no JSON object", "bytes", len(raw))
			continue
		}
		switch e.Type {
		case socketmode.RequestTypeHello:
		case socketmode.RequestTypeDisconnect:
			in.left(l, e.Reason, stop)
		default:
			if in.a.opts.Seen != nil {
				in.a.opts.Seen()
			}
			in.take(ctx, l, e)
		}
	}
}

// left notes why Slack wants a socket to end.
func (in *inbox) left(l *link, reason string, stop context.CancelCauseFunc) {
	var err error
	switch reason {
	case "link_disabled":
		stop(errDisabled)
		return
	case "too_many_websockets":
		err = errCrowded
	default: // warning, refresh_requested
		err = errors.New(reason)
	}
	select {
	case l.leave <- err:
	default:
	}
}

// retire closes a socket once its successor had time to come up. Slack itself
// closes it after a few seconds.
func (in *inbox) retire(l *link) {
	in.work.Go(func() {
		select {
		case <-time.After(10 * time.Second):
		case <-in.over:
		}
		_ = l.conn.Close()
	})
}

// ack answers an envelope. An answer that Slack would drop is sent without its
// payload.
func (l *link) ack(id string, payload any) error {
	raw, err := json.Marshal(socketmode.Response{EnvelopeID: id, Payload: payload})
	if err != nil || len(raw) >= maxAck {
		raw, _ = json.Marshal(socketmode.Response{EnvelopeID: id})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return l.conn.WriteMessage(websocket.TextMessage, raw)
}

// terminal reports whether trying again cannot help.
func terminal(err error) bool {
	if errors.Is(err, errDisabled) {
		return true
	}
	switch code(err) {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "link_disabled", "missing_scope":
		return true
	}
	return false
}

// retryAfter is the wait that Slack asks for, or 0.
func retryAfter(err error) time.Duration {
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		return limited.RetryAfter // also below a SendError
	}
	return 0
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
