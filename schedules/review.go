package schedules

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// review counts how the last run ended: failures in a row, the recovery after
// them, and the destination that is gone.
func (c *Clock) review(ctx context.Context, s Schedule) (Schedule, error) {
	if s.LastTask == "" || s.LastTask == s.Reviewed {
		return s, nil
	}
	task, err := c.Tasks.Task(ctx, s.LastTask)
	if errors.Is(err, bot.ErrNotFound) {
		return c.Book.Change(ctx, s.Name, func(s *Schedule) error {
			s.Reviewed = s.LastTask
			return nil
		})
	}
	if err != nil {
		return s, fmt.Errorf("read last run: %w", err)
	}
	if !task.State.Final() {
		return s, nil
	}
	failure, err := c.failureOf(ctx, task)
	if err != nil {
		return s, err
	}
	recovered := false
	s, err = c.Book.Change(ctx, s.Name, func(s *Schedule) error {
		if s.Reviewed == task.ID {
			return nil
		}
		s.Reviewed = task.ID
		if failure == "" {
			recovered = s.Failures > 1
			s.Failures, s.Failure = 0, ""
			return nil
		}
		s.Failures++
		s.Failure = failure
		return nil
	})
	switch {
	case err != nil:
		return s, err
	case recovered:
		key, message := "schedule-recovered:"+s.Name+":"+task.ID, fmt.Sprintf("The schedule **%s** works again.", s.Name)
		if s.To[0].Title != "" {
			err = c.Notify.Tell(ctx, key, s, message) // its issues are the reports' own
		} else {
			err = c.Notify.Notify(ctx, key, s.To[0], message)
		}
	case task.State == bot.TaskRefused && s.State == Active:
		err = c.pause(ctx, s.Name, failure)
		s.State = Paused
	case s.Failures >= PauseAfter && s.State == Active:
		err = c.pause(ctx, s.Name, fmt.Sprintf("it failed %d times in a row, last with: %s", s.Failures, s.Failure))
		s.State = Paused
	}
	return s, err
}

// failureOf says what went wrong with a run, "" when nothing did. A missing
// or unreadable input is told in the report and is no failure of the schedule:
// next week's file may be there.
func (c *Clock) failureOf(ctx context.Context, task bot.Task) (string, error) {
	switch {
	case task.State == bot.TaskRefused:
		why := "its owner may no longer ask there"
		if task.Outcome != nil && task.Outcome.Message != "" {
			why += " (" + strings.TrimRight(task.Outcome.Message, ". ") + ")"
		}
		return why, nil
	case task.State == bot.TaskFailed && task.Outcome != nil && task.Outcome.Error != nil:
		if task.Outcome.Error.Kind != "input" {
			return task.Outcome.Error.Message, nil
		}
	case task.State == bot.TaskFailed:
		return "the run failed", nil
	}
	deliveries, err := c.Tasks.Deliveries(ctx, task.ID)
	if err != nil {
		return "", fmt.Errorf("read deliveries of last run: %w", err)
	}
	for _, d := range deliveries {
		if d.Kind == bot.DeliverAnswer && d.Failure != "" {
			return "the answer could not be delivered: " + d.Failure, nil
		}
	}
	return "", nil
}
