package sandbox

import (
	"io"
	"time"
)

// Language is what a program is written in.
type Language string

// The languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
	Bash       Language = "bash"
	SQL        Language = "sql"
)

// Program is one program for a session.
type Program struct {
	Language Language
	Code     string
	// Wall and CPU bound this program; 0 takes the session's limits.
	Wall, CPU time.Duration
	// Output, when set, receives output while the program runs; it must not block.
	Output func(stream string, chunk []byte)
}

// Result is how a program ended.
type Result struct {
	Verdict  Verdict
	ExitCode int
	Stdout   Stream
	Stderr   Stream
	Wall     time.Duration // of the program alone
	CPU      time.Duration // of the program and its children
	// Changed lists regular files under /workspace (inputs and hidden folders
	// left out) that are new or changed, relative to it.
	Changed []FileInfo
	// Hint is one line that helps whoever wrote the program to mend it.
	Hint string
	// Detail is one line for the operator.
	Detail string
	// Forgotten is true when the session's Python memory was dropped or rolled
	// back to what it was before this program.
	Forgotten bool
	// Lost is true when the memory of the whole session is gone: its process
	// was killed. Forgotten is then true too.
	Lost bool
}

// Stream is one capped output stream: valid UTF-8, terminal escapes stripped.
type Stream struct {
	Head    string // the first bytes; all of it when Omitted is 0
	Tail    string // the last bytes when Omitted is not 0
	Omitted int64  // bytes between them
	Total   int64  // bytes the program wrote
	Binary  bool   // looked like no text
}

// FileInfo describes a file in the session.
type FileInfo struct {
	Path string // relative, slash-separated, cleaned
	Size int64
}

// File is a collected file on the host's side. Name is safe: relative, without
// control or bidirectional characters.
type File struct {
	Name      string
	Size      int64
	SHA256    string
	MediaType string // sniffed
}

// Skipped is a file that was not collected, and why.
type Skipped struct {
	Name   string
	Reason string
}

// CollectOptions say what Session.Collect brings back.
type CollectOptions struct {
	// Dir is the folder to walk, "out" when empty, relative to /workspace.
	Dir string
	// Store keeps one file's content; it is called once per regular file with
	// a reader of exactly Size bytes, and returns an error to stop.
	Store func(name string, size int64, content io.Reader) error
	// MaxFiles and MaxSize bound count and size of each; 0 takes the
	// sandbox's limits.
	MaxFiles int
	MaxSize  int64
}

// Collected is what Session.Collect found.
type Collected struct {
	Files   []File
	Skipped []Skipped
	Took    time.Duration
}
