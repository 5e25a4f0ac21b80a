package slacktest

import (
	"slices"
)

// conversationsHistory lists the messages of a channel outside threads, newest
// first. The caller holds mu, as in all methods.
func (w *Workspace) conversationsHistory(args map[string]string) result {
	c := w.channels[args["channel"]]
	switch {
	case c == nil:
		return failed("channel_not_found")
	case c.BotAbsent:
		return failed("not_in_channel")
	}
	var list []any
	for _, m := range slices.Backward(w.messages[c.ID]) {
		if m.Deleted || m.OnlyFor != "" || m.Lost || m.ThreadTS != "" && m.ThreadTS != m.TS || !within(m.TS, args) {
			continue
		}
		list = append(list, w.wire(m, args["include_all_metadata"] == "1"))
	}
	return w.messagePage(list, args, 999)
}

// conversationsReplies lists a thread, oldest first, its root always first.
func (w *Workspace) conversationsReplies(args map[string]string) result {
	c := w.channels[args["channel"]]
	if c == nil {
		return failed("channel_not_found")
	}
	root := w.find(c.ID, args["ts"])
	if root == nil {
		return failed("thread_not_found")
	}
	ts := root.TS
	if root.ThreadTS != "" {
		ts = root.ThreadTS
	}
	var list []any
	for _, m := range w.thread(c.ID, ts) {
		if m.TS == ts || within(m.TS, args) {
			list = append(list, w.wire(m, args["include_all_metadata"] == "1"))
		}
	}
	if len(list) == 0 {
		return failed("thread_not_found")
	}
	return w.messagePage(list, args, 1000)
}

func (w *Workspace) messagePage(list []any, args map[string]string, most int) result {
	if w.options.Commercial {
		most = commercialPage
	}
	cut, next := w.page(list, args, most)
	if cut == nil {
		cut = []any{}
	}
	return result{"messages": cut, "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next}}
}

// within reports whether ts lies between the arguments oldest and latest.
func within(ts string, args map[string]string) bool {
	inclusive := args["inclusive"] == "1" || args["inclusive"] == "true"
	if o := args["oldest"]; o != "" && o != "0" && (compare(ts, o) < 0 || !inclusive && ts == o) {
		return false
	}
	if l := args["latest"]; l != "" && (compare(ts, l) > 0 || !inclusive && ts == l) {
		return false
	}
	return true
}

func (w *Workspace) conversationsInfo(args map[string]string) result {
	c := w.channels[args["channel"]]
	if c == nil {
		return failed("channel_not_found")
	}
	return result{"channel": w.wireChannel(c)}
}

func (w *Workspace) conversationsOpen(args map[string]string) result {
	u := w.users[args["users"]]
	if u == nil {
		return failed("user_not_found")
	}
	if u.Gone {
		return failed("user_disabled")
	}
	return result{"channel": w.wireChannel(w.openIM(u))}
}

// openIM returns the direct message with u, new where there was none.
func (w *Workspace) openIM(u *User) *Channel {
	for _, c := range w.channels {
		if c.IM == u.ID {
			return c
		}
	}
	c := &Channel{ID: w.id("D"), IM: u.ID, Private: true, Members: []string{u.ID, BotUser}}
	w.channels[c.ID] = c
	return c
}

// usersConversations lists the conversations the bot is in, by id.
func (w *Workspace) usersConversations(args map[string]string) result {
	ids := make([]string, 0, len(w.channels))
	for id, c := range w.channels {
		if !c.BotAbsent && !c.Archived {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = w.wireChannel(w.channels[id])
	}
	cut, next := w.page(list, args, 999)
	if cut == nil {
		cut = []any{}
	}
	return result{"channels": cut, "response_metadata": map[string]any{"next_cursor": next}}
}

func (w *Workspace) usersInfo(args map[string]string) result {
	u := w.users[args["user"]]
	if u == nil {
		return failed("user_not_found")
	}
	return result{"user": w.wireUser(u)}
}

func (w *Workspace) usergroupsUsersList(args map[string]string) result {
	g := w.groups[args["usergroup"]]
	if g == nil {
		return failed("no_such_subteam")
	}
	return result{"users": slices.Clone(g.Members)}
}

func (w *Workspace) authTest(map[string]string) result {
	res := result{
		"url": w.base + "/", "team": "Fake workspace", "team_id": w.options.Team,
		"user": "sandpiper", "user_id": BotUser, "bot_id": BotID,
	}
	if w.options.Enterprise != "" {
		res["enterprise_id"] = w.options.Enterprise
	}
	if w.options.OrgInstall {
		res["is_enterprise_install"], res["team_id"] = true, w.options.Enterprise
	}
	return res
}

func (w *Workspace) assistantStatus(args map[string]string) result {
	if w.channels[args["channel_id"]] == nil {
		return failed("channel_not_found")
	}
	w.status[args["channel_id"]+"/"+args["thread_ts"]] = args["status"]
	w.notify()
	return result{}
}
