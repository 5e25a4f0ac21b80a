package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// finish commits how a task ended, or that it asks back, together with all that
// it owes.
func (o *Orchestrator) finish(ctx context.Context, id string, outcome Outcome) error {
	outcome, err := o.clean(ctx, outcome)
	if err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	o.opts.Point("artifacts-stored")
	task, err := o.updateOurs(ctx, id, func(t *Task, c *Commit) error {
		if t.State.Final() || t.State == TaskWaiting {
			return errUnchanged
		}
		if outcome.State == TaskWaiting {
			// Before the question can be seen; until the commit it counts for nothing.
			o.mu.Lock()
			o.asking[askedBy(t)] = t.ID
			o.mu.Unlock()
		}
		if err := t.move(outcome.State, o.now(), ""); err != nil {
			return err
		}
		t.Outcome = &outcome
		c.Audit = []AuditEntry{o.outcomeEntry(t)}
		c.Deliveries = o.owed(t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish task: %w", err)
	}
	o.opts.Point("outcome-committed")
	o.ended(&task)
	return nil
}

// ended does what follows from a commit that ended a task or made it wait.
func (o *Orchestrator) ended(task *Task) {
	o.hub.end(task.ID)
	if task.State != TaskWaiting {
		o.forgetQuestion(task)
	}
	if len(task.Deleted) > 0 {
		o.spawn(func(ctx context.Context) {
			if err := o.forget(ctx, task.ID); err != nil {
				o.log.Error("deleted content is not forgotten yet", "task", task.ID, "error", err)
			}
		})
	}
	o.log.Info("task ended", "task", task.ID, "state", task.State, "adapter", task.Event.Origin.Adapter)
}

// outcomeEntry is the audit's record of an ending.
func (o *Orchestrator) outcomeEntry(t *Task) AuditEntry {
	files := make([]map[string]any, 0, len(t.Outcome.Files))
	for _, f := range t.Outcome.Files {
		files = append(files, map[string]any{"sha256": f.Blob, "size": f.Size})
	}
	data := map[string]any{"state": t.State, "files": files, "cost_usd": t.Outcome.Usage.CostUSD}
	if t.Outcome.Error != nil {
		data["error"] = t.Outcome.Error.Kind
	}
	if p := t.Outcome.Provenance; p.ImageID != "" {
		data["image"], data["runtime"], data["model"] = p.ImageID, p.Runtime, p.Model
	}
	return o.entry(AuditOutcome, t, data)
}

// clean mends what a Runner may not return, and strikes secrets out.
func (o *Orchestrator) clean(ctx context.Context, out Outcome) (Outcome, error) {
	switch out.State {
	case TaskDone, TaskCancelled:
	case TaskFailed:
		if out.Error == nil {
			out.Error = &TaskError{Kind: "internal", Message: "The task failed and did not say why."}
		}
	case TaskWaiting:
		if out.Question == nil || out.Question.Text == "" {
			out = failure(&TaskError{Kind: "internal", Message: "The task wanted to ask something and did not say what."})
		}
	default:
		out = failure(&TaskError{Kind: "internal", Message: fmt.Sprintf("The run ended in an unknown state %q.", out.State)})
	}
	r := o.opts.Redactor
	out.Message = CloseFence(r.Text(out.Message)) // remarks are appended to it
	out.Undelivered = r.undelivered(out.Undelivered)
	if q := out.Question; q != nil {
		clean := Question{Text: r.Text(q.Text)}
		for _, choice := range q.Choices {
			clean.Choices = append(clean.Choices, r.Text(choice))
		}
		out.Question = &clean
	}
	if e := out.Error; e != nil {
		out.Error = &TaskError{Kind: e.Kind, Message: r.Text(e.Message), Hint: r.Text(e.Hint)}
	}
	files, err := o.cleanFiles(ctx, out.Files)
	out.Files = files
	return out, err
}

// cleanFiles strikes secrets out of file names and of text files.
func (o *Orchestrator) cleanFiles(ctx context.Context, files []Artifact) ([]Artifact, error) {
	files = slices.Clone(files)
	for i := range files {
		f := &files[i]
		f.Name, f.Alt = o.opts.Redactor.Text(f.Name), o.opts.Redactor.Text(f.Alt)
		if !isText(f.MediaType) {
			continue
		}
		if err := o.cleanFile(ctx, f); err != nil {
			return nil, fmt.Errorf("strike secrets out of a file: %w", err)
		}
	}
	return files, nil
}

// cleanFile replaces the content of a text file by one without secrets, when it
// has any.
func (o *Orchestrator) cleanFile(ctx context.Context, f *Artifact) error {
	content, err := o.opts.Blobs.Open(ctx, f.Blob)
	if err != nil {
		return err
	}
	defer content.Close()
	found, err := o.opts.Redactor.copy(io.Discard, content)
	if err != nil || !found {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, w := io.Pipe()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, err := o.opts.Redactor.copy(w, content)
		w.CloseWithError(err)
	}()
	blob, err := o.opts.Blobs.Put(ctx, r, 0)
	r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	<-copied
	if err != nil {
		return err
	}
	f.Blob, f.Size = blob.SHA256, blob.Size
	return nil
}

// owed lists the deliveries of a task that just ended or asks back: for each
// place the answer and its files, and at the origin the end of the progress
// message.
func (o *Orchestrator) owed(t *Task) []Delivery {
	if t.Event.Kind == EventCommand && t.Event.Inline {
		return nil
	}
	out := t.Outcome
	message := out.text()
	places, barred := o.places(t)
	if known := t.Event.Options.KnownFailure; known != "" && t.State == TaskFailed && out.Error != nil && out.Error.Message == known {
		places = nil // they know
	}
	if t.State == TaskRefused && t.Event.Scheduled {
		places = nil // its owner is told by the clock, and the place has not asked
	}
	if len(barred) > 0 {
		message = strings.TrimSpace(message + "\n\nNot sent to " + strings.Join(barred, ", ") + ": the policy of this place does not allow it.")
	}
	base := Delivery{Task: t.ID, Actor: t.Event.Actor, State: t.State, Links: links(t)}
	var owed []Delivery
	for i, place := range places {
		files, named := o.filesFor(t, place, message)
		d := base
		d.Kind, d.Origin = DeliverAnswer, place
		d.Message, d.Undelivered = message, out.Undelivered
		if len(named) > 0 {
			d.Message += "\n\n" + remarkNamed(named)
		}
		switch {
		case t.Event.Kind == EventCommand:
			d.Kind = DeliverNotice
		case t.State == TaskWaiting:
			d.Kind, d.Question = DeliverQuestion, out.Question
		}
		if i == 0 {
			d.Earlier = t.Progress
		}
		if d.Kind != DeliverNotice || message != "" {
			owed = append(owed, o.delivery(d))
		}
		if len(files) > 0 {
			f := base
			f.Kind, f.Origin, f.Files = DeliverFiles, place, files
			owed = append(owed, o.delivery(f))
		}
	}
	if t.Progress != nil {
		p := base
		p.Kind, p.Origin, p.Earlier = DeliverProgress, t.Event.Origin, t.Progress
		owed = append(owed, o.delivery(p))
	}
	return owed
}

// places lists where an answer goes, and by name those that the policy bars.
func (o *Orchestrator) places(t *Task) (places []Origin, barred []string) {
	places = []Origin{t.Event.Origin}
	if t.Event.Options.DryRun {
		if len(t.Event.Also) > 0 {
			places = slices.Clone(t.Event.Also)
		}
		return places, nil
	}
	allowed := t.Allowed.Destinations
	for _, also := range t.Event.Also {
		if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(p string) bool { return match(p, also.Place) }) {
			barred = append(barred, also.Place)
			continue
		}
		places = append(places, also)
	}
	return places, barred
}

// text is the message of an outcome, never empty.
func (out *Outcome) text() string {
	if out.State == TaskWaiting {
		return out.Message
	}
	message := strings.TrimSpace(out.Message)
	if e := out.Error; e != nil {
		// What to do next is for people in a chat as for those on a console.
		switch {
		case !strings.Contains(message, e.Message):
			message = strings.TrimSpace(message + "\n\n" + e.Told())
		case !strings.Contains(message, e.Hint):
			message = strings.TrimSpace(message + "\n\n" + e.Advice())
		}
	}
	if message != "" {
		return message
	}
	switch out.State {
	case TaskCancelled:
		return "Cancelled."
	case TaskFailed:
		return "This failed."
	default:
		return "Done."
	}
}

// links finds the exact URLs that the asker typed.
func links(t *Task) []string {
	texts := []string{t.Event.Text}
	for _, a := range t.Answers {
		texts = append(texts, a.Text)
	}
	var found []string
	typed := regexp.MustCompile(`https?://[^\s<>"'|\x60]+`)
	for _, text := range texts {
		for _, link := range typed.FindAllString(text, -1) {
			link = strings.TrimRight(link, ".,;:!?)]}*_")
			if !slices.Contains(found, link) {
				found = append(found, link)
			}
		}
	}
	return found
}

// backoff is how long to wait after a number of failures in a row: doubling,
// with jitter, up to Timing.RetryMax.
func (o *Orchestrator) backoff(failures int) time.Duration {
	return backoff(o.opts.Timing.Retry, o.opts.Timing.RetryMax, failures)
}
