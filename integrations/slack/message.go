package slack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// message is an inner event, as far as we look at it: a message of any subtype,
// an app_mention, an opened App Home or a deleted file.
type message struct {
	Type        string       `json:"type"`
	Subtype     string       `json:"subtype"`
	Channel     string       `json:"channel"`
	ChannelType string       `json:"channel_type"`
	User        string       `json:"user"`
	BotID       string       `json:"bot_id"`
	Text        string       `json:"text"`
	TS          string       `json:"ts"`
	ThreadTS    string       `json:"thread_ts"`
	DeletedTS   string       `json:"deleted_ts"`
	Hidden      bool         `json:"hidden"`
	Files       []slack.File `json:"files"`
	Edited      *edited      `json:"edited"`
	Message     *message     `json:"message"`
	Previous    *message     `json:"previous_message"`
	FileID      string       `json:"file_id"`
	Tab         string       `json:"tab"`
	UserTeam    string       `json:"user_team"`
	LatestReply string       `json:"latest_reply"`

	team, enterprise string
	external         bool // the channel is shared with another organization
	replayed         bool // read from history, not sent by a socket
}

type edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// kind is what a message means to us.
type kind int

const (
	isNothing    kind = iota
	isRequest         // a message event that addresses us
	isMention         // app_mention, the twin of a request
	isEdit            // the text of a message that addresses us changed
	isDelete          // a message is gone
	isFileDelete      // a file is gone
	isHome            // somebody opened the App Home
)

// meaning is what classify found, and why when it is nothing.
type meaning struct {
	kind kind
	why  string
}

// classify decides what m means. Our own messages are sorted out before
// anything else, then other bots, then what people did not say to us.
func (a *Adapter) classify(m message) meaning {
	self := a.whoami()
	switch {
	case m.User == self.user && m.User != "", m.BotID == self.bot && m.BotID != "":
		return meaning{why: "our own"}
	case m.Type == "app_home_opened":
		if m.Tab == "" || m.Tab == "home" {
			return meaning{kind: isHome}
		}
		return meaning{why: "another tab"}
	case m.Type == "file_deleted":
		return meaning{kind: isFileDelete}
	case m.Type != "message" && m.Type != "app_mention":
		return meaning{why: "another event"}
	case m.Subtype == "message_changed":
		return a.classifyChange(m)
	case m.Subtype == "message_deleted":
		return classifyDeletion(m, self)
	case m.BotID != "" || m.User == "" || m.User == "USLACKBOT":
		return meaning{why: "a bot's"}
	case m.Hidden:
		return meaning{why: "hidden"}
	case !slices.Contains([]string{"", "file_share", "thread_broadcast"}, m.Subtype):
		return meaning{why: "subtype " + m.Subtype}
	case m.Type == "app_mention" && m.Edited != nil:
		return meaning{why: "an edit, which message_changed tells"}
	case m.Type == "app_mention":
		return meaning{kind: isMention}
	case m.direct():
		return meaning{kind: isRequest}
	case mentions(m.Text, self.user):
		return meaning{kind: isRequest}
	}
	return meaning{why: "not addressed to us"}
}

// classifyChange sorts out changes that people did not make: previews of links,
// counts of replies, edits of our own messages.
func (a *Adapter) classifyChange(m message) meaning {
	self := a.whoami()
	switch now := m.Message; {
	case now == nil:
		return meaning{why: "a change of nothing"}
	case now.User == self.user || now.BotID != "" || now.User == "":
		return meaning{why: "a bot's"}
	case now.Subtype == "tombstone":
		return meaning{kind: isDelete}
	case m.Previous != nil && m.Previous.Text == now.Text:
		return meaning{why: "the text did not change"}
	case now.Edited == nil:
		return meaning{why: "nobody edited it"}
	case m.direct() || mentions(now.Text, self.user):
		return meaning{kind: isEdit}
	}
	return meaning{why: "not addressed to us"}
}

func classifyDeletion(m message, self identity) meaning {
	switch was := m.Previous; {
	case was != nil && (was.User == self.user || was.BotID != ""):
		return meaning{why: "a bot's"}
	case m.DeletedTS == "" && was == nil:
		return meaning{why: "a deletion of nothing"}
	}
	return meaning{kind: isDelete}
}

// direct reports whether m was said to us alone.
func (m message) direct() bool {
	return m.ChannelType == "im" || m.ChannelType == "" && strings.HasPrefix(m.Channel, "D")
}

// root is the ts of the thread that m stands in or would begin.
func (m message) root() string {
	if m.ThreadTS != "" {
		return m.ThreadTS
	}
	return m.TS
}

// lane is what m must stay in order with: its thread.
func (m message) lane() string {
	inner := m
	switch {
	case m.Message != nil:
		inner = *m.Message
	case m.Previous != nil:
		inner = *m.Previous
	}
	return m.Channel + "/" + inner.root() + m.FileID
}

// key is m's identity for the core.
func (a *Adapter) key(m message) string {
	return keyOf(m.enterprise, a.teamOf(m.team), m.Channel, m.TS)
}

func keyOf(enterprise, team, channel, ts string) string {
	return strings.Join([]string{Name + ":" + enterprise, team, channel, ts}, "/")
}

// teamOf is the workspace an event counts to. With an ordinary install that is
// always ours; only an organization's install has several.
func (a *Adapter) teamOf(team string) string {
	self := a.whoami()
	if strings.HasPrefix(self.team, "E") && team != "" {
		return team
	}
	return self.team
}

// address is where a request came from and where its answer goes: the adapter's
// part of an Origin. What goes to one thread has one address, whoever asked, so
// that the outbox keeps it in order.
type address struct {
	Enterprise string `json:"enterprise,omitempty"`
	Team       string `json:"team,omitempty"`
	Channel    string `json:"channel"`
	Thread     string `json:"thread,omitempty"` // ts of the root; empty posts to the channel
	Message    string `json:"-"`                // ts of the request itself, where it is known
	User       string `json:"-"`                // who asked; the Actor says it
	// Author wrote the text, where that is somebody else: a message somebody
	// ran the shortcut on.
	Author   string `json:"author,omitempty"`
	External bool   `json:"external,omitempty"`
	// Direct names a person instead of a channel: the direct message with them,
	// or, where there can be none, the channel Otherwise.
	Direct    string `json:"direct,omitempty"`
	Otherwise string `json:"otherwise,omitempty"`
}

// addressOf reads an Origin and who asked there. One without an address, as of a
// schedule's destination, names its channel by its place.
func addressOf(o bot.Origin, by bot.Actor) (address, error) {
	user, _ := userOf(by)
	at := address{User: user}
	if o.Address == "" {
		place, ok := strings.CutPrefix(o.Place, Name+":")
		if !ok || place == "" {
			return at, fmt.Errorf("read origin: %q names no Slack channel", o.Place)
		}
		at.Channel = place[strings.LastIndexByte(place, '/')+1:]
		return at, nil
	}
	if err := json.Unmarshal([]byte(o.Address), &at); err != nil {
		return at, fmt.Errorf("read origin: %w", err)
	}
	return at, nil
}

// origin makes an Origin of an address.
func (a *Adapter) origin(at address, direct bool) bot.Origin {
	raw, _ := json.Marshal(at) // strings only
	o := bot.Origin{
		Adapter:      Name,
		Conversation: keyOf(at.Enterprise, at.Team, at.Channel, at.Thread),
		Place:        Name + ":" + at.Channel,
		Address:      string(raw),
		Private:      direct,
	}
	if url := a.whoami().url; url != "" {
		o.Link = url + "archives/" + at.Channel + "/p" + strings.ReplaceAll(at.Message, ".", "")
		if at.Thread != at.Message {
			o.Link += "?thread_ts=" + at.Thread + "&cid=" + at.Channel
		}
	}
	return o
}

// actor names a person; people of all workspaces of an organization have one id.
func (a *Adapter) actor(team, user string) bot.Actor {
	return bot.Actor{ID: Name + ":" + a.teamOf(team) + "/" + user}
}

// event makes the core's event of a message that addresses us.
func (a *Adapter) event(m message) bot.Event {
	team := a.teamOf(m.team)
	at := address{Enterprise: m.enterprise, Team: team, Channel: m.Channel, Thread: m.root(), Message: m.TS, User: m.User, External: m.external}
	e := bot.Event{
		Key:        a.key(m),
		Kind:       bot.EventRequest,
		Source:     sourceOf(team, m.Channel, m.TS),
		Origin:     a.origin(at, m.direct()),
		Actor:      a.actor(team, m.User),
		Text:       plainText(m.Text, a.whoami().user),
		Inputs:     a.inputs(m.Files),
		NeedsRight: true,
		// A refusal is shown to its asker alone, which the outbox cannot do.
		Inline:   true,
		Received: timeOf(m.TS, a.clock.Now()),
	}
	if command, ok := a.command(e.Text, len(e.Inputs)); ok {
		e.Kind, e.Command = bot.EventCommand, command
		e.Inline = false
	}
	return e
}

// sourceOf identifies a message or, with an empty channel, a file.
func sourceOf(team, channel, id string) string {
	if channel == "" {
		return Name + ":" + team + "/file/" + id
	}
	return Name + ":" + team + "/" + channel + "/" + id
}

var taskID = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)

// command finds a command in a request: one word, maybe with a task's id. Words
// that begin a sentence are none.
func (a *Adapter) command(text string, files int) (bot.Command, bool) {
	fields := strings.Fields(strings.ToLower(strings.Trim(text, " \n\t.!?")))
	if len(fields) == 0 && files == 0 {
		return bot.Command{Name: "help"}, true
	}
	words := map[string]string{
		"cancel": "cancel", "stop": "cancel", "abort": "cancel", "отмена": "cancel", "стоп": "cancel",
		"status": "status", "статус": "status", "help": "help", "помощь": "help",
		"retry": "retry", "повтори": "retry",
	}
	if files == 0 && len(fields) > 0 && len(fields) <= 2 {
		if name, ok := words[fields[0]]; ok {
			if len(fields) == 1 {
				return bot.Command{Name: name}, true
			}
			if id := strings.ToUpper(fields[1]); taskID.MatchString(id) {
				return bot.Command{Name: name, Task: id}, true
			}
		}
	}
	if a.opts.Command != nil {
		return a.opts.Command(text)
	}
	return bot.Command{}, false
}

// timeOf reads a ts; fallback where it is none.
func timeOf(ts string, fallback time.Time) time.Time {
	var s, micro int64
	if _, err := fmt.Sscanf(ts, "%d.%d", &s, &micro); err != nil {
		return fallback
	}
	return time.Unix(s, micro*1000)
}

// tsOf is the ts of an instant.
func tsOf(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}
