package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

const concurrency = 2

// sustained compares tasks per second, in interleaved rounds, with the pool
// on. A loop begins with a full pool; all that is refilled and removed while
// it runs is in its time.
func (b *bench) sustained(ctx context.Context, rounds, tasks int) (err error) {
	box, err := sandbox.New(ctx, sandbox.Options{
		Owner: fmt.Sprintf("bench-%d-rate", os.Getpid()), Image: b.image, Pool: sandbox.Pool{Size: 2, Max: 4},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	fmt.Printf("| sustained, %d tasks at %d at a time, tasks/s | docker run --rm | sandpiper, runc | ratio (goal 0.95) |\n|---|---|---|---|\n", tasks, concurrency)
	for _, program := range []string{"b", "c"} {
		var theirs, ours, ratios []float64
		for round := range rounds {
			rate, err := loop(ctx, tasks, func(ctx context.Context) error { return b.dockerRun(ctx, program) })
			if err != nil {
				return err
			}
			theirs = append(theirs, rate)
			if err := settle(ctx, box); err != nil {
				return err
			}
			rate, err = loop(ctx, tasks, func(ctx context.Context) error {
				_, err := b.session(ctx, box, program)
				return err
			})
			if err != nil {
				return err
			}
			if err := settle(ctx, box); err != nil { // so that the other loop is not disturbed
				return err
			}
			ours = append(ours, rate)
			ratios = append(ratios, ours[len(ours)-1]/theirs[len(theirs)-1])
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: docker run %.2f tasks/s, sandpiper %.2f, ratio %.2f\n",
				program, round+1, rounds, theirs[round], ours[round], ratios[round])
		}
		middle := func(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }
		fmt.Printf("| %s | %.2f | %.2f | %.2f: %s |\n", program, middle(theirs), middle(ours), middle(ratios), met(middle(ratios) >= 0.95))
	}
	return nil
}

// loop runs tasks a few at a time and gives the rate per second.
func loop(ctx context.Context, tasks int, one func(context.Context) error) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan struct{}, tasks)
	for range tasks {
		next <- struct{}{}
	}
	close(next)
	began := time.Now()
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for range next {
				if ctx.Err() != nil {
					return
				}
				if err := one(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(tasks) / time.Since(began).Seconds(), nil
}
