package sandbox

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by a Sandbox or Session that was closed, and by a
// session that an earlier verdict has ended.
var ErrClosed = errors.New("the session has ended")

// Error is why there is no session, with the next thing to do. Its verdict is
// Image, Engine, Internal, Cancelled or Disk.
type Error struct {
	Verdict Verdict
	Message string
	Hint    string // for the person who runs the bot
	Err     error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return fmt.Sprintf("%s: %v", e.Message, e.Err)
}

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Err }
