package github

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"
)

const (
	maxRemembered     = 256      // answers
	maxRememberedBody = 64 << 10 // bytes of one
)

// conditional asks again for what it has only if it changed: a 304 costs
// nothing of the primary limit. It serves one credential, for what may be
// seen differs between them.
type conditional struct {
	next http.RoundTripper

	mu    sync.Mutex // guards what follows
	byKey map[string]*list.Element
	order *list.List // of *remembered, last used first
}

type remembered struct {
	key    string
	etag   string
	status int
	header http.Header
	body   []byte
}

func newConditional(next http.RoundTripper) *conditional {
	return &conditional{next: next, byKey: map[string]*list.Element{}, order: list.New()}
}

// RoundTrip implements http.RoundTripper.
func (c *conditional) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return c.next.RoundTrip(request)
	}
	key := request.URL.String() + "\n" + request.Header.Get("Accept")
	known := c.find(key)
	if known != nil {
		request = request.Clone(request.Context())
		request.Header.Set("If-None-Match", known.etag)
	}
	response, err := c.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if known != nil && response.StatusCode == http.StatusNotModified {
		_ = response.Body.Close()
		return known.response(request, response.Header), nil
	}
	if etag := response.Header.Get("ETag"); response.StatusCode == http.StatusOK && etag != "" {
		return c.remember(key, etag, response)
	}
	return response, nil
}

func (c *conditional) find(key string) *remembered {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.byKey[key]
	if element == nil {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*remembered)
}

// remember keeps small answers and hands on the rest unread.
func (c *conditional) remember(key, etag string, response *http.Response) (*http.Response, error) {
	head, err := io.ReadAll(io.LimitReader(response.Body, maxRememberedBody+1))
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	if len(head) > maxRememberedBody {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
		return response, nil
	}
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(head))
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byKey[key]; old != nil {
		c.order.Remove(old)
	}
	c.byKey[key] = c.order.PushFront(&remembered{key: key, etag: etag, status: response.StatusCode, header: response.Header.Clone(), body: head})
	if c.order.Len() > maxRemembered {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.byKey, last.Value.(*remembered).key)
	}
	return response, nil
}

// response is the remembered answer with the limits that fresh tells.
func (r *remembered) response(request *http.Request, fresh http.Header) *http.Response {
	header := r.header.Clone()
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Date"} {
		if value := fresh.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	return &http.Response{
		Status: http.StatusText(r.status), StatusCode: r.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(r.body)), ContentLength: int64(len(r.body)), Request: request,
	}
}
