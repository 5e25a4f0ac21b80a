// Package fault gives errors the exit status of the contract and the next
// thing to do.
package fault

import (
	"errors"
	"fmt"
)

// Status is an exit status of the contract.
type Status int

// The exit statuses.
const (
	Done      Status = 0   // done, a partial answer too
	Failed    Status = 1   // the task failed, was refused after reading, or was cancelled
	Usage     Status = 2   // wrong use or configuration
	Missing   Status = 3   // something needed is missing: engine, image, model
	Interrupt Status = 130 // Ctrl-C
)

// Error is a failure as its person reads it.
type Error struct {
	Status  Status
	Message string
	Hint    string // the next thing to do; may be empty
	// Kind is what a machine reads: the kinds of bot.TaskError, or "usage".
	Kind string
	// Told is true when everything was printed already: only the status is left.
	Told bool
	Err  error // the cause, for errors.Is; may be nil
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error with a status.
func New(status Status, hint, format string, args ...any) *Error {
	return &Error{Status: status, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// Exit is an error that only carries a status.
func Exit(status Status) error {
	if status == Done {
		return nil
	}
	return &Error{Status: status, Message: fmt.Sprintf("exit status %d", status), Told: true}
}

// KindOf gives the kind of any error: that of its status where it carries none.
func KindOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != "" {
		return e.Kind
	}
	switch StatusOf(err) {
	case Usage:
		return "usage"
	case Missing:
		return "engine"
	case Interrupt:
		return "cancelled"
	}
	return "internal"
}

// StatusOf gives the exit status of any error: Failed where it carries none.
func StatusOf(err error) Status {
	if err == nil {
		return Done
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return Failed
}
