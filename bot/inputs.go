package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// fetchTries bounds how often one input is asked for.
const fetchTries = 5

// expand has the channel name the files that only it can find, once.
func (o *Orchestrator) expand(ctx context.Context, task *Task) error {
	expander, ok := o.opts.Channels[task.Event.Origin.Adapter].(Expander)
	if !ok || task.Expanded || task.Event.Kind == EventCommand {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, o.opts.Timing.Call)
	defer cancel()
	event := task.Event
	for _, answer := range task.Answers { // they may name files, too
		event.Text += "\n\n" + answer.Text
	}
	found, err := expander.Expand(call, event)
	if err != nil {
		return &laterError{fmt.Errorf("ask which files are meant: %w", err)}
	}
	for i := range found {
		found[i].Found = true
	}
	updated, err := o.updateOurs(ctx, task.ID, func(t *Task, _ *Commit) error {
		if t.Expanded {
			return errUnchanged
		}
		t.Expanded = true
		t.Event.merge(Event{Inputs: found})
		o.limitInputs(&t.Event)
		return nil
	})
	if err != nil {
		return fmt.Errorf("record which files are meant: %w", err)
	}
	*task = updated
	return nil
}

// fetch brings the task's inputs into blobs, each once: a resumed task keeps
// what it has.
func (o *Orchestrator) fetch(ctx context.Context, task *Task) error {
	refs := task.Event.Inputs
	if len(task.Inputs) >= len(refs) {
		return nil
	}
	inputs := append([]Input{}, task.Inputs...)
	names := map[string]bool{}
	for _, in := range inputs {
		names[strings.ToLower(in.Name)] = true
	}
	for _, ref := range refs[len(inputs):] {
		in, err := o.fetchOne(ctx, task.Event, ref)
		if err != nil {
			return err
		}
		if err := o.freshen(ctx, task, ref, &in); err != nil {
			return err
		}
		if in.Name == "" {
			in.Name = ref.Name
		}
		in.Name, in.Maybe = unused(safeName(in.Name), names), ref.Maybe
		inputs = append(inputs, in)
	}
	updated, err := o.updateOurs(ctx, task.ID, func(t *Task, c *Commit) error {
		t.Inputs = inputs
		var stored []map[string]any
		for _, in := range inputs {
			if in.Blob != "" {
				stored = append(stored, map[string]any{"sha256": in.Blob, "size": in.Size})
			}
		}
		c.Audit = []AuditEntry{o.entry(AuditInputs, t, map[string]any{"files": stored, "unread": len(inputs) - len(stored)})}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record inputs: %w", err)
	}
	*task = updated
	o.opts.Point("inputs-stored")
	return nil
}

// fetchOne brings one input, or a Problem that names why not.
func (o *Orchestrator) fetchOne(ctx context.Context, event Event, ref InputRef) (Input, error) {
	in := Input{MediaType: ref.MediaType, Size: ref.Size, Problem: ref.Problem}
	if in.Problem != "" {
		return in, nil
	}
	if ref.Blob != "" {
		return o.stored(ctx, in, ref)
	}
	adapter := ref.Adapter
	if adapter == "" {
		adapter = event.Origin.Adapter
	}
	channel := o.opts.Channels[adapter]
	if channel == nil {
		in.Problem = "nothing here can fetch it: " + adapter + " is not set up"
		return in, nil
	}
	var err error
	for try := range fetchTries {
		if try > 0 {
			if err := sleep(ctx, o.backoff(try-1)); err != nil {
				return in, err
			}
		}
		var got Input
		if got, err = o.receive(ctx, channel, event, ref); err == nil {
			return got, nil
		}
		var final *InputError
		switch {
		case ctx.Err() != nil:
			return in, context.Cause(ctx)
		case errors.As(err, &final):
			in.Problem = final.Reason
			return in, nil
		case errors.Is(err, ErrTooLarge):
			in.Problem = "it is larger than " + sizeText(o.opts.Limits.Input)
			return in, nil
		case errors.Is(err, ErrReadOnly):
			return in, &laterError{err}
		}
	}
	o.log.Warn("an input could not be fetched", "adapter", adapter, "error", err)
	in.Problem = "it could not be fetched: the place it lies in did not answer"
	return in, nil
}

// freshen takes back an input that must be new and is the one of the last good
// run: its figures were told already.
func (o *Orchestrator) freshen(ctx context.Context, task *Task, ref InputRef, in *Input) error {
	if !ref.Fresh || in.Blob == "" || in.Source == "" {
		return nil
	}
	last, err := o.opts.Store.Tasks(ctx, TaskQuery{Conversation: task.Event.Origin.Conversation, State: TaskDone, Before: task.ID, Limit: 20})
	if err != nil {
		return fmt.Errorf("look for the last run: %w", err)
	}
	last = slices.DeleteFunc(last, func(t Task) bool { return t.Event.Options.DryRun })
	for i := range last[:min(len(last), 1)] {
		for _, had := range last[i].Inputs {
			if had.Source == in.Source {
				*in = Input{Name: ref.Name, Problem: fmt.Sprintf(
					"no new one has come since the run of %s; the newest is still %s", last[i].Created.Format("2 January 2006"), had.Name)}
				return nil
			}
		}
	}
	return nil
}

// stored takes an input whose bytes were stored before it was submitted.
func (o *Orchestrator) stored(ctx context.Context, in Input, ref InputRef) (Input, error) {
	f, err := o.opts.Blobs.Open(ctx, ref.Blob)
	if errors.Is(err, ErrNotFound) {
		in.Problem = "it was deleted meanwhile"
		return in, nil
	}
	if err != nil {
		return in, err
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return in, fmt.Errorf("read input: %w", err)
	}
	if in.Size, err = f.Seek(0, io.SeekEnd); err != nil {
		return in, fmt.Errorf("read input: %w", err)
	}
	in.Blob, in.Source = ref.Blob, ref.Ref
	in.MediaType = sniff(head[:n])
	return in, nil
}

// receive streams one input from its channel into a blob.
func (o *Orchestrator) receive(ctx context.Context, channel Channel, event Event, ref InputRef) (Input, error) {
	ctx, cancel := context.WithTimeout(ctx, o.opts.Timing.Transfer)
	defer cancel()
	r, w := io.Pipe()
	type fetched struct {
		Fetched
		err error
	}
	done := make(chan fetched, 1)
	go func() {
		got, err := channel.Fetch(ctx, event, ref, w)
		w.CloseWithError(err) // nil: io.EOF
		done <- fetched{got, err}
	}()
	head := &prefix{}
	blob, err := o.opts.Blobs.Put(ctx, io.TeeReader(r, head), o.opts.Limits.Input)
	r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // lets Fetch go when the blob is full
	got := <-done
	var final *InputError
	switch {
	case errors.As(got.err, &final), err == nil && got.err != nil:
		return Input{}, got.err
	case err != nil:
		return Input{}, err
	}
	return Input{Name: got.Name, MediaType: sniff(head.bytes), Size: blob.Size, Blob: blob.SHA256, Source: got.Source}, nil
}

// sniffed is how much of a file decides its media type.
const sniffed = 3072

// sniff decides by content: what a platform says of a file is unchecked.
func sniff(head []byte) string { return mimetype.Detect(head).String() }

// prefix keeps the first bytes that are written to it.
type prefix struct{ bytes []byte }

func (p *prefix) Write(b []byte) (int, error) {
	if room := sniffed - len(p.bytes); room > 0 {
		p.bytes = append(p.bytes, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// safeName makes a file name of what a stranger wrote: no folders, no control or
// bidirectional characters, no leading dot or dash, at most 120 bytes.
func safeName(name string) string {
	const longest = 120
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '/' || r == ':' {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimSpace(name), ".- ")
	if ext := path.Ext(name); len(name) > longest && len(ext) < 20 {
		name = cut(name[:len(name)-len(ext)], longest-len(ext)) + ext
	}
	name = cut(name, longest)
	if name == "" {
		return "file"
	}
	return name
}

// cut shortens to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// unused numbers a name that was given already, case aside.
func unused(name string, taken map[string]bool) string {
	ext := path.Ext(name)
	try := name
	for n := 2; taken[strings.ToLower(try)]; n++ {
		try = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
	}
	taken[strings.ToLower(try)] = true
	return try
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isText reports whether a media type is read by people as text.
func isText(mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, ";")
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml") ||
		base == "application/json" || base == "application/xml" || base == "application/x-ndjson"
}
