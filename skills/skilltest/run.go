package skilltest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

//go:embed check.py
var checkProgram string

// Session is what an eval needs of a sandbox session.
type Session interface {
	Put(ctx context.Context, name string, size int64, r io.Reader) error
	Run(ctx context.Context, p sandbox.Program) (sandbox.Result, error)
	Close() error
}

// Asker puts an eval of a skill that needs a model to one, and waits for the
// answer. Its error means that there was no answer at all.
type Asker interface {
	Ask(ctx context.Context, skill, request string, inputs map[string][]byte) (Answered, error)
}

// Answered is what a model's run came to.
type Answered struct {
	Message string
	Refused string // why the task failed, as its person reads it
	Files   map[string][]byte
	CostUSD float64
}

// Options say what is tested and with what.
type Options struct {
	Skills []skills.Skill
	// Lease gives a fresh session; it is closed after each eval.
	Lease func(ctx context.Context, task string) (Session, error)
	// Asker serves skills that need a model; nil skips them, and says so.
	Asker Asker
	// Now gives the time that skills are told; required.
	Now func() time.Time
	// Started, when set, is called before each eval.
	Started func(skill, eval string)
}

// Run runs the evals of all skills, one after the other. Failed expectations
// are in the report; an error means that testing itself could not go on.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Lease == nil || o.Now == nil {
		return Report{}, errors.New("run evals: Lease and Now must be set")
	}
	var report Report
	for _, s := range o.Skills {
		evals, err := Evals(s)
		if err != nil {
			report.Results = append(report.Results, Result{Skill: s.Name, Eval: "-", Failures: []string{err.Error()}})
			continue
		}
		if len(evals) == 0 {
			report.Results = append(report.Results, Result{Skill: s.Name, Eval: "-", Skipped: "has no evals"})
		}
		for _, e := range evals {
			if err := ctx.Err(); err != nil {
				return report, fmt.Errorf("run evals: %w", err)
			}
			if o.Started != nil {
				o.Started(s.Name, e.Name)
			}
			report.Results = append(report.Results, o.one(ctx, s, e))
		}
	}
	return report, nil
}

func (o Options) one(ctx context.Context, s skills.Skill, e Eval) Result {
	result := Result{Skill: s.Name, Eval: e.Name, Model: !s.Runnable()}
	if !s.Runnable() && o.Asker == nil {
		result.Skipped = "needs a model and none is configured"
		return result
	}
	begin := o.Now()
	failures, cost, err := o.inSession(ctx, s, e)
	result.Seconds = o.Now().Sub(begin).Seconds()
	result.Failures, result.CostUSD = failures, cost
	if err != nil {
		result.Failures = append(result.Failures, err.Error())
	}
	return result
}

func (o Options) inSession(ctx context.Context, s skills.Skill, e Eval) (failures []string, cost float64, err error) {
	session, err := o.Lease(ctx, "eval-"+s.Name+"-"+e.Name)
	if err != nil {
		return nil, 0, fmt.Errorf("lease session: %w", err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if s.Runnable() {
		if failures, err = o.execute(ctx, session, s, e); err != nil || len(failures) > 0 {
			return failures, 0, err
		}
	} else if cost, err = o.ask(ctx, session, s, e); err != nil {
		return nil, cost, err
	}
	failures, err = check(ctx, session, e.Expect)
	return failures, cost, err
}

// execute runs a runnable skill as a task would.
func (o Options) execute(ctx context.Context, session Session, s skills.Skill, e Eval) ([]string, error) {
	request := map[string]any{"request": e.Request, "inputs": []string{}, "language": e.Lang, "skill": s.Name, "now": o.Now().Format(time.RFC3339)}
	names := make([]string, 0, len(e.Inputs))
	for _, in := range e.Inputs {
		data, err := in.content(s)
		if err != nil {
			return nil, fmt.Errorf("read input %s: %w", in.Name, err)
		}
		if err := put(ctx, session, "workspace/in/"+in.Name, data); err != nil {
			return nil, err
		}
		names = append(names, in.Name)
	}
	request["inputs"] = names
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if err := put(ctx, session, "workspace/.sandpiper/request.json", data); err != nil {
		return nil, err
	}
	if err := send(ctx, session, s); err != nil {
		return nil, err
	}
	program := path.Join("/skills", s.Name, s.Run)
	// As its author runs it by hand: argv and the script's folder are its own.
	code := fmt.Sprintf("import runpy, sys\nsys.argv = [%q]\nsys.path.insert(0, %q)\n_ = runpy.run_path(%q, run_name='__main__')\n", program, path.Dir(program), program)
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", s.Run, err)
	}
	refused := result.Verdict == sandbox.Exit && e.Expect.Refused != ""
	if result.Verdict != sandbox.OK && !refused {
		return []string{fmt.Sprintf("%s ended with %s: %s", s.Run, result.Verdict, tail(result.Stderr.Head+result.Stderr.Tail, 2000))}, nil
	}
	// Without an answer of its own, what it printed is the answer.
	return nil, put(ctx, session, "workspace/.sandpiper/stdout.txt", []byte(result.Stdout.Head))
}

// send puts a skill's files into the session.
func send(ctx context.Context, session Session, s skills.Skill) error {
	for _, name := range s.Files {
		data, err := fs.ReadFile(s.FS, name)
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", name, s.Name, err)
		}
		if err := put(ctx, session, path.Join("skills", s.Name, name), data); err != nil {
			return err
		}
	}
	return nil
}

// ask lets a model work on the eval and lays its answer where check.py looks.
func (o Options) ask(ctx context.Context, session Session, s skills.Skill, e Eval) (float64, error) {
	inputs := map[string][]byte{}
	for _, in := range e.Inputs {
		data, err := in.content(s)
		if err != nil {
			return 0, fmt.Errorf("read input %s: %w", in.Name, err)
		}
		inputs[in.Name] = data
	}
	answered, err := o.Asker.Ask(ctx, s.Name, e.Request, inputs)
	if err != nil {
		return answered.CostUSD, fmt.Errorf("ask the model: %w", err)
	}
	if answered.Refused != "" {
		data, err := json.Marshal(map[string]string{"message": answered.Refused})
		if err != nil {
			return answered.CostUSD, fmt.Errorf("encode refusal: %w", err)
		}
		return answered.CostUSD, put(ctx, session, "workspace/.sandpiper/refusal.json", data)
	}
	if err := put(ctx, session, "workspace/.sandpiper/answer.md", []byte(answered.Message)); err != nil {
		return answered.CostUSD, err
	}
	for name, data := range answered.Files {
		if err := put(ctx, session, path.Join("workspace/out", name), data); err != nil {
			return answered.CostUSD, err
		}
	}
	return answered.CostUSD, nil
}

// check runs check.py in the session and returns what does not hold.
func check(ctx context.Context, session Session, expect Expect) ([]string, error) {
	data, err := json.Marshal(expect)
	if err != nil {
		return nil, fmt.Errorf("encode expectations: %w", err)
	}
	if err := put(ctx, session, "workspace/.sandpiper/expect.json", data); err != nil {
		return nil, err
	}
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: checkProgram})
	if err != nil {
		return nil, fmt.Errorf("run check: %w", err)
	}
	if result.Verdict != sandbox.OK || result.Stdout.Omitted > 0 {
		return nil, fmt.Errorf("run check: it ended with %s: %s", result.Verdict, tail(result.Stderr.Head+result.Stderr.Tail, 2000))
	}
	var told struct {
		Failures []string `json:"failures"`
	}
	if err := json.Unmarshal([]byte(result.Stdout.Head), &told); err != nil {
		return nil, fmt.Errorf("read check's result: %w", err)
	}
	return told.Failures, nil
}

func put(ctx context.Context, session Session, name string, data []byte) error {
	if err := session.Put(ctx, name, int64(len(data)), bytes.NewReader(data)); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return nil
}

// tail gives the last n bytes of a text, from a line's beginning where it can.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, rest, ok := bytes.Cut([]byte(text), []byte("\n")); ok {
		return string(rest)
	}
	return text
}
