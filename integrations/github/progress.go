package github

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// shown remembers when and what was last shown of a task's progress.
type shown struct {
	mu    sync.Mutex // guards what follows
	known map[string]showing
}

type showing struct {
	at   time.Time
	body string
}

func (s *shown) last(key string) (showing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.known[key]
	return last, ok
}

func (s *shown) set(key string, now showing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = now
}

func (s *shown) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// Progress implements bot.Channel: one comment, edited at most every
// Limits.Progress, and only while more than half of the content budget is
// left for answers.
func (a *Adapter) Progress(ctx context.Context, task bot.Task, progress bot.Progress, earlier *bot.Receipt) (*bot.Receipt, error) {
	to, err := readAddress(task.Event.Origin)
	if err != nil {
		return nil, err
	}
	if to.Kind == inNew {
		return earlier, nil // the answer opens the issue, not its progress
	}
	if progress.State == bot.TaskQueued {
		// Its right was not asked for yet: outsiders are not told that they wait.
		if decision, err := a.Authorize(ctx, task.Event); err != nil || !decision.Allowed {
			return earlier, err
		}
	}
	key := threadKey(task.ID, task.Event.Origin)
	body := progressBody(progress, a.options.Handle)
	last, known := a.shown.last(key)
	if known && (last.body == body || a.options.Clock.Now().Sub(last.at) < a.options.Limits.Progress) {
		return earlier, nil
	}
	defer a.hold(key)()
	t, err := a.readThread(ctx, key)
	if err != nil {
		return nil, err
	}
	if t.Asked {
		t.nextRound()
	}
	if t.Shows != "" {
		return earlier, nil // the answer stands there
	}
	if err := a.budget.progress(); err != nil {
		return earlier, nil //nolint:nilerr // it gives way, which is no failure
	}
	if !known {
		if err := a.react(ctx, to, "eyes"); err != nil {
			a.options.Logger.Debug("no reaction at once", "task", task.ID, "error", err)
		}
	}
	p, err := a.show(ctx, to, key, t, slot{task: task.ID, round: t.Round, parts: 1, shows: progressShows}, body)
	if err != nil {
		return nil, err
	}
	a.shown.set(key, showing{at: a.options.Clock.Now(), body: body})
	return &bot.Receipt{ID: itoa(p.id), Link: p.link, At: a.options.Clock.Now()}, nil
}

// show edits the progress comment, or makes it.
func (a *Adapter) show(ctx context.Context, to address, key string, t *thread, s slot, body string) (posted, error) {
	body += a.marker(to, s)
	if len(t.Comments) == 0 {
		found, err := a.adopt(ctx, to, ensuring{key: key, thread: t, slot: s, since: a.options.Clock.Now()})
		if err != nil {
			return posted{}, err
		}
		if found.id != 0 {
			t.Comments = []int64{found.id}
		}
	}
	if len(t.Comments) > 0 {
		p, err := a.edit(ctx, to, t.Comments[0], body)
		if err != nil && statusOf(err) == http.StatusNotFound {
			return posted{}, errors.New("the progress comment was deleted")
		}
		return p, err
	}
	p, err := a.create(ctx, to, body)
	if err != nil {
		return posted{}, err
	}
	t.Comments, t.Link = []int64{p.id}, p.link
	return p, a.writeThread(ctx, key, t)
}

// endProgress has nothing to do where the answer took the comment's place,
// which it does in this adapter.
func (a *Adapter) endProgress(ctx context.Context, d bot.Delivery) (bot.Receipt, error) {
	t, err := a.readThread(ctx, threadKey(d.Task, d.Origin))
	if err != nil {
		return bot.Receipt{}, sendError(err, false)
	}
	receipt := bot.Receipt{ID: "answered", Link: t.Link, At: a.options.Clock.Now()}
	if len(t.Comments) > 0 {
		receipt.ID = itoa(t.Comments[0])
	}
	return receipt, nil
}
