package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
)

const (
	goneImage = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	goneBlob  = "0000000000000000000000000000000000000000000000000000000000000001"
)

// recheck changes what a report's check says, as if it had been saved in an
// image that is gone by now.
func (s *saving) recheck(name string, change func(*saved.Check)) {
	s.t.Helper()
	at := filepath.Join(s.dir, name, ".check", "check.json")
	raw, err := os.ReadFile(at)
	if err != nil {
		s.t.Fatal(err)
	}
	var c saved.Check
	if err := json.Unmarshal(raw, &c); err != nil {
		s.t.Fatal(err)
	}
	c.Trusted = []saved.Place{{Image: goneImage, Guest: c.Trusted[0].Guest}}
	if change != nil {
		change(&c)
	}
	if raw, err = json.Marshal(c); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, raw, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *saving) opened(name string) saved.Kept {
	s.t.Helper()
	k, err := s.store.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return k
}

// newReport saves the report of computed.
func newReport(t *testing.T) *saving {
	t.Helper()
	s := newSaving(t)
	if _, err := s.save(s.answered("01A", "Revenue was 1,250.50, and north made 80 % of it.", computed), "weekly-sales", "slack:U1", false); err != nil {
		t.Fatal(err)
	}
	s.options.Reports = s.store
	return s
}

const week = "region,amount\nnorth,10\nsouth,30\n"

func TestReportIsComparedInAnotherImage(t *testing.T) {
	s := newReport(t)
	if c := s.opened("weekly-sales").Check; c == nil || len(c.Trials) != 2 || len(c.Trusted) != 1 {
		t.Fatalf("kept %+v", c)
	}
	s.recheck("weekly-sales", nil)
	o := s.runSaved("02A", "weekly-sales", "week2.csv", week)
	if !strings.HasPrefix(o.Message, "Revenue was 40.00") {
		t.Errorf("the same figures are spoken of:\n%s", o.Message)
	}
	if !strings.Contains(story(s.steps("02A")), `"kind":"image"`) {
		t.Errorf("it was not compared:\n%s", story(s.steps("02A")))
	}
	if s.runSaved("02B", "weekly-sales", "week2.csv", week); strings.Contains(story(s.steps("02B")), `"kind":"image"`) {
		t.Error("it was compared again in an image that it is trusted in")
	}

	// Its own files are no longer kept: the copy with other figures is enough.
	s.recheck("weekly-sales", func(c *saved.Check) { c.Trials[0].Inputs[0].Blob = goneBlob; c.Trials[0].Answer = "never compared" })
	if o = s.runSaved("02C", "weekly-sales", "week2.csv", week); !strings.HasPrefix(o.Message, "Revenue was 40.00") {
		t.Errorf("without the files:\n%s", o.Message)
	}
	s.recheck("weekly-sales", func(c *saved.Check) {
		c.Trials[1].Answer = "Revenue was 5.00, and north made 50 % of it."
	})
	if o = s.runSaved("02D", "weekly-sales", "week2.csv", week); !strings.Contains(o.Message, "- total: 5.00 → ") || !strings.Contains(o.Message, "`reports trust weekly-sales`") || strings.Contains(o.Message, "mend weekly-sales") {
		t.Errorf("moved, without a model:\n%s", o.Message)
	}

	// Nothing is left to run it on: that is said until somebody accepts it.
	if err := s.store.DropCopies("01A"); err != nil {
		t.Fatal(err)
	}
	s.recheck("weekly-sales", func(c *saved.Check) { c.Moved = nil })
	for _, id := range []string{"02E", "02F"} {
		if o = s.runSaved(id, "weekly-sales", "week2.csv", week); !strings.Contains(o.Message, "nothing that it could be run again on is kept") || !strings.Contains(o.Message, "Revenue was 40.00") {
			t.Errorf("unchecked:\n%s", o.Message)
		}
	}
	if _, err := s.store.AcceptMoved("weekly-sales"); err != nil {
		t.Fatal(err)
	}
	if o = s.runSaved("02G", "weekly-sales", "week2.csv", week); !strings.HasPrefix(o.Message, "Revenue was 40.00") {
		t.Errorf("accepted:\n%s", o.Message)
	}
	if c := s.opened("weekly-sales").Check; len(c.Trials) != 2 {
		t.Errorf("accepting without a comparison forgot the trials: %+v", c)
	}
}

// A program that gives nothing in the new image is mended at once, as one whose
// data has changed is; without a model the failure says why it may be.
func TestReportThatFailsInAnotherImage(t *testing.T) {
	s := newReport(t)
	script := filepath.Join(s.dir, "weekly-sales", "scripts", "report.py")
	code, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(strings.Replace(string(code), "total = ", "total = df.old_name_of_a_method() or ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.recheck("weekly-sales", nil)
	o := s.runSaved("02A", "weekly-sales", "week2.csv", week)
	if o.State != bot.TaskFailed || !strings.Contains(o.Message, "its program gives nothing any more") || !strings.Contains(o.Message, "old_name_of_a_method") || strings.Contains(o.Message, "reports trust") {
		t.Errorf("%s: %s", o.State, o.Message)
	}
	srv := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Match: "since the sandbox's libraries changed", Turns: []modeltest.Turn{
		run(strings.ReplaceAll(computed, "sales.csv", "week2.csv")), end("Revenue was 40.00, and north made 25 % of it."),
	}}}})
	s.model(srv)
	s.recheck("weekly-sales", func(c *saved.Check) { c.Moved = nil })
	o = *s.scheduled("02B", "weekly-sales", nil, "week2.csv", week).Outcome
	for _, part := range []string{"**The sandbox has changed:** its program gives nothing any more", "version 2", "Revenue was 40.00, and north made 25 % of it.", "it gives what it gave before"} {
		if !strings.Contains(o.Message, part) {
			t.Errorf("lacks %q:\n%s", part, o.Message)
		}
	}
	if v, err := s.store.Accept("weekly-sales"); err != nil || v != 2 {
		t.Fatalf("version %d, %v", v, err)
	}
	s.options.Model = nil
	if o = s.runSaved("02C", "weekly-sales", "week2.csv", week); !strings.HasPrefix(o.Message, "Revenue was 40.00") {
		t.Errorf("the mended one:\n%s", o.Message)
	}
}

// Of large files a part is kept, with other figures.
func TestReportKeepsAPartOfLargeFiles(t *testing.T) {
	s := newSaving(t)
	var rows strings.Builder
	rows.WriteString("region,amount,note\n")
	for i := range 120_000 {
		fmt.Fprintf(&rows, "%s,%d,%040d\n", []string{"north", "south", "east"}[i%3], i%97, i)
	}
	srv := modeltest.Start(t, lead(run(computed), end("The total is 5759527.")))
	s.model(srv)
	task := s.task("01A", "Revenue by region", s.input("sales.csv", []byte(rows.String())))
	o := s.must(task)
	if _, err := s.save(done(task, o), "large", "slack:U1", true); err != nil {
		t.Fatalf("%s: %v", o.Message, err)
	}
	k := s.opened("large")
	content, ok := k.Copy(saved.CopyName(0))
	if !ok || len(content) > 4<<20 || len(content) < 1<<20 {
		t.Errorf("a copy of %d bytes (%t)", len(content), ok)
	}
	s.options.Reports = s.store
	s.recheck("large", func(c *saved.Check) { c.Trials[0].Inputs[0].Blob = goneBlob })
	if o := s.runSaved("02A", "large", "week2.csv", "region,amount,note\nnorth,10,a\nsouth,30,b\n"); !strings.HasPrefix(o.Message, "The total is 40.") {
		t.Errorf("compared on the part:\n%s", o.Message)
	}
}

// A report runs on the file that came with the request, whatever the
// conversation began with.
func TestReportTakesTheFileOfTheRequest(t *testing.T) {
	s := newReport(t)
	for i, k := range []struct {
		file, content string
		want          string
	}{
		{"week2.csv", week, "Revenue was 40.00"},
		{"week3.csv", "region,amount_usd\nnorth,1\n", "“amount_usd” may be its new name"},
	} {
		old, fresh := s.input("sales.csv", []byte("region,amount\nnorth,1000\n")), s.input(k.file, []byte(k.content))
		s.runSaved(fmt.Sprintf("02%d", i), "weekly-sales", "week2.csv", week) // loads the catalogue
		task := s.task(fmt.Sprintf("03%d", i), "run weekly-sales", old, fresh)
		task.Event.Inputs = []bot.InputRef{{Name: old.Name, Around: true}, {Name: fresh.Name}}
		task.Event.Actor.ID = "slack:U1"
		if o := s.must(task); !strings.Contains(o.Message, k.want) {
			t.Errorf("%s: %s", k.file, o.Message)
		}
	}
}

// Where a report needs several files and one is new, the others are those of
// before, whatever they are called.
func TestReportOfTwoFilesTakesTheNewOne(t *testing.T) {
	s := newSaving(t)
	srv := modeltest.Start(t, lead(run(`from sandpiper import read
print("sold", read("/workspace/in/sales.csv")["amount"].sum())
print("planned", read("/workspace/in/plan.csv")["target"].sum())`), end("Sold 70 of 90.")))
	s.model(srv)
	sales, plan := s.input("sales.csv", []byte("region,amount\na,30\nb,40\n")), s.input("plan.csv", []byte("region,target\na,40\nb,50\n"))
	task := s.task("01A", "Sold and planned", sales, plan)
	if _, err := s.save(done(task, s.must(task)), "sold", "slack:U1", true); err != nil {
		t.Fatal(err)
	}
	s.runSaved("02A", "sold", "x.csv", week)
	next := s.input("march.csv", []byte("region,amount\na,3\nb,4\n"))
	task = s.task("03A", "run sold", next, sales, plan)
	task.Event.Inputs = []bot.InputRef{{Name: next.Name}, {Name: sales.Name, Around: true}, {Name: plan.Name, Around: true}}
	task.Event.Actor.ID = "slack:U1"
	if o := s.must(task); !strings.Contains(o.Message, "Sold 7 of 90.") {
		t.Errorf("%s", o.Message)
	}
}
