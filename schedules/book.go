package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

const (
	scheduleBucket = "schedules"
	fireBucket     = "schedule-fires"
)

// Book keeps schedules and their fires in bot.Records.
type Book struct{ records bot.Records }

// NewBook returns a Book over records.
func NewBook(records bot.Records) *Book { return &Book{records: records} }

// Get returns one schedule and its revision, or bot.ErrNotFound.
func (b *Book) Get(ctx context.Context, name string) (Schedule, uint64, error) {
	r, err := b.records.Get(ctx, scheduleBucket, name)
	if err != nil {
		return Schedule{}, 0, fmt.Errorf("get schedule %s: %w", name, err)
	}
	var s Schedule
	if err := json.Unmarshal(r.Value, &s); err != nil {
		return Schedule{}, 0, fmt.Errorf("read schedule %s: %w", name, err)
	}
	return s, r.Revision, nil
}

// Put writes s if it still is at revision; 0 means that it must be new.
func (b *Book) Put(ctx context.Context, s Schedule, revision uint64) (uint64, error) {
	value, err := json.Marshal(s)
	if err != nil {
		return 0, fmt.Errorf("write schedule %s: %w", s.Name, err)
	}
	revision, err = b.records.Put(ctx, scheduleBucket, s.Name, value, revision)
	if err != nil {
		return 0, fmt.Errorf("write schedule %s: %w", s.Name, err)
	}
	return revision, nil
}

// Change applies change to the schedule until no other writer came between.
func (b *Book) Change(ctx context.Context, name string, change func(*Schedule) error) (Schedule, error) {
	for {
		s, revision, err := b.Get(ctx, name)
		if err != nil {
			return Schedule{}, err
		}
		if err := change(&s); err != nil {
			return Schedule{}, err
		}
		_, err = b.Put(ctx, s, revision)
		if errors.Is(err, bot.ErrConflict) {
			continue
		}
		return s, err
	}
}

// Delete removes a schedule and its fires.
func (b *Book) Delete(ctx context.Context, name string) error {
	fires, err := b.records.List(ctx, fireBucket, name+"/")
	if err != nil {
		return fmt.Errorf("list fires of %s: %w", name, err)
	}
	for _, f := range fires {
		if err := b.records.Delete(ctx, fireBucket, f.Key); err != nil {
			return fmt.Errorf("delete fires of %s: %w", name, err)
		}
	}
	if err := b.records.Delete(ctx, scheduleBucket, name); err != nil {
		return fmt.Errorf("delete schedule %s: %w", name, err)
	}
	return nil
}

// List returns all schedules by name. Records that cannot be read are
// reported beside the others, never instead of them.
func (b *Book) List(ctx context.Context) ([]Schedule, error) {
	records, err := b.records.List(ctx, scheduleBucket, "")
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	var list []Schedule
	var broken []error
	for _, r := range records {
		var s Schedule
		if err := json.Unmarshal(r.Value, &s); err != nil {
			broken = append(broken, fmt.Errorf("read schedule %s: %w", r.Key, err))
			continue
		}
		list = append(list, s)
	}
	return list, errors.Join(broken...)
}

// claim writes the fire of one due time unless it has one already; it reports
// whether this call was the one that decided it, and the fire that stands.
func (b *Book) claim(ctx context.Context, name string, f Fire) (Fire, bool, error) {
	value, err := json.Marshal(f)
	if err != nil {
		return Fire{}, false, fmt.Errorf("write fire of %s: %w", name, err)
	}
	key := fireKey(name, f.Due)
	_, err = b.records.Put(ctx, fireBucket, key, value, 0)
	if err == nil {
		return f, true, nil
	}
	if !errors.Is(err, bot.ErrConflict) {
		return Fire{}, false, fmt.Errorf("write fire of %s: %w", name, err)
	}
	r, err := b.records.Get(ctx, fireBucket, key)
	if err != nil {
		return Fire{}, false, fmt.Errorf("read fire of %s: %w", name, err)
	}
	var stands Fire
	if err := json.Unmarshal(r.Value, &stands); err != nil {
		return Fire{}, false, fmt.Errorf("read fire of %s: %w", name, err)
	}
	return stands, false, nil
}

// settle writes what became of a claimed fire.
func (b *Book) settle(ctx context.Context, name string, f Fire) error {
	for {
		key := fireKey(name, f.Due)
		r, err := b.records.Get(ctx, fireBucket, key)
		if err != nil {
			return fmt.Errorf("read fire of %s: %w", name, err)
		}
		value, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("write fire of %s: %w", name, err)
		}
		_, err = b.records.Put(ctx, fireBucket, key, value, r.Revision)
		if errors.Is(err, bot.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write fire of %s: %w", name, err)
		}
		return nil
	}
}

// Fires returns what became of a schedule's due times, oldest first.
func (b *Book) Fires(ctx context.Context, name string) ([]Fire, error) {
	records, err := b.records.List(ctx, fireBucket, name+"/")
	if err != nil {
		return nil, fmt.Errorf("list fires of %s: %w", name, err)
	}
	fires := make([]Fire, 0, len(records))
	for _, r := range records {
		var f Fire
		if err := json.Unmarshal(r.Value, &f); err != nil {
			return nil, fmt.Errorf("read fire %s: %w", r.Key, err)
		}
		fires = append(fires, f)
	}
	return fires, nil
}

// prune keeps the newest keep fires of a schedule.
func (b *Book) prune(ctx context.Context, name string, keep int) error {
	records, err := b.records.List(ctx, fireBucket, name+"/")
	if err != nil {
		return fmt.Errorf("list fires of %s: %w", name, err)
	}
	for _, r := range records[:max(0, len(records)-keep)] {
		if err := b.records.Delete(ctx, fireBucket, r.Key); err != nil {
			return fmt.Errorf("prune fires of %s: %w", name, err)
		}
	}
	return nil
}

// fireKey sorts by time.
func fireKey(name string, due time.Time) string {
	return name + "/" + due.UTC().Format("20060102T150405Z")
}
