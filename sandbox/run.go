package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	hostGrace   = 10 * time.Second // the guest's, to end a program that has passed its limit
	cancelGrace = 5 * time.Second  // the guest's, to end a program that was cancelled
	oomGrace    = 250 * time.Millisecond
	maxListed   = 200 // new or changed files named after a program
)

// Run runs one program and says how it ended. An error means that there is no
// verdict at all: the session had ended before.
//
// When ctx ends, the program is killed and the verdict is Cancelled; the
// session stays usable if its guest obeys. After Engine, Internal, and an OOM
// or Wall that took the guest along, the session has ended.
func (s *Session) Run(ctx context.Context, program Program) (Result, error) {
	if len(program.Code) > maxProgram {
		return Result{}, fmt.Errorf("run program: %d bytes of source are more than %d", len(program.Code), maxProgram)
	}
	switch program.Language {
	case Python, JavaScript, Bash, SQL:
	default:
		return Result{}, fmt.Errorf("run program: unknown language %q", program.Language)
	}
	release, err := s.hold(ctx)
	if err != nil && ctx.Err() != nil {
		return Result{Verdict: Cancelled, Detail: "cancelled before it began"}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("run program: %w", err)
	}
	defer release()
	r := s.newRun(program)
	s.sandbox.running.Add(1)
	defer s.sandbox.running.Add(-1)
	result := r.run(ctx)
	r.explain(&result)
	return result, nil
}

// run is one program under way, on the host's side.
type run struct {
	session    *Session
	program    Program
	nonce      string
	wall, cpu  time.Duration
	head, tail int64 // bytes kept of each stream
	began      time.Time
	streams    map[string]*capture
	finished   finished
}

func (s *Session) newRun(program Program) *run {
	l := s.options.Limits
	r := &run{
		session: s, program: program, nonce: newID() + newID(), wall: l.Wall, cpu: l.CPU,
		tail: l.Output / 4, streams: map[string]*capture{"stdout": {}, "stderr": {}},
	}
	r.head = l.Output - r.tail
	if program.Wall > 0 {
		r.wall = program.Wall
	}
	if program.CPU > 0 {
		r.cpu = program.CPU
	}
	return r
}

// finished is the guest's word on how a program ended.
type finished struct {
	Nonce     string               `json:"nonce"`
	End       string               `json:"end"`
	Code      int                  `json:"code"`
	Signal    int                  `json:"signal"`
	Error     string               `json:"error"`  // the exception's class
	Module    string               `json:"module"` // that an import did not find
	Line      int                  `json:"line"`
	Lingering int                  `json:"lingering"` // threads that outlived the program
	Left      int                  `json:"left"`      // processes that were killed after it
	Forgotten bool                 `json:"forgotten"`
	Lost      bool                 `json:"memory_lost"`
	Silent    bool                 `json:"silent"` // ended without a word on how
	Changed   []changedFile        `json:"changed"`
	Streams   map[string]streamEnd `json:"streams"`
	Evidence  struct {
		CPU  float64  `json:"cpu"`
		Wall float64  `json:"wall"`
		OOM  *int64   `json:"oom"`
		PIDs *int64   `json:"pids"`
		Full []string `json:"full"`
	} `json:"evidence"`
}

type streamEnd struct {
	Total int64 `json:"total"`
	Tail  int64 `json:"tail"`
}

func (r *run) run(ctx context.Context) Result {
	s := r.session
	r.began = time.Now()
	// The program's frame is written whole even when ctx ends meanwhile, so
	// that the stream stays in order for what follows.
	guarded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), r.wall+hostGrace, errStalled)
	defer cancel()
	if ctx.Err() != nil {
		return Result{Verdict: Cancelled, Detail: "cancelled before it began"}
	}
	select {
	case <-s.oom: // an earlier program's
	default:
	}
	err := s.wire.send(guarded, frameRun, map[string]any{
		"nonce": r.nonce, "language": r.program.Language, "wall": r.wall.Seconds(), "cpu": r.cpu.Seconds(),
		"head": r.head, "tail": r.tail, "stop": s.options.Limits.OutputStop, "pids": s.options.Limits.PIDs,
	}, []byte(r.program.Code))
	if err == nil {
		s.options.Point("program-running")
		err = r.follow(guarded, ctx)
	}
	if err == nil {
		return r.verdict(guarded)
	}
	return r.broken(guarded, ctx, err)
}

// errLeft is the cause of a context whose caller gave up.
var errLeft = errors.New("the caller gave up")

// follow takes frames until the program has finished. When the caller gives
// up, the guest is asked to kill the program, and gets a moment for it.
func (r *run) follow(guarded, caller context.Context) error {
	w := r.session.wire
	ctx, cancel := context.WithCancelCause(guarded)
	defer cancel(nil)
	stop := context.AfterFunc(caller, func() { cancel(errLeft) })
	defer stop()
	for {
		f, err := w.next(ctx)
		if errors.Is(err, errLeft) {
			if err := w.send(guarded, frameCancel, map[string]any{"nonce": r.nonce}, nil); err != nil {
				return err
			}
			var late context.CancelFunc
			ctx, late = context.WithTimeoutCause(guarded, cancelGrace, errStalled)
			defer late()
			continue
		}
		if err != nil {
			return err
		}
		done, err := r.take(f)
		if done || err != nil {
			return err
		}
	}
}

// take handles one frame of a running program.
func (r *run) take(f frame) (done bool, err error) {
	switch f.kind {
	case frameWarmed: // a late answer
		return false, nil
	case frameOutput:
		var head struct {
			Nonce  string `json:"nonce"`
			Stream string `json:"stream"`
		}
		if err := f.decode(&head); err != nil {
			return false, err
		}
		stream := r.streams[head.Stream]
		if head.Nonce != r.nonce || stream == nil || stream.raw+int64(len(f.tail)) > r.head {
			return false, fmt.Errorf("%w: output that does not belong here", errProtocol)
		}
		text := stream.add(f.tail)
		if r.program.Output != nil && text != "" {
			r.program.Output(head.Stream, []byte(text))
		}
		return false, nil
	case frameFinished:
		return true, r.finish(f)
	default:
		return false, fmt.Errorf("%w: frame %q while a program runs", errProtocol, f.kind)
	}
}

// finish checks the guest's last word against what came before.
func (r *run) finish(f frame) error {
	if err := f.decode(&r.finished); err != nil {
		return err
	}
	if r.finished.Nonce != r.nonce {
		return fmt.Errorf("%w: the end of another program", errProtocol)
	}
	if len(r.finished.Changed) > maxListed {
		return fmt.Errorf("%w: %d changed files", errProtocol, len(r.finished.Changed))
	}
	rest := f.tail
	for _, name := range []string{"stdout", "stderr"} {
		end, stream := r.finished.Streams[name], r.streams[name]
		if end.Tail < 0 || end.Tail > int64(len(rest)) || end.Tail > r.tail || end.Total < stream.raw+end.Tail {
			return fmt.Errorf("%w: counts of %s that do not add up", errProtocol, name)
		}
		stream.end(rest[:end.Tail], end.Total)
		rest = rest[end.Tail:]
	}
	return nil
}

// verdict weighs the guest's word against the engine's evidence.
func (r *run) verdict(ctx context.Context) Result {
	f := r.finished
	elapsed := time.Since(r.began)
	result := r.partial()
	result.ExitCode = f.Code
	result.Wall = min(seconds(f.Evidence.Wall), elapsed)
	result.CPU = seconds(f.Evidence.CPU)
	result.Forgotten, result.Lost = f.Forgotten || f.Lost, f.Lost
	for _, file := range f.Changed {
		if file.Size >= 0 && unsafeName(file.Path) == "" {
			result.Changed = append(result.Changed, FileInfo(file))
		}
	}
	switch v := Verdict(f.End); v {
	case OK, Exit, Wall, CPU, OOM, PIDs, Disk, Output, Cancelled:
		result.Verdict = v
	default:
		result.Verdict, result.Detail = Internal, "the guest named no known end"
		r.session.end(errProtocol)
		return result
	}
	if result.Verdict == OK && f.Code != 0 {
		result.Verdict = Exit
	}
	killed := f.Signal == 9 || f.Code == 137
	if result.Verdict == Exit && killed && r.engineSawOOM(ctx) {
		result.Verdict = OOM
	}
	return result
}

// partial is what is known without the guest's last word.
func (r *run) partial() Result {
	return Result{Stdout: r.streams["stdout"].stream(), Stderr: r.streams["stderr"].stream(), Wall: time.Since(r.began)}
}

// engineSawOOM reports whether the engine told of a memory kill in this
// session; its event may come a moment after the program's end.
func (r *run) engineSawOOM(ctx context.Context) bool {
	late := time.NewTimer(oomGrace)
	defer late.Stop()
	select {
	case <-r.session.oom:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// broken finds a verdict after the stream broke, from the engine's evidence,
// and ends the session.
func (r *run) broken(ctx, caller context.Context, cause error) Result {
	s := r.session
	result := r.partial()
	result.ExitCode, result.Forgotten = -1, true
	defer s.end(cause)
	select {
	case <-s.gone:
		result.Verdict, result.Detail = Cancelled, "the session was closed while the program ran"
		return result
	default:
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	switch {
	case caller.Err() != nil:
		result.Verdict, result.Detail = Cancelled, "the guest did not obey; the session was ended"
	case errors.Is(cause, errProtocol):
		result.Verdict, result.Detail = Internal, cause.Error()
	case errors.Is(cause, errStalled):
		result.Verdict, result.Detail = Wall, "the guest did not end the program in time; the session was ended"
	case r.engineSawOOM(asking):
		result.Verdict, result.Detail = OOM, "the engine told of a memory kill that took the guest along"
	default:
		result.Verdict, result.Detail = s.autopsy(asking, cause)
	}
	return result
}

// autopsy asks the engine why the guest's stream ended.
func (s *Session) autopsy(ctx context.Context, cause error) (Verdict, string) {
	for {
		state, err := s.sandbox.engine.ContainerInspect(ctx, s.container)
		if err != nil || state.State == nil {
			return Engine, fmt.Sprintf("the stream broke (%v) and the engine does not know why: %v", cause, err)
		}
		if state.State.OOMKilled {
			return OOM, "the engine says that memory ran out and took the guest along"
		}
		if !state.State.Running {
			return Engine, fmt.Sprintf("the container stopped with status %d", state.State.ExitCode)
		}
		select { // the engine may learn of the end a moment after the stream did
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return Engine, fmt.Sprintf("the stream broke (%v) though the container runs", cause)
		}
	}
}

// seconds reads a guest's number of seconds; nonsense is none.
func seconds(n float64) time.Duration {
	if math.IsNaN(n) || n < 0 || n > 1e6 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

// changedFile is the guest's [path, size].
type changedFile FileInfo

// UnmarshalJSON implements json.Unmarshaler.
func (c *changedFile) UnmarshalJSON(data []byte) error {
	pair := []any{&c.Path, &c.Size}
	return unmarshalList(data, pair)
}

// capture is one stream as it comes: the head cleaned at once, the tail at the
// end.
type capture struct {
	raw   int64 // bytes of the head
	clean cleaner
	head  strings.Builder
	done  Stream
}

func (c *capture) add(p []byte) string {
	c.raw += int64(len(p))
	text := c.clean.add(p)
	c.head.WriteString(text)
	return text
}

func (c *capture) end(tail []byte, total int64) {
	omitted := total - c.raw - int64(len(tail))
	if omitted == 0 { // head and tail join: one text
		c.head.WriteString(c.clean.add(tail))
		c.done = Stream{Total: total}
		return
	}
	ending := cleaner{seen: c.clean.seen, odd: c.clean.odd}
	text := ending.add(trimPartial(tail)) + ending.end()
	c.done = Stream{Tail: text, Omitted: omitted, Total: total}
}

func (c *capture) stream() Stream {
	c.head.WriteString(c.clean.end())
	out := c.done
	out.Head = c.head.String()
	out.Binary = c.clean.binary()
	out.Total = max(out.Total, c.raw)
	return out
}

// trimPartial cuts the rest of a rune whose start was omitted.
func trimPartial(p []byte) []byte {
	for i := 0; i < len(p) && i < 4; i++ {
		if p[i]&0xc0 != 0x80 {
			return p[i:]
		}
	}
	return p
}
