package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// fewestAttempts is how often a delivery is tried however old it is.
const fewestAttempts = 5

// outbox sends what is owed. Deliveries to one origin go out in their order, one
// at a time; one that has to wait holds up only its own origin.
type outbox struct {
	o    *Orchestrator
	wake chan struct{} // holds at most one signal

	// mu guards what follows.
	mu     sync.Mutex
	lanes  map[string]*sendLane
	flying int
}

// sendLane holds an origin's deliveries in their order. Progress messages have a
// lane of their own, behind all others.
type sendLane struct {
	waiting  []parcel
	busy     bool
	progress bool
}

// parcel is a delivery that waits: id and not-before.
type parcel struct {
	id    string
	ready time.Time
}

func newOutbox(o *Orchestrator) *outbox {
	return &outbox{o: o, wake: make(chan struct{}, 1), lanes: map[string]*sendLane{}}
}

// add takes committed deliveries; those that have ended or whose channel is not
// here are left alone.
func (b *outbox) add(deliveries ...Delivery) {
	if len(deliveries) == 0 {
		return
	}
	b.mu.Lock()
	for i := range deliveries {
		d := &deliveries[i]
		if d.Status.Final() || b.o.opts.Channels[d.Origin.Adapter] == nil {
			continue
		}
		progress := d.Kind == DeliverProgress
		key := laneKey(d)
		l := b.lanes[key]
		if l == nil {
			l = &sendLane{progress: progress}
			b.lanes[key] = l
		}
		at, known := slices.BinarySearchFunc(l.waiting, d.ID, func(p parcel, id string) int { return strings.Compare(p.id, id) })
		if !known {
			l.waiting = slices.Insert(l.waiting, at, parcel{id: d.ID, ready: d.Next})
		}
	}
	b.mu.Unlock()
	b.rouse()
}

func laneKey(d *Delivery) string {
	kind := "message"
	if d.Kind == DeliverProgress {
		kind = "progress"
	}
	return strings.Join([]string{kind, d.Origin.Adapter, d.Origin.Conversation, d.Origin.Address}, "\x00")
}

func (b *outbox) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
	b.o.hub.ring()
}

func (b *outbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lanes) == 0
}

// next takes the head of a lane that may go out now: messages before progress,
// the oldest first. Otherwise it says when to look again.
func (b *outbox) next(now time.Time) (key, id string, again time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying >= b.o.opts.Limits.Deliveries {
		return "", "", again
	}
	for k, l := range b.lanes {
		if l.busy {
			continue
		}
		head := l.waiting[0]
		if head.ready.After(now) {
			if again.IsZero() || head.ready.Before(again) {
				again = head.ready
			}
			continue
		}
		best := b.lanes[key]
		if best == nil || best.progress && !l.progress || best.progress == l.progress && head.id < id {
			key, id = k, head.id
		}
	}
	if key != "" {
		b.lanes[key].busy = true
		b.flying++
	}
	return key, id, again
}

// done gives a lane back; with again set the delivery is tried once more then.
// It may have come to stand behind an earlier one that another process owes.
func (b *outbox) done(key, id string, again time.Time) {
	b.mu.Lock()
	l := b.lanes[key]
	l.busy = false
	b.flying--
	at := slices.IndexFunc(l.waiting, func(p parcel) bool { return p.id == id })
	if again.IsZero() {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	} else {
		l.waiting[at].ready = again
	}
	if len(l.waiting) == 0 {
		delete(b.lanes, key)
	}
	b.mu.Unlock()
	b.rouse()
}

// run sends until ctx ends; then it sends what the last tasks owe and returns.
// Sends run under work and are waited for.
func (b *outbox) run(ctx, work context.Context) {
	var flights sync.WaitGroup
	defer flights.Wait()
	for {
		key, id, again := b.next(b.o.now())
		if key != "" {
			flights.Go(func() { b.done(key, id, b.deliver(work, id)) })
			continue
		}
		if ctx.Err() != nil && !b.o.working() && b.landed() {
			return
		}
		var due <-chan time.Time
		var timer *time.Timer
		if !again.IsZero() && ctx.Err() == nil {
			timer = time.NewTimer(max(again.Sub(b.o.now()), time.Millisecond))
			due = timer.C
		}
		ended := ctx.Done()
		if ctx.Err() != nil {
			ended = nil
		}
		select {
		case <-b.wake:
		case <-due:
		case <-ended:
		case <-work.Done():
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

func (b *outbox) landed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying == 0
}

// working reports whether any task is in work.
func (o *Orchestrator) working() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.live) > 0
}

// deliver brings one delivery a step on and returns when to go on with it; the
// zero time when it has ended.
func (b *outbox) deliver(ctx context.Context, id string) time.Time {
	d, err := b.o.opts.Store.Delivery(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return time.Time{} // purged meanwhile
	}
	if err == nil && !d.Status.Final() {
		err = b.bring(ctx, &d)
	}
	var held *heldError
	switch {
	case errors.Is(err, ErrNotFound):
		return time.Time{}
	case errors.As(err, &held):
		return b.o.now().Add(b.o.untilFree(held))
	case errors.Is(err, ErrConflict) && !b.o.opts.Exclusive:
		return b.o.now() // another process was faster: look at it as it stands
	case err != nil:
		b.o.log.Error("delivery is not recorded", "delivery", id, "task", d.Task, "error", err)
		return b.o.now().Add(b.o.backoff(d.Attempts))
	case d.Status.Final():
		return time.Time{}
	}
	return later(d.Next, b.o.now())
}

// bring sends the delivery, or looks up one that may have been sent.
func (b *outbox) bring(ctx context.Context, d *Delivery) error {
	if err := b.o.held(d.Claim); err != nil {
		return err
	}
	if d.Status != DeliveryPending {
		return b.lookUp(ctx, d)
	}
	earlier, err := b.before(ctx, d)
	if err != nil {
		return err
	}
	if len(earlier) > 0 {
		b.add(earlier...)
		return &heldError{until: b.o.now()} // they go first
	}
	return b.send(ctx, d)
}

// later keeps "at once" from reading as "never".
func later(next, now time.Time) time.Time {
	if next.Before(now) {
		return now
	}
	return next
}

// send marks the delivery as being sent, sends it, and records what came of it.
func (b *outbox) send(ctx context.Context, d *Delivery) error {
	limit := b.o.opts.Timing.Call
	if d.Kind == DeliverFiles {
		limit = b.o.opts.Timing.Transfer
	}
	err := b.step(ctx, d, DeliverySending, func(d *Delivery, _ *Commit) {
		d.Attempts++
		// The call ends by then, and the platform has settled.
		d.Claim = b.o.claim(limit + b.o.opts.Timing.Settle)
	})
	if err != nil {
		return err
	}
	b.o.opts.Point("delivery-begun")
	call, cancel := context.WithTimeout(ctx, limit)
	receipt, err := b.o.opts.Channels[d.Origin.Adapter].Send(call, *d)
	cancel()
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		b.o.opts.Point("delivered")
		return b.sent(ctx, d, receipt)
	}
	var failure *SendError
	if !errors.As(err, &failure) {
		failure = &SendError{Class: Ambiguous, Err: err}
	}
	b.o.log.Warn("delivery failed", "delivery", d.ID, "task", d.Task, "adapter", d.Origin.Adapter, "class", failure.Class.String(), "error", err)
	now := b.o.now()
	switch failure.Class {
	case Permanent:
		return b.fail(ctx, d, failure.Error())
	case Retryable:
		// After a weekend without the bot, age alone says nothing.
		if d.Attempts > fewestAttempts && now.Sub(d.Created) > b.o.opts.Timing.GiveUp {
			return b.fail(ctx, d, "it kept failing: "+failure.Error())
		}
		return b.step(ctx, d, DeliveryPending, func(d *Delivery, _ *Commit) {
			d.Next = now.Add(max(failure.After, b.o.backoff(d.Attempts-1)))
		})
	default:
		return b.step(ctx, d, DeliveryUnsure, func(d *Delivery, _ *Commit) {
			d.Next = now.Add(b.o.opts.Timing.Settle)
		})
	}
}

// lookUp asks the platform whether it has a delivery that may have been sent.
func (b *outbox) lookUp(ctx context.Context, d *Delivery) error {
	call, cancel := context.WithTimeout(ctx, b.o.opts.Timing.Call)
	receipt, found, err := b.o.opts.Channels[d.Origin.Adapter].Find(call, *d)
	cancel()
	ctx = context.WithoutCancel(ctx)
	now := b.o.now()
	switch {
	case err != nil && now.Sub(d.Moves[len(d.Moves)-1].At) > b.o.opts.Timing.GiveUp:
		return b.fail(ctx, d, "whether it arrived could not be found out")
	case err != nil:
		b.o.log.Warn("delivery is not looked up yet", "delivery", d.ID, "task", d.Task, "error", err)
		d.Next = now.Add(b.o.backoff(d.Attempts))
		return nil
	case found:
		return b.sent(ctx, d, receipt)
	}
	return b.step(ctx, d, DeliveryPending, func(d *Delivery, _ *Commit) { d.Next = now })
}

// sent records the receipt. Where that fails, the delivery still reads as being
// sent, and is looked up before anything is repeated.
func (b *outbox) sent(ctx context.Context, d *Delivery, receipt Receipt) error {
	if receipt.At.IsZero() {
		receipt.At = b.o.now()
	}
	err := b.step(ctx, d, DeliverySent, func(d *Delivery, c *Commit) {
		d.Receipt, d.Next = &receipt, time.Time{}
		c.Audit = []AuditEntry{b.entry(AuditReceipt, d, map[string]any{"receipt": receipt.ID})}
		if len(receipt.Undelivered) > 0 && !receipt.Told {
			c.Deliveries = append(c.Deliveries, b.o.unfiled(d, receipt.Undelivered))
		}
	})
	if err == nil {
		b.o.opts.Point("receipt-recorded")
	}
	return err
}

// fail ends a delivery that cannot be made, and says so in the conversation
// unless that itself was a remark.
func (b *outbox) fail(ctx context.Context, d *Delivery, why string) error {
	return b.step(ctx, d, DeliveryFailed, func(d *Delivery, c *Commit) {
		d.Failure = b.o.opts.Redactor.Text(why)
		c.Audit = []AuditEntry{b.entry(AuditUnsent, d, map[string]any{"attempts": d.Attempts})}
		if d.Kind != DeliverNotice && d.Kind != DeliverProgress {
			c.Deliveries = append(c.Deliveries, b.o.unsent(d))
		}
	})
}

// step moves the delivery on and commits it with what change adds.
func (b *outbox) step(ctx context.Context, d *Delivery, to DeliveryState, change func(*Delivery, *Commit)) error {
	next := *d
	if err := next.move(to, b.o.now()); err != nil {
		return err
	}
	var c Commit
	change(&next, &c)
	c.Deliveries = append([]Delivery{next}, c.Deliveries...)
	done, err := b.o.commit(ctx, c)
	if err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	*d = done.Deliveries[0]
	b.add(done.Deliveries[1:]...)
	return nil
}

func (b *outbox) entry(kind AuditKind, d *Delivery, data map[string]any) AuditEntry {
	data["delivery"], data["kind"], data["place"] = d.ID, d.Kind, d.Origin.Place
	e := b.o.entry(kind, nil, data)
	e.Task, e.Actor = d.Task, d.Actor.ID
	return e
}

// unsent is the remark that something could not be delivered.
func (o *Orchestrator) unsent(d *Delivery) Delivery {
	what := "my answer"
	switch d.Kind {
	case DeliverFiles:
		names := make([]string, 0, len(d.Files))
		for _, f := range d.Files {
			names = append(names, "`"+f.Name+"`")
		}
		what = "the files " + strings.Join(names, ", ")
	case DeliverQuestion:
		what = "my question"
	}
	return o.remark(d, fmt.Sprintf("I could not deliver %s here. It is kept under task `%s`.", what, d.Task))
}

// unfiled names the files of a group that the platform refused.
func (o *Orchestrator) unfiled(d *Delivery, files []Undelivered) Delivery {
	lines := []string{"Not delivered:"}
	for _, f := range o.opts.Redactor.undelivered(files) {
		lines = append(lines, fmt.Sprintf("- `%s`: %s", f.Name, f.Reason))
	}
	return o.remark(d, strings.Join(lines, "\n"))
}

// remark is a notice that follows from another delivery.
func (o *Orchestrator) remark(d *Delivery, message string) Delivery {
	return o.delivery(Delivery{Kind: DeliverNotice, Task: d.Task, Origin: d.Origin, Actor: d.Actor, Message: message})
}
