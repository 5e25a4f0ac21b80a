package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

const mended = `from sandpiper import read
df = read("/workspace/in/week3.csv")
total = df["amount_usd"].sum()
print("total", total)
print("share of north", df.loc[df.region == "north", "amount_usd"].sum() / total)`

// scheduled runs a saved report as its schedule does: beside the runs before.
func (s *saving) scheduled(id, name string, before []bot.Task, file, content string) bot.Task {
	s.t.Helper()
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin(), Saved: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	s.options.Skills, s.options.Reports = c, s.store
	task := s.task(id, "", s.input(file, []byte(content)))
	task.Event.Options = bot.Options{Skill: name, Schedule: "mondays"}
	task.Event.Actor.ID, task.Event.Scheduled = "slack:U1", true
	return done(task, s.must(task, before...))
}

func TestDriftIsMendedAndProposed(t *testing.T) {
	s := newSaving(t)
	if _, err := s.save(s.answered("01A", "Revenue was 1,250.50, and north made 80 % of it.", computed), "weekly-sales", "slack:U1", false); err != nil {
		t.Fatal(err)
	}
	srv := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Match: "The saved report weekly-sales", Turns: []modeltest.Turn{
		modeltest.Do("execute_code", args{"language": "bash", "code": "cat /skills/weekly-sales/scripts/report.py"}),
		run(mended), end("Revenue was 40.00, and north made 25 % of it."),
	}}}})
	s.model(srv)
	// The shape it was made for costs no turn, though there is a model.
	before := []bot.Task{s.scheduled("02A", "weekly-sales", nil, "week2.csv", "region,amount\nnorth,10\nsouth,10\n")}
	if before[0].State != bot.TaskDone || len(srv.Requests()) != 0 {
		t.Fatalf("%s with %d requests: %s", before[0].State, len(srv.Requests()), before[0].Outcome.Message)
	}
	drifted := s.scheduled("02B", "weekly-sales", before, "week3.csv", "region,amount_usd\nnorth,10\nsouth,30\n")
	message := drifted.Outcome.Message
	for _, part := range []string{"“amount_usd” may be its new name", "Revenue was 40.00, and north made 25 % of it.", "version 2", "reports accept weekly-sales"} {
		if !strings.Contains(message, part) {
			t.Errorf("the answer lacks %q:\n%s", part, message)
		}
	}
	if drifted.State != bot.TaskDone || len(srv.Requests()) != 3 {
		t.Fatalf("%s with %d requests", drifted.State, len(srv.Requests()))
	}
	if !strings.Contains(srv.Requests()[1].Text(), "report.program(1)") {
		t.Error("the old script was not at hand")
	}
	if v, _, _ := s.store.Version("weekly-sales"); v != 1 {
		t.Errorf("version %d is in force before anybody took it", v)
	}
	if v, err := s.store.Accept("weekly-sales"); err != nil || v != 2 {
		t.Fatalf("accepted version %d, %v", v, err)
	}
	if _, err := s.store.Accept("weekly-sales"); !errors.Is(err, saved.ErrNothingProposed) {
		t.Errorf("accepted twice: %v", err)
	}
	next := s.scheduled("02C", "weekly-sales", append(before, drifted), "week4.csv", "region,amount_usd\nnorth,60\nsouth,20\neast,20\n")
	if got := next.Outcome.Message; !strings.Contains(got, "Revenue was 100.00, and north made 60 % of it.") || !strings.Contains(got, "new in region: **east**") ||
		!strings.Contains(got, "total: 40.00 → 100.00 (+150%)") || len(srv.Requests()) != 3 {
		t.Errorf("after the mend, %d requests:\n%s", len(srv.Requests()), got)
	}
	if v, err := s.store.RollBack("weekly-sales", 1); err != nil || v != 3 {
		t.Errorf("rolled back to version %d, %v", v, err)
	}
}

func TestMendThatTypesFiguresInIsNotProposed(t *testing.T) {
	s := newSaving(t)
	if _, err := s.save(s.answered("01A", "Revenue was 1,250.50.", computed), "weekly-sales", "slack:U1", false); err != nil {
		t.Fatal(err)
	}
	s.model(modeltest.Start(t, lead(run(`print("total", 40.0)`), end("Revenue was 40.00."), end("Revenue was 40.00."))))
	o := s.scheduled("02A", "weekly-sales", nil, "week3.csv", "region,amount_usd\nnorth,10\nsouth,30\n").Outcome
	if !strings.Contains(o.Message, "not proposed") || !strings.Contains(o.Message, "40.00") {
		t.Errorf("%s: %s", o.State, o.Message)
	}
	if _, err := s.store.Accept("weekly-sales"); !errors.Is(err, saved.ErrNothingProposed) {
		t.Errorf("it was proposed: %v", err)
	}
}

// A life that is cut off after the drift was seen goes on mending: it runs the
// old program no second time.
func TestMendGoesOnInALaterLife(t *testing.T) {
	s := newSaving(t)
	if _, err := s.save(s.answered("01A", "Revenue was 1,250.50, and north made 80 % of it.", computed), "weekly-sales", "slack:U1", false); err != nil {
		t.Fatal(err)
	}
	s.model(modeltest.Start(t, lead(run(mended), end("Revenue was 40.00, and north made 25 % of it."))))
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin(), Saved: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	s.options.Skills, s.options.Reports = c, s.store
	for _, cut := range []int{5, 7, 9} { // the drift is the fourth step
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			task := s.task(fmt.Sprintf("02%d", cut), "", s.input("week3.csv", []byte("region,amount_usd\nnorth,10\nsouth,30\n")))
			task.Event.Options.Skill, task.Event.Actor.ID = "weekly-sales", "slack:U1"
			j := &journal{dir: s.world.dir, task: task.ID, failAt: cut}
			if o, err := s.runOn(t.Context(), j, task); err == nil {
				t.Fatalf("the first life ended: %s", o.Message)
			}
			j.failAt = 0
			o, err := s.runOn(t.Context(), j, task)
			if err != nil || o.State != bot.TaskDone || !strings.Contains(o.Message, "Revenue was 40.00") || !strings.Contains(o.Message, "version 2") {
				t.Errorf("%v, %s: %s", err, o.State, o.Message)
			}
			old := 0
			for _, step := range s.steps(task.ID) {
				if step.Kind == bot.StepProgram && strings.Contains(string(step.Data), "runpy") {
					old++
				}
			}
			if old != 1 {
				t.Errorf("the old program ran %d times:\n%s", old, story(s.steps(task.ID)))
			}
		})
	}
}

// Reports of skills that are no saved ones are opened by the comparison too.
func TestScheduledSkillIsComparedWithItsLastRuns(t *testing.T) {
	s := newSaving(t)
	var before []bot.Task
	week := func(i int, content string) bot.Outcome {
		task := s.task(fmt.Sprintf("02%c", 'A'+i), "profile this", s.input(fmt.Sprintf("week%d.csv", i), []byte(content)))
		task.Event.Options = bot.Options{Skill: "csv-report", Schedule: "mondays"}
		o := s.must(task, before...)
		before = append(before, done(task, o))
		return o
	}
	if o := week(1, "region,amount\nnorth,100\nsouth,50\nwest,50\neast,7\n"); strings.Contains(o.Message, "Compared with last time") {
		t.Errorf("the first run is compared:\n%s", o.Message)
	}
	o := week(2, "region,amount\nnorth,300\nsouth,52\nwest,48\nmid,7\n")
	for _, part := range []string{"**Compared with last time:**", "amount: 207 → 407 (+97%)", "new in region: **mid**", "gone from region: **east**"} {
		if !strings.Contains(o.Message, part) {
			t.Errorf("lacks %q:\n%s", part, o.Message)
		}
	}
	if o := week(3, "region,amount\nnorth,300\nsouth,52\nwest,48\nmid,7\n"); !strings.HasPrefix(o.Message, "**No new data:** `week3.csv`") {
		t.Errorf("the same file again:\n%s", o.Message)
	}
	task := s.task("03A", "profile this", s.input("week4.csv", []byte("region,amount\nnorth,1\n")))
	task.Event.Options.Skill = "csv-report"
	if o := s.must(task, slices.Clone(before)...); strings.Contains(o.Message, "Compared with last time") {
		t.Errorf("a person's request is compared with a schedule's runs:\n%s", o.Message)
	}
}
