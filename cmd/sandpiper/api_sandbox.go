package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// imageRef is an image by name and id.
type imageRef struct {
	Image string `json:"image"`
	ID    string `json:"id"`
}

// execution is a program to run by hand.
type execution struct {
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
}

type execFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (a *app) registerSandbox(s *control.Server) {
	control.Handle(s, "sandbox/replace", func(ctx context.Context, in imageRef) (struct{}, error) {
		return struct{}{}, a.boxes.Replace(ctx, in.Image, in.ID)
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
	control.Handle(s, "sandbox/exec", a.exec)
}

// exec runs one program in a session of its own.
func (a *app) exec(ctx context.Context, in execution) (_ *execResult, err error) {
	if err := a.boxes.Ready(ctx); err != nil {
		return nil, err
	}
	session, err := a.boxes.Lease(ctx, sandbox.LeaseOptions{Task: "exec-" + time.Now().UTC().Format("20060102T150405.000")})
	if err != nil {
		return nil, err
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
