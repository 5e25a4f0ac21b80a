package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/lifecycle"
)

// largestCall bounds the JSON of one call; files come by Upload.
const largestCall = 4 << 20

// Server answers calls on the socket.
type Server struct {
	log *slog.Logger
	mux *http.ServeMux
}

// NewServer returns a Server without any call.
func NewServer(log *slog.Logger) *Server {
	return &Server{log: log, mux: http.NewServeMux()}
}

// wireFault is how a fault crosses the socket.
type wireFault struct {
	Status  fault.Status `json:"status"`
	Message string       `json:"message"`
	Hint    string       `json:"hint,omitempty"`
	Kind    string       `json:"kind,omitempty"`
}

func (w *wireFault) error() error {
	return &fault.Error{Status: w.Status, Message: w.Message, Hint: w.Hint, Kind: w.Kind}
}

// line is one line of an answer: a value, the end, or a fault. An answer
// without an end was cut off.
type line struct {
	Value json.RawMessage `json:"value,omitempty"`
	End   bool            `json:"end,omitempty"`
	Fault *wireFault      `json:"fault,omitempty"`
}

// Handle answers calls of name with f.
func Handle[In, Out any](s *Server, name string, f func(context.Context, In) (Out, error)) {
	HandleStream(s, name, func(ctx context.Context, in In, send func(Out) error) error {
		out, err := f(ctx, in)
		if err != nil {
			return err
		}
		return send(out)
	})
}

// HandleStream answers calls of name with as many values as f sends.
func HandleStream[In, Out any](s *Server, name string, f func(context.Context, In, func(Out) error) error) {
	s.mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		answer := newAnswer(w)
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestCall)).Decode(&in); err != nil {
			answer.end(fault.New(fault.Usage, "use the same version on both sides", "the call %s is malformed: %v", name, err))
			return
		}
		err := f(r.Context(), in, func(out Out) error { return answer.value(out) })
		if err != nil && r.Context().Err() == nil {
			s.log.Debug("call failed", "call", name, "error", err)
		}
		answer.end(err)
	})
}

// HandleUpload answers uploads of name: f reads content to its end.
func HandleUpload[Out any](s *Server, name string, f func(ctx context.Context, content io.Reader) (Out, error)) {
	s.mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		answer := newAnswer(w)
		out, err := f(r.Context(), r.Body)
		if err == nil {
			err = answer.value(out)
		}
		answer.end(err)
	})
}

// Serve answers until ctx ends, then gives open calls a moment to end.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return lifecycle.ServeHTTP(ctx, server, listener, 2*time.Second)
}

// answer writes lines and flushes each.
type answer struct {
	to    *json.Encoder
	flush func() error
}

func newAnswer(w http.ResponseWriter) answer {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return answer{to: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
}

func (a answer) value(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.line(line{Value: raw})
}

func (a answer) line(l line) error {
	if err := a.to.Encode(l); err != nil {
		return err
	}
	return a.flush()
}

// end writes the last line. The client learns nothing from a failure to write
// it but that it is missing.
func (a answer) end(err error) {
	if errors.Is(err, context.Canceled) {
		return // the server is stopping: no end, so that the client knows
	}
	_ = a.line(lastLine(err))
}

// lastLine ends an answer, with the fault that err is.
func lastLine(err error) line {
	last := line{End: true}
	if err != nil {
		last.Fault = &wireFault{Status: fault.StatusOf(err), Message: err.Error()}
		var f *fault.Error
		if errors.As(err, &f) {
			last.Fault.Hint, last.Fault.Kind = f.Hint, f.Kind
		}
	}
	return last
}
