package bot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rule grants rights to actors at an origin.
type Rule struct {
	Origin string   // matches Origin.Place: exact, or with * ("slack:*")
	Actors []string // match Actor.ID in the same way
	May    []Right
	// Budgets, Runtime, Model and Destinations narrow what the allowed task
	// may use; empty leaves the configuration's.
	Budgets      Budgets
	Model        string
	Runtime      string
	Destinations []string
}

// Rules is a Policy: the first rule that names both the origin and the actor
// decides alone. Where none does, the answer is no.
type Rules []Rule

var _ Policy = Rules(nil)

// NewRules checks the rules whole and returns them as a Policy.
func NewRules(rules []Rule) (Rules, error) {
	known := []Right{MayAsk, MaySave, MaySchedule, MayCancelOthers, MayPublish, MayAdmin}
	for i, r := range rules {
		if r.Origin == "" || len(r.Actors) == 0 {
			return nil, fmt.Errorf("policy %d: origin and actors must be given", i+1)
		}
		for _, pattern := range append([]string{r.Origin}, r.Actors...) {
			if _, err := path.Match(flat(pattern), ""); err != nil {
				return nil, fmt.Errorf("policy %d: %q is no pattern: %w", i+1, pattern, err)
			}
		}
		for _, right := range r.May {
			if !slices.Contains(known, right) {
				return nil, fmt.Errorf("policy %d: unknown right %q (known: %v)", i+1, right, known)
			}
		}
	}
	return slices.Clone(rules), nil
}

// Decide implements Policy.
func (rules Rules) Decide(_ context.Context, event Event, right Right) Decision {
	for i, r := range rules {
		if !match(r.Origin, event.Origin.Place) || !slices.ContainsFunc(r.Actors, func(a string) bool { return match(a, event.Actor.ID) }) {
			continue
		}
		d := Decision{Rule: fmt.Sprintf("policies[%d]", i)}
		if !slices.Contains(r.May, right) {
			d.Reason = fmt.Sprintf("You may not %s here. Whoever runs this bot can allow it (`policies:` in its configuration).", inWords(right))
			return d
		}
		d.Allowed = true
		d.Budgets, d.Model, d.Runtime, d.Destinations = r.Budgets, r.Model, r.Runtime, r.Destinations
		return d
	}
	return Decision{
		Rule:   "default",
		Reason: "I do not take requests from you here. Whoever runs this bot can allow it (`policies:` in its configuration).",
	}
}

// match compares with * for any run of characters.
func match(pattern, value string) bool {
	ok, err := path.Match(flat(pattern), flat(value))
	return err == nil && ok // NewRules found bad patterns
}

// flat keeps path.Match from stopping at slashes.
func flat(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

func inWords(right Right) string {
	switch right {
	case MayAsk:
		return "ask for work"
	case MaySave:
		return "save reports"
	case MaySchedule:
		return "schedule reports"
	case MayCancelOthers:
		return "cancel or repeat what others asked for"
	case MayPublish:
		return "publish reports for everybody"
	default:
		return "administer this bot"
	}
}

// over returns b with its empty fields filled in from the defaults.
func (b Budgets) over(defaults Budgets) Budgets {
	orDefault(&b.Turns, defaults.Turns)
	orDefault(&b.Tokens, defaults.Tokens)
	orDefault(&b.USD, defaults.USD)
	orDefault(&b.Wall, defaults.Wall)
	orDefault(&b.Sandbox, defaults.Sandbox)
	orDefault(&b.ActorDailyTasks, defaults.ActorDailyTasks)
	orDefault(&b.DailyTasks, defaults.DailyTasks)
	orDefault(&b.ActorDailyTokens, defaults.ActorDailyTokens)
	orDefault(&b.ActorDailyUSD, defaults.ActorDailyUSD)
	orDefault(&b.DailyTokens, defaults.DailyTokens)
	orDefault(&b.DailyUSD, defaults.DailyUSD)
	return b
}

// permitted asks the policy, and refuses everybody while intake is paused.
func (o *Orchestrator) permitted(ctx context.Context, event Event, right Right) (Decision, *Refusal) {
	decision := o.opts.Policy.Decide(ctx, event, right)
	if !decision.Allowed {
		return decision, &Refusal{Kind: "policy", Message: decision.Reason}
	}
	o.mu.Lock()
	paused := o.paused
	o.mu.Unlock()
	if paused {
		return decision, &Refusal{Kind: "paused", Message: "I am not taking new requests at the moment. What was asked before goes on; please try again later."}
	}
	return decision, nil
}

// refuse tells the asker why nothing was accepted, once in a while. Who may not
// ask and was told lately costs no commit. What a limit had no room for is
// remembered: were it read again when there is room, it would run although its
// asker was told to ask again.
func (o *Orchestrator) refuse(ctx context.Context, event Event, r Refusal) (Ticket, error) {
	before, first := o.told.note(event, r.Kind, o.now())
	if !first && r.Kind == "policy" {
		r.Told = true
		return Ticket{Refused: &r}, nil
	}
	c := Commit{Keys: []string{event.Key}}
	if first {
		entry := o.entry(AuditRefusal, nil, map[string]any{"kind": r.Kind, "place": event.Origin.Place, "unsaid": before})
		entry.Actor = event.Actor.ID
		c.Audit = []AuditEntry{entry}
	}
	if first && !event.Inline {
		c.Deliveries = []Delivery{o.notice(event, "", r.Message)}
	}
	r.Told = !first || !event.Inline
	done, err := o.commit(ctx, c)
	var claimed *ClaimedError
	if errors.As(err, &claimed) {
		return o.twin(ctx, event, claimed)
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("refuse event: %w", err)
	}
	o.outbox.add(done.Deliveries...)
	return Ticket{Refused: &r}, nil
}

// notice is a delivery of a few words outside of a task's answer.
func (o *Orchestrator) notice(event Event, task, message string) Delivery {
	return o.delivery(Delivery{
		Kind: DeliverNotice, Task: task, Origin: event.Origin, Actor: event.Actor,
		Message: o.opts.Redactor.Text(message),
	})
}

// delivery gives a new delivery its id and its first state.
func (o *Orchestrator) delivery(d Delivery) Delivery {
	now := o.now()
	d.ID, d.Created = o.opts.Store.NewID(now), now
	d.Status = DeliveryPending
	d.Moves = []DeliveryMove{{To: DeliveryPending, At: now}}
	return d
}

// Refusals returns how often each kind of refusal was given in this life.
func (o *Orchestrator) Refusals() map[string]int { return o.told.counts() }

// toldFor is how long an asker is not told the same again.
const toldFor = time.Hour

// told remembers who was told what, so that a flood of refused events costs
// neither commits nor messages.
type told struct {
	// mu guards what follows.
	mu    sync.Mutex
	last  map[string]telling
	total map[string]int
}

type telling struct {
	at     time.Time
	unsaid int // refusals since then
}

func newTold() *told { return &told{last: map[string]telling{}, total: map[string]int{}} }

// note counts a refusal and reports whether it is to be told, with the number
// that went unsaid before it.
func (t *told) note(event Event, kind string, now time.Time) (unsaid int, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total[kind]++
	key := kind + "\x00" + event.Actor.ID + "\x00" + event.Origin.Place
	have, ok := t.last[key]
	if ok && now.Sub(have.at) < toldFor {
		have.unsaid++
		t.last[key] = have
		return 0, false
	}
	t.forget(now)
	t.last[key] = telling{at: now}
	return have.unsaid, true
}

// forget bounds the memory that a flood from many actors can take.
func (t *told) forget(now time.Time) {
	const most = 10_000
	if len(t.last) < most {
		return
	}
	for key, have := range t.last {
		if now.Sub(have.at) >= toldFor || len(t.last) >= most {
			delete(t.last, key)
		}
	}
}

func (t *told) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make(map[string]int, len(t.total))
	for kind, n := range t.total {
		counts[kind] = n
	}
	return counts
}
