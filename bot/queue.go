package bot

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// item is a task that waits or runs.
type item struct {
	id           string
	conversation string
	actor        string
	scheduled    bool
	// resumed tasks began in an earlier life and go first.
	resumed bool
	tries   int       // attempts in this life that are to be repeated
	ready   time.Time // not started before
	again   bool      // was added once more while it ran
}

// lane holds the tasks of one conversation in their order.
type lane struct {
	items []*item // those that wait
	busy  *item   // the one that runs
}

// queue decides which task starts next: one at a time per conversation, resumed
// before interactive before scheduled, then the actor with the fewest running
// tasks who was served longest ago.
type queue struct {
	limits Limits

	// mu guards what follows.
	mu      sync.Mutex
	lanes   map[string]*lane
	running map[string]int    // by actor and class
	waiting map[string]int    // by actor, reserved places included; people's requests only
	queued  map[string]int    // by actor: all that stand in lanes, schedules' too
	held    map[string]int    // reserved places by conversation
	served  map[string]uint64 // by actor: when it was served last
	clock   uint64            // counts servings
	total   int               // running
	timed   int               // running that were scheduled
}

// load is what the cap per actor counts: schedules do not use up the places of
// their owner's own requests.
func (it *item) load() string {
	if it.scheduled {
		return scheduledLoad(it.actor)
	}
	return it.actor
}

func scheduledLoad(actor string) string { return "schedule\x00" + actor }

func newQueue(limits Limits) *queue {
	return &queue{
		limits: limits, lanes: map[string]*lane{}, running: map[string]int{},
		waiting: map[string]int{}, queued: map[string]int{}, held: map[string]int{}, served: map[string]uint64{},
	}
}

// reserve keeps a place for a task that is about to be committed. It reports
// false when the actor or the conversation has too many waiting already.
func (q *queue) reserve(actor, conversation string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := q.held[conversation]
	if l := q.lanes[conversation]; l != nil {
		in += len(l.items)
	}
	if q.waiting[actor] >= q.limits.WaitingPerActor || in >= q.limits.WaitingPerConversation {
		return false
	}
	q.waiting[actor]++
	q.held[conversation]++
	return true
}

// release gives a reserved place back.
func (q *queue) release(actor, conversation string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	decrease(q.waiting, actor)
	decrease(q.held, conversation)
}

// add puts a task into its lane by the order of ids, which is that of time. A
// task that waits already is left where it is; one that runs waits again when
// its place is given back, for an answer can come before that.
func (q *queue) add(it *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[it.conversation]
	if l == nil {
		l = &lane{}
		q.lanes[it.conversation] = l
	}
	at, known := slices.BinarySearchFunc(l.items, it.id, func(a *item, id string) int { return strings.Compare(a.id, id) })
	if known {
		return
	}
	if l.busy != nil && l.busy.id == it.id {
		l.busy.again = true
		return
	}
	l.items = slices.Insert(l.items, at, it)
	q.count(it, 1)
}

// count keeps track of what waits.
func (q *queue) count(it *item, by int) {
	if q.queued[it.actor] += by; q.queued[it.actor] <= 0 {
		delete(q.queued, it.actor)
	}
	if it.scheduled {
		return
	}
	if q.waiting[it.actor] += by; q.waiting[it.actor] <= 0 {
		delete(q.waiting, it.actor)
	}
}

// room reports whether a place is free for this task. One place is kept for
// people who wait, so that a Monday's reports do not hold them up.
func (q *queue) room(it *item) bool {
	if it.scheduled && q.limits.Running > 1 && q.timed >= q.limits.Running-1 {
		return false
	}
	return q.total < q.limits.Running && q.running[it.load()] < q.limits.RunningPerActor
}

// next takes the task that starts now, or says when to look again (zero: when
// something changes).
func (q *queue) next(now time.Time) (*item, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *item
	var again time.Time
	for _, l := range q.lanes {
		if l.busy != nil || len(l.items) == 0 {
			continue
		}
		it := l.items[0]
		if it.ready.After(now) {
			if again.IsZero() || it.ready.Before(again) {
				again = it.ready
			}
			continue
		}
		if q.room(it) && (best == nil || q.before(it, best)) {
			best = it
		}
	}
	if best == nil {
		return nil, again
	}
	l := q.lanes[best.conversation]
	l.items, l.busy = slices.Delete(l.items, 0, 1), best
	q.count(best, -1)
	q.running[best.load()]++
	q.total++
	if best.scheduled {
		q.timed++
	}
	q.clock++
	q.served[best.actor] = q.clock
	return best, time.Time{}
}

// before says which of two tasks that could start goes first.
func (q *queue) before(a, b *item) bool {
	if a.resumed != b.resumed {
		return a.resumed
	}
	if a.scheduled != b.scheduled {
		return b.scheduled
	}
	if ra, rb := q.running[a.load()], q.running[b.load()]; ra != rb {
		return ra < rb
	}
	if sa, sb := q.served[a.actor], q.served[b.actor]; sa != sb {
		return sa < sb
	}
	return a.id < b.id
}

// done frees the conversation of a task that ran; when it is to be repeated it
// goes back to the head of its lane.
func (q *queue) done(it *item, repeat bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[it.conversation]
	l.busy = nil
	decrease(q.running, it.load())
	q.total--
	if it.scheduled {
		q.timed--
	}
	if repeat || it.again {
		it.again = false
		l.items = slices.Insert(l.items, 0, it)
		q.count(it, 1)
	}
	q.tidy(it)
}

// remove takes out a task that waits; it reports whether it did.
func (q *queue) remove(conversation, id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[conversation]
	if l == nil {
		return false
	}
	at := slices.IndexFunc(l.items, func(it *item) bool { return it.id == id })
	if at < 0 {
		return false
	}
	it := l.items[at]
	l.items = slices.Delete(l.items, at, at+1)
	q.count(it, -1)
	q.tidy(it)
	return true
}

// tidy drops what is empty, so that a long life does not grow.
func (q *queue) tidy(it *item) {
	if l := q.lanes[it.conversation]; l != nil && l.busy == nil && len(l.items) == 0 {
		delete(q.lanes, it.conversation)
	}
	// Who has more to come keeps their turn: forgotten, they would be next again.
	if q.queued[it.actor] == 0 && q.waiting[it.actor] == 0 && q.running[it.actor] == 0 && q.running[scheduledLoad(it.actor)] == 0 {
		delete(q.served, it.actor)
	}
}

// position counts the tasks that stand before this one: 0 when it can start or
// does not wait.
func (q *queue) position(conversation, id string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[conversation]
	if l == nil {
		return 0
	}
	at := slices.IndexFunc(l.items, func(it *item) bool { return it.id == id })
	if at < 0 {
		return 0
	}
	it, before := l.items[at], at
	if l.busy != nil {
		before++
	}
	if before > 0 {
		return before
	}
	if q.room(it) {
		return 0
	}
	// Its conversation is free, but no place is: those that are served first,
	// and one that has to end.
	before = 1
	for _, other := range q.lanes {
		if other.busy == nil && len(other.items) > 0 && other.items[0] != it && q.before(other.items[0], it) {
			before++
		}
	}
	return before
}

// idle reports whether nothing waits or runs.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lanes) == 0
}

// counts returns how many tasks wait and run.
func (q *queue) counts() (waiting, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		waiting += len(l.items)
	}
	return waiting, q.total
}

func decrease(m map[string]int, key string) {
	if m[key]--; m[key] <= 0 {
		delete(m, key)
	}
}
