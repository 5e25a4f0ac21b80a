package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Prefixes of the keys in bucketMarks.
const (
	refusalMark   = "refusal/"   // an outsider who was told no
	watermarkMark = "watermark/" // up to when a repository's comments were looked through
)

// mark is a point in time to remember.
type mark struct {
	At time.Time `json:"at"`
}

func (a *Adapter) readMark(ctx context.Context, key string) (mark, uint64, error) {
	record, err := a.options.Records.Get(ctx, bucketMarks, key)
	if errors.Is(err, bot.ErrNotFound) {
		return mark{}, 0, nil
	}
	if err != nil {
		return mark{}, 0, fmt.Errorf("read mark: %w", err)
	}
	var m mark
	if err := json.Unmarshal(record.Value, &m); err != nil {
		return mark{}, record.Revision, fmt.Errorf("read mark: %w", err)
	}
	return m, record.Revision, nil
}

// mark writes m over what stood there.
func (a *Adapter) mark(ctx context.Context, key string, m mark) error {
	value, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	for {
		_, revision, err := a.readMark(ctx, key)
		if err != nil && revision == 0 {
			return err
		}
		_, err = a.options.Records.Put(ctx, bucketMarks, key, value, revision)
		if !errors.Is(err, bot.ErrConflict) {
			return err
		}
	}
}

// thread is what stands in an issue for one task. Content is not kept here:
// it can be purged where it stands.
type thread struct {
	// Round counts the comments that were closed by a question: what follows
	// the asker's answer begins a new one.
	Round int `json:"round"`
	// Begun is when the round's first comment was about to be made: from then
	// on it is looked for before another is made.
	Begun    time.Time `json:"begun,omitzero"`
	Comments []int64   `json:"comments,omitempty"` // ids, by part
	Link     string    `json:"link,omitempty"`
	// Shows is the delivery whose text stands there; "" for progress.
	Shows string `json:"shows,omitempty"`
	Asked bool   `json:"asked,omitempty"` // Shows is a question

	Files     []placed          `json:"files,omitempty"`
	Lost      []bot.Undelivered `json:"lost,omitempty"`
	FilesSent string            `json:"files_sent,omitempty"` // the delivery that is wholly done
	Untold    bool              `json:"untold,omitempty"`     // nothing in the issue names those Lost
	// Issue is the number of the issue that the task's answer opened; 0 where
	// it opens none, or none yet.
	Issue   int       `json:"issue,omitempty"`
	Changed time.Time `json:"changed"`

	revision uint64
}

// placed is a file on the artifact branch.
type placed struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	URL   string `json:"url"`
	Alt   string `json:"alt,omitempty"`
	Image bool   `json:"image,omitempty"`
	Aside bool   `json:"aside,omitempty"` // it only accompanies the answer
}

func threadKey(task string, origin bot.Origin) string { return task + "/" + origin.Conversation }

func (a *Adapter) readThread(ctx context.Context, key string) (*thread, error) {
	record, err := a.options.Records.Get(ctx, bucketThreads, key)
	if errors.Is(err, bot.ErrNotFound) {
		return &thread{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	t := &thread{revision: record.Revision}
	if err := json.Unmarshal(record.Value, t); err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	return t, nil
}

func (a *Adapter) writeThread(ctx context.Context, key string, t *thread) error {
	t.Changed = a.options.Clock.Now()
	value, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write thread: %w", err)
	}
	revision, err := a.options.Records.Put(ctx, bucketThreads, key, value, t.revision)
	if err != nil {
		return fmt.Errorf("write thread: %w", err)
	}
	t.revision = revision
	return nil
}
