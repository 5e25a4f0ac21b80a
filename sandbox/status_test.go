package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/system"
)

func TestWarnings(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, engine, runc string
		age                time.Duration
		want               []string
	}{
		{"all is new", "28.5.2", "v1.2.4-0-g6c52b3f", time.Hour, nil},
		{"a hash is no version", "28.5.2", "6c52b3fc541fb26fe8c374d5f58112a0a5dbda66", time.Hour, nil},
		{"an old engine", "19.03.5", "1.1.13", time.Hour, []string{"engine 19.03.5"}},
		{"an old runc", "20.10.24+dfsg1", "1.1.5+ds1-1+deb12u1", time.Hour, []string{"CVE-2024-21626"}},
		{"an old image", "28.5.2", "1.2.0", 31 * 24 * time.Hour, []string{"31 days old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := warnings(system.Info{ServerVersion: c.engine, RuncCommit: system.Commit{ID: c.runc}}, now.Add(-c.age), now)
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%q, want %q in it", got[i], want)
				}
			}
		})
	}
}
