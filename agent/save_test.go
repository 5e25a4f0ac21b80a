package agent_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// saving is a world whose tasks are answered by a scripted model and saved into
// its own folder.
type saving struct {
	*world
	store *saved.Store
	dir   string
}

func newSaving(t *testing.T) *saving {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "skills")
	store, err := saved.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &saving{newWorld(t, ""), store, dir}
}

// answered runs a request whose model writes these programs and this answer.
func (s *saving) answered(id, answer string, programs ...string) bot.Task {
	s.t.Helper()
	var turns []modeltest.Turn
	for _, code := range programs {
		turns = append(turns, run(code))
	}
	srv := modeltest.Start(s.t, lead(append(turns, end(answer))...))
	s.model(srv)
	task := s.task(id, "Revenue by region", s.input("sales.csv", []byte("region,amount\nnorth,1000\nsouth,234.5\neast,10\nwest,5\nmid,1\n")))
	return done(task, s.must(task))
}

func (s *saving) save(task bot.Task, name, owner string, accept bool) (agent.Saved, error) {
	s.t.Helper()
	a, err := agent.New(s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.Save(s.t.Context(), agent.SaveRequest{
		Name: name, Owner: owner, Task: task, Steps: s.steps(task.ID), Blobs: s.blobs, Into: s.store, Accept: accept,
	})
}

// runSaved runs a saved report on a file without a model.
func (s *saving) runSaved(id, name, file, content string) bot.Outcome {
	s.t.Helper()
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin(), Saved: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range c.Problems() {
		s.t.Errorf("saved skill: %s", p)
	}
	s.options.Skills, s.options.Model = c, nil
	task := s.task(id, "run "+name, s.input(file, []byte(content)))
	task.Event.Options.Skill, task.Event.Actor.ID = name, "slack:U1"
	return s.must(task)
}

const computed = `from sandpiper import read
df = read("/workspace/in/sales.csv")
total = df["amount"].sum()
print("total", total)
print("share of north", df.loc[df.region == "north", "amount"].sum() / total)`

func TestSaveAndRunOnNewData(t *testing.T) {
	s := newSaving(t)
	task := s.answered("01A", "Revenue was 1,250.50, and north made 80 % of it.", computed)
	got, err := s.save(task, "weekly-sales", "slack:U1", false)
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != 1 || len(got.Constants) != 0 || len(got.Unperturbed) != 0 {
		t.Errorf("saved %+v", got)
	}
	o := s.runSaved("01B", "weekly-sales", "week2.csv", "region,amount\nnorth,10\nsouth,30\n")
	if o.State != bot.TaskDone || !strings.Contains(o.Message, "Revenue was 40.00, and north made 25 % of it.") || o.Usage.Turns != 0 {
		t.Errorf("%s: %s", o.State, o.Message)
	}
	o = s.runSaved("01C", "weekly-sales", "week3.csv", "region,amount_usd\nnorth,10\nsouth,30\n")
	if o.State != bot.TaskFailed || o.Error == nil || o.Error.Kind != "input" || !strings.Contains(o.Message, "“amount_usd” may be its new name") {
		t.Errorf("drift: %s: %s", o.State, o.Message)
	}
}

func TestSaveShowsConstants(t *testing.T) {
	s := newSaving(t)
	task := s.answered("01A", "Revenue was 1,250.50, 83 % of the plan of 1,500.", `from sandpiper import read
df = read("/workspace/in/sales.csv")
print("total", 1250.5)
print("of plan", df["amount"].sum() / 1500)`)
	var constants *agent.ConstantsError
	if _, err := s.save(task, "typed-in", "slack:U1", false); !errors.As(err, &constants) || !slices.Equal(constants.Constants, []string{"1,250.50", "1,500"}) {
		t.Fatalf("a typed-in total: %v", err)
	}
	if version, _, _ := s.store.Version("typed-in"); version != 0 {
		t.Error("it was kept all the same")
	}
	if _, err := s.save(task, "typed-in", "slack:U1", true); err != nil {
		t.Errorf("accepted: %v", err)
	}
}

func TestSaveOfARunnableSkill(t *testing.T) {
	s := newSaving(t)
	task := s.task("01A", "profile this: amount by region", s.input("sales.csv", []byte("region,amount,units\nnorth,10,1\nsouth,30.5,\nnorth,,2\n")))
	task.Event.Options.Skill = "csv-report"
	got, err := s.save(done(task, s.must(task)), "by-region", "slack:U1", false)
	if err != nil || len(got.Unperturbed) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	o := s.runSaved("01B", "by-region", "other.csv", "region,amount,units\nnorth,100,1\nsouth,32,2\n")
	if o.State != bot.TaskDone || !strings.Contains(o.Message, "132") {
		t.Errorf("%s: %s", o.State, o.Message)
	}
}

func TestSavedNamesAndVersions(t *testing.T) {
	s := newSaving(t)
	task := s.answered("01A", "Revenue was 1,250.50.", computed)
	for _, name := range []string{"csv-report", "Weekly", "../x", ""} {
		if _, err := s.save(task, name, "slack:U1", false); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	for version := 1; version <= 2; version++ {
		if got, err := s.save(task, "mine", "slack:U1", false); err != nil || got.Version != version {
			t.Fatalf("version %d: %+v, %v", version, got, err)
		}
	}
	if _, err := s.save(task, "mine", "slack:U2", false); !errors.Is(err, saved.ErrTaken) {
		t.Errorf("somebody else's name: %v", err)
	}
	if v, err := s.store.RollBack("mine", 1); err != nil || v != 3 {
		t.Errorf("roll back: version %d, %v", v, err)
	}
	if old, err := s.store.Versions("mine"); err != nil || !slices.Equal(old, []int{1, 2}) {
		t.Errorf("earlier versions %v, %v", old, err)
	}
	if o := s.runSaved("01B", "mine", "sales.csv", "region,amount\nnorth,7\n"); !strings.Contains(o.Message, "7.00") {
		t.Errorf("after the roll back: %s", o.Message)
	}
	partial := task
	o := *task.Outcome
	o.Partial = true
	partial.Outcome = &o
	if _, err := s.save(partial, "part", "slack:U1", false); !errors.Is(err, agent.ErrNotSavable) {
		t.Errorf("a partial answer: %v", err)
	}
}

// A saved report is its owner's: nobody else can run it, or learn that it is
// there.
func TestSavedReportIsItsOwners(t *testing.T) {
	s := newSaving(t)
	if _, err := s.save(s.answered("01A", "Revenue was 1,250.50.", computed), "mine", "slack:C1", false); err != nil {
		t.Fatal(err)
	}
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin(), Saved: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	s.options.Skills, s.options.Model = c, nil
	for i, k := range []struct {
		actor, place string
		may          bool
	}{{"slack:U1", "slack:C2", false}, {"slack:U9", "slack:C1", true}, {"slack:C1", "slack:C2", true}, {"", "", false}} {
		task := s.task("02"+string(rune('A'+i)), "run it", s.input("sales.csv", []byte("region,amount\nnorth,7\n")))
		task.Event.Options.Skill, task.Event.Actor.ID, task.Event.Origin.Place = "mine", k.actor, k.place
		o := s.must(task)
		if (o.State == bot.TaskDone) != k.may {
			t.Errorf("%s in %s: %s: %s", k.actor, k.place, o.State, o.Message)
		}
		if !k.may && (o.Error == nil || o.Error.Kind != "skill") {
			t.Errorf("%s in %s: %+v", k.actor, k.place, o.Error)
		}
	}
}
