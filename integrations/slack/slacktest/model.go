package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"
)

// User is a person or bot.
type User struct {
	ID      string
	Name    string
	Team    string // another workspace's id for a Slack Connect user
	Bot     bool
	Guest   bool   // is_restricted, a multi-channel guest
	Single  bool   // is_ultra_restricted, a single-channel guest
	Strange bool   // is_stranger, of another organization
	Gone    bool   // deleted
	TZ      string // IANA name of the time zone; empty for none
}

// Channel is a channel, or a talk with one person or several.
type Channel struct {
	ID        string
	Name      string
	Private   bool
	IM        string // the person, when it is a direct message
	MPIM      bool
	External  bool // is_ext_shared
	Archived  bool
	Members   []string
	BotAbsent bool // the bot is not a member
}

// Group is a user group.
type Group struct {
	ID      string
	Handle  string
	Members []string
}

// File is a file of the workspace.
type File struct {
	ID    string
	Name  string
	Title string
	Type  string // media type
	Alt   string
	User  string
	Data  []byte
	// Size is what Slack says; len(Data) for all but generated files.
	Size int64
	// Fill makes a generated file of Size bytes that is never held in memory:
	// the pattern is repeated.
	Fill string
	// Created is when it was uploaded; the time of AddFile where it is zero.
	Created time.Time

	Tombstone bool // deleted
	Hidden    bool // hidden_by_limit
	Stub      bool // messages carry only file_access: check_file_info
	External  string
	Locked    bool // downloads answer with a login page

	shares    map[string][]share // by channel
	completed bool
	declared  int64 // length given to files.getUploadURLExternal
}

type share struct{ TS, ThreadTS string }

// Metadata is a message's metadata.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// Message is a message as it stands now.
type Message struct {
	TS       string
	ThreadTS string // the root's ts; empty for a message outside threads
	Channel  string
	User     string
	Bot      bool // posted by the app
	Subtype  string
	Text     string
	Blocks   json.RawMessage
	Files    []*File
	Metadata *Metadata
	// Reactions are names of emoji with who set them.
	Reactions map[string][]string
	Edits     int
	EditedBy  string
	EditedTS  string
	Deleted   bool
	// OnlyFor is the person an ephemeral message is shown to.
	OnlyFor string
	// Lost says that the message answers a reply instead of a root: nobody
	// sees it.
	Lost bool
}

// View is a modal or an App Home.
type View struct {
	ID         string
	Type       string
	CallbackID string
	Title      string
	Blocks     json.RawMessage
	Metadata   string
	// Errors are what the bot said of fields, by their labels.
	Errors map[string]string
	// Trouble is why Slack could not show the bot's answer to a submission.
	Trouble string
}

// wire is m as the Web API and events show it. The caller holds mu.
func (w *Workspace) wire(m *Message, metadata bool) map[string]any {
	out := map[string]any{"type": "message", "ts": m.TS, "text": m.Text, "user": m.User, "team": w.options.Team}
	if m.Subtype != "" {
		out["subtype"] = m.Subtype
	}
	if m.ThreadTS != "" {
		out["thread_ts"] = m.ThreadTS
		if m.ThreadTS != m.TS {
			if root := w.find(m.Channel, m.ThreadTS); root != nil {
				out["parent_user_id"] = root.User
			}
		} else {
			replies := w.thread(m.Channel, m.TS)
			out["reply_count"] = len(replies) - 1
			out["latest_reply"] = replies[len(replies)-1].TS
		}
	}
	if len(m.Blocks) > 0 {
		out["blocks"] = m.Blocks
	}
	if len(m.Files) > 0 {
		files := make([]any, len(m.Files))
		for i, f := range m.Files {
			files[i] = w.wireFile(f, f.Stub)
		}
		out["files"] = files
		out["upload"] = true
	}
	if m.Bot {
		out["bot_id"] = BotID
		out["app_id"] = AppID
	} else {
		out["client_msg_id"] = "msg-" + m.TS
	}
	if m.Metadata != nil && metadata {
		out["metadata"] = m.Metadata
	}
	if m.EditedTS != "" {
		out["edited"] = map[string]any{"user": m.EditedBy, "ts": m.EditedTS}
	}
	if len(m.Reactions) > 0 {
		out["reactions"] = wireReactions(m.Reactions)
	}
	return out
}

func wireReactions(reactions map[string][]string) []any {
	names := make([]string, 0, len(reactions))
	for name := range reactions {
		names = append(names, name)
	}
	sort.Strings(names)
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = map[string]any{"name": name, "users": reactions[name], "count": len(reactions[name])}
	}
	return out
}

// wireFile is f as a file object. A stub is what Slack Connect sends in
// messages. The caller holds mu.
func (w *Workspace) wireFile(f *File, stub bool) map[string]any {
	switch {
	case f.Tombstone:
		return map[string]any{"id": f.ID, "mode": "tombstone"}
	case f.Hidden:
		return map[string]any{"id": f.ID, "mode": "hidden_by_limit"}
	case stub:
		return map[string]any{"id": f.ID, "mode": "file_access", "file_access": "check_file_info"}
	}
	url := fmt.Sprintf("%s/files-pri/%s/download/%s", w.base, f.ID, pathEscape(f.Name))
	out := map[string]any{
		"id": f.ID, "name": f.Name, "title": f.Title, "mimetype": f.Type, "size": f.Size, "user": f.User,
		"mode": "hosted", "url_private": url, "url_private_download": url, "file_access": "visible",
		"permalink": w.base + "/files/" + f.ID, "created": f.Created.Unix(),
	}
	if f.External != "" {
		out["is_external"], out["mode"] = true, "external"
		out["url_private"], out["url_private_download"] = f.External, f.External
	}
	if f.Alt != "" {
		out["alt_txt"] = f.Alt
	}
	public, private := map[string]any{}, map[string]any{}
	for channel, shares := range f.shares {
		list := make([]any, len(shares))
		for i, s := range shares {
			list[i] = map[string]any{"ts": s.TS, "thread_ts": s.ThreadTS, "team_id": w.options.Team}
		}
		if c := w.channels[channel]; c != nil && (c.Private || c.IM != "") {
			private[channel] = list
		} else {
			public[channel] = list
		}
	}
	out["shares"] = map[string]any{"public": public, "private": private}
	return out
}

func (w *Workspace) wireChannel(c *Channel) map[string]any {
	out := map[string]any{
		"id": c.ID, "name": c.Name, "is_channel": c.IM == "" && !c.MPIM, "is_im": c.IM != "", "is_mpim": c.MPIM,
		"is_private": c.Private, "is_ext_shared": c.External, "is_archived": c.Archived, "is_member": !c.BotAbsent,
		"context_team_id": w.options.Team,
	}
	if c.IM != "" {
		out["user"] = c.IM
	}
	return out
}

func (w *Workspace) wireUser(u *User) map[string]any {
	team := u.Team
	if team == "" {
		team = w.options.Team
	}
	return map[string]any{
		"id": u.ID, "team_id": team, "name": u.Name, "real_name": u.Name, "deleted": u.Gone, "is_bot": u.Bot,
		"tz": u.TZ, "is_restricted": u.Guest || u.Single, "is_ultra_restricted": u.Single, "is_stranger": u.Strange,
		"profile": map[string]any{"display_name": u.Name, "real_name": u.Name},
	}
}

// find returns the message at ts, or nil. The caller holds mu.
func (w *Workspace) find(channel, ts string) *Message {
	list := w.messages[channel]
	i, ok := slices.BinarySearchFunc(list, ts, func(m *Message, ts string) int { return compare(m.TS, ts) })
	if !ok {
		return nil
	}
	return list[i]
}

// thread returns the root and its replies. The caller holds mu.
func (w *Workspace) thread(channel, root string) []*Message {
	var out []*Message
	for _, m := range w.messages[channel] {
		if !m.Deleted && m.OnlyFor == "" && !m.Lost && (m.TS == root || m.ThreadTS == root) {
			out = append(out, m)
		}
	}
	return out
}

// add appends m at a new ts and marks its root as a thread. The caller holds mu.
func (w *Workspace) add(m *Message) {
	m.TS = w.nextTS()
	if m.ThreadTS != "" && !m.Lost {
		if root := w.find(m.Channel, m.ThreadTS); root != nil {
			root.ThreadTS = root.TS
		}
	}
	w.messages[m.Channel] = append(w.messages[m.Channel], m)
	for _, f := range m.Files {
		if f.shares == nil {
			f.shares = map[string][]share{}
		}
		f.shares[m.Channel] = append(f.shares[m.Channel], share{TS: m.TS, ThreadTS: m.ThreadTS})
	}
	w.notify()
}

func compare(a, b string) int {
	switch {
	case len(a) != len(b):
		return len(a) - len(b)
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
