package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// counts: a commit raises all its counts or, where one is full, does nothing.
func counts(t *testing.T, s *held) {
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

// claimed: of many who claim a task at the revision they read one wins, and only
// the holder's commits that say so are taken.
func claimed(t *testing.T, s *held) {
	one := *commit(t, s, bot.Commit{Task: task(s, "one")}).Task
	const lives = 20
	won := make(chan string, lives)
	var callers sync.WaitGroup
	for i := range lives {
		callers.Go(func() {
			mine := one
			mine.Claim = &bot.Claim{Life: fmt.Sprint("life ", i), Until: s.at()}
			_, err := s.Commit(t.Context(), bot.Commit{Task: &mine})
			switch {
			case err == nil:
				won <- mine.Claim.Life
			case !errors.Is(err, bot.ErrConflict):
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if len(won) != 1 {
		t.Fatalf("%d lives claimed one task", len(won))
	}
	holder := <-won
	step := func(life string, seq uint64) error {
		_, err := s.Commit(t.Context(), bot.Commit{
			Holder: &bot.Holder{Task: one.ID, Life: life},
			Steps:  []bot.TaskStep{{Task: one.ID, Step: bot.Step{Seq: seq, Kind: bot.StepTurn}}},
		})
		return err
	}
	if err := step(holder, 1); err != nil {
		t.Errorf("the holder's step: %v", err)
	}
	if err := step("another life", 2); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("another life's step: %v", err)
	}
	stored, err := s.Task(t.Context(), one.ID)
	if err != nil || stored.Claim == nil || stored.Claim.Life != holder || !stored.Claim.Until.Equal(s.at()) {
		t.Errorf("the claim reads %+v (%v)", stored.Claim, err)
	}
	stored.Claim = nil
	commit(t, s, bot.Commit{Task: &stored})
	if err := step(holder, 2); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("a step after the claim was given back: %v", err)
	}
	if err := step("", 2); !errors.Is(err, bot.ErrConflict) {
		t.Errorf("a step of a nameless life: %v", err)
	}
}
