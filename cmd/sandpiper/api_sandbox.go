package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// imageRef is an image by name and id.
type imageRef struct {
	Image string `json:"image"`
	ID    string `json:"id"`
	// Found is true for an image that was there already: nobody vouches for it
	// but the record.
	Found bool `json:"found"`
}

// execution is a program to run by hand.
type execution struct {
	ID       string           `json:"id"` // names it for sandbox/cancel
	Language sandbox.Language `json:"language"`
	Code     string           `json:"code"`
}

// execResult is `sandbox exec --json`; its fields are the outer contract.
type execResult struct {
	Verdict  sandbox.Verdict `json:"verdict"`
	ExitCode int             `json:"exit_code"`
	Stdout   string          `json:"stdout"`
	Stderr   string          `json:"stderr"`
	Seconds  float64         `json:"seconds"`
	Files    []execFile      `json:"files"`
	// Skipped are files that were made and not collected, with the reason.
	Skipped []bot.Undelivered `json:"skipped"`
	Hint    string            `json:"hint,omitempty"`
	Detail  string            `json:"detail,omitempty"`
	// Error says why there is no program's end to tell of: wrong use, or
	// something that is missing. The verdict is then empty, or names what is.
	Error *bot.TaskError `json:"error,omitempty"`
}

// failedExec is what is printed of an execution that brought no result.
func failedExec(err error) *execResult {
	failed := &execResult{
		ExitCode: -1, Files: []execFile{}, Skipped: []bot.Undelivered{},
		Error: &bot.TaskError{Kind: fault.KindOf(err), Message: err.Error()},
	}
	var f *fault.Error
	if errors.As(err, &f) {
		failed.Error.Hint = f.Hint
	}
	switch kind := sandbox.Verdict(failed.Error.Kind); kind {
	case sandbox.Image, sandbox.Engine, sandbox.Internal, sandbox.Cancelled:
		failed.Verdict = kind
	}
	return failed
}

type execFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (a *app) registerSandbox(s *control.Server) {
	control.Handle(s, "sandbox/replace", func(ctx context.Context, in imageRef) (struct{}, error) {
		return struct{}{}, a.boxes.Replace(ctx, in)
	})
	control.Handle(s, "sandbox/status", func(ctx context.Context, _ struct{}) (sandbox.Status, error) {
		if err := a.boxes.Ready(ctx); err != nil {
			return sandbox.Status{}, err
		}
		opened, err := a.boxes.open(ctx)
		if err != nil {
			return sandbox.Status{}, err
		}
		return opened.Status(ctx)
	})
	under := &executions{cancels: map[string]context.CancelFunc{}}
	control.Handle(s, "sandbox/exec", func(ctx context.Context, in execution) (*execResult, error) {
		ctx, done := under.begin(ctx, in.ID)
		defer done()
		result, err := a.exec(ctx, in)
		if err != nil && ctx.Err() != nil {
			result = failedExec(&fault.Error{Kind: string(sandbox.Cancelled), Message: "cancelled before the program ran"})
			return result, nil
		}
		return result, err
	})
	control.Handle(s, "sandbox/cancel", func(_ context.Context, in execution) (struct{}, error) {
		under.cancel(in.ID)
		return struct{}{}, nil
	})
}

// executions are those under way.
type executions struct {
	mu      sync.Mutex                    // guards cancels
	cancels map[string]context.CancelFunc // nil where the cancel came first
}

func (e *executions) begin(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, found := e.cancels[id]; found {
		cancel()
	}
	e.cancels[id] = cancel
	return ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.cancels, id)
		cancel()
	}
}

// cancel ends an execution, whose verdict still comes.
func (e *executions) cancel(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel, found := e.cancels[id]; found && cancel != nil {
		cancel()
	} else {
		e.cancels[id] = nil
	}
}

// exec runs one program in a session of its own.
func (a *app) exec(ctx context.Context, in execution) (_ *execResult, err error) {
	if err := a.boxes.Ready(ctx); err != nil {
		return nil, err
	}
	session, err := a.boxes.Lease(ctx, sandbox.LeaseOptions{Task: "exec-" + time.Now().UTC().Format("20060102T150405.000")})
	if err != nil {
		return nil, sandboxFault(err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	result, err := session.Run(ctx, sandbox.Program{Language: in.Language, Code: in.Code})
	if err != nil {
		return nil, err
	}
	shown := &execResult{
		Verdict: result.Verdict, ExitCode: result.ExitCode, Stdout: whole(result.Stdout), Stderr: whole(result.Stderr),
		Seconds: result.Wall.Seconds(), Files: []execFile{}, Skipped: []bot.Undelivered{}, Hint: result.Hint, Detail: result.Detail,
	}
	collected, err := session.Collect(ctx, sandbox.CollectOptions{Store: func(_ string, _ int64, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	}})
	if err == nil { // a verdict that ended the session leaves nothing to collect
		for _, file := range collected.Files {
			shown.Files = append(shown.Files, execFile{Name: file.Name, Type: file.MediaType, Size: file.Size, SHA256: file.SHA256})
		}
		for _, file := range collected.Skipped {
			shown.Skipped = append(shown.Skipped, bot.Undelivered{Name: file.Name, Reason: file.Reason})
		}
	}
	return shown, nil
}

// whole puts a stream's kept parts together.
func whole(s sandbox.Stream) string {
	if s.Omitted == 0 {
		return s.Head
	}
	return s.Head + "\n… " + count(int(s.Omitted), "byte") + " left out …\n" + s.Tail
}
