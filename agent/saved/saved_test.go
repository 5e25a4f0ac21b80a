package saved

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

const firstProgram = `import pandas as pd
from sandpiper import read
df = read("/workspace/in/sales.csv")
by = df.groupby("region")["revenue"].sum()
`

const secondProgram = `print("total:", by.sum())
print("best share:", by.max() / by.sum())
print("leader", by.idxmax())
for name, value in by.items():
    print(name, value)
`

// source is a finished task as the agent leaves it: the outputs are what these
// programs print for north 1000, south 234.5.
func source() Source {
	return Source{
		Name: "weekly-sales", Owner: "slack:U1", Now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC),
		Task: bot.Task{
			ID: "T1", Event: bot.Event{Text: "Revenue by region"},
			Outcome: &bot.Outcome{Message: "Revenue was **1,234.50**: north made 1,000.00 of it, 81 %, so north leads. Target: 5,000."},
		},
		Programs: []bot.Program{
			{Language: "python", Code: firstProgram, Verdict: "ok"},
			{Language: "python", Code: "1/0", Verdict: "exit"},
			{Language: "python", Code: secondProgram, Verdict: "ok", Stdout: "total: 1234.5\nbest share: 0.8100445524503848\nleader north\nnorth 1000.0\nsouth 234.5\n"},
		},
		Profile: json.RawMessage(`{"files":[{"name":"sales.csv","kind":"csv","columns":[{"name":"region","type":"text","top":[{"value":"north","count":1},{"value":"south","count":1}]},{"name":"revenue","type":"number"}]}]}`),
	}
}

func TestMakeFindsWhereFiguresComeFrom(t *testing.T) {
	report, err := Make(source())
	if err != nil {
		t.Fatal(err)
	}
	want := "Revenue was **{{f1}}**: {{f2}} made {{f3}} of it, {{f4}} %, so {{f5}} leads. Target: 5,000."
	if got := string(report.Files["assets/answer.md"]); got != want {
		t.Errorf("template\n%s\nwant\n%s", got, want)
	}
	if len(report.Loose) != 1 || report.Loose[0] != "5,000" {
		t.Errorf("loose figures %q", report.Loose)
	}
	if f := report.Figures[3]; f.Label != "best share" || f.Factor != 100 || f.Decimals != 0 {
		t.Errorf("the share comes from %+v", f)
	}
	code := string(report.Files["scripts/report.py"])
	if strings.Contains(code, "1/0") || !strings.Contains(code, "report.program(2)") {
		t.Errorf("script:\n%s", code)
	}
}

func TestWhatCannotBecomeAReport(t *testing.T) {
	s := source()
	s.Programs = s.Programs[1:2]
	if _, err := Make(s); !errors.Is(err, ErrNoPrograms) {
		t.Errorf("failed programs only: %v", err)
	}
	s = source()
	s.Task.Outcome = &bot.Outcome{Message: "Done, see the chart."}
	if _, err := Make(s); !errors.Is(err, ErrNoFigures) {
		t.Errorf("no figures: %v", err)
	}
}

func TestForgetReachesReportsAndTheirVersions(t *testing.T) {
	dir := t.TempDir()
	store, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	save := func(name, task string, version int) {
		s := source()
		s.Name, s.Task.ID, s.Version = name, task, version
		report, err := Make(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Save(name, version, report); err != nil {
			t.Fatal(err)
		}
	}
	save("kept", "T1", 1)
	save("mended", "T2", 1)
	save("mended", "T3", 2)
	save("gone", "T2", 1)
	if err := store.Forget([]string{"T2"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"kept": 1, "mended": 2, "gone": 0} {
		if got, _, err := store.Version(name); err != nil || got != want {
			t.Errorf("%s is at version %d (%v), want %d", name, got, err, want)
		}
	}
	if old, err := store.Versions("mended"); err != nil || len(old) != 0 {
		t.Errorf("versions %v, %v: one was made from the forgotten task", old, err)
	}
}

// run runs a report's folder on files in a fresh session, as the agent runs a
// runnable skill, and returns what it left for the host.
func run(t *testing.T, box *sandbox.Sandbox, report Report, files map[string]string, extra string) map[string]string {
	t.Helper()
	ctx := t.Context()
	s, err := box.Lease(ctx, sandbox.LeaseOptions{Task: "saved-" + strings.ToLower(t.Name()[4:8])})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(name string, content []byte) {
		if err := s.Put(ctx, name, int64(len(content)), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name, content := range files {
		names = append(names, fmt.Sprintf("%q", name))
		put("workspace/in/"+name, []byte(content))
	}
	for name, content := range report.Files {
		put("skills/weekly-sales/"+name, content)
	}
	put("workspace/.sandpiper/request.json", []byte(`{"language":"en","inputs":[`+strings.Join(names, ",")+`]`+extra+`}`))
	result, err := s.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: `import runpy
_ = runpy.run_path("/skills/weekly-sales/scripts/report.py", run_name="__main__")`})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{"verdict": string(result.Verdict), "stderr": result.Stderr.Head}
	_, err = s.Collect(ctx, sandbox.CollectOptions{Dir: ".sandpiper", Store: func(name string, _ int64, r io.Reader) error {
		data, err := io.ReadAll(r)
		left[name] = string(data)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestReportOnNewData(t *testing.T) {
	box := sandboxtest.New(t, sandbox.Options{})
	report, err := Make(source())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Source)
		files  map[string]string
		extra  string
		answer string
		says   []string
	}{
		"the same data": {
			files:  map[string]string{"sales.csv": "region,revenue\nnorth,1000\nsouth,234.5\n"},
			answer: "Revenue was **1,234.50**: north made 1,000.00 of it, 81 %, so north leads. Target: 5,000.",
		},
		"another file, order, more columns, another leader": {
			files:  map[string]string{"week 2.csv": "extra;revenue;region\nx;10;north\ny;89.5;south\nz;0.5;north\n"},
			answer: "Revenue was **100.00**: south made 89.50 of it, 90 %, so south leads. Target: 5,000.",
		},
		"compared with last time": {
			files:  map[string]string{"sales.csv": "region,revenue\nnorth,100\nsouth,2000\n"},
			extra:  `,"previous":{"answer":"Revenue was **1,234.50**: north made 1,000.00 of it, 81 %, so north leads. Target: 5,000."}`,
			answer: "Revenue was **2,100.00**: south made 2,000.00 of it, 95 %, so south leads. Target: 5,000.",
			says:   []string{"Compared with last time", "total: 1,234.50 → 2,100.00 (+70%)", "- leader: north → south\n", "- south: 1,000.00 → 2,000.00 (+100%)"},
		},
		"a renamed column": {
			files: map[string]string{"sales.csv": "region,revenue_eur\nnorth,100\nsouth,20\n"},
			says:  []string{"“revenue” is no longer there", "“revenue_eur” may be its new name"},
		},
		"another type": {
			files: map[string]string{"sales.csv": "region,revenue\nnorth,many\nsouth,few\n"},
			says:  []string{"“revenue” was number and is text"},
		},
		"no file": {says: []string{"needs a file like sales.csv"}},
		"as words that cannot follow": {
			change: func(s *Source) {
				s.Task.Outcome.Message = "north made 1,000, south 234.5: north leads."
			},
			files: map[string]string{"sales.csv": "region,revenue\nnorth,100\nsouth,2000\n"},
			says:  []string{"words say “north” where it is “south” now"},
		},
		"as words that still hold": {
			change: func(s *Source) {
				s.Task.Outcome.Message = "north made 1,000, south 234.5: north leads."
			},
			files:  map[string]string{"sales.csv": "region,revenue\nnorth,2000\nsouth,1.25\n"},
			answer: "north made 2,000, south 1.2: north leads.",
		},
		"a group fewer": {
			files: map[string]string{"sales.csv": "region,revenue\nnorth,100\n"},
			says:  []string{"printed 5 lines instead of 6"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := report
			if c.change != nil {
				s := source()
				c.change(&s)
				if report, err = Make(s); err != nil {
					t.Fatal(err)
				}
			}
			left := run(t, box, report, c.files, c.extra)
			if c.answer == "" {
				for _, part := range c.says {
					if !strings.Contains(left["refusal.json"], part) {
						t.Errorf("refusal %q lacks %q\n%s", left["refusal.json"], part, left["stderr"])
					}
				}
				return
			}
			if !strings.HasSuffix(left["answer.md"], c.answer) || left["verdict"] != "ok" {
				t.Errorf("%s: answer\n%s\nwant\n%s\n%s", left["verdict"], left["answer.md"], c.answer, left["stderr"])
			}
			for _, part := range c.says {
				if !strings.Contains(left["answer.md"], part) {
					t.Errorf("answer lacks %q:\n%s", part, left["answer.md"])
				}
			}
		})
	}
}
