package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// endTrailer follows a download's content: the last line of an answer as
// JSON. Content without it was cut off.
const endTrailer = "Sandpiper-End"

// HandleDownload answers calls of name with content that f writes.
func HandleDownload[In any](s *Server, name string, f func(ctx context.Context, in In, w io.Writer) error) {
	s.mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", endTrailer)
		w.Header().Set("Content-Type", "application/octet-stream")
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestCall)).Decode(&in)
		if err == nil {
			err = f(r.Context(), in, w)
		}
		if errors.Is(err, context.Canceled) {
			return
		}
		end, err := json.Marshal(lastLine(err))
		if err == nil {
			w.Header().Set(endTrailer, string(end))
		}
	})
}

// Download makes a call and copies its content to w.
func Download(ctx context.Context, c *Client, name string, in any, w io.Writer) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	response, err := c.post(ctx, name, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	to := &sink{to: w}
	if _, err := io.Copy(to, response.Body); err != nil {
		if to.err != nil {
			return to.err // our own disk failed, not the server
		}
		return lost(ctx, name, err)
	}
	var end line
	if err := json.Unmarshal([]byte(response.Trailer.Get(endTrailer)), &end); err != nil {
		return lost(ctx, name, errors.New("its content was cut off"))
	}
	if end.Fault != nil {
		return end.Fault.error()
	}
	return nil
}

// sink remembers why writing failed.
type sink struct {
	to  io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.err = err
	return n, err
}
