package sandbox_test

import (
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

func TestLanguages(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		put(t, session, "workspace/in/sales-2024.csv", "region,amount\nNorth,10\nSouth,32\nNorth,5\n")
		for _, step := range []struct {
			name     string
			language sandbox.Language
			code     string
			want     []string
		}{
			{"a file is a table", sandbox.SQL, "select region, sum(amount) as total from sales_2024 group by region order by total desc;", []string{"region  total", "South      32", "North      15", "(2 rows)"}},
			{"by its whole name", sandbox.SQL, `select count(*) as n from "sales-2024.csv"`, []string{"n", "3"}},
			{"a result is a DataFrame", sandbox.Python, "print(int(sql_result['n'][0]) + 1); import pandas as pd; extra = pd.DataFrame({'x': [1, 2]})", []string{"4"}},
			{"a DataFrame is a table", sandbox.SQL, "create table kept as select x * 10 as y from extra; select sum(y) from kept", []string{"30"}},
			{"a table stays; values with semicolons", sandbox.SQL, "insert into kept values (7); select max(y), ';' from kept where y < 10", []string{"1 row changed", "7"}},
			{"javascript", sandbox.JavaScript, "const fs = require('fs'); console.log(fs.readFileSync('in/sales-2024.csv', 'utf8').split('\\n').length)", []string{"5"}},
			{"javascript modules", sandbox.JavaScript, "import { readdirSync } from 'node:fs'; console.log(await Promise.resolve(readdirSync('in').length))", []string{"1"}},
			{"bash", sandbox.Bash, "wc -l < in/sales-2024.csv | tr -d ' '; python3 -c 'import sandpiper; print(sandpiper.WORKSPACE)'", []string{"4", "/workspace"}},
		} {
			got := run(t, session, step.language, step.code)
			if got.Verdict != sandbox.OK {
				t.Errorf("%s: %s: %s", step.name, got.Verdict, got.Stderr.Head)
			}
			for _, want := range step.want {
				if !strings.Contains(got.Stdout.Head, want) {
					t.Errorf("%s: no %q in %q", step.name, want, got.Stdout.Head)
				}
			}
		}
		got := run(t, session, sandbox.SQL, "select x from nowhere")
		if got.Verdict != sandbox.Exit || !strings.Contains(got.Stderr.Head, "no such table: nowhere") || !strings.Contains(got.Stderr.Head, "sales_2024") {
			t.Errorf("an unknown table: %s: %q", got.Verdict, got.Stderr.Head)
		}
	})
}

func TestOpenFiguresBecomeFiles(t *testing.T) {
	eachRuntime(t, func(t *testing.T, box *sandbox.Sandbox, _ string) {
		session := lease(t, box)
		got := run(t, session, sandbox.Python, `import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.figure(); plt.plot([1, 2]); plt.savefig('out/mine.png')
plt.figure(); plt.bar(['a'], [3]); plt.show()
plt.figure()`)
		if got.Verdict != sandbox.OK || got.Stderr.Total != 0 {
			t.Fatalf("%s: %s", got.Verdict, got.Stderr.Head)
		}
		files, found := collect(t, session)
		if len(files) != 2 || files["mine.png"] == "" || files["figure-1.png"] == "" {
			t.Errorf("files %v, want the saved one and the one left open", found.Files)
		}
		for _, file := range found.Files {
			if file.MediaType != "image/png" || file.Size != int64(len(files[file.Name])) || len(file.SHA256) != 64 {
				t.Errorf("file %+v", file)
			}
		}
		if got := run(t, session, sandbox.Python, "print(plt.get_fignums())"); got.Stdout.Head != "[]\n" {
			t.Errorf("figures are still open: %s", got.Stdout.Head)
		}
	})
}
