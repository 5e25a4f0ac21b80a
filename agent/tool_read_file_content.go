package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	_ "embed"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// Lines that one reading gives, and the bytes that it may have.
const (
	standardLines = 100
	mostLines     = 400
	readMost      = 12 << 10
)

type readArgs struct {
	File  string `json:"file" jsonschema:"an input's name, or a path within /workspace"`
	Start int    `json:"start,omitempty" jsonschema:"first line, counted from 1"`
	Lines int    `json:"lines,omitempty" jsonschema:"number of lines, at most 400"`
	As    string `json:"as,omitempty" jsonschema:"text for its lines, profile for what was found in it"`
}

//go:embed checks/read_text.py
var readTextCode string

//go:embed checks/read_profile.py
var readProfileCode string

func readFileTool() (*tool, error) {
	return makeTool("read_file_content", func(ctx context.Context, l *loop, args readArgs) (observation, error) {
		name, ok := l.resolve(args.File)
		if !ok {
			return failed("The path %s leads out of /workspace. Name an input file or a path within /workspace.", code(cleanLine(args.File, 200))), nil
		}
		values := l.t.a.o.Values
		input := strings.HasPrefix(name, "in/")
		program := readTextCode
		switch {
		case args.As == "profile":
			program = readProfileCode
		case args.As != "" && args.As != "text":
			return failed("`as` is text or profile."), nil
		case input && values != ValuesFull:
			return failed("The values of input files are not shown here (model.values: %s). Use as: profile, and work on the values in programs.", values), nil
		}
		params, err := json.Marshal(map[string]any{
			"path": "/workspace/" + name, "start": max(1, args.Start), "values": values,
			"lines": min(mostLines, max(1, orElse(args.Lines, standardLines))), "most": readMost,
		})
		if err != nil {
			return observation{}, fmt.Errorf("write parameters: %w", err)
		}
		return l.readInSession(ctx, name, program, params)
	})
}

func orElse(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

// resolve gives the path within /workspace that a model means: an input by
// its bare name, or any path.
func (l *loop) resolve(file string) (string, bool) {
	clean, ok := inside(file)
	if !ok {
		return "", false
	}
	for _, in := range l.w.inputs {
		if in.Name == clean {
			return "in/" + clean, true
		}
	}
	return clean, true
}

// readInSession runs one of our own reading programs. It is started from bash,
// so that the notebook's memory does not see it, and is no part of the
// program log, for it changes nothing.
func (l *loop) readInSession(ctx context.Context, name, program string, params []byte) (observation, error) {
	if err := l.w.open(ctx); err != nil {
		return observation{}, err
	}
	script := "python3 - " + shellQuote(string(params)) + " <<'SANDPIPER_READ'\n" + program + "\nSANDPIPER_READ\n"
	result, _, err := l.w.exec(ctx, bot.Program{Language: string(sandbox.Bash), Code: script})
	if err != nil {
		return l.lost(err)
	}
	text := whole(result.Stdout)
	if result.Verdict != sandbox.OK {
		why := cleanLine(whole(result.Stderr), 300)
		if why == "" {
			why = string(result.Verdict)
		}
		o := failed("%s could not be read: %s", code(cleanLine(name, 200)), why)
		o.SandboxMS = result.Wall.Milliseconds()
		return o, nil
	}
	o := observation{toolData: toolData{Result: l.t.frame(name, text)}}
	o.SandboxMS = result.Wall.Milliseconds()
	return o, nil
}

// shellQuote makes one word of s for bash.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
