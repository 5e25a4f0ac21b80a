package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/openai"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// lifeVariable tells a re-executed test binary to be one life of a bot; it
// holds a lifePlan.
const lifeVariable = "SANDPIPER_TEST_LIFE"

// lifePlan is what one life does: it runs Task, and kills itself right after
// it recorded its Kill-th step (0: never).
type lifePlan struct {
	Dir, URL, Owner string
	Task            bot.Task
	Kill            int
}

// life runs one life; its outcome goes to outcome.json in its folder.
func life() int {
	var plan lifePlan
	err := json.Unmarshal([]byte(os.Getenv(lifeVariable)), &plan)
	if err == nil {
		err = plan.live(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (p lifePlan) live(ctx context.Context) error {
	blobs, err := boltstore.OpenBlobs(boltstore.Options{Dir: p.Dir})
	if err != nil {
		return err
	}
	box, err := sandbox.New(ctx, sandbox.Options{Owner: p.Owner})
	if err != nil {
		return err
	}
	catalogue, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	if err != nil {
		return err
	}
	model, err := openai.New(openai.Options{BaseURL: p.URL, Model: "scripted"})
	if err != nil {
		return err
	}
	steps := 0
	a, err := agent.New(agent.Options{
		Sandbox: agent.Sessions(box), Skills: catalogue, Model: model,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Point: func(name string) {
			if !strings.HasPrefix(name, "step:") {
				return
			}
			if steps++; steps == p.Kill {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing runs after it
				select {}
			}
		},
	})
	if err != nil {
		return err
	}
	o, err := a.Run(ctx, bot.Run{Task: p.Task, Journal: &journal{dir: p.Dir, task: p.Task.ID}, Blobs: blobs, Meter: &meter{}})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(p.Dir, "outcome.json"), raw, 0o600), box.Close(), blobs.Close())
}

// spawn runs a life and reports whether it was killed.
func (p lifePlan) spawn(t *testing.T) (killed bool) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), lifeVariable+"="+string(raw))
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			if said.Len() > 0 {
				t.Logf("a life said before it died: %s", said.String())
			}
			return true
		}
	}
	if err != nil {
		t.Fatalf("a life failed: %v\n%s", err, said.String())
	}
	if said.Len() > 0 {
		t.Logf("the last life said: %s", said.String())
	}
	return false
}

// TestKillAtEveryStep kills the process after every single step of the plan
// with helpers: each life records one step and dies, until one finds nothing
// left to do. The answer and the files are those of an undisturbed run.
func TestKillAtEveryStep(t *testing.T) {
	sandboxtest.Engine(t)
	undisturbed := newWorld(t, "")
	undisturbed.model(modeltest.Start(t, modeltest.Plan()))
	task := undisturbed.task("01A", "Make the weekly numbers, please.", undisturbed.input("sales.csv", []byte(sales)))
	want := undisturbed.must(task)
	checkPlan(t, undisturbed, want)

	w := bareWorld(t, "")
	w.input("sales.csv", []byte(sales))
	srv := modeltest.Start(t, modeltest.Plan())
	plan := lifePlan{Dir: w.dir, URL: srv.URL(), Owner: sandboxtest.Owner(t), Task: task, Kill: 1}
	// A killed life leaves its dead container to the owner's next start.
	defer sandboxtest.New(t, sandbox.Options{Owner: plan.Owner, Sole: true})
	deaths := 0
	for plan.spawn(t) {
		if deaths++; deaths > 100 {
			t.Fatalf("no end in sight:\n%s", story(w.steps("01A")))
		}
	}
	defer dump(t, w, "01A")
	var got bot.Outcome
	raw, err := os.ReadFile(filepath.Join(w.dir, "outcome.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed %d times over %d steps; %d requests, %d turns asked again", deaths, len(w.steps("01A")), len(srv.Requests()), srv.Repeated())
	if deaths < 20 {
		t.Errorf("only %d deaths", deaths)
	}
	if got.Message != want.Message {
		t.Errorf("the answer is\n%s\nand was\n%s", got.Message, want.Message)
	}
	if strings.Join(names(got), " ") != strings.Join(names(want), " ") {
		t.Fatalf("files %v, want %v", names(got), names(want))
	}
	for _, name := range names(want) {
		a, b := undisturbed.content(want, name), w.content(got, name)
		if !bytes.Equal(a, b) && (!strings.HasSuffix(name, ".xlsx") || !officeEqual(t, a, b)) {
			t.Errorf("%s differs", name)
		}
	}
	// Of two helpers at once, the one that did not record its step has a turn
	// in flight when the process dies.
	if n := srv.Repeated(); n > deaths {
		t.Errorf("%d turns asked again in %d deaths", n, deaths)
	}
	if got.Usage.Turns != want.Usage.Turns {
		t.Errorf("%d turns were paid, %d without a death", got.Usage.Turns, want.Usage.Turns)
	}
}
