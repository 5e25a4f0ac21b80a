package main

import (
	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/integrations/console"
)

// answer is the JSON of `run --json`; its fields are the outer contract.
type answer struct {
	Task        string               `json:"task"`
	State       bot.TaskState        `json:"state"`
	Partial     bool                 `json:"partial"`
	Message     string               `json:"message"`
	Files       []answerFile         `json:"files"`
	Undelivered []bot.Undelivered    `json:"undelivered"`
	Usage       bot.Usage            `json:"usage"`
	Programs    []bot.ProgramVerdict `json:"programs"`
	Error       *bot.TaskError       `json:"error,omitempty"`
	Question    *bot.Question        `json:"question,omitempty"`
}

type answerFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Path   string `json:"path"` // absolute; empty where it was not delivered to a folder
}

// answerOf puts a task that has ended, or asks back, together with what became
// of its files.
func answerOf(task *bot.Task, deliveries []bot.Delivery) *answer {
	a := &answer{
		Task: task.ID, State: publicState(task.State), Files: []answerFile{},
		Undelivered: []bot.Undelivered{}, Programs: []bot.ProgramVerdict{},
	}
	if task.Outcome == nil {
		return a
	}
	o := task.Outcome
	a.Partial, a.Message, a.Usage, a.Error, a.Question = o.Partial, o.Message, o.Usage, o.Error, o.Question
	a.Undelivered = append(a.Undelivered, o.Undelivered...)
	a.Programs = append(a.Programs, o.Provenance.Programs...)
	paths := map[string]string{}
	for i := range deliveries {
		d := &deliveries[i]
		if d.Kind != bot.DeliverFiles {
			continue
		}
		if d.Receipt != nil {
			for _, placed := range console.PlacedIn(*d.Receipt) {
				paths[placed.Name] = placed.Path
			}
			a.Undelivered = append(a.Undelivered, d.Receipt.Undelivered...)
		} else if d.Failure != "" {
			for _, file := range d.Files {
				a.Undelivered = append(a.Undelivered, bot.Undelivered{Name: file.Name, Reason: d.Failure})
			}
		}
	}
	for _, file := range o.Files {
		a.Files = append(a.Files, answerFile{Name: file.Name, Type: file.MediaType, Size: file.Size, SHA256: file.Blob, Path: paths[file.Name]})
	}
	return a
}

// publicState is one of the contract's done, failed, cancelled and waiting.
func publicState(state bot.TaskState) bot.TaskState {
	if state == bot.TaskRefused {
		return bot.TaskFailed
	}
	return state
}

// status is the exit status that the answer deserves.
func (a *answer) status() fault.Status {
	switch a.State {
	case bot.TaskDone, bot.TaskWaiting:
		return fault.Done
	case bot.TaskFailed:
		if a.Error != nil {
			switch a.Error.Kind {
			case "engine", "image", "model":
				return fault.Missing
			}
		}
	}
	return fault.Failed
}
