package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

const (
	// maxMarkdown is what we put into the markdown block of one message; Slack
	// takes 12,000 characters.
	maxMarkdown = 11_500
	// maxParts bounds the messages of one answer; what is longer is cut and says so.
	maxParts = 5
	// maxFallback is what a notification shows.
	maxFallback = 300
	// maxText is what Slack takes as plain text.
	maxText = 4_000
)

// post is one message that is to stand in Slack.
type post struct {
	at       address
	text     string // for notifications, and where blocks are refused
	plain    string // the whole text without formatting
	blocks   []slack.Block
	delivery string // its mark; empty for none
	part     int
}

// Send implements bot.Channel.
func (a *Adapter) Send(ctx context.Context, d bot.Delivery) (bot.Receipt, error) {
	at, err := addressOf(d.Origin, d.Actor)
	if err != nil {
		return bot.Receipt{}, &bot.SendError{Class: bot.Permanent, Err: err}
	}
	if err := a.know(ctx); err != nil {
		return bot.Receipt{}, repeatable("send", err)
	}
	if at, err = a.reach(ctx, at); err != nil {
		return bot.Receipt{}, unreached(err)
	}
	switch {
	case d.Kind == bot.DeliverFiles:
		return a.sendFiles(ctx, at, d)
	case d.Kind == bot.DeliverProgress:
		return a.endProgress(ctx, at, d)
	case d.State == bot.TaskRefused && at.User != "" && at.Direct == "":
		return a.sendRefusal(ctx, at, d)
	}
	return a.sendMessage(ctx, at, d)
}

// sendMessage posts an answer, question or notice in as few messages as Slack
// takes. Parts that stand already are not posted again.
func (a *Adapter) sendMessage(ctx context.Context, at address, d bot.Delivery) (bot.Receipt, error) {
	if a.deletedRoot(ctx, at, d) {
		a.sweepProgress(ctx, at, d)
		return bot.Receipt{ID: "none", At: a.clock.Now()}, nil
	}
	posts := a.posts(at, d)
	last := &posts[len(posts)-1]
	last.blocks = append(last.blocks, a.below(ctx, d)...)
	have := map[int]string{}
	if len(posts) > 1 {
		var err error
		if have, err = a.parts(ctx, at, d); err != nil {
			return bot.Receipt{}, repeatable("look for parts of the message", err)
		}
	}
	for _, p := range posts {
		if have[p.part] != "" {
			continue
		}
		ts, err := a.post(ctx, p)
		if err != nil {
			return bot.Receipt{}, err
		}
		have[p.part] = ts
	}
	a.stands(ctx, at, d)
	return a.receipt(at, have[0]), nil
}

// stands does what follows once a message stands, be it posted just now or
// found.
func (a *Adapter) stands(ctx context.Context, at address, d bot.Delivery) {
	if d.Kind == bot.DeliverAnswer || d.Kind == bot.DeliverQuestion {
		a.sweepProgress(ctx, at, d)
	}
}

// Fits implements bot.Talk.
func (a *Adapter) Fits(message string) bool {
	return len(render.Markdown(message, nil, maxMarkdown)) <= maxParts
}

// posts renders a delivery, at least one message, without its buttons.
func (a *Adapter) posts(at address, d bot.Delivery) []post {
	text := messageOf(d)
	parts := render.Markdown(text, d.Links, maxMarkdown)
	if len(parts) > maxParts {
		parts = parts[:maxParts]
		parts[maxParts-1] = bot.CloseFence(render.Cut(parts[maxParts-1], maxMarkdown-150)) + "\n\n_The rest of this answer is too long for Slack. Ask me for it as a file._"
	}
	fallback := render.Plain(text, maxFallback)
	var out []post
	for i, part := range parts {
		out = append(out, post{
			at: at, delivery: d.ID, part: i, text: fallback, plain: render.Plain(part, maxText),
			blocks: []slack.Block{slack.NewMarkdownBlock("", part)},
		})
	}
	return out
}

// messageOf is the Markdown of a delivery: its message, its question and the
// files that are not delivered.
func messageOf(d bot.Delivery) string {
	text := strings.TrimSpace(d.Message)
	if d.Question != nil && !strings.Contains(text, d.Question.Text) {
		text = strings.TrimSpace(text + "\n\n" + d.Question.Text)
	}
	if d.Question != nil {
		text += spelledOut(d.Question)
	}
	if len(d.Undelivered) > 0 {
		text += "\n\nNot delivered:"
		for _, u := range d.Undelivered {
			text += fmt.Sprintf("\n- `%s`: %s", strings.ReplaceAll(u.Name, "`", "'"), u.Reason)
		}
	}
	if text == "" {
		text = "Done."
	}
	return text
}

// post posts one message and returns its ts. When Slack does not take its
// blocks, the text goes alone: an answer that looks plain is not lost.
func (a *Adapter) post(ctx context.Context, p post) (string, error) {
	options := func(text string, blocks []slack.Block) []slack.MsgOption {
		out := []slack.MsgOption{slack.MsgOptionText(text, false), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl()}
		if p.at.Thread != "" {
			out = append(out, slack.MsgOptionTS(p.at.Thread))
		}
		if p.delivery != "" {
			out = append(out, slack.MsgOptionMetadata(a.markOf(p.delivery, p.part)))
		}
		if len(blocks) > 0 {
			out = append(out, slack.MsgOptionBlocks(blocks...))
		}
		return out
	}
	_, ts, err := a.api().PostMessageContext(ctx, p.at.Channel, options(p.text, p.blocks)...)
	switch code(err) {
	case "invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long":
		a.log.Warn("Slack refused the blocks of a message; it is sent as plain text", "delivery", p.delivery, "error", code(err))
		_, ts, err = a.api().PostMessageContext(ctx, p.at.Channel, options(p.plain, nil)...)
	}
	return ts, classify("post message", err)
}

// sendRefusal shows to the asker alone why a task was refused. Showing it twice
// does no harm, so a lost answer counts as not sent.
func (a *Adapter) sendRefusal(ctx context.Context, at address, d bot.Delivery) (bot.Receipt, error) {
	a.unreact(ctx, d)
	options := []slack.MsgOption{slack.MsgOptionText(render.Inert(d.Message, maxText), false)}
	if strings.Contains(d.Origin.Link, "?thread_ts=") {
		// Asked in a thread. Outside of one Slack would show it nowhere.
		options = append(options, slack.MsgOptionTS(at.Thread))
	}
	ts, err := a.api().PostEphemeralContext(ctx, at.Channel, at.User, options...)
	if err != nil {
		return bot.Receipt{}, classify("post refusal", err)
	}
	return bot.Receipt{ID: ts, At: a.clock.Now()}, nil
}

// whisper shows text to one person alone. It is best effort.
func (a *Adapter) whisper(ctx context.Context, channel, thread, user, text string, blocks ...slack.Block) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := []slack.MsgOption{slack.MsgOptionText(render.Inert(text, maxText), false)}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
	}
	if len(blocks) > 0 {
		options = append(options, slack.MsgOptionBlocks(blocks...))
	}
	if _, err := a.api().PostEphemeralContext(ctx, channel, user, options...); err != nil {
		a.log.Info("somebody could not be told", "channel", channel, "error", explain(err))
	}
}

// Find implements bot.Channel.
func (a *Adapter) Find(ctx context.Context, d bot.Delivery) (bot.Receipt, bool, error) {
	at, err := addressOf(d.Origin, d.Actor)
	if err != nil {
		return bot.Receipt{}, false, nil
	}
	if err := a.know(ctx); err != nil {
		return bot.Receipt{}, false, err
	}
	if at, err = a.reach(ctx, at); err != nil {
		return bot.Receipt{}, false, err
	}
	switch {
	case d.Kind == bot.DeliverFiles:
		return a.findFiles(ctx, at, d, lookWait)
	case d.Kind == bot.DeliverProgress || d.State == bot.TaskRefused && at.Direct == "":
		return bot.Receipt{}, false, nil // an edit and a whisper may be repeated
	}
	have, err := a.parts(ctx, at, d)
	if err != nil {
		return bot.Receipt{}, false, err
	}
	for i := range a.posts(at, d) {
		if have[i] == "" {
			return bot.Receipt{}, false, nil
		}
	}
	a.stands(ctx, at, d)
	return a.receipt(at, have[0]), true, nil
}

// parts finds the messages of a delivery that stand already, by their marks.
func (a *Adapter) parts(ctx context.Context, at address, d bot.Delivery) (map[int]string, error) {
	have := map[int]string{}
	oldest := tsOf(d.Created.Add(-overlap))
	look := func(one slack.Message) bool {
		if part, ok := a.partOf(one, d.ID); ok {
			have[part] = one.Timestamp
		}
		return true
	}
	if at.Thread != "" {
		return have, a.eachReply(ctx, at.Channel, at.Thread, oldest, look)
	}
	cursor := ""
	for {
		var page *slack.GetConversationHistoryResponse
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			page, err = a.api().GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
				ChannelID: at.Channel, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read history: %w", explain(err))
		}
		for _, one := range page.Messages {
			look(one)
		}
		if cursor = page.ResponseMetaData.NextCursor; cursor == "" {
			return have, nil
		}
	}
}

// receipt is the proof that a message stands at ts.
func (a *Adapter) receipt(at address, ts string) bot.Receipt {
	link := ""
	if url := a.whoami().url; url != "" && ts != "" {
		link = url + "archives/" + at.Channel + "/p" + strings.ReplaceAll(ts, ".", "")
	}
	return bot.Receipt{ID: ts, Link: link, At: timeOf(ts, a.clock.Now()), Detail: at.Channel}
}
