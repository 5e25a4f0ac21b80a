package schedules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// PreviousAdapter is the InputRef.Adapter of files that the run before made.
const PreviousAdapter = "previous"

// Answered is what Previous must know of earlier runs; the store has it.
type Answered interface {
	// Tasks returns what matches, newest first.
	Tasks(ctx context.Context, query bot.TaskQuery) ([]bot.Task, error)
}

// Previous fetches what the run before the one that asks made: its files, or
// its answer.
type Previous struct {
	tasks Answered
	blobs bot.Blobs
}

// NewPrevious returns a Previous over tasks and blobs.
func NewPrevious(tasks Answered, blobs bot.Blobs) *Previous {
	return &Previous{tasks: tasks, blobs: blobs}
}

// PreviousInput returns the reference of a file of the run before by its name,
// which may hold * and ?. The name "answer.md" is its answer where it made no
// such file.
func PreviousInput(pattern string) (bot.InputRef, error) {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return bot.InputRef{}, fmt.Errorf("input previous:%s: a file's name is needed", pattern)
	}
	return bot.InputRef{Name: path.Base(pattern), Adapter: PreviousAdapter, Ref: pattern}, nil
}

// Fetch streams the file of the newest good run of the event's conversation.
func (p *Previous) Fetch(ctx context.Context, event bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	const few = 20 // a dry run counts for nothing
	tasks, err := p.tasks.Tasks(ctx, bot.TaskQuery{Conversation: event.Origin.Conversation, State: bot.TaskDone, Limit: few})
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("look for the run before: %w", err)
	}
	for _, t := range tasks {
		if t.Event.Key == event.Key || t.Event.Options.DryRun || t.Outcome == nil {
			continue
		}
		return p.file(ctx, t, ref, w)
	}
	return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "no run has made it yet: this is the first"}
}

func (p *Previous) file(ctx context.Context, t bot.Task, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	source := PreviousAdapter + ":" + t.ID
	for _, f := range t.Outcome.Files {
		if ok, err := path.Match(ref.Ref, f.Name); err != nil || !ok {
			continue
		}
		r, err := p.blobs.Open(ctx, f.Blob)
		if errors.Is(err, bot.ErrNotFound) {
			return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "the run before made it, and it is kept no longer"}
		}
		if err != nil {
			return bot.Fetched{}, fmt.Errorf("open file of the run before: %w", err)
		}
		defer r.Close()
		if _, err := io.Copy(w, r); err != nil {
			return bot.Fetched{}, fmt.Errorf("read file of the run before: %w", err)
		}
		return bot.Fetched{Name: path.Base(f.Name), MediaType: f.MediaType, Source: source + "/" + f.Name}, nil
	}
	if ref.Ref == "answer.md" {
		_, err := io.Copy(w, strings.NewReader(t.Outcome.Message))
		return bot.Fetched{MediaType: "text/markdown", Source: source}, err
	}
	return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "the run before made no such file"}
}
