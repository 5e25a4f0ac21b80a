package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// offers are the buttons under the answer of an ended task, in their order: each
// says whether it is of use there.
func offers() []func(bot.Task, []bot.Step) (slack.BlockElement, bool) {
	return []func(bot.Task, []bot.Step) (slack.BlockElement, bool){offerRetry, offerCode}
}

// offerRetry does a request again, unless it was deleted.
func offerRetry(t bot.Task, _ []bot.Step) (slack.BlockElement, bool) {
	return button("Retry", actionRetry, press{Task: t.ID}), !t.Forgotten()
}

// offerCode shows the programs, where there are any.
func offerCode(t bot.Task, steps []bot.Step) (slack.BlockElement, bool) {
	ran := slices.ContainsFunc(steps, func(s bot.Step) bool { return s.Kind == bot.StepProgram })
	return button("Show code", actionCode, press{Task: t.ID}), ran && t.State != bot.TaskCancelled
}

// deletedRoot reports whether a delivery tells of the end of a request that was
// deleted and began its thread: there is no place left to tell it.
func (a *Adapter) deletedRoot(ctx context.Context, at address, d bot.Delivery) bool {
	tasks := a.shown()
	if d.State != bot.TaskCancelled || tasks == nil {
		return false
	}
	t, err := tasks.Task(ctx, d.Task)
	return err == nil && t.Forgotten() && strings.HasSuffix(t.Event.Source, "/"+at.Thread)
}

// below are the buttons under a message.
func (a *Adapter) below(ctx context.Context, d bot.Delivery) []slack.Block {
	if d.Question != nil {
		if block := choices(d); block != nil {
			return []slack.Block{block}
		}
		return nil
	}
	tasks := a.shown()
	if d.Kind != bot.DeliverAnswer || d.Task == "" || tasks == nil || !d.State.Final() || d.State == bot.TaskRefused {
		return nil
	}
	t, err := tasks.Task(ctx, d.Task)
	var steps []bot.Step
	if err == nil {
		steps, err = tasks.Steps(ctx, d.Task)
	}
	if err != nil {
		a.log.Info("an answer has no buttons", "task", d.Task, "error", err)
		return nil
	}
	var elements []slack.BlockElement
	for _, offer := range offers() {
		if e, ok := offer(t, steps); ok {
			elements = append(elements, e)
		}
	}
	elements = append(elements, a.offerReports(t, steps)...)
	if len(elements) == 0 {
		return nil
	}
	return []slack.Block{slack.NewActionBlock("", elements...)}
}

// offer puts a button under a request that was made too long ago to be run
// unasked. A thread in which we spoke since then has been taken care of.
func (in *inbox) offer(ctx context.Context, m message, at time.Time) error {
	if ok, _ := in.a.allowed(m.team, m.Channel, m.User, m.direct(), m.external); !ok {
		return nil
	}
	self, answered := in.a.whoami(), false
	err := in.a.eachReply(ctx, m.Channel, m.root(), m.TS, func(one slack.Message) bool {
		answered = answered || one.BotID == self.bot && one.Timestamp > m.TS
		return !answered
	})
	if err != nil || answered {
		return err
	}
	text := fmt.Sprintf("I was away when you asked this, %s ago. Shall I run it now?", duration(in.a.clock.Now().Sub(at)))
	_, err = in.a.post(ctx, post{
		at: address{Channel: m.Channel, Thread: m.root()}, text: text, plain: text, delivery: "offer:" + in.a.key(m),
		blocks: []slack.Block{
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil),
			slack.NewActionBlock("", button("Run now", actionRun, press{User: m.User, TS: m.TS, Root: m.root()})),
		},
	})
	return err
}

// offerEdited asks the author of a request whose text changed after it was
// begun whether the new text is to be run.
func (in *inbox) offerEdited(ctx context.Context, m message, ticket bot.Ticket) {
	tasks := in.a.shown()
	if ticket.Task == "" || tasks == nil {
		return
	}
	t, err := tasks.Task(ctx, ticket.Task)
	text := plainText(m.Text, in.a.whoami().user)
	if err != nil || t.Attempts == 0 || t.Event.Text == text || !in.a.told.first("edited/"+in.a.key(m)+"/"+m.Edited.TS, in.a.clock.Now()) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	in.work.Go(func() {
		line := "You changed your request after I had begun. Shall I run it as it reads now?"
		in.a.whisper(ctx, m.Channel, m.root(), m.User, line,
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, line, false, false), nil, nil),
			slack.NewActionBlock("", button("Run edited", actionEdited, press{User: m.User, TS: m.TS, Root: m.root()})))
	})
}

// runNow submits a request that was offered, as its message reads now.
func (in *inbox) runNow(ctx context.Context, cb slack.InteractionCallback, action string, p press) error {
	at := in.pressedAt(cb)
	m, err := in.a.lookUp(ctx, at.Channel, p.Root, p.TS)
	if err != nil {
		in.respond(ctx, cb.ResponseURL, "I cannot find that message any more. Please ask again.", false)
		return nil
	}
	m.team, m.enterprise = cb.Team.ID, cb.Enterprise.ID
	if directID(m.Channel) {
		m.ChannelType = "im"
	}
	if m.User != cb.User.ID {
		in.respond(ctx, cb.ResponseURL, "Only the person who asked can press this.", false)
		return nil
	}
	m.Files = in.a.resolve(ctx, m.Files)
	event := in.a.event(m)
	event.Kind, event.Command = bot.EventRequest, bot.Command{}
	if action == actionEdited && m.Edited != nil {
		event.Key += "#run:" + m.Edited.TS
	}
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		in.threadFiles(ctx, m, &event)
	}
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return err
	}
	switch {
	case ticket.Refused != nil:
		in.respond(ctx, cb.ResponseURL, ticket.Refused.Message, false)
	case action == actionRun:
		in.takeBack(ctx, at.Channel, at.Message)
		in.reactTo(m.Channel, m.TS)
	default:
		in.respond(ctx, cb.ResponseURL, "", true)
	}
	return nil
}
