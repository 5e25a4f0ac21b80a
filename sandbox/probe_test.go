package sandbox_test

import (
	"testing"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

func TestProbes(t *testing.T) {
	for _, runtime := range sandboxtest.Engine(t).Runtimes {
		t.Run(runtime, func(t *testing.T) {
			report, err := sandbox.Probe(t.Context(), sandbox.Options{Owner: sandboxtest.Owner(t), Runtime: runtime})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Probes) != 30 {
				t.Errorf("%d probes, want 30", len(report.Probes))
			}
			for _, probe := range report.Probes {
				t.Logf("%2d %-5v %s: %s", probe.ID, probe.OK, probe.Name, probe.Seen)
				if !probe.OK {
					t.Errorf("probe %d, %s: expected %s, saw %s", probe.ID, probe.Name, probe.Expect, probe.Seen)
				}
			}
		})
	}
}
