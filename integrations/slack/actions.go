package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

// The ids of our buttons. Choices carry their number behind the prefix.
const (
	actionCancel = "sandpiper_cancel"
	actionRetry  = "sandpiper_retry"
	actionCode   = "sandpiper_code"
	actionChoice = "sandpiper_choice_"
	actionRun    = "sandpiper_run"        // a request that was missed
	actionEdited = "sandpiper_run_edited" // a request whose text changed
	shortcut     = "analyse"
	maxLabel     = 75
	maxValue     = 2_000 // of a button
	maxChoices   = 20
)

// press is the value of a button.
type press struct {
	Task   string `json:"task,omitempty"`
	Choice string `json:"choice,omitempty"`
	User   string `json:"user,omitempty"` // who alone may press it
	TS     string `json:"ts,omitempty"`   // the message it is about
	Root   string `json:"root,omitempty"`
	// Question is the delivery that a choice answers.
	Question string `json:"question,omitempty"`
}

func button(label, action string, value press) *slack.ButtonBlockElement {
	return slack.NewButtonBlockElement(action, value.encode(), slack.NewTextBlockObject(slack.PlainTextType, render.Cut(label, maxLabel), false, false))
}

// encode is p as a button's value. A choice is cut where it would not fit: one
// value too long and Slack refuses all buttons.
func (p press) encode() string {
	for {
		var out strings.Builder
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false) // six characters for one
		_ = e.Encode(p)        // strings only
		value := strings.TrimSpace(out.String())
		over := utf8.RuneCountInString(value) - maxValue
		if over <= 0 || p.Choice == "" {
			return value
		}
		// An escape takes up to six characters.
		p.Choice = render.Cut(p.Choice, max(1, utf8.RuneCountInString(p.Choice)-max(1, over/6)))
	}
}

// choices are the buttons of a question; only who was asked may press them. It
// is nil where there is nothing to choose.
func choices(d bot.Delivery) *slack.ActionBlock {
	at, _ := addressOf(d.Origin, d.Actor)
	var elements []slack.BlockElement
	for i, c := range buttonable(d.Question) {
		elements = append(elements, button(c, fmt.Sprint(actionChoice, i), press{Task: d.Task, Choice: c, User: at.User, Question: d.ID}))
	}
	if len(elements) == 0 {
		return nil
	}
	return slack.NewActionBlock("", elements...)
}

// buttonable are the choices of a question that become buttons.
func buttonable(q *bot.Question) []string {
	var out []string
	for _, c := range q.Choices {
		if strings.TrimSpace(c) != "" && len(out) < maxChoices {
			out = append(out, c)
		}
	}
	return out
}

// spelledOut lists the choices that buttons do not show whole: long ones, and
// those that have none.
func spelledOut(q *bot.Question) string {
	whole := len(buttonable(q)) == len(q.Choices)
	var lines []string
	for _, c := range q.Choices {
		if c = strings.Join(strings.Fields(c), " "); c == "" {
			continue
		}
		whole = whole && utf8.RuneCountInString(c) <= maxLabel
		lines = append(lines, "- "+c)
	}
	if whole || len(lines) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}

// interaction handles a pressed button or a shortcut.
func (in *inbox) interaction(ctx context.Context, raw json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	var cb slack.InteractionCallback
	if err := json.Unmarshal(raw, &cb); err != nil {
		in.a.log.Warn("an interaction could not be read", "error", err)
		return nil, nil
	}
	if cb.Type == slack.InteractionTypeMessageAction && cb.CallbackID == shortcut {
		return nil, in.analyse(ctx, cb)
	}
	if cb.Type == slack.InteractionTypeViewSubmission {
		return in.submitted(ctx, cb)
	}
	if cb.Type != slack.InteractionTypeBlockActions || len(cb.ActionCallback.BlockActions) == 0 {
		return nil, nil
	}
	action := cb.ActionCallback.BlockActions[0]
	if !strings.HasPrefix(action.ActionID, "sandpiper_") {
		return nil, nil
	}
	var p press
	if err := json.Unmarshal([]byte(action.Value), &p); err != nil {
		in.a.log.Warn("a button's value could not be read", "action", action.ActionID)
		return nil, nil
	}
	if no := in.mayPress(ctx, cb, p); no != "" {
		in.respond(ctx, cb.ResponseURL, no, false)
		return nil, nil
	}
	return nil, in.pressed(ctx, cb, action, p)
}

// pressed does what a button says, for somebody who may ask here.
func (in *inbox) pressed(ctx context.Context, cb slack.InteractionCallback, action *slack.BlockAction, p press) error {
	switch {
	case action.ActionID == actionCancel:
		return in.pressCommand(ctx, cb, action, bot.Command{Name: "cancel", Task: p.Task})
	case action.ActionID == actionRetry:
		return in.pressCommand(ctx, cb, action, bot.Command{Name: "retry", Task: p.Task})
	case action.ActionID == actionCode:
		in.showCode(ctx, cb, p)
	case action.ActionID == actionSave, action.ActionID == actionSchedule:
		in.openReports(ctx, cb, action.ActionID, p)
	case action.ActionID == actionRun, action.ActionID == actionEdited:
		return in.runNow(ctx, cb, action.ActionID, p)
	case strings.HasPrefix(action.ActionID, actionChoice):
		return in.choose(ctx, cb, p)
	}
	return nil
}

// pressedAt is the address of the message that a button stands in.
func (in *inbox) pressedAt(cb slack.InteractionCallback) address {
	thread := cb.Container.ThreadTs
	if thread == "" {
		thread = cb.Message.ThreadTimestamp
	}
	if thread == "" {
		thread = cb.Container.MessageTs
	}
	return address{
		Enterprise: cb.Enterprise.ID, Team: in.a.teamOf(cb.Team.ID), Channel: cb.Channel.ID, Thread: thread,
		Message: cb.Container.MessageTs, User: cb.User.ID,
	}
}

func directID(channel string) bool { return strings.HasPrefix(channel, "D") }

// mayPress says why somebody may not press a button, "" when they may. A button
// meant for one person only is refused to all others.
func (in *inbox) mayPress(ctx context.Context, cb slack.InteractionCallback, p press) string {
	if p.User != "" && p.User != cb.User.ID {
		return "Only the person who asked can press this."
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	at := in.pressedAt(cb)
	d, err := in.a.Authorize(ctx, bot.Event{Origin: in.a.origin(at, directID(at.Channel)), Actor: in.a.actor(at.Team, at.User)})
	switch {
	case err != nil:
		in.a.log.Info("rights could not be looked up for a button", "error", err)
		return "Slack did not tell me in time whether you may do this. Please press again."
	case !d.Allowed:
		return d.Reason
	}
	return ""
}

// pressCommand submits a command and shows its reply to who pressed.
func (in *inbox) pressCommand(ctx context.Context, cb slack.InteractionCallback, action *slack.BlockAction, command bot.Command) error {
	at := in.pressedAt(cb)
	ticket, err := in.submit(ctx, bot.Event{
		Key:  fmt.Sprintf("%s:press/%s/%s/%s/%s", Name, at.Channel, at.Message, at.User, action.ActionTs),
		Kind: bot.EventCommand, Command: command, Origin: in.a.origin(at, directID(at.Channel)), Actor: in.a.actor(at.Team, at.User),
		Inline: true, Received: in.a.clock.Now(),
	})
	if err != nil {
		return err
	}
	switch {
	case ticket.Refused != nil:
		in.respond(ctx, cb.ResponseURL, ticket.Refused.Message, false)
	case ticket.Reply != "":
		in.respond(ctx, cb.ResponseURL, ticket.Reply, false)
	}
	return nil
}

// choose takes a pressed choice as the answer to a question, if it still waits
// for one.
//
// The question is the key: of two presses at once one is the answer.
func (in *inbox) choose(ctx context.Context, cb slack.InteractionCallback, p press) error {
	if tasks := in.a.shown(); tasks != nil {
		if t, err := tasks.Task(ctx, p.Task); err != nil || t.State != bot.TaskWaiting {
			in.respond(ctx, cb.ResponseURL, "This question is not open any more. If you want something else, just ask.", false)
			return nil
		}
	}
	at := in.pressedAt(cb)
	ticket, err := in.submit(ctx, bot.Event{
		Key:  fmt.Sprintf("%s:answer/%s/%s", Name, at.Channel, p.Question),
		Kind: bot.EventRequest, Origin: in.a.origin(at, directID(at.Channel)), Actor: in.a.actor(at.Team, at.User), Text: p.Choice,
		NeedsRight: true, Inline: true, Received: in.a.clock.Now(),
	})
	if err != nil {
		return err
	}
	switch {
	case ticket.Refused != nil:
		in.respond(ctx, cb.ResponseURL, ticket.Refused.Message, false)
	case !ticket.Duplicate:
		in.chosen(ctx, cb, p.Choice)
	}
	return nil
}

// chosen puts the choice where the buttons were.
func (in *inbox) chosen(ctx context.Context, cb slack.InteractionCallback, choice string) {
	blocks := make([]slack.Block, 0, len(cb.Message.Blocks.BlockSet))
	for _, b := range cb.Message.Blocks.BlockSet {
		if _, buttons := b.(*slack.ActionBlock); !buttons {
			blocks = append(blocks, b)
		}
	}
	line := "You chose: " + render.Inert(choice, 200)
	blocks = append(blocks, slack.NewContextBlock("", slack.NewTextBlockObject(slack.MarkdownType, line, false, false)))
	channel, ts, text := cb.Channel.ID, cb.Container.MessageTs, cb.Message.Text
	ctx = context.WithoutCancel(ctx)
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if err := in.a.edit(ctx, channel, ts, text, blocks); err != nil {
			in.a.log.Info("a question still shows its buttons", "error", err)
		}
	})
}

// respond answers an interaction to the person alone; with replace the message
// that was shown to them goes away.
func (in *inbox) respond(ctx context.Context, url, text string, remove bool) {
	if !in.a.ours(url) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := slack.PostWebhookCustomHTTPContext(ctx, url, in.a.http, &slack.WebhookMessage{
			Text: render.Inert(text, maxText), ResponseType: "ephemeral", DeleteOriginal: remove,
		})
		if err != nil {
			in.a.log.Info("an interaction was not answered", "error", withoutURL(err))
		}
	})
}

// showCode opens a window with the programs of a task.
func (in *inbox) showCode(ctx context.Context, cb slack.InteractionCallback, p press) {
	tasks := in.a.shown()
	if tasks == nil {
		return
	}
	steps, err := tasks.Steps(ctx, p.Task)
	if err != nil {
		in.respond(ctx, cb.ResponseURL, "The code of this task is kept no longer.", false)
		return
	}
	_, err = in.a.api().OpenViewContext(ctx, cb.TriggerID, slack.ModalViewRequest{
		Type: slack.VTModal, Title: slack.NewTextBlockObject(slack.PlainTextType, "Programs", false, false),
		Close:  slack.NewTextBlockObject(slack.PlainTextType, "Close", false, false),
		Blocks: slack.Blocks{BlockSet: codeBlocks(steps)},
	})
	if err != nil {
		in.a.log.Info("the window with the code did not open", "error", explain(err))
		in.respond(ctx, cb.ResponseURL, "Slack did not open the window. Please press again.", false)
	}
}

// codeBlocks show programs with their verdicts; code that is no longer shown
// whole says so.
func codeBlocks(steps []bot.Step) []slack.Block {
	const perBlock, perProgram, mostBlocks = 2_500, 10_000, 90
	var blocks []slack.Block
	text := func(s string) {
		blocks = append(blocks, slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, false), nil, nil))
	}
	n := 0
	for _, s := range steps {
		var program bot.Program
		if s.Kind != bot.StepProgram || json.Unmarshal(s.Data, &program) != nil {
			continue
		}
		n++
		if len(blocks) > mostBlocks-6 {
			text("There are more programs than fit here; `sandpiper tasks show` lists them all.")
			break
		}
		text(fmt.Sprintf("*%d. %s* · %s · %s", n, render.Inert(orElse(program.Title, program.Language), 200), render.Inert(program.Verdict, 40), seconds(program.Seconds)))
		for _, part := range render.Code(render.Cut(program.Code, perProgram), perBlock) {
			text(part)
		}
	}
	if n == 0 {
		text("This task ran no program.")
	}
	return blocks
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
