package agent

import (
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestAsksFor(t *testing.T) {
	for text, want := range map[string]asksFor{
		"run weekly-sales":                          {name: "weekly-sales"},
		"Run weekly-sales.":                         {name: "weekly-sales"},
		"/run weekly-sales":                         {name: "weekly-sales", sure: true},
		"run the report `weekly-sales`":             {name: "weekly-sales", sure: true},
		"запусти отчёт weekly-sales":                {name: "weekly-sales", sure: true},
		"/run weekly [sales.csv](https://x/y.csv)":  {name: "weekly", sure: true},
		"run weekly on data/sales.csv, please":      {name: "weekly"},
		"run weekly with the new file":              {name: "weekly"},
		"run weekly\n\n<https://x.example/a?b=c|a>": {name: "weekly"},
		"run weekly on `sales.csv` and `plan.csv`":  {name: "weekly"},
		"mend weekly":                               {name: "weekly", mend: true},
		"почини отчет weekly из sales.csv":          {name: "weekly", mend: true, sure: true},
		"run weekly but only for the north":         {},
		"run a regression of sales on price":        {},
		"running weekly":                            {},
		"please run weekly":                         {},
		"":                                          {},
	} {
		got, _ := (&task{run: bot.Run{Task: bot.Task{Event: bot.Event{Text: text}}}}).asksFor()
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
