package agent

import (
	"context"
	"fmt"
	"strings"
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
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
