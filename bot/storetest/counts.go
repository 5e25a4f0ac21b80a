package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// counts: a commit raises all its counts or, where one is full, does nothing.
func counts(t *testing.T, s bot.Store) {
	mine, all := bot.Count{Key: "mine", Most: 2}, bot.Count{Key: "all", Most: 20}
	for range 2 {
		commit(t, s, bot.Commit{Counts: []bot.Count{all, mine}})
	}
	one := task(s, "one")
	var full *bot.CountError
	_, err := s.Commit(t.Context(), bot.Commit{Keys: []string{"k"}, Task: one, Counts: []bot.Count{all, mine}})
	if !errors.As(err, &full) || full.Count != mine {
		t.Errorf("a full count gives %v", err)
	}
	if _, err := s.Task(t.Context(), one.ID); !errors.Is(err, bot.ErrNotFound) {
		t.Errorf("the task of a full count is there: %v", err)
	}
	commit(t, s, bot.Commit{Counts: []bot.Count{{Key: "mine"}}}) // without a limit
	read := func(key, want string) {
		t.Helper()
		if r, err := s.Get(t.Context(), bot.CountBucket, key); err != nil || string(r.Value) != want {
			t.Errorf("count %s reads %s (%v), want %s", key, r.Value, err, want)
		}
	}
	read("all", "2")
	read("mine", "3")
	granted := make(chan int, 50)
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() {
			_, err := s.Commit(t.Context(), bot.Commit{Keys: []string{fmt.Sprint("key ", i)}, Counts: []bot.Count{all}})
			var full *bot.CountError
			switch {
			case err == nil:
				granted <- i
			case !errors.As(err, &full):
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if len(granted) != 18 {
		t.Errorf("of 50 at once %d were granted, want the 18 that were left", len(granted))
	}
	read("all", "20")
	if err := s.Delete(t.Context(), bot.CountBucket, "all"); err != nil {
		t.Error(err)
	}
	commit(t, s, bot.Commit{Counts: []bot.Count{all}})
	read("all", "1")
}
