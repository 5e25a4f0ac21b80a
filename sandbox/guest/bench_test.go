package guest_test

import (
	"encoding/json"
	"testing"
)

// measured runs one of bench.py's benchmarks in a session of default limits
// and decodes what it printed.
func measured(b *testing.B, name string, into any) {
	b.Helper()
	printed := python(b, intakeSession(b), "sys.argv = ['bench', '"+name+"']\nimport bench\nbench.main()")
	if err := json.Unmarshal([]byte(printed), into); err != nil {
		b.Fatalf("bench printed %q: %v", printed, err)
	}
}

// verdict words a target for the one who reads the benchmark; no test fails on it.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// BenchmarkIntakeSmall profiles a CSV of 1 MB, warm, beside pandas' own
// read_csv().describe() in the same session. Target: at most 3 times.
func BenchmarkIntakeSmall(b *testing.B) {
	var got struct {
		Profile float64 `json:"profile_ms"`
		Pandas  float64 `json:"pandas_ms"`
	}
	measured(b, "small", &got)
	ratio := got.Profile / got.Pandas
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(got.Profile, "profile-ms")
	b.ReportMetric(got.Pandas, "pandas-ms")
	b.ReportMetric(ratio, "times")
	b.Logf("profile of 1 MB of CSV, warm: %.0f ms, pandas.read_csv().describe(): %.0f ms; %.1f times, target at most 3: %s", got.Profile, got.Pandas, ratio, verdict(ratio <= 3))
}

// BenchmarkIntakeLarge profiles a CSV of 100 MB and two million rows in the
// default 1 GiB. Target: under 60 s.
func BenchmarkIntakeLarge(b *testing.B) {
	var got struct {
		Seconds  float64
		Bytes    int64
		Right    bool
		Said     string
		Resident float64 `json:"resident_mib"`
	}
	measured(b, "large", &got)
	if !got.Right {
		b.Errorf("the profile of two million rows has wrong figures")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(got.Seconds, "s/profile")
	b.Logf("profile of %d MB of CSV, 2,000,000 rows: %.1f s, %.0f MiB resident, target under 60 s: %s (%s)", got.Bytes/1_000_000, got.Seconds, got.Resident, verdict(got.Seconds < 60), got.Said)
}
