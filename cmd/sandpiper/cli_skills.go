package main

import (
	"errors"
	"fmt"

	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/skills"
)

type skillsCmd struct {
	List skillsListCmd `cmd:"" help:"List the skills."`
	Show skillsShowCmd `cmd:"" help:"Print one skill."`
	Lint skillsLintCmd `cmd:"" help:"Check format, size, links and scripts of skills."`
	Test skillsTestCmd `cmd:"" help:"Run the evals of skills in the sandbox."`
	New  skillsNewCmd  `cmd:"" help:"Begin a skill."`
}

// loadSkills loads the catalogue that the configuration names. Saved skills
// lie in the data folder.
func loadSkills(loaded *config.Loaded) (*skills.Catalogue, error) {
	catalogue, err := skills.Load(skills.Options{
		Builtin: skills.Builtin(), Folders: loaded.Skills.Folders, Saved: savedSkills(loaded),
	})
	if err != nil {
		return nil, &fault.Error{Status: fault.Usage, Message: err.Error(), Hint: "correct skills.folders in the configuration", Err: err}
	}
	return catalogue, nil
}

// skillNamed finds a skill, or says which are there.
func skillNamed(catalogue *skills.Catalogue, name string) (skills.Skill, error) {
	skill, err := catalogue.Get(name)
	if !errors.Is(err, skills.ErrUnknown) {
		return skill, err
	}
	var names []string
	for _, s := range catalogue.List() {
		names = append(names, s.Name)
	}
	hint := "sandpiper skills list shows those that are there"
	if near := skills.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return skill, fault.New(fault.Usage, hint, "there is no skill %q", term.Line(name))
}

type skillsListCmd struct {
	JSON bool `name:"json" help:"Print one JSON value."`
}

type listedSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Runnable    bool   `json:"runnable"`
	Source      string `json:"source"`
	Version     string `json:"version"`
}

// Run lists the skills; broken ones are named on stderr.
func (c *skillsListCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	catalogue, err := loadSkills(loaded)
	if err != nil {
		return err
	}
	list := []listedSkill{}
	for _, s := range catalogue.List() {
		list = append(list, listedSkill{s.Name, s.Description, s.Runnable(), s.Source, s.Version})
	}
	for _, p := range catalogue.Problems() {
		fmt.Fprintln(e.err, "sandpiper: "+term.Line(p.String()))
	}
	if c.JSON {
		return e.printJSON(list)
	}
	table := term.Table{Header: []string{"NAME", "RUNS BY ITSELF", "SOURCE", "DESCRIPTION"}}
	for _, s := range list {
		table.Add(s.Name, yesNo(s.Runnable), s.Source, s.Description)
	}
	return table.Write(e.out)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type skillsShowCmd struct {
	Name string `arg:"" help:"The skill's name."`
	JSON bool   `name:"json" help:"Print one JSON value."`
}

// Run prints one skill with its text and files.
func (c *skillsShowCmd) Run(e *env) error {
	loaded, err := e.config()
	if err != nil {
		return err
	}
	catalogue, err := loadSkills(loaded)
	if err != nil {
		return err
	}
	s, err := skillNamed(catalogue, c.Name)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.printJSON(struct {
			listedSkill
			License       string            `json:"license,omitempty"`
			Compatibility string            `json:"compatibility,omitempty"`
			AllowedTools  []string          `json:"allowed_tools,omitempty"`
			Metadata      map[string]string `json:"metadata,omitempty"`
			Run           string            `json:"run,omitempty"`
			Dir           string            `json:"dir,omitempty"`
			Files         []string          `json:"files"`
			Body          string            `json:"body"`
		}{
			listedSkill{s.Name, s.Description, s.Runnable(), s.Source, s.Version},
			s.License, s.Compatibility, s.AllowedTools, s.Metadata, s.Run, s.Dir, s.Files, s.Body,
		})
	}
	head := fmt.Sprintf("%s (%s, version %.12s)\n%s\n\n", s.Name, s.Source, s.Version, s.Description)
	if s.Runnable() {
		head += fmt.Sprintf("Runs by itself, without a model: %s\n", s.Run)
	}
	for _, file := range s.Files {
		head += "  " + file + "\n"
	}
	return e.print("%s\n%s\n", head, s.Body)
}
