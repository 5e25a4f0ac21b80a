package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

func docker(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// containers lists an owner's containers, by name.
func containers(t *testing.T, owner string, more ...string) []string {
	t.Helper()
	arguments := filters.NewArgs(filters.Arg("label", "sandpiper.owner="+owner))
	for _, filter := range more {
		name, value, _ := strings.Cut(filter, "=")
		arguments.Add(name, value)
	}
	found, err := docker(t).ContainerList(context.Background(), container.ListOptions{All: true, Filters: arguments})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range found {
		names = append(names, strings.TrimPrefix(one.Names[0], "/"))
	}
	return names
}

// eventually waits for a condition, and fails the test when it does not come.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("it did not come to this: %s", what)
}

func status(t *testing.T, box *sandbox.Sandbox) sandbox.Status {
	t.Helper()
	got, err := box.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPool(t *testing.T) {
	setup := sandboxtest.Engine(t)
	for _, runtime := range setup.Runtimes {
		t.Run(runtime, func(t *testing.T) {
			owner := sandboxtest.Owner(t)
			box := sandboxtest.New(t, sandbox.Options{
				Owner: owner, Runtime: runtime, Limits: smallLimits(), Preload: []string{"json", "decimal"},
				Pool: sandbox.Pool{Size: 2, Max: 3},
			})
			if ready := status(t, box).Ready; ready != 0 {
				t.Errorf("New waited for the pool: %d ready", ready)
			}
			eventually(t, "two sessions ready and loaded", func() bool { s := status(t, box); return s.Ready == 2 && s.Loaded == 2 })
			seen := map[string]bool{}
			for i := range 5 {
				session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: fmt.Sprintf("job/%d", i)})
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 && !session.Info().Warm {
					t.Error("the first lease was not served out of the pool")
				}
				if seen[session.Info().Container] {
					t.Error("a container was leased twice")
				}
				seen[session.Info().Container] = true
				if got := run(t, session, sandbox.Bash, "ls /workspace/out; echo x > /workspace/out/left; hostname"); got.Stdout.Head != "sandbox\n" {
					t.Errorf("%s: %q", got.Verdict, got.Stdout.Head)
				}
				if i == 0 {
					eventually(t, "the container is named after its task", func() bool {
						return strings.Contains(strings.Join(containers(t, owner), " "), "sandpiper-job-0")
					})
				}
				session.Close()
			}
			eventually(t, "the pool is full again", func() bool { s := status(t, box); return s.Ready >= 2 && s.Leased == 0 })
		})
	}
}

// TestPoolDropsDead removes a ready session's container behind the pool's back.
func TestPoolDropsDead(t *testing.T) {
	owner := sandboxtest.Owner(t)
	box := sandboxtest.New(t, sandbox.Options{Owner: owner, Limits: smallLimits(), Preload: []string{}, Pool: sandbox.Pool{Size: 1, Max: 1}})
	eventually(t, "one session ready", func() bool { return status(t, box).Ready == 1 })
	before := containers(t, owner)
	if err := docker(t).ContainerRemove(t.Context(), before[0], container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another in its place", func() bool {
		now := containers(t, owner, "status=running")
		return len(now) == 1 && now[0] != before[0] && status(t, box).Ready == 1
	})
	if got := run(t, lease(t, box), sandbox.Python, "print('fine')"); got.Stdout.Head != "fine\n" {
		t.Errorf("%s: %s", got.Verdict, got.Detail)
	}
}

func TestPoolAges(t *testing.T) {
	owner := sandboxtest.Owner(t)
	sandboxtest.New(t, sandbox.Options{
		Owner: owner, Limits: smallLimits(), Preload: []string{}, Pool: sandbox.Pool{Size: 1, Max: 1, MaxAge: time.Second},
	})
	var first string
	eventually(t, "one session ready", func() bool {
		if names := containers(t, owner); len(names) == 1 {
			first = names[0]
		}
		return first != ""
	})
	eventually(t, "a younger one in its place", func() bool {
		names := containers(t, owner)
		return len(names) == 1 && names[0] != first
	})
}

// TestMemoryBackPressure leases more than the memory holds.
func TestMemoryBackPressure(t *testing.T) {
	limits := smallLimits()
	box := sandboxtest.New(t, sandbox.Options{Limits: limits, Preload: []string{}, MaxMemory: 2 * limits.Memory, Pool: sandbox.Pool{Size: 1, Max: 1}})
	one, two := lease(t, box), lease(t, box)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := box.Lease(ctx, sandbox.LeaseOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a third session: %v", err)
	}
	one.Close()
	three := lease(t, box)
	if got := run(t, three, sandbox.Python, "print(3)"); got.Stdout.Head != "3\n" {
		t.Errorf("%s: %s", got.Verdict, got.Detail)
	}
	two.Close()
}

// TestVanishedContainer removes the container while its program runs.
func TestVanishedContainer(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		api := docker(t)
		got, err := session.Run(t.Context(), sandbox.Program{
			Language: sandbox.Python, Code: "print('on')\nimport time\nwhile True: time.sleep(1)",
			Output: func(string, []byte) {
				go api.ContainerRemove(context.Background(), session.Info().Container, container.RemoveOptions{Force: true})
			},
		})
		if err != nil || got.Verdict != sandbox.Engine {
			t.Errorf("%s, %v: %s", got.Verdict, err, got.Detail)
		}
	})
}

// TestHelperProcess is the bot that is killed; it is run by TestKilledBot.
func TestHelperProcess(t *testing.T) {
	owner := os.Getenv("SANDPIPER_HELPER_OWNER")
	if owner == "" {
		t.Skip("runs only as the child of TestKilledBot")
	}
	box, err := sandbox.New(t.Context(), sandbox.Options{
		Owner: owner, Image: sandboxtest.Engine(t).Image, Limits: smallLimits(), Preload: []string{}, Pool: sandbox.Pool{Size: 1, Max: 1},
		Point: func(name string) { fmt.Println("point:", name) },
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := box.Lease(t.Context(), sandbox.LeaseOptions{Task: "killed"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: "import time\nwhile True: time.sleep(1)"})
}

// TestKilledBot kills a process with SIGKILL at the points that the sandbox
// names. Its containers end by themselves, and the next life removes them,
// those of others spared.
func TestKilledBot(t *testing.T) {
	image := sandboxtest.Engine(t).Image
	bystander := sandboxtest.New(t, sandbox.Options{Limits: smallLimits(), Preload: []string{}})
	spared := lease(t, bystander)
	for _, point := range []string{"container-created", "program-running"} {
		t.Run(point, func(t *testing.T) {
			owner := sandboxtest.Owner(t)
			command := exec.Command(os.Args[0], "-test.run", "^TestHelperProcess$", "-test.v")
			command.Env = append(os.Environ(), "SANDPIPER_HELPER_OWNER="+owner)
			output, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			reached := false
			for lines := bufio.NewScanner(output); lines.Scan(); {
				if strings.TrimSpace(lines.Text()) == "point: "+point {
					reached = true
					break
				}
			}
			command.Process.Kill()
			command.Wait()
			if !reached {
				t.Fatal("the point was not reached")
			}
			eventually(t, "its containers end by themselves", func() bool { return len(containers(t, owner, "status=running")) == 0 })
			next, err := sandbox.New(t.Context(), sandbox.Options{Owner: owner, Sole: true, Image: image, Limits: smallLimits()})
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			if left := containers(t, owner); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if got := run(t, spared, sandbox.Python, "print('spared')"); got.Stdout.Head != "spared\n" {
		t.Errorf("a sibling: %s", got.Detail)
	}
}
