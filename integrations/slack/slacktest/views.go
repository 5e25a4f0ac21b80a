package slacktest

import (
	"encoding/json"
	"time"
)

// trigger allows one view within three seconds.
type trigger struct {
	user string
	made time.Time
	used bool
}

// triggerLife is how long a trigger id serves.
const triggerLife = 3 * time.Second

// newTrigger gives a trigger id for user. The caller holds mu.
func (w *Workspace) newTrigger(user string) string {
	id := w.id("trigger-")
	w.triggers[id] = trigger{user: user, made: time.Now()}
	return id
}

// viewsOpen is views.open. The caller holds mu, as in all methods.
func (w *Workspace) viewsOpen(args map[string]string) result {
	t, known := w.triggers[args["trigger_id"]]
	switch {
	case !known:
		return failed("invalid_trigger_id")
	case t.used:
		return failed("exchanged_trigger_id")
	case time.Since(t.made) > triggerLife:
		return failed("expired_trigger_id")
	}
	v, problem := w.view(args["view"], "modal")
	if problem != "" {
		return failed(problem)
	}
	t.used = true
	w.triggers[args["trigger_id"]] = t
	w.views[t.user] = append(w.views[t.user], v)
	w.notify()
	return result{"view": map[string]any{"id": v.ID, "type": v.Type}}
}

func (w *Workspace) viewsPublish(args map[string]string) result {
	if w.users[args["user_id"]] == nil {
		return failed("user_not_found")
	}
	v, problem := w.view(args["view"], "home")
	if problem != "" {
		return failed(problem)
	}
	w.homes[args["user_id"]] = v
	w.notify()
	return result{"view": map[string]any{"id": v.ID, "type": v.Type}}
}

// view reads and checks a view argument.
func (w *Workspace) view(raw, kind string) (View, string) {
	var in struct {
		Type       string          `json:"type"`
		CallbackID string          `json:"callback_id"`
		Title      textObject      `json:"title"`
		Blocks     json.RawMessage `json:"blocks"`
		Metadata   string          `json:"private_metadata"`
	}
	if json.Unmarshal([]byte(raw), &in) != nil || in.Type != kind {
		return View{}, "invalid_arguments"
	}
	blocks, ok := parseBlocks(string(in.Blocks))
	if !ok || len(blocks) == 0 || kind == "modal" && (in.Title.Text == "" || runes(in.Title.Text) > MaxViewTitle) || runes(in.Metadata) > MaxPrivate {
		return View{}, "invalid_arguments"
	}
	for _, b := range blocks {
		if b.Type == "markdown" {
			return View{}, "invalid_arguments" // messages only
		}
	}
	if checkBlocks(blocks, MaxViewBlocks) == "invalid_blocks" {
		return View{}, "invalid_arguments"
	}
	return View{ID: w.id("V"), Type: in.Type, CallbackID: in.CallbackID, Title: in.Title.Text, Blocks: in.Blocks, Metadata: in.Metadata}, ""
}
