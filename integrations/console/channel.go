package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Opener gives stored content by its SHA-256; bot.Blobs is one.
type Opener interface {
	Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, error)
}

// Options are what a Channel needs; all are required.
type Options struct {
	Blobs   Opener
	Records bot.Records
	Clock   bot.Clock
}

// Channel implements bot.Channel for console runs.
type Channel struct {
	blobs   Opener
	records bot.Records
	clock   bot.Clock
}

var _ bot.Channel = (*Channel)(nil)

// New returns a Channel.
func New(options Options) (*Channel, error) {
	if options.Blobs == nil || options.Records == nil || options.Clock == nil {
		return nil, errors.New("make console channel: blobs, records and clock are required")
	}
	return &Channel{blobs: options.Blobs, records: options.Records, clock: options.Clock}, nil
}

// Authorize grants: whoever reaches the control socket is the bot's own user.
func (c *Channel) Authorize(context.Context, bot.Event) (bot.Decision, error) {
	return bot.Decision{Allowed: true, Rule: "console: the bot's own user"}, nil
}

// Fetch always fails: a console request's inputs are stored before it is
// submitted, and a path is never opened on somebody's word.
func (c *Channel) Fetch(_ context.Context, _ bot.Event, ref bot.InputRef, _ io.Writer) (bot.Fetched, error) {
	return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "its content was not stored with the request"}
}

// Progress does nothing: whoever waits watches the task itself.
func (c *Channel) Progress(context.Context, bot.Task, bot.Progress, *bot.Receipt) (*bot.Receipt, error) {
	return nil, nil
}

// Send writes the files of a delivery into its folder. Texts are read from
// the task by whoever watches it, so they count as sent, but for answers to a
// Destination.
func (c *Channel) Send(ctx context.Context, delivery bot.Delivery) (bot.Receipt, error) {
	c, delivery = c.asFiles(delivery)
	if len(delivery.Files) == 0 {
		return bot.Receipt{ID: Name + ":" + delivery.ID, At: c.clock.Now()}, nil
	}
	out := OutOf(delivery.Origin)
	if out == "" {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: errors.New("the request names no folder for its files")}
	}
	root, err := openFolder(out)
	if err != nil {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: fmt.Errorf("open folder %s: %w", out, reason(err))}
	}
	defer root.Close()
	w := writer{Channel: c, root: root, out: out}
	plan, err := w.plan(ctx, delivery)
	if err != nil {
		return bot.Receipt{}, &bot.SendError{Class: bot.Retryable, Err: err}
	}
	var missing []bot.Undelivered
	for i, file := range delivery.Files {
		step := &plan.Files[i]
		if step.Refused == "" {
			if err := w.place(ctx, delivery.ID, file, *step); err != nil {
				if ctx.Err() != nil {
					return bot.Receipt{}, &bot.SendError{Class: bot.Retryable, Err: ctx.Err()}
				}
				step.Refused = reason(err).Error()
			}
		}
		if step.Refused != "" {
			missing = append(missing, bot.Undelivered{Name: file.Name, Reason: step.Refused})
		}
	}
	return c.receipt(out, *plan, missing)
}

// Find reports whether every file of the delivery stands in its folder with
// the content it should have.
func (c *Channel) Find(ctx context.Context, delivery bot.Delivery) (bot.Receipt, bool, error) {
	if c, delivery = c.asFiles(delivery); len(delivery.Files) == 0 {
		return bot.Receipt{}, false, nil // sending a text again has no effect
	}
	plan, _, err := c.storedPlan(ctx, delivery.ID)
	if errors.Is(err, bot.ErrNotFound) {
		return bot.Receipt{}, false, nil
	} else if err != nil {
		return bot.Receipt{}, false, err
	}
	out := OutOf(delivery.Origin)
	root, err := os.OpenRoot(out)
	if errors.Is(err, fs.ErrNotExist) {
		return bot.Receipt{}, false, nil
	} else if err != nil {
		return bot.Receipt{}, false, fmt.Errorf("look for files: %w", err)
	}
	defer root.Close()
	if len(plan.Files) != len(delivery.Files) {
		return bot.Receipt{}, false, nil
	}
	for i, file := range delivery.Files {
		if sum, err := hashOf(root, plan.Files[i].As); err != nil || sum != file.Blob {
			return bot.Receipt{}, false, nil //nolint:nilerr // a file that cannot be read is not there yet
		}
	}
	receipt, err := c.receipt(out, *plan, nil)
	return receipt, true, err
}

func (c *Channel) receipt(out string, plan plan, missing []bot.Undelivered) (bot.Receipt, error) {
	placed := []Placed{}
	for _, step := range plan.Files {
		if step.Refused == "" {
			placed = append(placed, Placed{Name: step.Name, Path: pathIn(out, step.As)})
		}
	}
	detail, err := json.Marshal(placed)
	if err != nil {
		return bot.Receipt{}, fmt.Errorf("write receipt: %w", err)
	}
	return bot.Receipt{ID: out, At: c.clock.Now(), Detail: string(detail), Undelivered: missing}, nil
}

// openFolder makes the folder where it is absent and opens it as a root that
// nothing written below can leave.
func openFolder(out string) (*os.Root, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(out)
}

// reason leaves the path out of an error that is told beside its name.
func reason(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return linkError.Err
	}
	return err
}
