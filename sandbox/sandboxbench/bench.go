package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// bench holds what all measurements share.
type bench struct {
	image  string
	folder string
	input  []byte   // a CSV of one megabyte
	flags  []string // of docker run, those of a session
}

func newBench(image string) (*bench, error) {
	folder, err := os.MkdirTemp("", "sandboxbench")
	if err != nil {
		return nil, err
	}
	var csv bytes.Buffer
	csv.WriteString("date,region,product,amount\n")
	regions := []string{"North", "South", "East", "West"}
	for i := 0; csv.Len() < 1<<20; i++ {
		fmt.Fprintf(&csv, "2026-%02d-%02d,%s,product %d,%d.%02d\n", i%12+1, i%28+1, regions[i%4], i%97, i*7919%10000, i%100)
	}
	seccomp := filepath.Join(folder, "seccomp.json")
	flags, err := sandbox.RunFlags(sandbox.Options{Owner: "bench", Image: image}, seccomp)
	b := &bench{image: image, folder: folder, input: csv.Bytes(), flags: flags}
	return b, errors.Join(err,
		os.WriteFile(filepath.Join(folder, "input.csv"), b.input, 0o644),
		os.WriteFile(seccomp, []byte(sandbox.SeccompProfile()), 0o644))
}

func (b *bench) close() { os.RemoveAll(b.folder) }

// source is one of the programs, reading and writing where it runs.
func source(name, input, out string) string {
	text, err := programs.ReadFile("programs/" + name + ".py")
	if err != nil {
		panic(err) // the files are in the binary
	}
	return strings.NewReplacer("INPUT", input, "OUTPUT", out).Replace(string(text))
}

// dockerRun runs a program with `docker run --rm`, the flags of a session, the
// input on stdin and the plot on stdout.
func (b *bench) dockerRun(ctx context.Context, name string) error {
	text := "import sys\n" + source(name, "sys.stdin", "sys.stdout.buffer")
	if name == "c" {
		text = fontList + text
	}
	args := slices.Concat([]string{"run", "--rm", "-i"}, b.flags, []string{"--entrypoint", "python3", b.image, "-s", "-B", "-c", text})
	command := exec.CommandContext(ctx, "docker", args...)
	if name != "a" { // which reads none: its end may cut the client's writing, and the client fails
		command.Stdin = bytes.NewReader(b.input)
	}
	return checked(command, name)
}

// fontList gives matplotlib the image's list of fonts, as sessions have it.
const fontList = `import os
here = os.environ["MPLCONFIGDIR"]
os.makedirs(here)
for name in os.listdir("/usr/share/sandpiper/matplotlib"):
    os.symlink("/usr/share/sandpiper/matplotlib/" + name, here + "/" + name)
`

// hostPython runs a program with this machine's own Python, not isolated.
func (b *bench) hostPython(ctx context.Context, name string) error {
	script := filepath.Join(b.folder, name+".py")
	text := source(name, fmt.Sprintf("%q", filepath.Join(b.folder, "input.csv")), fmt.Sprintf("%q", filepath.Join(b.folder, "plot.png")))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "python3", script)
	command.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1")
	if err := checked(command, ""); err != nil {
		return err
	}
	return nil
}

// checked runs a command and looks at what it brought.
func checked(command *exec.Cmd, name string) error {
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", command.Args[0], err, said.String())
	}
	if name == "c" && !bytes.Contains(out.Bytes(), []byte("\x89PNG")) {
		return errors.New("docker run brought no picture")
	}
	return nil
}

// inside is how long the last program took in its own interpreter, and whole
// how long lease, input, run and files took the caller.
type timing struct{ whole, inside time.Duration }

// session runs a program in a fresh session: lease, input, run, files back.
// What follows the caller's last byte (removal) is not in the time.
func (b *bench) session(ctx context.Context, box *sandbox.Sandbox, name string) (timing, error) {
	code := "import time as _t\n_0 = _t.perf_counter()\n" + source(name, `"/workspace/in/input.csv"`, `"/workspace/out/plot.png"`) + "\nprint(_t.perf_counter() - _0)"
	began := time.Now()
	session, err := box.Lease(ctx, sandbox.LeaseOptions{Task: "bench"})
	if err != nil {
		return timing{}, err
	}
	defer func() { _ = session.Close() }() // it never fails
	if name != "a" {
		if err := session.Put(ctx, "workspace/in/input.csv", int64(len(b.input)), bytes.NewReader(b.input)); err != nil {
			return timing{}, err
		}
	}
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil {
		return timing{}, err
	}
	if result.Verdict != sandbox.OK {
		return timing{}, fmt.Errorf("%s: %s", result.Verdict, result.Stderr.Head)
	}
	picture := false
	if name == "c" {
		_, err = session.Collect(ctx, sandbox.CollectOptions{Store: func(_ string, _ int64, content io.Reader) error {
			data, err := io.ReadAll(content)
			picture = bytes.HasPrefix(data, []byte("\x89PNG"))
			return err
		}})
		if err != nil || !picture {
			return timing{}, fmt.Errorf("no picture came back: %w", err)
		}
	}
	whole := time.Since(began)
	lines := strings.Fields(strings.TrimSpace(result.Stdout.Head))
	if len(lines) == 0 {
		return timing{}, errors.New("the program did not say how long it took")
	}
	own, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	return timing{whole, time.Duration(own * float64(time.Second))}, err
}

func median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
