package agent_test

import (
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestTextOnFiles: text alone, said again and again, is no whole answer to a
// request with files; where no tool was used well, it is partial.
func TestTextOnFiles(t *testing.T) {
	w, _ := loopWorld(t, modeltest.Script{Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("lorem ipsum") }})
	if o := w.must(w.task("01A", "sum it up", w.input("sales.csv", []byte(sales)))); !o.Partial || o.State != bot.TaskDone {
		t.Errorf("state %s, partial %v: %s", o.State, o.Partial, o.Message)
	}
}

// TestItemByNumber: a whole number stands for an item as its text does.
func TestItemByNumber(t *testing.T) {
	w, srv := loopWorld(t, lead(
		modeltest.Do("create_todo_list", args{"items": []string{"Look", "Write"}}),
		modeltest.Do("complete_todo", args{"item": 1}), modeltest.Do("finish", args{"message": "Fine."})))
	w.must(w.task("01A", "go"))
	if last := srv.Requests()[2].Text(); !strings.Contains(last, "1. [x] Look") {
		t.Errorf("got %s", last)
	}
}

// TestFilesElsewhere: a listed file that lies outside the folder of results is
// given back once, then named in the answer.
func TestFilesElsewhere(t *testing.T) {
	for _, listed := range []string{"/workspace/in/sales.csv", "../in/sales.csv", "/workspace/out/../in/sales.csv"} {
		w, srv := loopWorld(t, lead(modeltest.Do("finish", args{"message": "Fine.", "files": []string{listed}})))
		o := w.must(w.task("01A", "go", w.input("sales.csv", []byte(sales))))
		if n := len(srv.Requests()); n != 2 || !strings.Contains(srv.Requests()[1].Text(), "Copy them to /workspace/out") {
			t.Errorf("%s: %d turns, the last %s", listed, n, srv.Requests()[n-1].Text())
		}
		if !strings.Contains(o.Message, "is not delivered") {
			t.Errorf("%s: got %s", listed, o.Message)
		}
	}
}

// TestRestsOn: a file that no program names was seen by its profile alone, and
// the answer does not claim more.
func TestRestsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		script modeltest.Script
		want   string
		file   string
	}{
		"one row":       {script: lead(modeltest.Do("finish", args{"message": "Fine."})), want: "*Based on: profile of `sales.csv` (1 row)*", file: "region,amount\nNorth,3\n"},
		"profile alone": {lead(modeltest.Do("finish", args{"message": "Fine."})), "*Based on: profile of `sales.csv` (3 rows)*", sales},
		"named":         {lead(run("print(open('in/sales.csv').readline())"), modeltest.Do("finish", args{"message": "Fine."})), "*Based on: `sales.csv` (3 rows)*", sales},
		"whole folder":  {lead(run("import os\nprint(os.listdir('in'))"), modeltest.Do("finish", args{"message": "Fine."})), "*Based on: `sales.csv` (3 rows)*", sales},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			w.model(modeltest.Start(t, tc.script))
			if o := w.must(w.task("01A", "go", w.input("sales.csv", []byte(tc.file)))); !strings.HasSuffix(o.Message, tc.want) {
				t.Errorf("got %s", o.Message)
			}
		})
	}
}

// TestWordsOfFiles: a word that may be the name of a file to be made fails
// nothing where there is no such input; it is told, unless the file was made.
// One that was surely meant fails the task where nothing else was read.
func TestWordsOfFiles(t *testing.T) {
	maybe := bot.Input{Name: "result.csv", Problem: "there is no result.csv", Maybe: true}
	sure := bot.Input{Name: "sales.csv", Problem: "there is no data/sales.csv"}
	makes := run("import os\nos.makedirs('out', exist_ok=True)\nopen('out/result.csv','w').write('a\\n1\\n')")
	finish := modeltest.Do("finish", args{"message": "Fine."})
	for name, tc := range map[string]struct {
		script modeltest.Script
		inputs []bot.Input
		told   bool
	}{
		"made":        {lead(makes, finish), []bot.Input{maybe}, false},
		"not made":    {lead(finish), []bot.Input{maybe}, true},
		"made, other": {lead(makes, finish), []bot.Input{maybe, {Name: "x.csv", Problem: "there is no result.csv", Maybe: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			w.model(modeltest.Start(t, tc.script))
			o := w.must(w.task("01A", "write result.csv", tc.inputs...))
			if got := strings.Contains(o.Message, "there is no result.csv"); got != tc.told || o.State != bot.TaskDone {
				t.Errorf("state %s: %s", o.State, o.Message)
			}
		})
	}
	w := newWorld(t, "")
	for _, request := range []string{"a report", "something that no skill does"} {
		o := w.must(w.task("01B"+request[:1], request, maybe))
		if o.Error == nil || !strings.Contains(o.Error.Message, "there is no result.csv") {
			t.Errorf("without a model: %+v", o)
		}
	}
	if o := w.must(w.task("01C", "sum up", sure, maybe)); o.Error == nil || !strings.Contains(o.Error.Message, "None of the files could be read:\n- `sales.csv`: there is no data/sales.csv") {
		t.Errorf("surely meant: %+v", o)
	}
}
