package agent

import (
	"fmt"
	"slices"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// Published as a saved report's owner shares it with everybody.
const Published = "*"

// ownSkills shows a task the skills that its asker may use: built-in and
// configured ones, and the saved reports that are the asker's own, their
// place's, or published. For anybody else a report does not exist.
type ownSkills struct {
	Skills
	event bot.Event
}

func (t *task) skills() Skills { return ownSkills{t.a.o.Skills, t.run.Task.Event} }

func (o ownSkills) may(s skills.Skill) bool {
	owner := s.Metadata["owner"]
	return s.Source != skills.SourceSaved || owner == Published || owner == o.event.Actor.ID || owner != "" && owner == o.event.Origin.Place
}

// List implements Skills.
func (o ownSkills) List() []skills.Skill {
	return slices.DeleteFunc(o.Skills.List(), func(s skills.Skill) bool { return !o.may(s) })
}

// Get implements Skills.
func (o ownSkills) Get(name string) (skills.Skill, error) {
	s, err := o.Skills.Get(name)
	if err == nil && !o.may(s) {
		return skills.Skill{}, fmt.Errorf("get skill %s: %w", name, skills.ErrUnknown)
	}
	return s, err
}
