package slacktest

import (
	"cmp"
	"slices"
	"strconv"
)

// filesList lists the files that stand in a channel, newest first, deleted
// ones left out. The caller holds mu, as in all methods.
func (w *Workspace) filesList(args map[string]string) result {
	c := w.channels[args["channel"]]
	if args["channel"] != "" && (c == nil || c.BotAbsent) {
		return failed("channel_not_found")
	}
	var files []*File
	for _, f := range w.files {
		if f.completed && !f.Tombstone && !f.Hidden && (c == nil || len(f.shares[c.ID]) > 0) && (args["user"] == "" || f.User == args["user"]) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b *File) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	count, page := 100, 1
	if n, err := strconv.Atoi(args["count"]); err == nil && n > 0 {
		count = min(n, 1000)
	}
	if n, err := strconv.Atoi(args["page"]); err == nil && n > 0 {
		page = n
	}
	pages := max(1, (len(files)+count-1)/count)
	list := []any{}
	for i := (page - 1) * count; i < min(page*count, len(files)); i++ {
		list = append(list, w.wireFile(files[i], false))
	}
	return result{"files": list, "paging": map[string]any{"count": count, "total": len(files), "page": page, "pages": pages}}
}

// conversationsMembers lists who is in a channel: everybody, where a test names
// nobody.
func (w *Workspace) conversationsMembers(args map[string]string) result {
	c := w.channels[args["channel"]]
	if c == nil {
		return failed("channel_not_found")
	}
	members := slices.Clone(c.Members)
	if len(members) == 0 {
		for id, u := range w.users {
			if !u.Gone {
				members = append(members, id)
			}
		}
	}
	slices.Sort(members)
	list := make([]any, len(members))
	for i, id := range members {
		list[i] = id
	}
	cut, next := w.page(list, args, 1000)
	if cut == nil {
		cut = []any{}
	}
	return result{"members": cut, "response_metadata": map[string]any{"next_cursor": next}}
}

// ChangeChannel changes a channel in place, for instance to archive it.
func (w *Workspace) ChangeChannel(id string, change func(*Channel)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.channels[id]; c != nil {
		change(c)
	}
}
