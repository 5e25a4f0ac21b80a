package lifecycle

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// ServeHTTP serves until ctx ends, then gives open requests grace to end and
// cuts what is left. It returns ctx's error, or why serving ended sooner.
func ServeHTTP(ctx context.Context, server *http.Server, listener net.Listener, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(bound) != nil {
		server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}
