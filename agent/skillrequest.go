package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Bounds on what a run is told of the runs before it.
const (
	mostRuns     = 12
	mostProfiles = 1 << 20 // bytes of all profiles together
)

// request is what a runnable skill reads as request.json.
type request struct {
	Request string   `json:"request"`
	Inputs  []string `json:"inputs"`
	// Attached are the inputs that came with the request itself; the others were
	// in its conversation before.
	Attached []string `json:"attached,omitempty"`
	Language string   `json:"language"`
	Skill    string   `json:"skill"`
	Now      string   `json:"now"`
	// Schedule names the schedule that runs it; empty for a person's request.
	Schedule string    `json:"schedule,omitempty"`
	Previous *previous `json:"previous,omitempty"`
	// Earlier are the last runs of the schedule or conversation, oldest first;
	// the last of them is Previous.
	Earlier []previous `json:"earlier,omitempty"`
}

// previous is an answer that the conversation or schedule gave before.
type previous struct {
	Task    string          `json:"task"`
	Request string          `json:"request"`
	Answer  string          `json:"answer"`
	Ended   string          `json:"ended,omitempty"`
	Files   []string        `json:"files,omitempty"`
	Profile json.RawMessage `json:"profile,omitempty"`
}

// skillRequest makes request.json; a later life takes the recorded one.
func (t *task) skillRequest(ctx context.Context, w *workspace, skill string, steps []bot.Step) ([]byte, error) {
	log, err := logOf(steps)
	if err != nil {
		return nil, err
	}
	for _, e := range log {
		if e.runnable && e.request != "" {
			return []byte(e.request), nil
		}
	}
	r := request{
		Request: t.run.Task.Event.Text, Inputs: []string{}, Language: t.words.Language, Skill: skill,
		Now: t.run.Task.Created.UTC().Format(time.RFC3339), Schedule: t.run.Task.Event.Options.Schedule,
	}
	for _, in := range w.inputs {
		if in.Blob != "" {
			r.Inputs = append(r.Inputs, in.Name)
		}
	}
	for _, in := range t.attached() {
		r.Attached = append(r.Attached, in.Name)
	}
	if r.Earlier, err = t.earlierRuns(ctx); err != nil {
		return nil, err
	}
	if n := len(r.Earlier); n > 0 {
		r.Previous = &r.Earlier[n-1]
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write request.json: %w", err)
	}
	return raw, nil
}

// counted are the earlier tasks that later ones are compared with: answered,
// and told to everybody.
func (t *task) counted() []bot.Task {
	return slices.DeleteFunc(slices.Clone(t.run.History), func(task bot.Task) bool {
		return task.Outcome == nil || task.Outcome.State != bot.TaskDone || task.Event.Options.DryRun || task.Event.Kind == bot.EventCommand
	})
}

// earlierRuns gives the newest answered tasks of the conversation, oldest
// first. Profiles of the oldest are left out where they are too much.
func (t *task) earlierRuns(ctx context.Context) ([]previous, error) {
	tasks := t.counted()
	tasks = tasks[max(0, len(tasks)-mostRuns):]
	runs := make([]previous, len(tasks))
	room := mostProfiles
	for i, task := range slices.Backward(tasks) {
		p := previous{Task: task.ID, Request: task.Event.Text, Answer: withoutRestsOn(task).Outcome.Message}
		if !task.Ended.IsZero() {
			p.Ended = task.Ended.UTC().Format(time.RFC3339)
		}
		for _, f := range task.Outcome.Files {
			p.Files = append(p.Files, f.Name)
		}
		profile, err := t.profileOf(ctx, task.ID)
		if err != nil {
			return nil, err
		}
		if len(profile) <= room {
			p.Profile = profile
			room -= len(profile)
		}
		runs[i] = p
	}
	return runs, nil
}

// profileOf reads what another task's intake found; nil when it is forgotten.
func (t *task) profileOf(ctx context.Context, id string) (json.RawMessage, error) {
	steps, err := t.run.Journal.Of(ctx, id)
	if errors.Is(err, bot.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal of %s: %w", id, err)
	}
	for _, step := range steps {
		if step.Kind == bot.StepProfile && step.Agent == lead {
			data, err := readStep[profileData](step)
			return data.Profile, err
		}
	}
	return nil, nil
}

// sameData says which inputs of a schedule's run are those of its last run,
// byte for byte; empty where none is.
func (t *task) sameData() string {
	before := t.counted()
	if t.run.Task.Event.Options.Schedule == "" || len(before) == 0 {
		return ""
	}
	last := before[len(before)-1]
	var same []string
	for _, in := range t.run.Task.Inputs {
		if in.Blob != "" && slices.ContainsFunc(last.Inputs, func(had bot.Input) bool { return had.Blob == in.Blob }) {
			same = append(same, code(in.Name))
		}
	}
	if len(same) == 0 {
		return ""
	}
	return fmt.Sprintf(t.words.SameData, strings.Join(same, ", "), last.Created.UTC().Format("2006-01-02"))
}
