package slacktest

import "time"

// FaultKind says how a call breaks.
type FaultKind int

// The kinds of faults.
const (
	// Lose carries the call out and then breaks the connection: the caller
	// cannot know.
	Lose FaultKind = iota + 1
	// Refuse breaks the connection before anything is done.
	Refuse
	// Limit answers 429 with Retry-After, before anything is done.
	Limit
	// Status answers the HTTP status Code, before anything is done.
	Status
	// Fail answers ok: false with Error, before anything is done.
	Fail
	// Slow waits for Wait and then carries the call out.
	Slow
	// Garbage carries the call out and answers something that is no JSON.
	Garbage
)

// Fault breaks calls.
type Fault struct {
	// Method is a Web API method, "upload" for the bytes of an upload,
	// "download" for a file's, or empty for all.
	Method string
	Kind   FaultKind
	// Times is how many calls break; 0 means one, below 0 all.
	Times int
	// After lets that many matching calls pass first.
	After int
	// Every breaks only each Every-th matching call; 0 and 1 mean each.
	Every int

	RetryAfter int // seconds, for Limit; default 1
	Code       int // for Status; default 503
	Error      string
	Wait       time.Duration
	// Match narrows to calls whose arguments it accepts; nil means all.
	Match func(args map[string]string) bool

	seen, hit int
}

// Inject adds a fault. It returns a function that takes it away again.
func (w *Workspace) Inject(fault Fault) (remove func()) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	if fault.RetryAfter == 0 {
		fault.RetryAfter = 1
	}
	if fault.Code == 0 {
		fault.Code = 503
	}
	f := &fault
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		f.Times = f.hit
	}
}

// fault returns the fault that breaks this call, or nil.
func (w *Workspace) fault(method string, args map[string]string) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		if f.Method != "" && f.Method != method || f.Match != nil && !f.Match(args) {
			continue
		}
		if f.Times >= 0 && f.hit >= f.Times {
			continue
		}
		f.seen++
		if f.seen <= f.After || f.Every > 1 && f.seen%f.Every != 0 {
			continue
		}
		f.hit++
		return f
	}
	return nil
}
