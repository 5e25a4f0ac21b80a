package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Bounds on what a server may send.
const (
	maxAnswer = 16 << 20 // bytes of one answer
	maxError  = 64 << 10 // bytes of an error's body
	maxLine   = 4 << 20  // bytes of one event
)

var (
	errNoAPI    = errors.New("the server answered with a web page, not with JSON")
	errTooLarge = errors.New("the server's answer is larger than any real one")
)

// doer sends one request for the library and makes what comes back fit for
// it: bounded, without comments and blank lines, and a plain JSON answer in
// the form of a stream of one event.
type doer struct {
	http *http.Client
	// alive is called whenever bytes come.
	alive func()

	// status and after are what the last response said.
	status int
	after  time.Duration
	// done is set once the server ended its stream with [DONE].
	done bool
}

// Do implements the library's HTTPDoer.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	if err := steady(req); err != nil {
		return nil, err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	d.status, d.after = resp.StatusCode, retryAfter(resp.Header, time.Now())
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		resp.Body = body{io.LimitReader(resp.Body, maxError), resp.Body}
		return resp, nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && media == "text/html" {
		_ = resp.Body.Close() // nothing in it is wanted
		return nil, errNoAPI
	}
	limited := &limit{r: resp.Body, left: maxAnswer, alive: d.alive}
	switch {
	case req.Header.Get("Accept") != "text/event-stream":
		resp.Body = body{limited, resp.Body}
	case media == "application/json":
		whole, err := io.ReadAll(limited)
		_ = resp.Body.Close() // it was read to its end
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		var line bytes.Buffer
		line.WriteString("data: ")
		line.Write(bytes.ReplaceAll(whole, []byte("\n"), []byte(" ")))
		line.WriteString("\n\ndata: [DONE]\n\n")
		resp.Body, d.done = io.NopCloser(&line), true
	default:
		resp.Body = body{&events{r: bufio.NewReaderSize(limited, 32<<10), done: &d.done}, resp.Body}
	}
	return resp, nil
}

// steady writes a request's fields in an order that lets the next turn begin
// with the bytes of this one: what never changes, then the conversation, which
// only grows, then what may change from turn to turn.
func steady(req *http.Request) error {
	if req.Body == nil || req.Method != http.MethodPost {
		return nil
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	_ = req.Body.Close() // a reader over memory
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("order request: %w", err)
	}
	growing := []string{"messages", "input"}
	changing := []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "tool_choice"}
	names := slices.Sorted(maps.Keys(fields))
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(growing, n) || slices.Contains(changing, n) })
	var out bytes.Buffer
	for _, name := range append(append(names, growing...), changing...) {
		value, ok := fields[name]
		if !ok {
			continue
		}
		separator := byte(',')
		if out.Len() == 0 {
			separator = '{'
		}
		out.WriteByte(separator)
		fmt.Fprintf(&out, "%q:", name)
		out.Write(value)
	}
	out.WriteByte('}')
	body := out.Bytes()
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// body joins a reader with the closer of what it reads from.
type body struct {
	io.Reader
	io.Closer
}

// limit fails once more than left bytes came.
type limit struct {
	r     io.Reader
	left  int64
	alive func()
}

func (l *limit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if n > 0 && l.alive != nil {
		l.alive()
	}
	if l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// events passes on the data lines of an event stream alone. The library
// counts all others as empty messages and gives up after some.
type events struct {
	r    *bufio.Reader
	done *bool
	line []byte // what of the current line was not read yet
	err  error
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.line) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.line, e.err = e.next()
	}
	n := copy(p, e.line)
	e.line = e.line[n:]
	return n, nil
}

// next gives the next data line with its end, or nothing for other lines.
func (e *events) next() ([]byte, error) {
	var line []byte
	for {
		part, err := e.r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, errTooLarge
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		trimmed := bytes.TrimSpace(line)
		if !bytes.HasPrefix(trimmed, []byte("data:")) || bytes.Equal(trimmed, []byte("data:")) {
			trimmed = nil
		} else {
			*e.done = *e.done || bytes.HasSuffix(trimmed, []byte("[DONE]"))
			trimmed = append(bytes.Clone(trimmed), '\n')
		}
		return trimmed, err
	}
}

// retryAfter reads how long a server asks to wait: seconds, a date, or
// OpenAI's own header in milliseconds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
