package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := interruptible(context.Background())
	status := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(int(status))
}

// interruptible ends the context at the first SIGINT or SIGTERM, so that work
// ends cleanly, and the process at the second.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for got := range signals {
			switch {
			case ctx.Err() != nil:
				os.Exit(int(fault.Interrupt))
			case got == os.Interrupt:
				cancel(errInterrupted)
			default:
				cancel(errTerminated)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel(nil)
	}
}
