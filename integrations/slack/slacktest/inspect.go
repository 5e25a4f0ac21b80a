package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Messages returns all messages of a channel that still stand, in order, those
// shown to one person only and lost ones included.
func (w *Workspace) Messages(channel string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	for _, m := range w.messages[channel] {
		if !m.Deleted {
			out = append(out, m.clone())
		}
	}
	return out
}

// Thread returns what people see in a thread: the root and its replies.
func (w *Workspace) Thread(channel, root string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	for _, m := range w.thread(channel, root) {
		out = append(out, m.clone())
	}
	return out
}

// Replies returns the bot's messages in a thread.
func (w *Workspace) Replies(channel, root string) []Message {
	return slices.DeleteFunc(w.Thread(channel, root), func(m Message) bool { return !m.Bot || m.TS == root })
}

// Message returns the message at ts.
func (w *Workspace) Message(channel, ts string) (Message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.find(channel, ts)
	if m == nil || m.Deleted {
		return Message{}, false
	}
	return m.clone(), true
}

// Ephemerals returns what is shown to user alone in a channel.
func (w *Workspace) Ephemerals(channel, user string) []Message {
	return slices.DeleteFunc(w.Messages(channel), func(m Message) bool { return m.OnlyFor != user })
}

// Lost returns the bot's messages that nobody sees.
func (w *Workspace) Lost() []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	for _, list := range w.messages {
		for _, m := range list {
			if m.Lost && !m.Deleted {
				out = append(out, m.clone())
			}
		}
	}
	return out
}

// Unfurled lists the URLs that Slack fetched because the bot posted them
// without switching previews off.
func (w *Workspace) Unfurled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.unfurls)
}

// Home returns what user sees in the App Home.
func (w *Workspace) Home(user string) (View, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.homes[user]
	return v, ok
}

// Modals returns the modals opened for user, oldest first.
func (w *Workspace) Modals(user string) []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.views[user])
}

// Status is the assistant status of a thread.
func (w *Workspace) Status(channel, thread string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status[channel+"/"+thread]
}

// Calls returns the calls of method so far, or all for an empty method.
func (w *Workspace) Calls(method string) []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Call
	for _, c := range w.calls {
		if method == "" || c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// Buttons lists the labels of the buttons under m.
func (m Message) Buttons() []string {
	var out []string
	eachButton(m.Blocks, func(label, _ string, _ element) bool {
		out = append(out, label)
		return false
	})
	return out
}

// Shown is all text a person reads in m, without its buttons: that of its
// blocks, or its text where there are none.
func (m Message) Shown() string {
	blocks, _ := parseBlocks(string(m.Blocks))
	if len(blocks) == 0 {
		return unescape(m.Text)
	}
	return strings.Join(blockLines(blocks), "\n")
}

// Shown is all text a person reads in v, without its buttons.
func (v View) Shown() string {
	blocks, _ := parseBlocks(string(v.Blocks))
	return strings.Join(blockLines(blocks), "\n")
}

// FileNames lists the names of m's files.
func (m Message) FileNames() []string {
	var out []string
	for _, f := range m.Files {
		out = append(out, f.Name)
	}
	return out
}

// clone copies m as deep as callers can reach, but for the files' bytes.
func (m *Message) clone() Message {
	out := *m
	out.Blocks = slices.Clone(m.Blocks)
	out.Files = nil
	for _, f := range m.Files {
		copied := *f
		out.Files = append(out.Files, &copied)
	}
	out.Reactions = map[string][]string{}
	for name, users := range m.Reactions {
		out.Reactions[name] = slices.Clone(users)
	}
	return out
}

// button finds a button by its label, with the id of its block.
func button(blocks json.RawMessage, label string) (found element, block string, ok bool) {
	eachButton(blocks, func(l, id string, e element) bool {
		if l == label {
			found, block, ok = e, id, true
		}
		return ok
	})
	return found, block, ok
}

// eachButton calls f with each button of blocks until it returns true. Blocks
// without an id get one, as Slack gives them.
func eachButton(raw json.RawMessage, f func(label, block string, e element) bool) {
	blocks, _ := parseBlocks(string(raw))
	for i, b := range blocks {
		if b.BlockID == "" {
			b.BlockID = fmt.Sprintf("block-%d", i)
		}
		elements := b.Elements
		if len(b.Accessory) > 0 {
			elements = append(slices.Clone(elements), b.Accessory)
		}
		for _, raw := range elements {
			if e := asElement(raw); e.Type == "button" && f(asText(e.Text).Text, b.BlockID, e) {
				return
			}
		}
	}
}

// name is how people call user. The caller holds mu.
func (w *Workspace) name(user string) string {
	if u := w.users[user]; u != nil && u.Name != "" {
		return u.Name
	}
	return user
}

// showAnswer shows an acknowledgement's payload to user alone.
func (w *Workspace) showAnswer(channel, user string) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		var in struct {
			Text   string          `json:"text"`
			Blocks json.RawMessage `json:"blocks"`
		}
		if json.Unmarshal(raw, &in) != nil || in.Text == "" && len(in.Blocks) == 0 {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.add(&Message{Channel: channel, User: BotUser, Bot: true, Text: in.Text, Blocks: in.Blocks, OnlyFor: user})
	}
}
