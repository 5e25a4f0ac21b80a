package bot

import (
	"context"
	"errors"
	"fmt"
)

// recover takes up what an earlier life left: tasks that wait or were running,
// questions without an answer, and deliveries, of which those that were being
// sent are unsure now.
func (o *Orchestrator) recover(ctx context.Context) error {
	tasks, err := o.opts.Store.Open(ctx)
	if err != nil {
		return err
	}
	for i := range tasks {
		o.resume(&tasks[i])
	}
	if err := o.forgetRest(ctx); err != nil {
		return err
	}
	deliveries, err := o.opts.Store.Pending(ctx)
	if err != nil {
		return err
	}
	for i := range deliveries {
		d := &deliveries[i]
		if d.Status == DeliverySending && o.held(d.Claim) == nil && o.opts.Channels[d.Origin.Adapter] != nil {
			if err := o.doubt(ctx, d); err != nil {
				return err
			}
		}
	}
	o.outbox.add(deliveries...)
	if len(tasks)+len(deliveries) > 0 {
		o.log.Info("recovered earlier work", "tasks", len(tasks), "deliveries", len(deliveries))
	}
	return nil
}

// resume puts an open task to where it belongs in this life.
func (o *Orchestrator) resume(t *Task) {
	switch {
	case o.opts.Channels[t.Event.Origin.Adapter] == nil:
	case t.State == TaskWaiting:
		o.mu.Lock()
		o.asking[askedBy(t)] = t.ID
		o.mu.Unlock()
	case t.Event.Kind == EventCommand:
		o.performSoon(t.ID)
	default:
		o.enqueue(t)
	}
}

// doubt marks a delivery whose send was interrupted. The platform may still be
// working on that send, so that it is not looked up at once.
func (o *Orchestrator) doubt(ctx context.Context, d *Delivery) error {
	next := *d
	now := o.now()
	if err := next.move(DeliveryUnsure, now); err != nil {
		return err
	}
	next.Next = now.Add(o.opts.Timing.Settle)
	done, err := o.commit(ctx, Commit{Deliveries: []Delivery{next}})
	switch {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrReadOnly):
		return nil // it is looked up as it stands
	case err != nil:
		return fmt.Errorf("record delivery: %w", err)
	}
	*d = done.Deliveries[0]
	return nil
}
