package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// modelSales is the file of modeltest.Plan.
const modelSales = "region,date,amount\nnorth,2024-01-01,10\nsouth,2024-01-02,12.5\nnorth,2024-02-03,20\n"

// TestKillWithAModel kills process after process with SIGKILL, each at the
// second step that it records, through a run with a model, helpers and files:
// the task ends once, as it would have undisturbed, and no answered turn is
// asked again but those in flight.
func TestKillWithAModel(t *testing.T) {
	h := newHome(t)
	h.write("sales.csv", modelSales)
	srv := modeltest.Start(t, modeltest.Plan())
	env := []string{"OPENAI_BASE_URL=" + srv.URL(), "SANDPIPER_MODEL=scripted"}
	deadly := append([]string{killVariable + "=2:step-recorded"}, env...)
	deaths := 0
	p := h.start(deadly, "run", "Make the weekly numbers, please.", "sales.csv")
	for p.wait() == -1 {
		if deaths++; deaths > 60 {
			t.Fatal("no end in sight")
		}
		p = h.start(deadly, "tasks", "list")
	}
	list := h.tasks()
	if len(list) != 1 || list[0].State != bot.TaskDone {
		t.Fatalf("tasks are %+v, want one that is done\n%s", list, p.err.String())
	}
	shown := h.show(list[0].Task)
	t.Logf("killed %d times over %d steps; %d requests, %d turns asked again", deaths, len(shown.Steps), len(srv.Requests()), srv.Repeated())
	if deaths < 10 || srv.Repeated() > deaths || shown.Outcome.Usage.Turns != 12 {
		t.Errorf("%d deaths, %d turns asked again, %d paid", deaths, srv.Repeated(), shown.Outcome.Usage.Turns)
	}
	if !strings.HasPrefix(shown.Outcome.Message, "North sold **30**, south 12.5, together 42.5.") || shown.Outcome.Partial || strings.Contains(shown.Outcome.Message, "unconfirmed") {
		t.Errorf("the answer is %s", shown.Outcome.Message)
	}
	h.expectOut("out", shown.Outcome.Files)
	north, err := os.ReadFile(filepath.Join(h.dir, "out", "north.csv"))
	if err != nil || string(north) != "region,date,amount\nnorth,2024-01-01,10.0\nnorth,2024-02-03,20.0\n" {
		t.Errorf("north.csv is %q, %v", north, err)
	}
	story := h.run(0, "tasks", "show", list[0].Task).out.String()
	for _, want := range []string{"read sales.csv", "calls create_todo_list", "ran python: exit", "parted the budget among 2 helpers", "lead/1: ran python: ok", "4. [x] Write the report"} {
		if !strings.Contains(story, want) {
			t.Errorf("the story lacks %q:\n%s", want, story)
		}
	}
}

// TestModelCannotBeReached is exit 3 with the next thing to do.
func TestModelCannotBeReached(t *testing.T) {
	h := newHome(t)
	p := h.start([]string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "SANDPIPER_MODEL=m"}, "run", "What is in it?", "sales.csv")
	if status := p.wait(); status != 3 || !strings.Contains(p.err.String(), "OPENAI_BASE_URL") {
		t.Errorf("exit status %d\n%s", status, p.err.String())
	}
}
