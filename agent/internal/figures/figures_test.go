package figures

import (
	"slices"
	"testing"
)

func TestIn(t *testing.T) {
	for text, want := range map[string][]string{
		"Revenue was 1,234.50 in 2024.":                       {"1,234.50"},
		"Up 12.5 % on 2023-04-01 at 12:30":                    {"12.5 %"},
		"1. North: 5 orders\n2. South: 7":                     {"5", "7"},
		"See report_2024.xlsx and chart-3.png":                nil,
		"Q1 was 2nd, v2, #12 and 3D":                          nil,
		"1.2 million, 3 млн, 45k and 7 тыс. штук":             {"1.2 million", "3 млн", "45k", "7 тыс."},
		"12 345 рублей и 1 234,5":                             {"12 345", "1 234,5"},
		"| North | 1 | 20.25 |":                               {"1", "20.25"},
		"https://example.com/77 has 8":                        {"8"},
		"(−5%) and `99`":                                      {"5%", "99"},
		"31.12.2024 and 1/2/24 are dates, 3.5 is a number":    {"3.5"},
		"## 3. Results\n12 rows":                              {"12"},
		"between 1990 and 2040 are years; 1500 is not a year": {"1500"},
	} {
		var got []string
		for _, f := range In(text) {
			got = append(got, f.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("In(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestHolds(t *testing.T) {
	var e Evidence
	e.AddText("North    12345.678\nSouth    0.1234\ncount 17 18\n1.5e+06 rows 250,000\nmean -42.0")
	for text, want := range map[string]bool{
		"12,345.68": true, "12,346": true, "12,345": false, "12.3k": true, "12.4k": false, "12 346": true,
		"12.34%": true, "12.3 %": true, "12 %": true, "13 %": false, "0.12": true,
		"17": true, "18": true, "19": false, "1.5 million": true, "1,500,000": true, "1.5": false,
		"250k": true, "250.000": true, "−42": true, "42.0": true, "42.1": false,
		"about 12,300": true, "about 12,400": false, "12,300": false, "1,718": false,
	} {
		figures := In(text)
		if len(figures) != 1 {
			t.Errorf("In(%q) found %d figures", text, len(figures))
			continue
		}
		if got := e.Holds(figures[0]); got != want {
			t.Errorf("Holds(%q) = %v, want %v", text, got, want)
		}
	}
}
