package bot

import (
	"errors"
	"fmt"
)

// Errors of the core and its ports.
var (
	ErrNotFound  = errors.New("not found")
	ErrConflict  = errors.New("changed meanwhile")
	ErrTooLarge  = errors.New("larger than allowed")
	ErrCancelled = errors.New("cancelled by request")
	ErrReadOnly  = errors.New("the store cannot commit; the bot is read-only")
)

// BudgetError says which budget is used up.
type BudgetError struct {
	Budget string // "turns", "tokens", "usd", "wall", "sandbox", "actor_daily_tokens", …
	Limit  string // as people read it
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %s of %s is used up", e.Budget, e.Limit)
}
