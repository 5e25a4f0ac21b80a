package skilltest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// speechProgram prints numbers as the reports write them.
const speechProgram = `
from sandpiper.speech import of
en, ru = of("en"), of("ru")
for value, digits in ((2.675, 2), (0.125, 2), (2.5, 0), (0.5, 0), (-2.5, 0), (1.005, 2), (1234567.885, 2), (0.1 + 0.2, 2)):
    print(en.number(value, digits), ru.number(value, digits).replace("\u00a0", "_"))
print(en.percent(0.125, 0), en.percent(0.285, 0), en.short(1245000), en.short(2.675e9), en.short(999_999_999), en.number(-0.4, 0))
print(en.heading("pH"), en.heading("unit_price"), en.heading("revenue_usd"), en.within("Unit price"), en.within("NPS"))
`

// measuresProgram prints what columns measure: name, values.
const measuresProgram = `
import pandas
from sandpiper import measures
def say(name, values, unit=""):
    print(name, measures.kind(name, measures.facts_of(pandas.Series(values)), unit), sep=": ")
amounts = [5, 900.5, 17, 40, 3, 77, 1200, 8, 61, 2, 90, 33, 410]
for name in ("revenue", "Выручка, руб", "Debit", "total price", "units", "sessions", "unit_price", "unitPrice", "Цена за штуку", "bounce_rate",
             "Age", "Satisfied? (1-5)", "cost per click", "Balance", "Остаток на складе", "latitude"):
    say(name, amounts)
say("Birth year", [1962, 1980, 2003])
say("Years as customer", [0, 4, 9])
say("Respondent", list(range(1, 31)))
say("Replicate", [1, 2, 3, 1, 2, 3])
say("pH", [7.1, 7.2, 7.15, 7.3, 7.21, 7.05, 7.2, 7.11, 7.32, 7.4, 7.15, 7.2, 7.3])
say("margin", amounts, "%")
say("widgets", [3, 3, 4, 3, 4, 3, 3, 4, 3, 4, 3, 3])
`

func run(t *testing.T, program string) []string {
	t.Helper()
	session, err := lessor(t)(t.Context(), "guest-words")
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: program})
	require.NoError(t, err)
	require.Equal(t, sandbox.OK, result.Verdict, result.Stderr.Head)
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(result.Stdout.Head, "\u00a0", " ")), "\n")
}

func TestHalvesAreRoundedAwayFromZero(t *testing.T) {
	require.Equal(t, []string{
		"2.68 2,68", "0.13 0,13", "3 3", "1 1", "−3 −3", "1.01 1,01", "1,234,567.89 1_234_567,89", "0.30 0,30",
		"13% 29% 1.25 million 2.68 billion 1 billion 0",
		"pH Unit price Revenue USD unit price NPS",
	}, run(t, speechProgram))
}

func TestColumnsAreOnlySummedWhereASumMeansSomething(t *testing.T) {
	require.Equal(t, []string{
		"revenue: adds", "Выручка, руб: adds", "Debit: adds", "total price: adds", "units: adds", "sessions: adds",
		"unit_price: level", "unitPrice: level", "Цена за штуку: level", "bounce_rate: level", "Age: level", "Satisfied? (1-5): level", "cost per click: level",
		"Balance: stock", "Остаток на складе: stock", "latitude: label",
		"Birth year: label", "Years as customer: level", "Respondent: label", "Replicate: label", "pH: level", "margin: level", "widgets: adds",
	}, run(t, measuresProgram))
}
