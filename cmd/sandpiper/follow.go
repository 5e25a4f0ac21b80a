package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/control"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
)

// follower shows a task's progress until its answer is there, through as many
// serving processes as it takes.
type follower struct {
	progress *term.Progress
	user     string
	closing  sync.Once
}

func newFollower(to io.Writer, user string) *follower {
	return &follower{progress: term.NewProgress(to), user: user}
}

// close takes the progress off the screen.
func (f *follower) close() { f.closing.Do(f.progress.Close) }

// follow watches the task to its answer. A Ctrl-C cancels the task, whose
// clean ending is then waited for.
func (f *follower) follow(ctx context.Context, client *control.Client, task string) (*answer, error) {
	// What a Ctrl-C ends is the task, not the calls that tell of its end.
	calls, done := context.WithCancel(context.WithoutCancel(ctx))
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		select {
		case <-ctx.Done():
			f.cancel(calls, client, task)
		case <-calls.Done():
		}
	}()
	var got *answer
	err := control.Stream(calls, client, "task/watch", taskRef{Task: task}, func(u update) error {
		if u.Progress != nil {
			f.progress.Show(*u.Progress)
		}
		got = u.Answer
		return nil
	})
	done()
	<-cancelled
	if err == nil && got == nil {
		err = fmt.Errorf("watch task %s: it ended without an answer", task)
	}
	if err == nil {
		f.close()
	}
	return got, err
}

func (f *follower) cancel(ctx context.Context, client *control.Client, task string) {
	f.progress.Note("cancelling; press Ctrl-C again to leave at once")
	bound, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	_, err := control.Call[bot.TaskState](bound, client, "task/cancel", taskRef{Task: task, User: f.user})
	if err != nil && ctx.Err() == nil && !errors.Is(err, control.ErrLost) {
		f.progress.Note("cannot cancel: " + err.Error())
	}
}

// showAnswer prints the answer and gives its exit status.
func (e *env) showAnswer(got *answer, asJSON, interrupted bool) error {
	status := got.status()
	if interrupted {
		status = fault.Interrupt
	}
	if asJSON {
		if err := e.printJSON(got); err != nil {
			return err
		}
		return fault.Exit(status)
	}
	for _, file := range got.Undelivered {
		fmt.Fprintf(e.err, "sandpiper: %s was not delivered: %s\n", term.Line(file.Name), term.Line(file.Reason))
	}
	if got.State == bot.TaskFailed {
		return failure(got, status)
	}
	if got.Partial {
		fmt.Fprintln(e.err, "sandpiper: this answer is partial")
	}
	if got.Message != "" {
		if err := e.print("%s\n", strings.TrimRight(got.Message, "\n")); err != nil {
			return err
		}
	}
	for _, file := range got.Files {
		if file.Path != "" {
			fmt.Fprintf(e.err, "sandpiper: wrote %s (%s)\n", term.Line(shortPath(file.Path)), term.Bytes(file.Size))
		}
	}
	switch got.State {
	case bot.TaskWaiting:
		if err := e.showQuestion(got); err != nil {
			return err
		}
	case bot.TaskCancelled:
		fmt.Fprintf(e.err, "sandpiper: task %s is cancelled\n", got.Task)
	}
	return fault.Exit(status)
}

// shortPath shows a path as seen from the working folder where it lies below.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// showQuestion prints what the bot asks back, and how to answer.
func (e *env) showQuestion(got *answer) error {
	if q := got.Question; q != nil {
		if q.Text != got.Message {
			if err := e.print("%s\n", q.Text); err != nil {
				return err
			}
		}
		for _, choice := range q.Choices {
			if err := e.print("  - %s\n", choice); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(e.err, "sandpiper: answer with: sandpiper run --after %s \"…\"\n", got.Task)
	return nil
}

// failure is a failed task as its person reads it.
func failure(got *answer, status fault.Status) error {
	f := &fault.Error{Status: status, Message: got.Message}
	if got.Error != nil {
		f.Message, f.Hint = got.Error.Message, got.Error.Hint
	}
	if f.Message == "" {
		f.Message = "the task failed"
	}
	if f.Hint == "" {
		f.Hint = "sandpiper tasks show " + got.Task + " tells more"
	}
	return f
}
