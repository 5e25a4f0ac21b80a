package guest_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"reflect"
	"testing"
)

// TestEvidence runs the guest's readers of control groups on files in the kernel's
// format of both versions, for a machine has one of them, and its choice among what
// they say.
func TestEvidence(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("skipped: no python3")
	}
	command := exec.Command(python, "-B", "testdata/evidence.py", "testdata/cgroup")
	command.Env = append(os.Environ(), "PYTHONPATH=sandpiper")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	type counters struct {
		CPU         float64 `json:"cpu"`
		OOM         *int64  `json:"oom"`
		PIDs        *int64  `json:"pids"`
		MemoryLimit *int64  `json:"memory_limit"`
		PIDsLimit   *int64  `json:"pids_limit"`
	}
	var got struct {
		V1        counters          `json:"v1"`
		V2        counters          `json:"v2"`
		Unlimited counters          `json:"unlimited"`
		None      counters          `json:"none"`
		Ends      map[string]string `json:"ends"`
	}
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	n := func(value int64) *int64 { return &value }
	want := counters{OOM: n(2), PIDs: n(7), MemoryLimit: n(256 << 20), PIDsLimit: n(48)}
	for version, cpu := range map[string]float64{"v1": 1.235, "v2": 1.235} {
		have := map[string]counters{"v1": got.V1, "v2": got.V2}[version]
		want.CPU = cpu
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %+v, want %+v", version, have, want)
		}
	}
	// A limit that is not there must be seen, or the proof would pass over it.
	if want := (counters{MemoryLimit: n(math.MaxInt64), PIDsLimit: n(math.MaxInt64)}); !reflect.DeepEqual(got.Unlimited, want) {
		t.Errorf("without limits: %+v", got.Unlimited)
	}
	if !reflect.DeepEqual(got.None, counters{}) {
		t.Errorf("without control groups: %+v", got.None)
	}
	for what, end := range map[string]string{
		"a clean end":                        "ok",
		"a clean end beside a killed helper": "ok",
		"killed for memory":                  "oom",
		"a child killed for memory":          "oom",
		"a script whose helper was killed while the disk was full":      "oom",
		"its own exception is a full disk, though something was killed": "disk",
		"a full disk":                        "disk",
		"a full disk that was emptied since": "disk",
		"past its time":                      "wall",
		"past its time for lack of memory":   "oom",
		"a fork bomb":                        "pids",
		"a fork bomb that ended well":        "pids",
		"cancelled, whatever else":           "cancelled",
		"just failed":                        "exit",
	} {
		if got.Ends[what] != end {
			t.Errorf("%s: %q, want %q", what, got.Ends[what], end)
		}
		delete(got.Ends, what)
	}
	if len(got.Ends) > 0 {
		t.Errorf("not looked at: %v", got.Ends)
	}
}
