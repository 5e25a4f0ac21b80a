package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// goalOf is the ratio to `docker run --rm` under runc that a way should reach
// for a program; 0 where none is set.
func goalOf(way, program string) float64 {
	return map[string]map[string]float64{
		"runc warm":  {"a": 1.0 / 25, "b": 1.0 / 12, "c": 1.0 / 9},
		"runsc warm": {"a": 1.0 / 3, "b": 1.0 / 3, "c": 1.0 / 4},
	}[way][program]
}

// way is one way of running a program.
type way struct {
	name string
	once func(ctx context.Context, program string) (timing, error)
	took map[string][]timing
}

// latency measures every way, interleaved, and prints the table.
func (b *bench) latency(ctx context.Context, repeats int) (err error) {
	plain := func(act func(context.Context, string) error) func(context.Context, string) (timing, error) {
		return func(ctx context.Context, program string) (timing, error) {
			began := time.Now()
			err := act(ctx, program)
			return timing{whole: time.Since(began)}, err
		}
	}
	ways := []*way{{name: "docker run --rm", once: plain(b.dockerRun)}, {name: "host python3, not isolated", once: plain(b.hostPython)}}
	runtimes := strings.Fields(output(ctx, "docker", "info", "--format", "{{range $k, $_ := .Runtimes}}{{$k}} {{end}}"))
	for _, kind := range []struct {
		name, runtime string
		pool          int
	}{{"runc cold", "runc", 0}, {"runc warm", "runc", 1}, {"runsc warm", "runsc", 1}} {
		if !contains(runtimes, kind.runtime) {
			continue
		}
		box, err := sandbox.New(ctx, sandbox.Options{
			Owner: fmt.Sprintf("bench-%d-%s", os.Getpid(), strings.ReplaceAll(kind.name, " ", "-")), Image: b.image, Runtime: kind.runtime,
			Pool: sandbox.Pool{Size: kind.pool, Max: kind.pool},
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, box.Close()) }()
		if err := settle(ctx, box); err != nil {
			return err
		}
		ways = append(ways, &way{name: kind.name, once: func(ctx context.Context, program string) (timing, error) {
			took, err := b.session(ctx, box, program)
			// What is removed and refilled after it is in the sustained rate: here
			// it would be in the next way's time.
			return took, errors.Join(err, settle(ctx, box))
		}})
	}
	for _, w := range ways {
		w.took = map[string][]timing{}
	}
	for range repeats {
		for _, program := range []string{"a", "b", "c"} {
			for _, w := range ways {
				took, err := w.once(ctx, program)
				if err != nil && strings.HasPrefix(w.name, "host") {
					continue // it has no pandas
				}
				if err != nil {
					return fmt.Errorf("%s, program %s: %w", w.name, program, err)
				}
				w.took[program] = append(w.took[program], took)
			}
		}
	}
	printLatency(ways)
	return b.idle(ctx)
}

// settle waits until the pool is full and has loaded its libraries, and what was
// used is removed.
func settle(ctx context.Context, box *sandbox.Sandbox) error {
	for {
		status, err := box.Status(ctx)
		if err != nil {
			return err
		}
		if status.Ready >= status.Target && status.Loaded >= status.Ready && status.Leased == 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func printLatency(ways []*way) {
	fmt.Println("| median, ms (ratio to docker run) | a: `pass` | b: pandas group-by, 1 MB CSV | c: b and a saved plot |")
	fmt.Println("|---|---|---|---|")
	for _, w := range ways {
		fmt.Printf("| %s |", w.name)
		for _, program := range []string{"a", "b", "c"} {
			fmt.Printf(" %s |", cell(ways[0], w, program))
		}
		fmt.Println()
	}
	for _, w := range ways {
		if w.name != "runc warm" {
			continue
		}
		fmt.Printf("| %s, beyond the program's own time |", w.name)
		for _, program := range []string{"a", "b", "c"} {
			var beyond []time.Duration
			for _, took := range w.took[program] {
				beyond = append(beyond, took.whole-took.inside)
			}
			fmt.Printf(" %.1f (goal 10: %s) |", milliseconds(median(beyond)), met(median(beyond) <= 10*time.Millisecond))
		}
		fmt.Println()
	}
	fmt.Println()
}

func cell(base, w *way, program string) string {
	took := wholes(w.took[program])
	if len(took) == 0 {
		return "-"
	}
	text := fmt.Sprintf("%.1f", milliseconds(median(took)))
	if w == base {
		return text
	}
	ratio := float64(median(took)) / float64(median(wholes(base.took[program])))
	text += fmt.Sprintf(" (1/%.1f", 1/ratio)
	if goal := goalOf(w.name, program); goal > 0 {
		text += fmt.Sprintf(", goal 1/%.0f: %s", 1/goal, met(ratio <= goal))
	}
	return text + ")"
}

func wholes(timings []timing) []time.Duration {
	var all []time.Duration
	for _, t := range timings {
		all = append(all, t.whole)
	}
	return all
}

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "missed"
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// idle prints the memory of one ready session with its libraries loaded.
func (b *bench) idle(ctx context.Context) (err error) {
	owner := fmt.Sprintf("bench-%d-idle", os.Getpid())
	box, err := sandbox.New(ctx, sandbox.Options{Owner: owner, Image: b.image, Pool: sandbox.Pool{Size: 1, Max: 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	if err := settle(ctx, box); err != nil {
		return err
	}
	id := strings.TrimSpace(output(ctx, "docker", "ps", "-q", "--filter", "label=sandpiper.owner="+owner))
	used := strings.TrimSpace(output(ctx, "docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", id))
	fmt.Printf("Memory of an idle ready session, libraries loaded (by its cgroup): %s (goal: under 120 MB)\n\n", used)
	return nil
}
