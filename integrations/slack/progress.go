package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

const (
	// editEvery is the least time between two edits of one progress message.
	editEvery = 3 * time.Second
	// patience is how long an edit is held back before it is left out: the
	// next one shows more anyway.
	patience = 1500 * time.Millisecond
	// maxTodo is how many lines of a plan are shown.
	maxTodo = 25
	maxItem = 150
)

// Progress implements bot.Channel: one message per task, posted once and then
// edited within Slack's rates. An edit that would have to wait is left out.
func (a *Adapter) Progress(ctx context.Context, task bot.Task, p bot.Progress, earlier *bot.Receipt) (*bot.Receipt, error) {
	at, err := addressOf(task.Event.Origin, task.Event.Actor)
	if err != nil {
		return nil, err
	}
	if err := a.know(ctx); err != nil {
		return nil, err
	}
	text, blocks := progressBlocks(task.ID, p, a.clock.Now())
	if earlier == nil {
		return a.beginProgress(ctx, at, task, post{at: at, text: text, blocks: blocks, delivery: progressMark(task.ID)})
	}
	if !a.mayEdit(ctx, earlier.ID) {
		return earlier, nil
	}
	return earlier, a.edit(ctx, at.Channel, earlier.ID, text, blocks)
}

func progressMark(task string) string { return "progress:" + task }

// beginProgress posts the progress message. Where an earlier attempt may have
// posted it, that one is looked for first.
func (a *Adapter) beginProgress(ctx context.Context, at address, task bot.Task, p post) (*bot.Receipt, error) {
	a.mu.Lock()
	_, tried := a.edited[task.ID]
	a.edited[task.ID] = a.clock.Now()
	a.mu.Unlock()
	standing := func() (*bot.Receipt, error) {
		have, err := a.parts(ctx, at, bot.Delivery{ID: p.delivery, Created: task.Created})
		if err != nil || have[0] == "" {
			return nil, err
		}
		receipt := a.receipt(at, have[0])
		return &receipt, nil
	}
	if tried || task.Attempts > 1 {
		if receipt, err := standing(); err != nil || receipt != nil {
			return receipt, err
		}
	}
	var ts string
	err := a.patiently(ctx, func(ctx context.Context) (err error) {
		ts, err = a.post(ctx, p)
		return err
	})
	if unsure := (*bot.SendError)(nil); errors.As(err, &unsure) && unsure.Class == bot.Ambiguous {
		// A short task makes no second call: what may stand must be known now,
		// or nobody would bring it to its end.
		if receipt, lookErr := standing(); lookErr == nil && receipt != nil {
			return receipt, nil
		}
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	delete(a.edited, task.ID)
	a.mu.Unlock()
	receipt := a.receipt(at, ts)
	return &receipt, nil
}

// sweepProgress brings a progress message to its end that may stand although
// nobody got its receipt: its posting was tried and the task ended meanwhile.
// It is best effort.
func (a *Adapter) sweepProgress(ctx context.Context, at address, d bot.Delivery) {
	a.mu.Lock()
	_, tried := a.edited[d.Task]
	delete(a.edited, d.Task)
	a.mu.Unlock()
	if !tried || d.Earlier != nil {
		return
	}
	have, err := a.parts(ctx, at, bot.Delivery{ID: progressMark(d.Task), Created: d.Created.Add(-threads)})
	if err == nil && have[0] != "" {
		_, err = a.endProgress(ctx, at, bot.Delivery{Task: d.Task, State: d.State, Earlier: &bot.Receipt{ID: have[0]}})
	}
	if err != nil {
		a.log.Info("a progress message may not show its end", "task", d.Task, "error", err)
	}
}

// mayEdit waits a little for an edit's turn and reports whether it has come.
func (a *Adapter) mayEdit(ctx context.Context, ts string) bool {
	now := a.clock.Now()
	a.mu.Lock()
	wait := max(0, a.edited[ts].Add(editEvery).Sub(now))
	a.mu.Unlock()
	turn := a.edits.Reserve()
	wait = max(wait, turn.Delay())
	if wait > patience || sleep(ctx, wait) != nil {
		turn.Cancel()
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	const most = 1_000
	if len(a.edited) > most {
		for k, at := range a.edited {
			if now.Sub(at) > time.Hour {
				delete(a.edited, k)
			}
		}
	}
	a.edited[ts] = a.clock.Now()
	return true
}

// edit replaces what a message shows.
func (a *Adapter) edit(ctx context.Context, channel, ts, text string, blocks []slack.Block) error {
	_, _, _, err := a.api().UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText(text, false), slack.MsgOptionBlocks(blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	if err != nil {
		return fmt.Errorf("edit message: %w", explain(err))
	}
	return nil
}

// endProgress collapses the progress message into one line. An edit may be
// repeated, so a lost answer is simply tried again.
func (a *Adapter) endProgress(ctx context.Context, at address, d bot.Delivery) (bot.Receipt, error) {
	if d.Earlier == nil {
		return bot.Receipt{ID: "none", At: a.clock.Now()}, nil
	}
	line := a.lastLine(ctx, d)
	blocks := []slack.Block{slack.NewContextBlock("", slack.NewTextBlockObject(slack.MarkdownType, line, false, false))}
	_, _, _, err := a.api().UpdateMessageContext(ctx, at.Channel, d.Earlier.ID, slack.MsgOptionText(line, false), slack.MsgOptionBlocks(blocks...))
	switch {
	case code(err) == "message_not_found" || code(err) == "cant_update_message":
		// Somebody deleted it: there is nothing to collapse.
	case err != nil:
		sendErr := &bot.SendError{Class: bot.Retryable, After: retryAfter(err), Err: fmt.Errorf("end progress: %w", explain(err))}
		if class := classOf(code(err)); code(err) != "" && class == bot.Permanent {
			sendErr.Class = class
		}
		return bot.Receipt{}, sendErr
	}
	a.mu.Lock()
	delete(a.edited, d.Earlier.ID)
	a.mu.Unlock()
	return *d.Earlier, nil
}

// lastLine says in one line how a task ended.
func (a *Adapter) lastLine(ctx context.Context, d bot.Delivery) string {
	word := map[bot.TaskState]string{
		bot.TaskDone: "✅ Done", bot.TaskFailed: "⚠️ Failed", bot.TaskCancelled: "🛑 Cancelled",
		bot.TaskRefused: "🚫 Refused", bot.TaskWaiting: "💬 Waiting for your answer",
	}[d.State]
	parts := []string{word}
	if tasks := a.shown(); tasks != nil {
		if t, err := tasks.Task(ctx, d.Task); err == nil {
			if !t.Started.IsZero() && t.Ended.After(t.Started) {
				parts[0] += " in " + duration(t.Ended.Sub(t.Started))
			}
			if t.Outcome != nil {
				parts = append(parts, spent(t.Outcome)...)
			}
		}
	}
	if url := a.opts.TaskURL(d.Task); url != "" {
		parts = append(parts, "<"+url+"|details>")
	}
	return strings.Join(parts, " · ")
}

// spent lists what an outcome cost, leaving out what is zero.
func spent(o *bot.Outcome) (parts []string) {
	if o.Partial {
		parts = append(parts, "partial")
	}
	if n := len(o.Provenance.Programs); n > 0 {
		parts = append(parts, plural(n, "program"))
	}
	if n := o.Usage.InputTokens + o.Usage.OutputTokens; n > 0 {
		parts = append(parts, thousands(n)+" tokens")
	}
	if o.Usage.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", max(o.Usage.CostUSD, 0.01)))
	}
	return parts
}

// progressBlocks shows a running or waiting task: its plan with ticks, the step
// it is at, the time taken, and a way to stop it.
func progressBlocks(task string, p bot.Progress, now time.Time) (text string, blocks []slack.Block) {
	if p.State == bot.TaskQueued {
		text = "⏳ In the queue; this one is next."
		if p.Position > 0 {
			text = fmt.Sprintf("⏳ In the queue, %s before this one.", plural(p.Position, "task"))
		}
	} else {
		text = "⏳ " + render.Inert(render.Cut(orElse(p.Now, "Working on it"), maxItem), maxItem+20)
	}
	lines := []string{text}
	if p.State != bot.TaskQueued && len(p.Todo) > 0 {
		lines = append(todoLines(p.Todo), text)
	}
	if !p.Started.IsZero() && now.After(p.Started.Add(time.Second)) {
		lines[len(lines)-1] += " · " + duration(now.Sub(p.Started))
	}
	section := slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, cutLines(lines, 2_900), false, false), nil, nil)
	return text, []slack.Block{section, slack.NewActionBlock("", button("Cancel", actionCancel, press{Task: task}))}
}

// todoLines are the plan with ticks; a long one shows where it is at.
func todoLines(todo []bot.TodoItem) []string {
	lines := make([]string, 0, len(todo))
	for _, item := range todo {
		tick := "☐"
		if item.Done {
			tick = "☑"
		}
		lines = append(lines, tick+" "+render.Inert(render.Cut(strings.ReplaceAll(item.Text, "\n", " "), maxItem), maxItem+50))
	}
	if len(lines) > maxTodo {
		cut := len(lines) - maxTodo
		lines = append([]string{fmt.Sprintf("… %d earlier", cut)}, lines[cut:]...)
	}
	return lines
}

// cutLines joins lines from the last one backwards, as many as fit.
func cutLines(lines []string, limit int) string {
	at, room := len(lines), limit
	for at > 0 && len([]rune(lines[at-1]))+1 <= room {
		at--
		room -= len([]rune(lines[at])) + 1
	}
	return strings.Join(lines[at:], "\n")
}

// duration shows a time taken as people read it.
func duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
