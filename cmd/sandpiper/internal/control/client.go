package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// ErrLost means that the serving process ended before it answered: whether
// the call had its effect is unknown.
var ErrLost = errors.New("the serving process has ended")

// Client calls the process that serves a data folder.
type Client struct {
	http *http.Client
}

// Dial connects to the socket of a data folder. It fails where nobody serves it.
func Dial(ctx context.Context, dataDir string) (*Client, error) {
	path := SocketPath(dataDir)
	dialer := &net.Dialer{}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to socket: %w", err)
	}
	conn.Close()
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		},
	}}}, nil
}

// Close frees idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes one call and reads its one value.
func Call[Out any](ctx context.Context, c *Client, name string, in any) (Out, error) {
	var out Out
	err := Stream(ctx, c, name, in, func(value Out) error {
		out = value
		return nil
	})
	return out, err
}

// Stream makes a call and hands each of its values to each.
func Stream[Out any](ctx context.Context, c *Client, name string, in any, each func(Out) error) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	return exchange(ctx, c, name, bytes.NewReader(body), each)
}

// Upload streams content to an upload call and reads its one value.
func Upload[Out any](ctx context.Context, c *Client, name string, content io.Reader) (Out, error) {
	var out Out
	source := &source{from: content}
	err := exchange(ctx, c, name, source, func(value Out) error {
		out = value
		return nil
	})
	if source.err != nil {
		return out, source.err // our own file failed, not the server
	}
	return out, err
}

// source remembers why reading failed.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func exchange[Out any](ctx context.Context, c *Client, name string, body io.Reader, each func(Out) error) error {
	response, err := c.post(ctx, name, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := json.NewDecoder(response.Body)
	for {
		var got line
		if err := lines.Decode(&got); err != nil {
			return lost(ctx, name, err)
		}
		switch {
		case got.Fault != nil:
			return got.Fault.error()
		case got.End:
			return nil
		}
		var value Out
		if err := json.Unmarshal(got.Value, &value); err != nil {
			return fmt.Errorf("call %s: read answer: %w", name, err)
		}
		if err := each(value); err != nil {
			return err
		}
	}
}

// post sends a call. The caller closes the response's body.
func (c *Client) post(ctx context.Context, name string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sandpiper/v1/"+name, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, lost(ctx, name, err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fault.New(fault.Missing, "use the same version of sandpiper for all commands on this data folder",
			"the serving process does not know %q", name)
	}
	return response, nil
}

// lost tells a server that went away from a caller that gave up.
func lost(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("call %s: %w: %w", name, ErrLost, err)
}
