package slacktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// inputBlock is what a person can fill into a window.
type inputBlock struct {
	Type     string     `json:"type"`
	BlockID  string     `json:"block_id"`
	Label    textObject `json:"label"`
	Optional bool       `json:"optional"`
	Element  struct {
		Type                string `json:"type"`
		ActionID            string `json:"action_id"`
		InitialValue        string `json:"initial_value"`
		InitialConversation string `json:"initial_conversation"`
		MinLength           int    `json:"min_length"`
		MaxLength           int    `json:"max_length"`
	} `json:"element"`
}

// inputs reads the input blocks of a view.
func (v View) inputs() []inputBlock {
	var all []inputBlock
	_ = json.Unmarshal(v.Blocks, &all)
	return slices.DeleteFunc(all, func(b inputBlock) bool { return b.Type != "input" })
}

// Fields returns what stands in the fields of a window before anybody writes,
// by their labels.
func (v View) Fields() map[string]string {
	out := map[string]string{}
	for _, b := range v.inputs() {
		out[b.Label.Text] = b.Element.InitialValue + b.Element.InitialConversation
	}
	return out
}

// Submit presses the button at the end of the newest window of user, with these
// values in its fields by their labels; the others stay as the window filled
// them in. It fails as Slack's client does, before anything is sent, where a
// field that must be filled in is empty, and where the bot does not answer in
// time. The bot's errors beside fields are in the window's Errors then.
func (w *Workspace) Submit(user string, values map[string]string) error {
	w.mu.Lock()
	views := w.views[user]
	if len(views) == 0 {
		w.mu.Unlock()
		return fmt.Errorf("submit window: none is open for %s", user)
	}
	v := views[len(views)-1]
	state := map[string]any{}
	left := len(values)
	for _, b := range v.inputs() {
		value, given := values[b.Label.Text]
		if given {
			left--
		} else {
			value = b.Element.InitialValue + b.Element.InitialConversation
		}
		n := runes(value)
		if value == "" && !b.Optional || value != "" && n < b.Element.MinLength || b.Element.MaxLength > 0 && n > b.Element.MaxLength {
			w.mu.Unlock()
			return fmt.Errorf("submit window: %q cannot be the value of %s", value, b.Label.Text)
		}
		entry := map[string]any{"type": b.Element.Type}
		switch {
		case b.Element.Type == "conversations_select" && value != "":
			entry["selected_conversation"] = value
		case value == "":
			entry["value"] = nil
		default:
			entry["value"] = value
		}
		state[b.BlockID] = map[string]any{b.Element.ActionID: entry}
	}
	if left > 0 {
		w.mu.Unlock()
		return fmt.Errorf("submit window: it has not all of the fields %v", values)
	}
	payload := map[string]any{
		"type": "view_submission", "api_app_id": AppID, "trigger_id": w.newTrigger(user),
		"team": map[string]any{"id": w.options.Team, "domain": "fake"},
		"user": map[string]any{"id": user, "team_id": w.options.Team, "name": w.name(user)},
		"view": map[string]any{
			"id": v.ID, "type": v.Type, "callback_id": v.CallbackID, "private_metadata": v.Metadata, "blocks": v.Blocks,
			"title": map[string]any{"type": "plain_text", "text": v.Title}, "state": map[string]any{"values": state},
		},
	}
	w.mu.Unlock()
	shown := make(chan struct{})
	w.dispatch("interactive", payload, func(raw json.RawMessage) {
		w.answered(user, v.ID, raw)
		close(shown)
	})
	select {
	case <-shown:
		return nil
	case <-w.closed:
	case <-time.After(2 * w.options.AckTimeout):
	}
	return errors.New("submit window: the bot did not answer in time")
}

// answered does what the acknowledgement of a submission says: errors beside
// fields, another window, or the end of one or all.
func (w *Workspace) answered(user, id string, raw json.RawMessage) {
	var in struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   json.RawMessage   `json:"view"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &in) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.notify()
	at := slices.IndexFunc(w.views[user], func(v View) bool { return v.ID == id })
	if at < 0 {
		return
	}
	views := w.views[user]
	views[at].Errors, views[at].Trouble = map[string]string{}, ""
	switch in.Action {
	case "errors":
		for block, message := range in.Errors {
			label := ""
			for _, b := range views[at].inputs() {
				if b.BlockID == block {
					label = b.Label.Text
				}
			}
			if label == "" {
				views[at].Trouble = "errors name no input block " + block // Slack shows "trouble connecting"
				continue
			}
			views[at].Errors[label] = message
		}
	case "update", "push":
		next, problem := w.view(string(in.View), "modal")
		if problem != "" {
			views[at].Trouble = problem
			return
		}
		if in.Action == "update" {
			next.ID = id
			views[at] = next
			return
		}
		w.views[user] = append(views, next)
	case "clear":
		w.views[user] = nil
	default:
		w.views[user] = slices.Delete(views, at, at+1)
	}
}
