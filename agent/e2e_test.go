package agent_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

type args = map[string]any

func checkPlan(t *testing.T, w *world, o bot.Outcome) {
	t.Helper()
	if o.State != bot.TaskDone || o.Partial {
		t.Fatalf("state %s, partial %v: %s", o.State, o.Partial, o.Message)
	}
	if got := strings.Join(names(o), " "); got != "summary.xlsx north.csv south.csv" {
		t.Errorf("files %s", got)
	}
	for _, want := range []string{"North sold **30**", "Based on: `sales.csv` (3", "3 of 3 rows used"} {
		if !strings.Contains(o.Message, want) {
			t.Errorf("the answer lacks %q: %s", want, o.Message)
		}
	}
	if strings.Contains(o.Message, "unconfirmed") {
		t.Errorf("a calculated figure is marked: %s", o.Message)
	}
	if got := string(w.content(o, "north.csv")); got != "region,date,amount\nnorth,2024-01-01,10.0\nnorth,2024-02-03,20.0\n" {
		t.Errorf("north.csv %q", got)
	}
}

func TestPlanWithHelpers(t *testing.T) {
	w := newWorld(t, "")
	srv := modeltest.Start(t, modeltest.Plan())
	w.model(srv)
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "Make the weekly numbers, please.", w.input("sales.csv", []byte(sales))))
	checkPlan(t, w, o)

	if len(o.Provenance.Programs) != 5 || o.Provenance.Programs[0].Verdict != "exit" || o.Provenance.Model != "scripted" || o.Provenance.Values != "full" {
		t.Errorf("provenance %+v", o.Provenance)
	}
	if o.Usage.Turns != 12 || o.Usage.CostUSD == 0 || o.Usage.InputTokens == 0 {
		t.Errorf("usage %+v", o.Usage)
	}
	if w.meter.open != 0 || w.meter.booked != o.Usage.InputTokens+o.Usage.OutputTokens {
		t.Errorf("meter: %d open, %d booked, %d used", w.meter.open, w.meter.booked, o.Usage.InputTokens+o.Usage.OutputTokens)
	}
	if srv.Repeated() != 0 {
		t.Errorf("%d turns were asked twice", srv.Repeated())
	}
	// A helper's first request holds nothing of the lead's transcript.
	for _, part := range []string{"PART-NORTH", "PART-SOUTH"} {
		first := srv.Of(part)[0]
		if strings.HasPrefix(first.Opening, "You are Sandpiper") {
			continue
		}
		for _, alien := range []string{"weekly numbers", "Read the file", "two regions", "total", other(part)} {
			if strings.Contains(first.Text(), alien) {
				t.Errorf("%s's first request holds %q", part, alien)
			}
		}
		if !strings.Contains(first.Text(), "sales.csv") || !strings.Contains(first.Text(), "amount") {
			t.Errorf("%s's first request lacks its input's profile", part)
		}
		for _, tool := range first.Tools {
			if tool == "ask_user" {
				t.Errorf("%s may ask the person", part)
			}
		}
	}
	var plan []bot.TodoItem
	for _, p := range w.reports {
		if p.Todo != nil {
			plan = p.Todo
		}
	}
	if len(plan) != 4 || plan[2].Text != "Split north and south" || !plan[3].Done {
		t.Errorf("the plan people saw: %+v", plan)
	}

	t.Run("follow-up", func(t *testing.T) {
		task := w.task("01A", "Make the weekly numbers, please.", w.input("sales.csv", []byte(sales)))
		follow := modeltest.Start(t, modeltest.Script{Agents: []modeltest.Agent{{Match: "now by month", Turns: []modeltest.Turn{
			modeltest.Do("execute_code", args{"language": "python", "code": "print(df.groupby(df.date.astype(str).str[:7]).amount.sum())\nimport os\nprint(sorted(os.listdir('previous')), os.listdir('out'))\ndf.to_csv('out/monthly.csv')"}),
			modeltest.Do("finish", args{"message": "January 22.5, February 20: monthly.csv"}),
		}}}})
		w.model(follow)
		defer dump(t, w, "01B")
		o := w.must(w.task("01B", "now by month"), done(task, o))
		if strings.Join(names(o), " ") != "monthly.csv" || strings.Contains(o.Message, "unconfirmed") {
			t.Errorf("files %v: %s", names(o), o.Message)
		}
		first := follow.Requests()[0]
		opening := first.Opening
		if a, b := strings.Index(opening, "Make the weekly numbers, please."), strings.Index(opening, "now by month"); a < 0 || b < a {
			t.Errorf("the requests do not stand in their order: %s", opening)
		}
		if got := follow.Requests()[1].Last().Content; !strings.Contains(got, "['north.csv', 'south.csv', 'summary.xlsx'] []") {
			t.Errorf("the earlier files are not aside: %s", got)
		}
	})
	t.Run("reproduced", func(t *testing.T) {
		again := w.task("01C", "reproduce")
		again.Event.Options.Seed = "01A"
		o := w.must(again)
		if !strings.Contains(o.Message, "3 of 3 programs ended as recorded, 3 of 3 files are the same") {
			t.Errorf("got %s", o.Message)
		}
	})
}

func other(part string) string {
	if part == "PART-NORTH" {
		return "PART-SOUTH"
	}
	return "PART-NORTH"
}

// officeEqual compares Office files by their members without times.
func officeEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	members := func(raw []byte) map[string]string {
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			if f.Name != "docProps/core.xml" { // holds nothing but times and names
				out[f.Name] = string(data)
			}
		}
		return out
	}
	x, y := members(a), members(b)
	if len(x) != len(y) {
		return false
	}
	for name, data := range x {
		if y[name] != data {
			return false
		}
	}
	return true
}
