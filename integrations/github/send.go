package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/github/inert"
)

const progressShows = "progress"

// Send implements bot.Channel. An answer takes the place of the progress
// comment; files are committed and then shown in the answer.
func (a *Adapter) Send(ctx context.Context, d bot.Delivery) (bot.Receipt, error) {
	to, err := readAddress(d.Origin)
	if err != nil {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: err}
	}
	if to.Kind == inNew {
		return a.sendNew(ctx, to, d)
	}
	if silent, err := a.silent(ctx, to, d); err != nil || silent {
		return bot.Receipt{ID: "silent", At: a.options.Clock.Now()}, sendError(err, false)
	}
	switch d.Kind {
	case bot.DeliverFiles:
		return a.sendFiles(ctx, to, d)
	case bot.DeliverProgress:
		return a.endProgress(ctx, d)
	case bot.DeliverNotice:
		return a.sendNotice(ctx, to, d)
	}
	return a.sendAnswer(ctx, to, d)
}

// silent says that nothing is to be posted: to people without the right
// according to Options.Outsiders, which allows one refusal a day at most. Who
// has the right himself, and only set a label on a text by somebody who has
// not, is told.
func (a *Adapter) silent(ctx context.Context, to address, d bot.Delivery) (bool, error) {
	aboutRefusal := d.State == bot.TaskRefused || (d.Kind == bot.DeliverNotice && d.Task == "")
	if !aboutRefusal {
		return false, nil
	}
	own := to
	own.Author = ""
	encoded, _ := json.Marshal(own) // strings and numbers only: it cannot fail
	decision, err := a.Authorize(ctx, bot.Event{Origin: bot.Origin{Address: string(encoded)}, Actor: d.Actor})
	if err != nil || decision.Allowed {
		return false, err
	}
	if a.options.Outsiders == OutsidersSilent {
		return true, nil
	}
	key := refusalMark + strings.ToLower(to.Repository+"/"+d.Actor.ID)
	told, _, err := a.readMark(ctx, key)
	if err != nil {
		return false, err
	}
	now := a.options.Clock.Now()
	if now.Sub(told.At) < 24*time.Hour && d.Attempts <= 1 {
		return true, nil
	}
	return false, a.mark(ctx, key, mark{At: now})
}

// sendAnswer puts an answer or a question where the progress was, and further
// parts below it.
func (a *Adapter) sendAnswer(ctx context.Context, to address, d bot.Delivery) (bot.Receipt, error) {
	key := threadKey(d.Task, d.Origin)
	defer a.hold(key)()
	t, err := a.readThread(ctx, key)
	if err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	if t.Asked && t.Shows != d.ID {
		t.nextRound()
	}
	task, steps := a.explained(ctx, d.Task)
	parts := a.answerParts(d, t, task, steps)
	var first posted
	for i, body := range parts {
		s := slot{task: d.Task, round: t.Round, part: i, parts: len(parts), shows: d.ID}
		p, err := a.ensure(ctx, to, ensuring{key: key, thread: t, slot: s, body: body, since: d.Created})
		if err != nil {
			return bot.Receipt{}, err
		}
		if i == 0 {
			first = p
		}
	}
	t.Shows, t.Asked, t.Link = d.ID, d.Kind == bot.DeliverQuestion, first.link
	if err := a.writeThread(ctx, key, t); err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	a.finish(ctx, to, d)
	return bot.Receipt{ID: itoa(first.id), Link: first.link, At: a.options.Clock.Now()}, nil
}

func (t *thread) nextRound() {
	*t = thread{Round: t.Round + 1, Files: t.Files, Lost: t.Lost, FilesSent: t.FilesSent, Untold: t.Untold, Issue: t.Issue, revision: t.revision}
}

// finish does what follows once an answer or a question stands, be it sent just
// now or found: no more progress is shown, and the request gets its last
// reaction. That is a courtesy: failing does not make the answer unsent.
func (a *Adapter) finish(ctx context.Context, to address, d bot.Delivery) {
	a.shown.forget(threadKey(d.Task, d.Origin))
	reaction := map[bot.TaskState]string{bot.TaskDone: "rocket", bot.TaskFailed: "confused", bot.TaskRefused: "confused"}[d.State]
	if reaction == "" || d.Kind != bot.DeliverAnswer {
		return
	}
	var err error
	for range 3 {
		if err = a.react(ctx, to, reaction); err == nil {
			return
		}
	}
	a.options.Logger.Warn("no last reaction", "task", d.Task, "error", err)
}

// ensuring is one comment that must stand, once.
type ensuring struct {
	key    string
	thread *thread
	slot   slot
	body   string
	since  time.Time
}

// ensure edits the thread's comment for the slot, or makes it. Before it makes
// one it records that it will; when that was recorded before, the comment is
// looked for first.
func (a *Adapter) ensure(ctx context.Context, to address, e ensuring) (posted, error) {
	t := e.thread
	to = t.in(to)
	if e.slot.part < len(t.Comments) {
		if err := a.budget.answer(); err != nil {
			return posted{}, sendError(err, false)
		}
		id := t.Comments[e.slot.part]
		p, err := a.edit(ctx, to, id, e.body+a.marker(markedIn(to, id), e.slot))
		if err == nil || !gone(err) {
			return p, sendError(err, false)
		}
		// Somebody deleted it: it is made anew.
		t.Comments = t.Comments[:e.slot.part]
		if id == issueText {
			t.Issue, to.Number = 0, 0
		}
	}
	found, err := a.adopt(ctx, to, e)
	if err != nil {
		return posted{}, sendError(err, false)
	}
	if found.id != 0 {
		t.keep(e.slot.part, found)
		to = t.in(to)
		p, err := a.edit(ctx, to, found.id, e.body+a.marker(markedIn(to, found.id), e.slot))
		return p, sendError(errors.Join(err, a.writeThread(ctx, e.key, t)), false)
	}
	if err := a.budget.answer(); err != nil {
		return posted{}, sendError(err, false)
	}
	p, err := a.create(ctx, to, e.body+a.marker(to, e.slot))
	if err != nil {
		return posted{}, sendError(err, true)
	}
	t.keep(e.slot.part, p)
	if err := a.writeThread(ctx, e.key, t); err != nil {
		return p, &bot.SendError{Class: bot.Ambiguous, Err: err}
	}
	return p, nil
}

// adopt looks for a comment that an earlier try made for the slot's part,
// whatever it shows; one without an id where there is none. It records first
// that one is about to be made.
func (a *Adapter) adopt(ctx context.Context, to address, e ensuring) (posted, error) {
	t := e.thread
	if t.Begun.IsZero() {
		t.Begun = a.options.Clock.Now()
		return posted{}, a.writeThread(ctx, e.key, t)
	}
	since := t.Begun
	if e.since.Before(since) {
		since = e.since
	}
	standing, err := a.standing(ctx, to, e.slot.task, since)
	if err != nil {
		return posted{}, err
	}
	var best posted
	for s, p := range standing {
		if s.task == e.slot.task && s.round == e.slot.round && s.part == e.slot.part && (best.id == 0 || p.before(best)) {
			best = p
		}
	}
	return best, nil
}

// sendNotice posts a short text of its own.
func (a *Adapter) sendNotice(ctx context.Context, to address, d bot.Delivery) (bot.Receipt, error) {
	if d.Attempts > 1 {
		if receipt, found, err := a.Find(ctx, d); err != nil || found {
			return receipt, sendError(err, false)
		}
	}
	if err := a.budget.answer(); err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	task := d.Task
	if task == "" {
		task = "-"
	}
	parts := inert.Split(inert.Markdown(d.Message, d.Links), partLimit)
	if len(parts) == 0 {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: errors.New("notice is empty")}
	}
	body := parts[0] + "\n" + a.marker(to, slot{task: task, parts: 1, shows: d.ID})
	p, err := a.create(ctx, to, body)
	if err != nil {
		return bot.Receipt{}, sendError(err, true)
	}
	return bot.Receipt{ID: itoa(p.id), Link: p.link, At: a.options.Clock.Now()}, nil
}

// remark answers an event that makes no task, once.
func (a *Adapter) remark(ctx context.Context, event bot.Event, text string) error {
	d := bot.Delivery{ID: event.Key, Kind: bot.DeliverNotice, Origin: event.Origin, Actor: event.Actor, Message: text, Attempts: 2, Created: event.Received.Add(-3 * 24 * time.Hour)}
	to, err := readAddress(event.Origin)
	if err != nil {
		return err
	}
	_, err = a.sendNotice(ctx, to, d)
	return err
}

// Find implements bot.Channel.
func (a *Adapter) Find(ctx context.Context, d bot.Delivery) (bot.Receipt, bool, error) {
	to, err := readAddress(d.Origin)
	if err != nil {
		return bot.Receipt{}, false, fmt.Errorf("find delivery: %w", err)
	}
	if d.Kind == bot.DeliverFiles || d.Kind == bot.DeliverProgress {
		// Both are repeated without harm; only what is wholly done is found.
		t, err := a.readThread(ctx, threadKey(d.Task, d.Origin))
		if err != nil || t.FilesSent != d.ID {
			return bot.Receipt{}, false, err
		}
		return bot.Receipt{ID: d.ID, Link: t.Link, At: t.Changed, Undelivered: t.Lost, Told: !t.Untold}, true, nil
	}
	since := d.Created
	if t, err := a.readThread(ctx, threadKey(d.Task, d.Origin)); err == nil && !t.Begun.IsZero() && t.Begun.Before(since) {
		since = t.Begun
	}
	standing, err := a.standing(ctx, to, d.Task, since)
	if err != nil {
		return bot.Receipt{}, false, fmt.Errorf("find delivery: %w", err)
	}
	var ids []int64
	var first posted
	round, parts := 0, 0
	for s, p := range standing {
		if s.shows != d.ID {
			continue
		}
		if ids == nil {
			round, parts = s.round, s.parts
			ids = make([]int64, parts)
		}
		if s.part < len(ids) && s.parts == parts {
			ids[s.part] = p.id
		}
		if s.part == 0 {
			first = p
		}
	}
	if len(ids) == 0 || slices.Contains(ids, 0) {
		return bot.Receipt{}, false, nil
	}
	if d.Kind != bot.DeliverNotice {
		if err := a.found(ctx, d, round, ids, first); err != nil {
			return bot.Receipt{}, false, err
		}
		// The life that sent it may have ended before it came to this.
		a.finish(ctx, to, d)
	}
	return bot.Receipt{ID: itoa(first.id), Link: first.link, At: a.options.Clock.Now()}, true, nil
}

// found records where an answer stands whose own record was lost.
func (a *Adapter) found(ctx context.Context, d bot.Delivery, round int, ids []int64, first posted) error {
	key := threadKey(d.Task, d.Origin)
	defer a.hold(key)()
	t, err := a.readThread(ctx, key)
	if err != nil {
		return err
	}
	t.Round, t.Comments, t.Shows, t.Asked, t.Link = round, ids, d.ID, d.Kind == bot.DeliverQuestion, first.link
	if first.number != 0 {
		t.Issue = first.number
	}
	return a.writeThread(ctx, key, t)
}
