package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/schedules"
)

// webAdapter is the adapter's name in origins of the pages.
const webAdapter = "web"

// nowhere is the channel of the pages: whoever asked there reads the answer
// from the task itself, so everything counts as sent.
type nowhere struct{}

var _ bot.Channel = nowhere{}

// Authorize grants: the pages decided who looks at them.
func (nowhere) Authorize(context.Context, bot.Event) (bot.Decision, error) {
	return bot.Decision{Allowed: true, Rule: "web: let in by the pages"}, nil
}

// Fetch fails: what is asked on a page is stored before it is submitted.
func (nowhere) Fetch(_ context.Context, _ bot.Event, ref bot.InputRef, _ io.Writer) (bot.Fetched, error) {
	return bot.Fetched{}, &bot.InputError{Name: ref.Name, Reason: "its content was not stored with the request"}
}

// Progress does nothing: the page is live.
func (nowhere) Progress(context.Context, bot.Task, bot.Progress, *bot.Receipt) (*bot.Receipt, error) {
	return nil, nil
}

// Send has nothing to send.
func (nowhere) Send(_ context.Context, d bot.Delivery) (bot.Receipt, error) {
	return bot.Receipt{ID: "page:" + d.Task, At: time.Now()}, nil
}

// Find says that nothing was sent: sending again has no effect.
func (nowhere) Find(context.Context, bot.Delivery) (bot.Receipt, bool, error) {
	return bot.Receipt{}, false, nil
}

// localFiles fetches the inputs of schedules from schedules.root. Nothing
// originates there, and nothing is sent there.
type localFiles struct {
	nowhere
	files *schedules.Local
}

// Authorize refuses: no event comes from here.
func (localFiles) Authorize(context.Context, bot.Event) (bot.Decision, error) {
	return bot.Decision{Reason: "local files ask for nothing"}, nil
}

// Fetch streams a file below schedules.root.
func (l localFiles) Fetch(ctx context.Context, event bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	return l.files.Fetch(ctx, event, ref, w)
}

// Send fails: folders are the console's.
func (localFiles) Send(context.Context, bot.Delivery) (bot.Receipt, error) {
	return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: errors.New("local files take no answers")}
}

// openLocal adds the channel of schedules.root, where one is configured.
func (a *app) openLocal() error {
	if a.loaded.Schedules.Root == "" {
		return nil
	}
	files, err := schedules.OpenLocal(a.loaded.Schedules.Root)
	if err != nil {
		return err
	}
	a.life.Defer("schedules.root", func(context.Context) error { return files.Close() })
	a.channels[schedules.LocalAdapter] = localFiles{files: files}
	return nil
}

// earlierFiles fetches what a schedule's run before made.
type earlierFiles struct {
	localFiles
	files *schedules.Previous
}

// Fetch streams a file of the run before.
func (e earlierFiles) Fetch(ctx context.Context, event bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	return e.files.Fetch(ctx, event, ref, w)
}

// openPrevious adds the channel of what runs before made.
func (a *app) openPrevious() error {
	a.channels[schedules.PreviousAdapter] = earlierFiles{files: schedules.NewPrevious(a.store, a.blobs)}
	return nil
}

// openTestPlatform adds the adapter of a platform that exists for tests alone.
func (a *app) openTestPlatform() error {
	url := os.Getenv(platformVariable)
	if url == "" {
		return nil
	}
	adapter, err := testadapter.New(testadapter.Options{URL: url, Logger: a.log})
	if err != nil {
		return err
	}
	a.log.Warn("a test platform is an adapter of this process", "variable", platformVariable)
	a.channels[testadapter.Name] = adapter
	a.sources = append(a.sources, adapter)
	return nil
}
