package slack

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

// slash handles /sandpiper: commands at once, requests as soon as they have a
// thread.
func (in *inbox) slash(run context.Context, raw json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeout(run, handleTimeout)
	defer cancel()
	var c slack.SlashCommand
	if err := json.Unmarshal(raw, &c); err != nil {
		in.a.log.Warn("a slash command could not be read", "error", err)
		return nil, nil
	}
	team := in.a.teamOf(c.TeamID)
	direct := directID(c.ChannelID)
	if ok, reason := in.a.allowed(c.TeamID, c.ChannelID, c.UserID, direct, false); !ok {
		return whispered(reason), nil
	}
	at := address{Enterprise: c.EnterpriseID, Team: team, Channel: c.ChannelID, User: c.UserID}
	event := bot.Event{
		Key: Name + ":slash/" + c.TriggerID, Kind: bot.EventRequest, Actor: in.a.actor(c.TeamID, c.UserID),
		Text: plainText(c.Text, in.a.whoami().user), NeedsRight: true, Inline: true, Received: in.a.clock.Now(),
	}
	event.Actor.Name = c.UserName
	if command, ok := in.a.command(event.Text, 0); ok {
		event.Kind, event.Command = bot.EventCommand, command
		event.Origin = in.a.origin(at, direct)
		ticket, err := in.submit(ctx, event)
		if err != nil {
			in.a.log.Warn("a slash command was not accepted", "error", err)
			return whispered("Something went wrong on my side. Please try again in a moment."), nil
		}
		return whispered(replyOf(ticket)), nil
	}
	event.Origin = in.a.origin(at, direct)
	return whispered(in.ask(run, c.TriggerID, event, c.ResponseURL)), nil
}

// noRoom says why the request's message could not be posted.
func noRoom(err error) string {
	switch code(err) {
	case "not_in_channel", "channel_not_found":
		return "I am not in this channel. Invite me (`/invite @sandpiper`) and try again."
	case "is_archived":
		return "This channel is archived."
	}
	return "Slack did not let me post here. Please try again in a moment."
}

// replyOf is what a ticket has for its asker.
func replyOf(t bot.Ticket) string {
	if t.Refused != nil {
		return t.Refused.Message
	}
	return t.Reply
}

// whispered is an acknowledgement that shows text to the person alone; nil for none.
func whispered(text string) any {
	if text == "" {
		return nil
	}
	return map[string]string{"response_type": "ephemeral", "text": render.Inert(text, maxText)}
}

// takeBack deletes a message of ours that has become pointless.
func (in *inbox) takeBack(ctx context.Context, channel, ts string) {
	ctx = context.WithoutCancel(ctx)
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if _, _, err := in.a.api().DeleteMessageContext(ctx, channel, ts); err != nil && code(err) != "message_not_found" {
			in.a.log.Info("a message was not taken back", "error", explain(err))
		}
	})
}

// analyse handles the message shortcut: the message's files, and its text where
// its author may ask too.
func (in *inbox) analyse(ctx context.Context, cb slack.InteractionCallback) error {
	m := fromAPI(cb.Message, cb.Channel.ID)
	m.team, m.enterprise = cb.Team.ID, cb.Enterprise.ID
	if directID(m.Channel) {
		m.ChannelType = "im"
	}
	author := m.User
	m.User = cb.User.ID
	if ok, reason := in.a.allowed(m.team, m.Channel, m.User, m.direct(), false); !ok {
		in.respond(ctx, cb.ResponseURL, reason, false)
		return nil
	}
	m.Files = in.a.resolve(ctx, m.Files)
	event := in.a.event(m)
	event.Kind, event.Command, event.Inline = bot.EventRequest, bot.Command{}, true
	event.Key = fmt.Sprintf("%s:shortcut/%s/%s/%s/%s", Name, m.Channel, m.TS, cb.User.ID, cb.ActionTs)
	may, _ := in.a.allowed(m.team, m.Channel, author, m.direct(), false)
	switch {
	case cb.Message.BotID != "" || author == "" || author != m.User && !may || event.Text == "":
		// The text's author needs the right as well; without it only the files count.
		event.Text = "Analyse this."
		event.Source = ""
	case author != m.User:
		at, err := addressOf(event.Origin, event.Actor)
		if err != nil {
			return err
		}
		at.Author, at.Message = author, m.TS
		event.Origin = in.a.origin(at, m.direct())
	}
	if event.Text == "Analyse this." && len(event.Inputs) == 0 {
		in.respond(ctx, cb.ResponseURL, "There is no file in this message that I could look at.", false)
		return nil
	}
	ticket, err := in.submit(ctx, event)
	if err != nil {
		return err
	}
	if ticket.Refused != nil {
		in.respond(ctx, cb.ResponseURL, ticket.Refused.Message, false)
		return nil
	}
	in.reactTo(m.Channel, m.TS)
	return nil
}
