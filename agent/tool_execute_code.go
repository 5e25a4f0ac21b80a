package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// outputMost is what of a program's output enters a prompt.
const outputMost = 6 << 10

// shortWall is the rest of a budget of program time from which on it bounds
// the next program.
const shortWall = 20 * time.Second

type executeArgs struct {
	Language string `json:"language" jsonschema:"python, javascript, bash or sql"`
	Code     string `json:"code" jsonschema:"the whole program"`
}

func executeTool() (*tool, error) {
	return makeTool("execute_code", func(ctx context.Context, l *loop, args executeArgs) (observation, error) {
		language := sandbox.Language(strings.ToLower(strings.TrimSpace(args.Language)))
		switch language {
		case "py", "python3":
			language = sandbox.Python
		case "js", "node", "nodejs":
			language = sandbox.JavaScript
		case "sh", "shell":
			language = sandbox.Bash
		case sandbox.Python, sandbox.JavaScript, sandbox.Bash, sandbox.SQL:
		default:
			return failed("There is no language %s here. Use python, javascript, bash or sql.", code(cleanLine(args.Language, 40))), nil
		}
		if strings.TrimSpace(args.Code) == "" {
			return failed("The program is empty."), nil
		}
		left := l.budget.left().Sandbox
		if left <= 0 {
			return failed("The program time is used up: no further program runs. Finish with what you have."), nil
		}
		l.w.wall = 0
		if left < shortWall {
			l.w.wall = left // no session's own limit is shorter than that
		}
		l.t.report(l.t.words.RunningProgram, nil)
		program := bot.Program{Language: string(language), Code: args.Code}
		if l.orphan != nil && l.orphan.Code == args.Code {
			// An earlier life ran it and stopped before it could say so.
			program = *l.orphan
			return observation{toolData: toolData{Result: l.programText(program, sandbox.Result{})}}, nil
		}
		program, result, err := l.w.run(ctx, program)
		if errors.Is(err, errLost) && ctx.Err() == nil {
			program, result, err = l.w.run(ctx, program) // the loss was not its doing
		}
		if err != nil {
			return l.lost(err)
		}
		o := observation{toolData: toolData{Result: l.programText(program, result)}}
		o.Failed = program.Verdict != string(sandbox.OK)
		return o, nil
	})
}

// lost makes an observation of a session that broke; other errors end the run.
func (l *loop) lost(err error) (observation, error) {
	if !errors.Is(err, errLost) {
		return observation{}, err
	}
	l.t.log.Warn("session lost", "agent", l.path, "error", err)
	l.w.close()
	return failed("The session was lost and is made anew from the programs so far. Try once more; if it is lost again, do it another way."), nil
}

// programText tells how a program ended: verdict, output, new files, a hint.
func (l *loop) programText(p bot.Program, result sandbox.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s", p.Verdict)
	if p.Verdict == string(sandbox.Exit) {
		fmt.Fprintf(&b, " %d", p.ExitCode)
	}
	fmt.Fprintf(&b, ", %.1f s\n", p.Seconds)
	if result.Hint != "" {
		b.WriteString("hint: " + cleanLine(result.Hint, 300) + "\n")
	}
	switch {
	case result.Lost || result.Forgotten && p.Verdict == string(sandbox.OK):
		b.WriteString("Python's memory was dropped: import and load again.\n")
	case p.Verdict != string(sandbox.OK) && p.Language == string(sandbox.Python):
		b.WriteString("Python's memory is as it was before this program; files that it wrote stay.\n")
	}
	if len(p.Files) > 0 {
		b.WriteString("new or changed files: " + cleanLine(strings.Join(p.Files, ", "), 1000) + "\n")
	}
	if strings.TrimSpace(p.Stdout) == "" {
		b.WriteString("It printed nothing.\n")
	} else {
		b.WriteString(l.t.frame("stdout", l.shorten(p.Stdout)) + "\n")
	}
	if strings.TrimSpace(p.Stderr) != "" {
		b.WriteString(l.t.frame("stderr", tailOf(p.Stderr, outputMost/2)) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// shorten gives head, tail and size of a long output, and where all of it is.
func (l *loop) shorten(text string) string {
	if len(text) <= outputMost {
		return text
	}
	head, tail := cutText(text, outputMost*2/3), tailOf(text, outputMost/3)
	return fmt.Sprintf("%s\n[… %d of %d bytes left out; all of it: read_file_content %s …]\n%s",
		head, len(text)-len(head)-len(tail), len(text), l.w.longName(), tail)
}

// tailOf gives the last most bytes, from a line's start.
func tailOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-most:], "")
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < most/2 {
		text = text[i+1:]
	}
	return text
}
