package modeltest

// Plan is a whole run over a file sales.csv with the columns region, date and
// amount: a plan of four steps, a failing program that is mended, a revised
// plan, two helpers at once, three files. It answers a request that holds "the
// weekly numbers".
func Plan() Script {
	python := func(code string) Turn {
		return Do("execute_code", map[string]any{"language": "python", "code": code})
	}
	helper := func(region string) []Turn {
		return []Turn{
			python("from sandpiper import read\ndf = read('in/sales.csv')\npart = df[df.region == '" + region + "']\nprint('ROWS in/sales.csv used=%d left_out=%d reason=other region' % (len(part), len(df) - len(part)))\nprint('sum', part.amount.sum())\nimport os\nos.makedirs('out', exist_ok=True)\npart.to_csv('out/" + region + ".csv', index=False)"),
			Do("finish", map[string]any{"message": "Part " + region + " is in " + region + ".csv", "files": []string{region + ".csv"}}),
		}
	}
	return Script{Agents: []Agent{
		{Match: "PART-NORTH", Turns: helper("north")},
		{Match: "PART-SOUTH", Turns: helper("south")},
		{Match: "the weekly numbers", Turns: []Turn{
			Do("create_todo_list", map[string]any{"items": []string{"Read the file", "Sum up", "Split by region", "Write the report"}}),
			python("df = read('in/sales.csv')\ndf.amounts.sum()"),
			python("from sandpiper import read\ndf = read('in/sales.csv')\nprint(df.groupby('region').amount.sum())\nprint('total', df.amount.sum())\nprint('ROWS in/sales.csv used=%d left_out=0' % len(df))\nimport os\nos.makedirs('out', exist_ok=True)\ndf.groupby('region').amount.sum().to_frame().to_excel('out/summary.xlsx')"),
			{Text: "The file has two regions only.", Calls: []Call{
				Use("complete_todo", map[string]any{"item": "1"}), Use("complete_todo", map[string]any{"item": "Sum up"}),
				Use("revise_todo_list", map[string]any{"items": []string{"Read the file", "Sum up", "Split north and south", "Write the report"}, "reason": "only two regions"}),
			}},
			Do("delegate", map[string]any{"subtasks": []map[string]any{
				{"title": "North", "instructions": "PART-NORTH: write the rows of region north to north.csv.", "inputs": []string{"sales.csv"}},
				{"title": "South", "instructions": "PART-SOUTH: write the rows of region south to south.csv.", "inputs": []string{"sales.csv"}},
			}}),
			Do("execute_code", map[string]any{"language": "bash", "code": "cp from/1/north.csv from/2/south.csv out/ && ls out"}),
			{Calls: []Call{Use("complete_todo", map[string]any{"item": "Split north and south"}), Use("complete_todo", map[string]any{"item": "Write the report"})}},
			Do("finish", map[string]any{"message": "North sold **30**, south 12.5, together 42.5. See summary.xlsx, north.csv and south.csv.", "files": []string{"out/summary.xlsx", "north.csv"}}),
		}},
	}}
}
