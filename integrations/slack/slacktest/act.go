package slacktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Delivery says how the events of a message reach the bot. The zero value is
// Slack's own way: one message event and, for a mention, one app_mention.
type Delivery struct {
	// MentionFirst sends app_mention before its twin.
	MentionFirst bool
	// Fileless leaves the files out of app_mention.
	Fileless bool
	// MentionOnly leaves the message event out, MessageOnly the app_mention.
	MentionOnly, MessageOnly bool
	// Copies sends each event that many times; 0 means once.
	Copies int
	// Gap lies between the twins.
	Gap time.Duration
	// Silent sends no event at all, as while no socket is up.
	Silent bool
	// Event is merged into each inner event.
	Event map[string]any
}

// Post is a message that a person writes.
type Post struct {
	Channel string
	User    string
	Text    string // as Slack stores it: a mention is <@U0SANDPIPER>
	Thread  string // ts of the root
	Files   []string
	// Subtype is Slack's; default "file_share" with files, otherwise empty.
	Subtype  string
	Delivery Delivery
}

// Mention is how people address the bot in a message's text.
const Mention = "<@" + BotUser + ">"

// AddUser adds a person and returns the id. An empty ID is filled in.
func (w *Workspace) AddUser(u User) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u.ID == "" {
		u.ID = w.id("U")
	}
	w.users[u.ID] = &u
	return u.ID
}

// AddChannel adds a channel and returns its id. An empty ID is filled in.
func (w *Workspace) AddChannel(c Channel) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ID == "" {
		c.ID = w.id("C")
	}
	w.channels[c.ID] = &c
	return c.ID
}

// AddGroup adds a user group and returns its id. An empty ID is filled in.
func (w *Workspace) AddGroup(g Group) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.ID == "" {
		g.ID = w.id("S")
	}
	w.groups[g.ID] = &g
	return g.ID
}

// AddFile adds a file that messages can carry and returns its id.
func (w *Workspace) AddFile(f File) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.ID == "" {
		f.ID = w.id("F")
	}
	if f.Fill == "" {
		f.Size = int64(len(f.Data))
	}
	if f.Title == "" {
		f.Title = f.Name
	}
	if f.Type == "" {
		f.Type = typeByName(f.Name)
	}
	if f.Created.IsZero() {
		f.Created = time.Now()
	}
	f.completed = true
	w.files[f.ID] = &f
	return f.ID
}

// ChangeFile changes a file in place, for instance to make it a tombstone.
func (w *Workspace) ChangeFile(id string, change func(*File)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.files[id]; f != nil {
		change(f)
	}
}

// ChangeUser changes a user in place.
func (w *Workspace) ChangeUser(id string, change func(*User)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.users[id]; u != nil {
		change(u)
	}
}

// DM returns the id of the direct message between user and the bot.
func (w *Workspace) DM(user string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openIM(w.users[user]).ID
}

// Say posts p as a person and sends its events. It returns the ts.
func (w *Workspace) Say(p Post) string {
	w.mu.Lock()
	m := &Message{Channel: p.Channel, User: p.User, Text: p.Text, ThreadTS: p.Thread, Subtype: p.Subtype}
	for _, id := range p.Files {
		m.Files = append(m.Files, w.files[id])
	}
	if m.Subtype == "" && len(m.Files) > 0 {
		m.Subtype = "file_share"
	}
	w.add(m)
	message := w.messageEvent(m)
	mention := w.mentionEvent(m, p.Delivery.Fileless)
	channel := w.channels[p.Channel]
	im := channel != nil && channel.IM != ""
	w.mu.Unlock()

	d := p.Delivery
	events := []map[string]any{message}
	if !im && !d.MessageOnly && strings.Contains(p.Text, Mention) {
		switch {
		case d.MentionOnly:
			events = []map[string]any{mention}
		case d.MentionFirst:
			events = []map[string]any{mention, message}
		default:
			events = append(events, mention)
		}
	}
	if d.Silent {
		return m.TS
	}
	for i, e := range events {
		maps.Copy(e, d.Event)
		if i > 0 && d.Gap > 0 {
			time.Sleep(d.Gap)
		}
		for range max(1, d.Copies) {
			w.SendEvent(e)
		}
	}
	return m.TS
}

// messageEvent is m as an inner event. The caller holds mu.
func (w *Workspace) messageEvent(m *Message) map[string]any {
	e := w.wire(m, false)
	e["channel"], e["event_ts"] = m.Channel, m.TS
	e["channel_type"] = channelType(w.channels[m.Channel])
	return e
}

// mentionEvent is m as an app_mention. The caller holds mu.
func (w *Workspace) mentionEvent(m *Message, fileless bool) map[string]any {
	e := w.wire(m, false)
	e["type"], e["channel"], e["event_ts"] = "app_mention", m.Channel, m.TS
	delete(e, "subtype")
	if fileless {
		delete(e, "files")
		delete(e, "upload")
	}
	return e
}

func channelType(c *Channel) string {
	switch {
	case c == nil:
		return "channel"
	case c.IM != "":
		return "im"
	case c.MPIM:
		return "mpim"
	case c.Private:
		return "group"
	}
	return "channel"
}

// SendEvent sends one inner event in an events_api envelope.
func (w *Workspace) SendEvent(event map[string]any) {
	w.mu.Lock()
	channel, _ := event["channel"].(string)
	external := w.channels[channel] != nil && w.channels[channel].External
	payload := map[string]any{
		"type": "event_callback", "team_id": w.options.Team, "api_app_id": AppID, "event": event,
		"event_id": w.id("Ev"), "event_time": time.Now().Unix(), "is_ext_shared_channel": external,
		"authorizations": []any{map[string]any{
			"team_id": w.options.Team, "user_id": BotUser, "is_bot": true,
			"enterprise_id": w.options.Enterprise, "is_enterprise_install": w.options.OrgInstall,
		}},
	}
	if w.options.Enterprise != "" {
		payload["enterprise_id"] = w.options.Enterprise
	}
	w.mu.Unlock()
	w.dispatch("events_api", payload, nil)
}

// Edit changes the text of a person's message and sends message_changed, and
// app_mention with edited where the new text mentions the bot.
func (w *Workspace) Edit(channel, ts, text string) {
	w.mu.Lock()
	m := w.find(channel, ts)
	before := w.wire(m, false)
	m.Text, m.EditedBy, m.EditedTS = text, m.User, w.nextTS()
	changed := w.changedEvent(m, before)
	mention := w.mentionEvent(m, false)
	w.notify()
	w.mu.Unlock()
	w.SendEvent(changed)
	if strings.Contains(text, Mention) {
		w.SendEvent(mention)
	}
}

// Unfurl sends the message_changed that Slack sends when it shows a preview of
// a link: the text is the same.
func (w *Workspace) Unfurl(channel, ts string) {
	w.mu.Lock()
	m := w.find(channel, ts)
	before := w.wire(m, false)
	event := w.changedEvent(m, before)
	event["message"].(map[string]any)["attachments"] = []any{map[string]any{"title": "A page", "from_url": "https://example.com"}}
	w.mu.Unlock()
	w.SendEvent(event)
}

// changedEvent is a message_changed for m, which was before. The caller holds mu.
func (w *Workspace) changedEvent(m *Message, before map[string]any) map[string]any {
	return map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": m.Channel,
		"channel_type": channelType(w.channels[m.Channel]), "ts": w.nextTS(), "event_ts": m.TS,
		"message": w.wire(m, false), "previous_message": before,
	}
}

// Delete deletes a message and sends message_deleted.
func (w *Workspace) Delete(channel, ts string) {
	w.mu.Lock()
	m := w.find(channel, ts)
	before := w.wire(m, false)
	m.Deleted = true
	event := map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": channel,
		"channel_type": channelType(w.channels[channel]), "ts": w.nextTS(), "deleted_ts": ts, "previous_message": before,
	}
	w.notify()
	w.mu.Unlock()
	w.SendEvent(event)
}

// DeleteFile deletes a file and sends file_deleted.
func (w *Workspace) DeleteFile(id string) {
	w.ChangeFile(id, func(f *File) { f.Tombstone, f.Data = true, nil })
	w.SendEvent(map[string]any{"type": "file_deleted", "file_id": id, "event_ts": fmt.Sprint(time.Now().Unix())})
}

// OpenHome sends app_home_opened for user.
func (w *Workspace) OpenHome(user string) {
	w.SendEvent(map[string]any{
		"type": "app_home_opened", "user": user, "channel": w.DM(user), "tab": "home",
		"event_ts": fmt.Sprint(time.Now().Unix()),
	})
}

// Slash sends a slash command; what the bot answers in its acknowledgement is
// shown to the user alone.
func (w *Workspace) Slash(user, channel, command, text string) {
	w.mu.Lock()
	payload := map[string]any{
		"command": command, "text": text, "user_id": user, "channel_id": channel, "team_id": w.options.Team,
		"api_app_id": AppID, "trigger_id": w.newTrigger(user), "response_url": w.responseURL(responseURL{channel: channel, user: user}),
	}
	if w.options.Enterprise != "" {
		payload["enterprise_id"] = w.options.Enterprise
	}
	w.mu.Unlock()
	w.dispatch("slash_commands", payload, w.showAnswer(channel, user))
}

// Shortcut runs the message shortcut callback on the message at ts.
func (w *Workspace) Shortcut(user, channel, ts, callback string) {
	w.mu.Lock()
	m := w.find(channel, ts)
	payload := w.interaction("message_action", user, channel, responseURL{channel: channel, user: user, message: ts, thread: m.ThreadTS})
	payload["callback_id"], payload["message"], payload["message_ts"] = callback, w.wire(m, true), ts
	payload["action_ts"] = w.nextTS()
	w.mu.Unlock()
	w.dispatch("interactive", payload, nil)
}

// Press presses the button labelled label under the message at ts, and reports
// whether there is such a button.
func (w *Workspace) Press(user, channel, ts, label string) bool {
	w.mu.Lock()
	m := w.find(channel, ts)
	var e element
	block, ok := "", false
	if m != nil {
		e, block, ok = button(m.Blocks, label)
	}
	if !ok {
		w.mu.Unlock()
		return false
	}
	payload := w.interaction("block_actions", user, channel, responseURL{channel: channel, user: user, message: ts, thread: m.ThreadTS})
	payload["message"] = w.wire(m, true)
	payload["container"] = map[string]any{"type": "message", "message_ts": ts, "channel_id": channel, "thread_ts": m.ThreadTS, "is_ephemeral": m.OnlyFor != ""}
	payload["actions"] = []any{map[string]any{
		"type": "button", "block_id": block, "action_id": e.ActionID, "value": e.Value, "action_ts": w.nextTS(),
		"text": map[string]any{"type": "plain_text", "text": label},
	}}
	w.mu.Unlock()
	w.dispatch("interactive", payload, nil)
	return true
}

// interaction is the common part of interactive payloads. The caller holds mu.
func (w *Workspace) interaction(kind, user, channel string, u responseURL) map[string]any {
	out := map[string]any{
		"type": kind, "api_app_id": AppID, "trigger_id": w.newTrigger(user), "response_url": w.responseURL(u),
		"team":    map[string]any{"id": w.options.Team, "domain": "fake"},
		"user":    map[string]any{"id": user, "team_id": w.options.Team, "name": w.name(user)},
		"channel": map[string]any{"id": channel, "name": channel},
	}
	if w.options.Enterprise != "" {
		out["enterprise"] = map[string]any{"id": w.options.Enterprise, "name": "Fake org"}
	}
	return out
}

// responseURL makes a response URL. The caller holds mu.
func (w *Workspace) responseURL(u responseURL) string {
	u.made = time.Now()
	id := w.id("response-")
	w.answers[id] = &u
	return w.base + "/response/" + id
}

// Members sets who is in a user group.
func (w *Workspace) Members(group string, members ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.groups[group]; g != nil {
		g.Members = slices.Clone(members)
	}
}
