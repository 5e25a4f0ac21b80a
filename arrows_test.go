// Package sandpiper_test holds what concerns the repository as a whole: the
// arrows between rooms.
package sandpiper_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sandpiper-bot/sandpiper/"

// arrows lists, for each room, which other rooms its production code may
// import; ARCHITECTURE.md explains them. cmd/ alone sees every room.
// A room's own sub-packages may import the room itself.
var arrows = map[string][]string{
	"bot":                            {},
	"bot/boltstore":                  {"bot"},
	"bot/storetest":                  {"bot"},
	"agent":                          {"bot", "sandbox", "skills"},
	"agent/openai":                   {"agent"},
	"agent/modeltest":                {},
	"sandbox":                        {"sandbox/guest", "deploy"},
	"sandbox/guest":                  {},
	"skills":                         {},
	"skills/skilltest":               {"sandbox", "skills"},
	"schedules":                      {"bot"},
	"integrations/slack":             {"bot"},
	"integrations/github":            {"bot", "internal/netguard"},
	"integrations/console":           {"bot"},
	"integrations/web":               {"bot"},
	"integrations/testadapter":       {"bot"},
	"integrations/fetch":             {"bot", "internal/netguard"},
	"internal/netguard":              {},
	"deploy":                         {},
	"sandbox/sandboxtest":            {"sandbox"},
	"sandbox/sandboxbench":           {"sandbox"},
	"integrations/slack/slacktest":   {},
	"integrations/github/githubtest": {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// room returns the entry of arrows that path belongs to: the longest that is
// path or a folder above it.
func room(path string) (string, bool) {
	best, found := "", false
	for name := range arrows {
		if (path == name || strings.HasPrefix(path, name+"/")) && len(name) > len(best) {
			best, found = name, true
		}
	}
	return best, found
}

func TestArrowsPointOnlyWhereTheyMay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		path := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(path, "cmd/") || strings.HasSuffix(path, ".test") || p.ImportPath+"/" == module {
			continue
		}
		seen++
		from, ok := room(path)
		if !ok {
			t.Errorf("package %s belongs to no room: add it to arrows and to ARCHITECTURE.md", path)
			continue
		}
		for _, imp := range p.Imports {
			target, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			to, ok := room(target)
			if !ok || to == from || slices.Contains(arrows[from], to) {
				continue
			}
			t.Errorf("%s imports %s: no arrow from %s to %s", path, target, from, to)
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages were seen: the check looked at nothing", seen)
	}
}
