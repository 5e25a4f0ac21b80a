package slack

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

// The ids of what makes reports and schedules: two buttons, three windows.
const (
	actionSave      = "sandpiper_save"
	actionSchedule  = "sandpiper_schedule"
	viewSave        = "sandpiper_save_view"
	viewSchedule    = "sandpiper_schedule_view"
	viewConfirm     = "sandpiper_schedule_confirm"
	maxViewMetadata = 3_000
	maxViewText     = 2_900
	// maxWhat is how much of a request the window begins with: the rest would
	// be cut off in silence, or not fit the next window.
	maxWhat = 2_000
)

// ScheduleForm is what a person filled into the window "Schedule…".
type ScheduleForm struct {
	What  string `json:"what"`           // the request, or a saved report's name
	When  string `json:"when"`           // a cron line or words
	Zone  string `json:"zone"`           // IANA name
	Files string `json:"files"`          // pattern of the newest file of a channel; empty for none
	From  string `json:"from,omitempty"` // id of that channel; empty for where it was asked
	To    string `json:"to"`             // id of the channel
}

// ScheduleFormCommand is the command that turns a confirmed form on: its
// arguments are the form as JSON. No text of a person is taken for it.
const ScheduleFormCommand = "schedule-form"

// Scheduling is what the adapter needs to offer schedules.
type Scheduling interface {
	// Preview says in words what a form was understood as, with its next three
	// times. A *FieldError is shown beside its field.
	Preview(ctx context.Context, event bot.Event, form ScheduleForm) (string, error)
	// Mine lists a person's schedules, one line each, as Markdown.
	Mine(ctx context.Context, actor bot.Actor) ([]string, error)
}

// FieldError is what is wrong with one field of a form: "what", "when", "zone",
// "files" or "to".
type FieldError struct{ Field, Message string }

// Error implements error.
func (e *FieldError) Error() string { return e.Message }

// Schedule gives the adapter what it offers schedules with. Call it before Run.
func (a *Adapter) Schedule(s Scheduling) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduling = s
}

func (a *Adapter) schedules() Scheduling {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.scheduling
}

// offerReports are the buttons under an answer that can be had again.
func (a *Adapter) offerReports(t bot.Task, steps []bot.Step) []slack.BlockElement {
	if a.schedules() == nil || t.State != bot.TaskDone || t.Outcome == nil || t.Outcome.Partial || t.Event.Options.Schedule != "" || t.Forgotten() {
		return nil
	}
	var out []slack.BlockElement
	for _, s := range steps {
		if s.Kind == bot.StepProgram {
			out = append(out, button("Save as report", actionSave, press{Task: t.ID}))
			break
		}
	}
	return append(out, button("Schedule…", actionSchedule, press{Task: t.ID}))
}

// windowState is a window's private metadata: what it is about and where it was
// opened.
type windowState struct {
	Task    string        `json:"task,omitempty"`
	Address string        `json:"address"`
	Private bool          `json:"private,omitempty"`
	Form    *ScheduleForm `json:"form,omitempty"`
}

func plainObject(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
}

// field is a text field of a window. Its id is that of its block.
func field(id, label, hint, initial string, optional bool) *slack.InputBlock {
	element := slack.NewPlainTextInputBlockElement(nil, id)
	element.InitialValue = initial
	var below *slack.TextBlockObject
	if hint != "" {
		below = plainObject(hint)
	}
	b := slack.NewInputBlock(id, plainObject(label), below, element)
	b.Optional = optional
	return b
}

// lines lets a text field have several lines.
func lines(b *slack.InputBlock) *slack.InputBlock {
	if element, ok := b.Element.(*slack.PlainTextInputBlockElement); ok {
		element.Multiline = true
	}
	return b
}

// openReports opens the window of a button.
func (in *inbox) openReports(ctx context.Context, cb slack.InteractionCallback, action string, p press) {
	tasks := in.a.shown()
	if tasks == nil {
		return
	}
	t, err := tasks.Task(ctx, p.Task)
	if err != nil {
		in.respond(ctx, cb.ResponseURL, "This task is kept no longer.", false)
		return
	}
	at := in.pressedAt(cb)
	raw, _ := json.Marshal(at) // strings only
	state := windowState{Task: t.ID, Address: string(raw), Private: directID(at.Channel)}
	view := slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: viewSave, Title: plainObject("Save as report"), Submit: plainObject("Save"), Close: plainObject("Cancel"),
		Blocks: slack.Blocks{BlockSet: []slack.Block{
			field("name", "Name", "Lower-case letters, digits and dashes. By this name you run it again on new files.", nameOf(t.Title), false),
		}},
	}
	if action == actionSchedule {
		view = in.scheduleWindow(ctx, t, at)
	}
	if view.PrivateMetadata, err = state.text(); err == nil {
		_, err = in.a.api().OpenViewContext(ctx, cb.TriggerID, view)
	}
	if err != nil {
		in.a.log.Info("a window did not open", "error", explain(err))
		in.respond(ctx, cb.ResponseURL, "Slack did not open the window. Please press again.", false)
	}
}

// errTooLong is a window whose state Slack would not keep.
var errTooLong = errors.New("the window's state is too long")

func (s windowState) text() (string, error) {
	raw, err := json.Marshal(s)
	if err == nil && len([]rune(string(raw))) > maxViewMetadata {
		err = errTooLong
	}
	return string(raw), err
}

// scheduleWindow asks for when, where and of what.
func (in *inbox) scheduleWindow(ctx context.Context, t bot.Task, at address) slack.ModalViewRequest {
	zone := in.a.Zone(ctx, t.Event.Actor)
	if own := in.a.Zone(ctx, in.a.actor(at.Team, at.User)); own != "" {
		zone = own
	}
	files := ""
	for _, input := range t.Inputs {
		files = patternOf(input.Name)
		break
	}
	to := slack.NewOptionsSelectBlockElement(slack.OptTypeConversations, nil, "to")
	to.InitialConversation = at.Channel
	where := slack.NewOptionsSelectBlockElement(slack.OptTypeConversations, nil, "from")
	if !directID(at.Channel) {
		where.InitialConversation = at.Channel
	}
	from := slack.NewInputBlock("from", plainObject("Files from"), plainObject("A channel that you and I are members of."), where)
	from.Optional = true
	what := t.Event.Options.Skill
	if what == "" {
		what = render.Cut(t.Event.Text, maxWhat)
	}
	return slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: viewSchedule, Title: plainObject("Schedule"), Submit: plainObject("Next"), Close: plainObject("Cancel"),
		Blocks: slack.Blocks{BlockSet: []slack.Block{
			lines(field("what", "What", "A request in your own words, or the name of a saved report.", what, false)),
			field("when", "When", "For instance: every Monday at 9, or: on the first of the month at 8:30. A cron line will do, too.", "every Monday at 9", false),
			field("zone", "Time zone", "For instance: Europe/Berlin.", zone, false),
			field("files", "Files", "Each run takes the newest file with such a name; * stands for anything. Leave it empty for none.", files, true),
			from,
			slack.NewInputBlock("to", plainObject("Where the answers go"), nil, to),
		}},
	}
}

var (
	notNameRunes = regexp.MustCompile(`[^a-z0-9]+`)
	digitRuns    = regexp.MustCompile(`\d+(?:[-_.]\d+)*`)
	reportName   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// nameOf makes a report's name of a request's first words.
func nameOf(title string) string {
	name := strings.Trim(notNameRunes.ReplaceAllString(strings.ToLower(title), "-"), "-")
	if len(name) > 32 {
		name = strings.Trim(name[:32], "-")
	}
	return name
}

// patternOf makes a pattern of a file's name: its numbers are another week's
// next time.
func patternOf(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		dot = len(name)
	}
	return strings.NewReplacer("[", "?", "]", "?", "/", "?", `\`, "?").Replace(digitRuns.ReplaceAllString(name[:dot], "*") + name[dot:])
}

// submitted handles a window that was filled in. What it returns is the
// acknowledgement: errors beside fields, the next window, or nothing.
func (in *inbox) submitted(ctx context.Context, cb slack.InteractionCallback) (any, error) {
	var state windowState
	if err := json.Unmarshal([]byte(cb.View.PrivateMetadata), &state); err != nil {
		in.a.log.Warn("a window's state could not be read", "view", cb.View.CallbackID)
		return nil, nil
	}
	origin := bot.Origin{Adapter: Name, Address: state.Address, Private: state.Private}
	at, err := addressOf(origin, in.a.actor(cb.Team.ID, cb.User.ID))
	if err != nil {
		return nil, nil //nolint:nilerr // our own window never holds such a one
	}
	at.Message, at.User = at.Thread, cb.User.ID
	event := bot.Event{
		Key: Name + ":view/" + cb.View.ID + "/" + cb.View.CallbackID, Kind: bot.EventCommand, Actor: in.a.actor(cb.Team.ID, cb.User.ID),
		Origin: in.a.origin(at, state.Private), NeedsRight: true, Received: in.a.clock.Now(),
	}
	event.Actor.Name = cb.User.Name
	switch cb.View.CallbackID {
	case viewSave:
		name := strings.TrimSpace(valueOf(cb, "name"))
		if !reportName.MatchString(name) || len(name) > 64 {
			return refusedField("name", "Use lower-case letters, digits and single dashes, at most 64."), nil
		}
		event.Command = bot.Command{Name: "save", Args: name, Task: state.Task}
	case viewSchedule:
		return in.preview(ctx, cb, state, event), nil
	case viewConfirm:
		if state.Form == nil {
			return nil, nil
		}
		form, err := json.Marshal(state.Form)
		if err != nil {
			return nil, nil //nolint:nilerr // strings only
		}
		event.Command = bot.Command{Name: ScheduleFormCommand, Args: string(form), Task: state.Task}
	default:
		return nil, nil
	}
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return nil, err
	}
	if ticket.Refused != nil && !ticket.Refused.Told {
		in.work.Go(func() {
			in.a.whisper(context.WithoutCancel(ctx), at.Channel, at.Thread, cb.User.ID, ticket.Refused.Message)
		})
	}
	return slack.NewClearViewSubmissionResponse(), nil
}

// previewTime bounds the look before the acknowledgement.
const previewTime = 2500 * time.Millisecond

// preview answers the first window with what was understood, to be confirmed.
func (in *inbox) preview(ctx context.Context, cb slack.InteractionCallback, state windowState, event bot.Event) any {
	scheduling := in.a.schedules()
	if scheduling == nil {
		return refusedField("when", "Schedules are not set up here.")
	}
	form := ScheduleForm{
		What: strings.TrimSpace(valueOf(cb, "what")), When: strings.TrimSpace(valueOf(cb, "when")), Zone: strings.TrimSpace(valueOf(cb, "zone")),
		Files: strings.TrimSpace(valueOf(cb, "files")), From: conversationOf(cb, "from"), To: conversationOf(cb, "to"),
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	text, err := scheduling.Preview(ctx, event, form)
	var wrong *FieldError
	switch {
	case errors.As(err, &wrong):
		return refusedField(wrong.Field, wrong.Message)
	case err != nil:
		in.a.log.Warn("a schedule could not be looked at", "error", err)
		return refusedField("when", "Something went wrong on my side. Please try again in a moment.")
	}
	state.Form = &form
	metadata, err := state.text()
	if err != nil {
		return refusedField("what", "This is too long: save it as a report and schedule that.")
	}
	return slack.NewUpdateViewSubmissionResponse(&slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: viewConfirm, Title: plainObject("Turn this on?"), Submit: plainObject("Turn on"), Close: plainObject("Cancel"),
		PrivateMetadata: metadata,
		Blocks: slack.Blocks{BlockSet: []slack.Block{
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, render.Inert(text, maxViewText), false, false), nil, nil),
		}},
	})
}

// refusedField shows what is wrong beside a field, where no formatting is shown.
func refusedField(id, message string) any {
	message = strings.NewReplacer("`", "", "**", "").Replace(message)
	return slack.NewErrorsViewSubmissionResponse(map[string]string{id: render.Cut(message, 150)})
}

func valueOf(cb slack.InteractionCallback, id string) string {
	if cb.View.State == nil {
		return ""
	}
	return cb.View.State.Values[id][id].Value
}

func conversationOf(cb slack.InteractionCallback, id string) string {
	if cb.View.State == nil {
		return ""
	}
	return cb.View.State.Values[id][id].SelectedConversation
}

// homeSchedules are the lines of the App Home about a person's schedules.
func (a *Adapter) homeSchedules(ctx context.Context, actor bot.Actor) []string {
	scheduling := a.schedules()
	if scheduling == nil {
		return nil
	}
	lines, err := scheduling.Mine(ctx, actor)
	if err != nil {
		a.log.Warn("the App Home has no schedules", "error", err)
		return []string{"_Your schedules cannot be shown at the moment._"}
	}
	if len(lines) == 0 {
		return []string{"_None yet. Press “Schedule…” under an answer, or write: schedule every Monday at 9 …_"}
	}
	for i, line := range lines {
		lines[i] = render.Inert(line, maxViewText)
	}
	return lines[:min(len(lines), homeTasks)]
}
