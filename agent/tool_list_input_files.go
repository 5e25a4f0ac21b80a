package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker/go-units"
)

type noArgs struct{}

func listFilesTool() (*tool, error) {
	return makeTool("list_input_files", func(_ context.Context, l *loop, _ noArgs) (observation, error) {
		if len(l.w.inputs) == 0 {
			return told("There are no input files."), nil
		}
		var b strings.Builder
		for _, in := range l.w.inputs {
			if in.Problem != "" {
				fmt.Fprintf(&b, "- %s: could not be read: %s\n", cleanLine(in.Name, 200), cleanLine(in.Problem, 200))
				continue
			}
			fmt.Fprintf(&b, "- /workspace/in/%s (%s)\n", cleanLine(in.Name, 200), sizeText(in.Size))
		}
		return observation{toolData: toolData{Result: l.t.frame("input files", b.String())}}, nil
	})
}

// sizeText shows bytes as people read them.
func sizeText(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}
