package agent

import (
	"fmt"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// budget is what a task, or a subagent's share of it, may spend. A share
// charges its maker too.
type budget struct {
	parent *budget
	limit  bot.Budgets

	mu       sync.Mutex // guards the fields below
	used     bot.Usage
	reserved int64   // tokens set aside for turns under way
	promised float64 // USD set aside for them
	sandbox  time.Duration
}

func newBudget(limit bot.Budgets) *budget { return &budget{limit: limit} }

// share gives one of n shares of what is left. A share is never less than one
// turn, for it would only cost a session.
func (b *budget) share(n int) *budget {
	left := b.left()
	n = max(1, n)
	return &budget{parent: b, limit: bot.Budgets{
		Turns: max(1, left.Turns/n), Tokens: max(1, left.Tokens/int64(n)), USD: left.USD / float64(n),
		Wall: b.limit.Wall, Sandbox: left.Sandbox / time.Duration(n),
	}}
}

// left is what may still be spent, here and by every maker above.
func (b *budget) left() bot.Budgets {
	b.mu.Lock()
	left := bot.Budgets{
		Turns:   max(0, b.limit.Turns-b.used.Turns),
		Tokens:  max(0, b.limit.Tokens-b.used.InputTokens-b.used.OutputTokens-b.reserved),
		USD:     max(0, b.limit.USD-b.used.CostUSD-b.promised),
		Sandbox: max(0, b.limit.Sandbox-b.sandbox),
	}
	b.mu.Unlock()
	if b.parent != nil {
		above := b.parent.left()
		left.Turns, left.Tokens = min(left.Turns, above.Turns), min(left.Tokens, above.Tokens)
		left.USD, left.Sandbox = min(left.USD, above.USD), min(left.Sandbox, above.Sandbox)
	}
	return left
}

// hold is what was set aside for one turn.
type hold struct {
	tokens int64
	usd    float64
}

// reserve sets one turn aside, or says which budget does not allow it.
func (b *budget) reserve(h hold) error {
	left := b.left()
	switch {
	case left.Turns < 1:
		return &bot.BudgetError{Budget: "turns", Limit: fmt.Sprint(b.limit.Turns)}
	case left.Tokens < h.tokens:
		return &bot.BudgetError{Budget: "tokens", Limit: fmt.Sprint(b.limit.Tokens)}
	case h.usd > 0 && left.USD < h.usd:
		return &bot.BudgetError{Budget: "usd", Limit: fmt.Sprintf("$%.2f", b.limit.USD)}
	}
	for at := b; at != nil; at = at.parent {
		at.mu.Lock()
		at.reserved += h.tokens
		at.promised += h.usd
		at.mu.Unlock()
	}
	return nil
}

// release frees what reserve set aside; what was spent is booked apart.
func (b *budget) release(h hold) {
	for at := b; at != nil; at = at.parent {
		at.mu.Lock()
		at.reserved -= h.tokens
		at.promised -= h.usd
		at.mu.Unlock()
	}
}

// bookTurn books a turn.
func (b *budget) bookTurn(u TokenUsage, usd float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.Turns++
	b.used.InputTokens += u.Input
	b.used.OutputTokens += u.Output
	b.used.CachedTokens += u.Cached
	b.used.CostUSD += usd
}

// bookSandbox books sandbox time.
func (b *budget) bookSandbox(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sandbox += d
}

// shares are the budgets below the task's own, from b upwards. The task's own
// is booked when a step is recorded, the shares when a loop takes it in.
func (b *budget) shares() []*budget {
	var list []*budget
	for at := b; at.parent != nil; at = at.parent {
		list = append(list, at)
	}
	return list
}

// usage is what was spent.
func (b *budget) usage() bot.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.used
	u.SandboxSeconds = b.sandbox.Seconds()
	return u
}

// low names what is nearly used up, or is empty: a fifth or less is left, or no
// more than three turns like next, which is what a turn costs.
func (b *budget) low(next hold, wallLeft time.Duration) string {
	left := b.left()
	switch {
	case left.Turns <= max(2, min(3, b.limit.Turns/5)) && b.limit.Turns > 3:
		return fmt.Sprintf("%d turns", left.Turns)
	case left.Tokens <= max(b.limit.Tokens/5, 3*next.tokens):
		return fmt.Sprintf("%d tokens", left.Tokens)
	case next.usd > 0 && left.USD <= max(b.limit.USD/5, 3*next.usd):
		return fmt.Sprintf("$%.2f", left.USD)
	case left.Sandbox <= b.limit.Sandbox/5:
		return fmt.Sprintf("%s of program time", left.Sandbox.Round(time.Second))
	case wallLeft <= b.limit.Wall/5:
		return fmt.Sprintf("%s of time", wallLeft.Round(time.Second))
	}
	return ""
}
