package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

//go:embed programs/*.py
var programs embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	repeats := flag.Int("n", 15, "measurements of each kind")
	rounds := flag.Int("rounds", 5, "interleaved rounds of the sustained rate; 0 leaves it out")
	tasks := flag.Int("tasks", 50, "tasks in a round")
	flag.Parse()
	if err := run(ctx, *repeats, *rounds, *tasks); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, repeats, rounds, tasks int) error {
	built, err := sandbox.Build(ctx, sandbox.BuildOptions{Progress: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if err != nil {
		return err
	}
	b, err := newBench(built.Image)
	if err != nil {
		return err
	}
	defer b.close()
	fmt.Printf("%s; image %s\n\n", machine(ctx), built.Image)
	if err := b.latency(ctx, repeats); err != nil {
		return err
	}
	if rounds > 0 {
		return b.sustained(ctx, rounds, tasks)
	}
	return nil
}

// machine describes where this runs.
func machine(ctx context.Context) string {
	engine := strings.TrimSpace(output(ctx, "docker", "info", "--format", "{{.NCPU}} CPUs, {{.OperatingSystem}}, kernel {{.KernelVersion}}, Engine {{.ServerVersion}}, cgroup v{{.CgroupVersion}}, storage {{.Driver}}"))
	cpu := ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value) + ", "
				break
			}
		}
	}
	return cpu + engine + ", " + time.Now().Format(time.DateOnly)
}
