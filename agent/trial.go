package agent

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/agent/saved"
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// shapeProgram says what files a report made; it says how in its head.
//
//go:embed checks/shape.py
var shapeProgram string

// file is an input of a trial: by its content, or by its blob.
type file struct {
	name    string
	content []byte
	blob    string
	size    int64
}

// trial is one run of a report in a fresh session beside any task: it is
// neither journaled nor told.
type trial struct {
	lease  sandbox.LeaseOptions
	blobs  bot.Blobs
	name   string // the report's
	report map[string][]byte
	asked  []byte // request.json
	files  []file
}

// tried is what a trial gave.
type tried struct {
	answer string
	shapes []saved.Shape
	place  saved.Place
	took   time.Duration
}

// trialError is a report that ended without an answer.
type trialError struct {
	verdict sandbox.Verdict
	why     string
}

// Error implements error.
func (e *trialError) Error() string { return fmt.Sprintf("it ended with %s: %s", e.verdict, e.why) }

// errGone marks a file of a trial that is no longer kept.
var errGone = errors.New("is no longer kept")

// placeOf is what a session's programs run in.
func placeOf(info sandbox.Info) saved.Place {
	return saved.Place{Image: info.ImageID, Guest: info.Guest}
}

// lend leases a session and puts a trial's files into it.
func (a *Agent) lend(ctx context.Context, r trial) (Session, error) {
	session, err := a.o.Sandbox.Lease(ctx, r.lease)
	if err != nil {
		return nil, fmt.Errorf("lease session to try a report: %w", leaseError(err))
	}
	for _, f := range r.files {
		if err := a.lendFile(ctx, session, r.blobs, f); err != nil {
			return nil, errors.Join(err, session.Close())
		}
	}
	return session, nil
}

func (a *Agent) lendFile(ctx context.Context, session Session, blobs bot.Blobs, f file) error {
	content, size := io.NopCloser(bytes.NewReader(f.content)), int64(len(f.content))
	if f.blob != "" {
		var err error
		if content, err = blobs.Open(ctx, f.blob); errors.Is(err, bot.ErrNotFound) {
			return fmt.Errorf("its file %s %w", f.name, errGone)
		} else if err != nil {
			return fmt.Errorf("open %s: %w", f.name, err)
		}
		size = f.size
	}
	defer content.Close()
	if err := session.Put(ctx, "workspace/in/"+f.name, size, content); err != nil {
		return fmt.Errorf("put %s: %w", f.name, err)
	}
	return nil
}

// endTrial ends a trial's session; what it found out stands all the same.
func (a *Agent) endTrial(session Session) {
	if err := session.Close(); err != nil {
		a.o.Log.Warn("close a trial's session", "error", err)
	}
}

// try runs a report in a fresh session and says what it gave. One that gives
// nothing is a *trialError.
func (a *Agent) try(ctx context.Context, r trial) (tried, error) {
	session, err := a.lend(ctx, r)
	if err != nil {
		return tried{}, err
	}
	defer a.endTrial(session)
	got := tried{place: placeOf(session.Info())}
	put := func(name string, content []byte) error {
		return session.Put(ctx, name, int64(len(content)), bytes.NewReader(content))
	}
	for name, content := range r.report {
		if err := put(path.Join("skills", r.name, name), content); err != nil {
			return got, fmt.Errorf("put report: %w", err)
		}
	}
	if err := put("workspace/.sandpiper/request.json", r.asked); err != nil {
		return got, fmt.Errorf("put request.json: %w", err)
	}
	script := "scripts/report.py"
	if _, ok := r.report["scripts/saved_report.py"]; ok {
		script = "scripts/saved_report.py"
	}
	code := fmt.Sprintf("import runpy\n_ = runpy.run_path(%q, run_name=\"__main__\")\n", "/skills/"+r.name+"/"+script)
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: code})
	if err != nil {
		return got, fmt.Errorf("try report: %w", err)
	}
	got.took = result.Wall
	left, err := collectSmall(ctx, session, ".sandpiper")
	if err != nil {
		return got, err
	}
	if result.Verdict != sandbox.OK {
		why := lastLine(result.Stderr.Head + result.Stderr.Tail)
		var refusal struct{ Message string }
		if json.Unmarshal(left["refusal.json"], &refusal) == nil && refusal.Message != "" {
			why = refusal.Message
		}
		return got, &trialError{result.Verdict, why}
	}
	got.answer = whole(result.Stdout)
	if text, ok := left["answer.md"]; ok {
		got.answer = string(text)
	}
	got.answer = strings.ToValidUTF8(got.answer, "�")
	shapes, took, err := a.shapes(ctx, session)
	got.shapes, got.took = shapes, got.took+took
	return got, err
}

// shapes says what files a session's programs made.
func (a *Agent) shapes(ctx context.Context, session Session) ([]saved.Shape, time.Duration, error) {
	result, err := session.Run(ctx, sandbox.Program{Language: sandbox.Python, Code: shapeProgram})
	if err != nil {
		return nil, 0, fmt.Errorf("look at a report's files: %w", err)
	}
	if result.Verdict != sandbox.OK {
		return nil, result.Wall, &trialError{result.Verdict, "its files cannot be looked at: " + lastLine(result.Stderr.Head+result.Stderr.Tail)}
	}
	left, err := collectSmall(ctx, session, ".sandpiper")
	if err != nil {
		return nil, result.Wall, err
	}
	var found []saved.Shape
	if err := json.Unmarshal(left["shape.json"], &found); err != nil {
		return nil, result.Wall, &trialError{result.Verdict, "its files cannot be looked at"}
	}
	return found, result.Wall, nil
}
