package console

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Name is the adapter's name in origins and keys.
const Name = "console"

// Request is what somebody asked for on a command line.
type Request struct {
	// ID is unique for each command given: the same ID never makes two tasks.
	ID string
	// Out is the absolute folder that the answer's files go into.
	Out    string
	User   string // login name
	Prompt string
	Skill  string
	// After continues an earlier task, in Conversation.
	After        string
	Conversation string // empty: one of its own
	Inputs       []bot.InputRef
	Received     time.Time
}

// address is where the files of a console run go; it lies in Origin.Address.
type address struct {
	Out   string `json:"out"`
	Words bool   `json:"words,omitempty"` // the text of answers is written there too
}

// Event turns the request into the core's form.
func (r Request) Event() (bot.Event, error) {
	origin, err := Folder(r.Out)
	if err != nil {
		return bot.Event{}, fmt.Errorf("make console event: %w", err)
	}
	if origin.Conversation = r.Conversation; origin.Conversation == "" {
		origin.Conversation = Name + ":" + r.ID
	}
	return bot.Event{
		Key:      Name + ":" + r.ID,
		Kind:     bot.EventRequest,
		Origin:   origin,
		Actor:    bot.Actor{ID: Name + ":" + r.User, Name: r.User},
		Text:     r.Prompt,
		Inputs:   r.Inputs,
		Options:  bot.Options{Skill: r.Skill, After: r.After},
		Inline:   true,
		Received: r.Received,
	}, nil
}

// Folder is an absolute folder as a place that files are delivered to.
func Folder(dir string) (bot.Origin, error) {
	if !filepath.IsAbs(dir) {
		return bot.Origin{}, fmt.Errorf("folder %q is not absolute", dir)
	}
	dir = filepath.Clean(dir)
	to, err := json.Marshal(address{Out: dir})
	if err != nil {
		return bot.Origin{}, fmt.Errorf("write address of folder: %w", err)
	}
	return bot.Origin{Adapter: Name, Conversation: Name + ":" + dir, Place: Name, Address: string(to)}, nil
}

// OutOf returns the folder that an origin's files go into; "" where the
// origin is not of this adapter.
func OutOf(origin bot.Origin) string {
	var to address
	if origin.Adapter != Name || json.Unmarshal([]byte(origin.Address), &to) != nil {
		return ""
	}
	return to.Out
}

// Placed is a delivered file and where it stands.
type Placed struct {
	Name string `json:"name"` // the artifact's
	Path string `json:"path"` // absolute
}

// PlacedIn reads which files a receipt of this adapter speaks of.
func PlacedIn(receipt bot.Receipt) []Placed {
	var placed []Placed
	if receipt.Detail == "" || json.Unmarshal([]byte(receipt.Detail), &placed) != nil {
		return nil
	}
	return placed
}
