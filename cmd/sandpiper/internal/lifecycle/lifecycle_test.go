package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopsAreLastInFirstOutAndOnce(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	var order []string
	for _, name := range []string{"store", "listener", "clock"} {
		l.Defer(name, func(context.Context) error {
			order = append(order, name)
			return nil
		})
	}
	for range 2 {
		if err := l.Stop(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"clock", "listener", "store"}; !slices.Equal(order, want) {
		t.Errorf("stopped in the order %v, want %v", order, want)
	}
}

func TestAPartKeepsRunningUntilItsTurn(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	var partEnded bool
	l.Go(ctx, "outbox", func(ctx context.Context) error {
		close(running)
		<-ctx.Done()
		partEnded = true
		return ctx.Err()
	})
	<-running
	l.Defer("listener", func(context.Context) error {
		if partEnded {
			t.Error("the part ended before what was started after it")
		}
		return nil
	})
	cancel()
	if err := l.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if !partEnded {
		t.Error("Stop did not wait for the part")
	}
}

func TestAPartThatReturnsIsTold(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	cause := errors.New("socket closed")
	l.Go(t.Context(), "slack", func(context.Context) error { return cause })
	if err := <-l.Ended(); !errors.Is(err, cause) || !strings.Contains(err.Error(), "slack") {
		t.Errorf("Ended gave %v", err)
	}
}

func TestAHangingPartDoesNotHoldTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(slog.New(slog.DiscardHandler))
		var stopped bool
		l.Defer("store", func(context.Context) error { stopped = true; return nil })
		release := make(chan struct{})
		l.Go(t.Context(), "hung", func(context.Context) error { <-release; return nil })
		err := l.Stop(t.Context(), 5*time.Second)
		if err == nil || !strings.Contains(err.Error(), "hung") {
			t.Errorf("Stop gave %v, want an error that names the part", err)
		}
		if !stopped {
			t.Error("the store was not stopped")
		}
		close(release)
	})
}
