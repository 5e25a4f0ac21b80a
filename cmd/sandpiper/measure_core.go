package main

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// measuredStore is the store with an eye on what is committed: every change of
// a task or a delivery goes through it.
type measuredStore struct {
	*boltstore.Store
	gauges *gauges
}

// Commit implements bot.Committer.
func (s measuredStore) Commit(ctx context.Context, c bot.Commit) (bot.Commit, error) {
	done, err := s.Store.Commit(ctx, c)
	if err == nil {
		s.gauges.committed(&done)
	}
	return done, err
}

// committed counts what a commit says has happened.
func (g *gauges) committed(c *bot.Commit) {
	if c.Task != nil && c.Task.Event.Kind != bot.EventCommand {
		g.moved(c.Task, c.Audit)
	}
	for i := range c.Deliveries {
		g.delivered(&c.Deliveries[i])
	}
}

// moved counts a task's moves by the audit's entries: each is written once.
func (g *gauges) moved(t *bot.Task, entries []bot.AuditEntry) {
	has := func(kind bot.AuditKind) bool {
		return slices.ContainsFunc(entries, func(e bot.AuditEntry) bool { return e.Kind == kind })
	}
	origin := t.Event.Origin.Adapter
	switch {
	case t.State.Final() && (has(bot.AuditOutcome) || t.State == bot.TaskRefused && has(bot.AuditPolicy)):
		g.ended.WithLabelValues(string(t.State), origin).Inc()
		g.duration.WithLabelValues(origin).Observe(t.Ended.Sub(t.Created).Seconds())
	case has(bot.AuditStart) && t.Attempts == 1:
		g.queue.WithLabelValues(origin).Observe(max(t.Started.Sub(t.Created), 0).Seconds())
	case has(bot.AuditEvent) && t.Event.Scheduled:
		if due, ok := dueOf(t.Event); ok {
			g.lag.Observe(max(t.Event.Received.Sub(due), 0).Seconds())
		}
	}
}

// dueOf reads when a schedule's event should have come from its key.
func dueOf(event bot.Event) (time.Time, bool) {
	rest, ok := strings.CutPrefix(event.Key, "schedule:"+event.Options.Schedule+":")
	if !ok {
		return time.Time{}, false
	}
	due, err := time.Parse(time.RFC3339, rest)
	return due, err == nil
}

func (g *gauges) delivered(d *bot.Delivery) {
	adapter := d.Origin.Adapter
	switch d.Status {
	case bot.DeliverySending:
		if d.Attempts > 1 {
			g.sendRetries.WithLabelValues(adapter).Inc()
		}
	case bot.DeliveryUnsure:
		g.ambiguous.WithLabelValues(adapter).Inc()
	case bot.DeliverySent, bot.DeliveryFailed:
		g.deliveries.WithLabelValues(adapter, string(d.Kind), string(d.Status)).Inc()
		if d.Status == bot.DeliverySent {
			g.stage(stageDeliver, time.Since(d.Created))
		}
	case bot.DeliveryPending:
	}
}

// measuredIntake counts the events of one source.
type measuredIntake struct {
	bot.Intake
	gauges  *gauges
	adapter string
}

// Submit implements bot.Intake.
func (m measuredIntake) Submit(ctx context.Context, event bot.Event) (bot.Ticket, error) {
	m.gauges.saw(m.adapter)
	ticket, err := m.Intake.Submit(ctx, event)
	result := "accepted"
	switch {
	case err != nil:
		result = "failed"
	case ticket.Refused != nil:
		result = "refused"
	case ticket.Duplicate:
		result = "duplicate"
	}
	m.gauges.events.WithLabelValues(m.adapter, string(event.Kind), result).Inc()
	return ticket, err
}

// measured counts the requests to a webhook; one that was let in is an event
// that flowed.
func (g *gauges) measured(adapter string, hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		hook.ServeHTTP(seen, r)
		g.webhooks.WithLabelValues(strconv.Itoa(seen.status)).Inc()
		if seen.status < http.StatusMultipleChoices {
			g.saw(adapter)
		}
	})
}

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
