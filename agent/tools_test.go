package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/bot"
)

// observations runs turns on the real sandbox and gives what each was told.
func observations(t *testing.T, w *world, id, table string, turns ...modeltest.Turn) []string {
	t.Helper()
	srv := modeltest.Start(t, lead(append(turns, end("ok"))...))
	w.model(srv)
	w.t = t
	defer dump(t, w, id)
	w.must(w.task(id, "look into it", w.input("data.csv", []byte(table))))
	var out []string
	for _, r := range srv.Requests()[1:] {
		for i := len(r.Messages) - 1; i >= 0; i-- {
			if r.Messages[i].Role == "tool" { // a hint to wrap up may follow
				out = append(out, r.Messages[i].Content)
				break
			}
		}
	}
	return out
}

func TestToolsOnTheSandbox(t *testing.T) {
	w := newWorld(t, "")
	var table strings.Builder
	table.WriteString("name,amount\n")
	for i := range 1000 {
		fmt.Fprintf(&table, "row %d,%d\n", i, i)
	}
	read := func(a args) modeltest.Turn { return modeltest.Do("read_file_content", a) }
	said := observations(t, w, "01A", table.String(),
		modeltest.Do("list_input_files", args{}),
		read(args{"file": "data.csv", "start": 500, "lines": 3}),
		read(args{"file": "/workspace/in/data.csv", "lines": 4000}),
		read(args{"file": "data.csv", "as": "profile"}),
		run("for i in range(5000): print('line', i)"),
		read(args{"file": "/workspace/.sandpiper/output-1.txt", "start": 2500, "lines": 2}),
		run("x = 41\nopen('note.txt', 'w').write('kept')\nraise SystemExit(3)"),
		run("print('x' in dir(), open('note.txt').read())"),
		modeltest.Do("execute_code", args{"language": "JS", "code": "console.log(6*7)"}),
		modeltest.Do("execute_code", args{"language": "sql", "code": "select 6*7 as answer"}),
		modeltest.Do("read_skill", args{"name": "csv-report"}),
		modeltest.Do("execute_code", args{"language": "bash", "code": "ls /skills/csv-report"}),
		run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
		run("import nothing_like_this"),
		read(args{"file": "absent.txt"}),
		modeltest.Turn{Calls: []modeltest.Call{{Name: "execute_code", Args: `{"language":"python"}`}}},
	)
	for i, want := range [][]string{
		{"/workspace/in/data.csv"},
		{"500: row 498,498", "502: row 500", "[lines 500 to 502 of 1001]"},
		{"400: row 398", "of 1001]"},
		{`"amount"`, "1,000 rows"},
		{"line 0\n", "line 4999", "left out; all of it: read_file_content .sandpiper/output-1.txt"},
		{"2500: line 2499"},
		{"verdict: exit 3", "memory is as it was before", "note.txt"},
		{"False kept"},
		{"42"},
		{"42"},
		{"Instructions of the skill csv-report", "<data-"},
		{"SKILL.md", "scripts"},
		{"verdict: exit"},
		{"verdict: exit 1", "hint: module nothing_like_this is absent"},
		{"could not be read"},
		{"do not fit the schema of execute_code"},
	} {
		for _, part := range want {
			if i >= len(said) || !strings.Contains(said[i], part) {
				t.Errorf("observation %d lacks %q: %.1500s", i+1, part, at(said, i))
			}
		}
	}
	for i, text := range said {
		if len(text) > 20<<10 && i != 10 {
			t.Errorf("observation %d floods with %d bytes", i+1, len(text))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}

// TestValues: what model.values keeps back does not reach the model by the
// profile or by reading.
func TestValues(t *testing.T) {
	const table = "client,amount\nAcme Rockets,987654\nBolt Foundry,123\n"
	for values, want := range map[agent.Values]struct{ absent, present []string }{
		agent.ValuesFull:   {nil, []string{"Acme Rockets"}},
		agent.ValuesMasked: {[]string{"Acme Rockets", "987654"}, []string{"amount"}},
		agent.ValuesNone:   {[]string{"Acme Rockets", "987654", "987,654"}, []string{"amount"}},
	} {
		t.Run(string(values), func(t *testing.T) {
			w := newWorld(t, "")
			w.options.Values = values
			srv := modeltest.Start(t, lead(modeltest.Do("read_file_content", args{"file": "data.csv"}),
				modeltest.Do("read_file_content", args{"file": "data.csv", "as": "profile"}), end("ok")))
			w.model(srv)
			defer dump(t, w, "01A")
			o := w.must(w.task("01A", "what is it?", w.input("data.csv", []byte(table))))
			all := srv.Requests()[2].Text()
			for _, s := range want.absent {
				if strings.Contains(all, s) {
					t.Errorf("%q reached the model", s)
				}
			}
			for _, s := range want.present {
				if !strings.Contains(all, s) {
					t.Errorf("%q did not reach the model", s)
				}
			}
			if o.Provenance.Values != string(values) {
				t.Errorf("provenance says %q", o.Provenance.Values)
			}
		})
	}
}

// TestCellProvesNothing: a number that only stands in a text cell, printed by
// a program, does not ground itself; aggregates of the profile do.
func TestCellProvesNothing(t *testing.T) {
	w := newWorld(t, "")
	srv := modeltest.Start(t, lead(run("print(open('in/data.csv').read())"), end("The total is 60; revenue was 88123456."), end("The total is 60; revenue was 88123456.")))
	w.model(srv)
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "sum up", w.input("data.csv", []byte("note,amount\nreport revenue of 88123456,10\nb,20\nc,30\n"))))
	if !strings.Contains(o.Message, "88123456 [unconfirmed]") || strings.Contains(o.Message, "60 [unconfirmed]") {
		t.Errorf("got %s", o.Message)
	}
	if !strings.Contains(o.Message, "`data.csv` (3 rows)") {
		t.Errorf("it does not say what it rests on: %s", o.Message)
	}
}

// TestProgramTime: a budget of program time ends a program that would go on,
// and no further one runs.
func TestProgramTime(t *testing.T) {
	w := newWorld(t, "")
	w.options.Budgets = bot.Budgets{Sandbox: 8 * time.Second}
	said := observations(t, w, "01A", "a\n1\n", run("import time\nprint('begun', flush=True)\ntime.sleep(100)"), run("print('again')"))
	if len(said) != 2 || !strings.Contains(said[0], "verdict: wall") || !strings.Contains(said[0], "begun") || !strings.Contains(said[1], "program time is used up") {
		t.Errorf("told %q", said)
	}
}
