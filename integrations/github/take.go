package github

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// errNotReady says that nothing can be taken yet.
var errNotReady = errors.New("not ready")

// take decides on h and commits what follows from it. The text says what was
// done; an error means that nothing was stored.
func (a *Adapter) take(ctx context.Context, h *happening) (string, error) {
	a.mu.Lock()
	intake, self := a.intake, a.self
	a.mu.Unlock()
	if intake == nil || self == "" {
		return "", errNotReady
	}
	if reason := a.ignore(h, self); reason != "" {
		return "ignored: " + reason, nil
	}
	event, reason := a.decide(h)
	if reason != "" {
		return "ignored: " + reason, nil
	}
	if a.rights.refusedLately(h.repositoryName(), h.sender.GetLogin()) && event.Kind != bot.EventDelete {
		return "ignored: refused a short while ago", nil
	}
	if age := a.options.Clock.Now().Sub(h.at()); age > a.options.Catchup && event.Kind != bot.EventDelete {
		return a.late(ctx, h, event)
	}
	if event.Kind == bot.EventCommand {
		return a.command(ctx, intake, h, event)
	}
	ticket, err := intake.Submit(ctx, event)
	if err != nil {
		return "", fmt.Errorf("submit event: %w", err)
	}
	if event.Kind == bot.EventEdit && ticket.Task == "" && !ticket.Duplicate && ticket.Refused == nil {
		// The first text never reached us: the edited one is the request.
		event.Kind, event.Key = bot.EventRequest, h.source()
		if ticket, err = intake.Submit(ctx, event); err != nil {
			return "", fmt.Errorf("submit event: %w", err)
		}
	}
	switch {
	case ticket.Refused != nil:
		return "refused: " + ticket.Refused.Kind, nil
	case ticket.Duplicate:
		return "taken before", nil
	case event.Kind == bot.EventRequest:
		select {
		case a.greet <- event:
		default: // busy: the progress comment brings the reaction
		}
	}
	return "taken", nil
}

// command obeys a command at once. Its right is asked for first, for the core
// answers it without a task in which that could be done.
func (a *Adapter) command(ctx context.Context, intake bot.Intake, h *happening, event bot.Event) (string, error) {
	decision, err := a.Authorize(ctx, event)
	if err != nil {
		return "", err
	}
	if !decision.Allowed {
		return "ignored: " + decision.Rule, nil
	}
	event.NeedsRight = false
	if read(h.body, a.options.Handle).bare {
		// "/retry" alone may be meant for another bot of the repository.
		known, err := a.options.History.Tasks(ctx, bot.TaskQuery{Conversation: event.Origin.Conversation, Limit: 1})
		if err != nil {
			return "", fmt.Errorf("look for tasks: %w", err)
		}
		if len(known) == 0 {
			return "ignored: nothing of ours in this conversation", nil
		}
	}
	// What it does and its key are committed together: delivered again, it
	// does not meet a newer task.
	ticket, err := intake.Submit(ctx, event)
	if err != nil {
		return "", fmt.Errorf("submit command: %w", err)
	}
	if ticket.Duplicate {
		return "taken before", nil
	}
	return "obeyed", nil
}

// late answers a request that is older than Options.Catchup with how to run
// it now: nobody expects work to begin days later.
func (a *Adapter) late(ctx context.Context, h *happening, event bot.Event) (string, error) {
	decision, err := a.Authorize(ctx, event)
	if err != nil {
		return "", err
	}
	if !decision.Allowed {
		return "ignored: " + decision.Rule, nil
	}
	text := fmt.Sprintf("I was away when this was asked (%s), so I did not start it. To run it now, write a new comment that begins with `@%s` and your request.",
		h.at().UTC().Format("2 January 2006, 15:04 MST"), a.options.Handle)
	return "too late", a.remark(ctx, event, text)
}

// greetLoop gives the eyes reaction to requests of people who have the right.
func (a *Adapter) greetLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-a.greet:
			call, cancel := context.WithTimeout(ctx, 30*time.Second)
			if err := a.welcome(call, event); err != nil {
				a.options.Logger.Debug("no reaction at once", "error", err)
			}
			cancel()
		}
	}
}

func (a *Adapter) welcome(ctx context.Context, event bot.Event) error {
	decision, err := a.Authorize(ctx, event)
	if err != nil || !decision.Allowed {
		return err
	}
	to, err := readAddress(event.Origin)
	if err != nil {
		return err
	}
	return a.react(ctx, to, "eyes")
}
