package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sandpiper-bot/sandpiper/skills"
)

// ErrTaken is returned for a name that a skill has already.
var ErrTaken = errors.New("there is a skill of this name already")

// MakeAgain writes the folder of a report for a task that a runnable skill
// answered: the skill's own files as they were, run with the saved request.
// Such a report computes everything anew; it has no figures to fill in.
func MakeAgain(s Source, skill skills.Skill) (Report, error) {
	if s.Task.Outcome == nil {
		return Report{}, errors.New("make report: the task has no outcome")
	}
	inputs, _, err := shape(s.Profile)
	if err != nil {
		return Report{}, err
	}
	def := definition{
		Name: s.Name, Version: max(s.Version, 1), Task: s.Task.ID, Owner: s.Owner, Request: s.Task.Event.Text,
		Inputs: inputs, Figures: []Figure{}, Programs: 1, Image: s.Task.Outcome.Provenance.ImageID,
	}
	text, err := json.MarshalIndent(def, "", "  ")
	if err != nil {
		return Report{}, fmt.Errorf("write report.json: %w", err)
	}
	files := map[string][]byte{}
	for _, name := range skill.Files {
		if name == "SKILL.md" || strings.HasPrefix(name, "evals/") {
			continue
		}
		content, err := fs.ReadFile(skill.FS, name)
		if err != nil {
			return Report{}, fmt.Errorf("read skill %s: %w", skill.Name, err)
		}
		files[name] = content
	}
	const script = "scripts/saved_report.py"
	if _, taken := files[script]; taken {
		// A report made from a report: what it runs is the first one's program.
		return Report{}, errors.New("this task ran a saved report: save it under another name by copying its folder")
	}
	files[script] = fmt.Appendf(nil, "\"\"\"The report %s: the skill %s with the request of task %s.\"\"\"\n\nfrom sandpiper import saved\n\nsaved.again(__file__, %s)\n",
		s.Name, skill.Name, s.Task.ID, pythonText(path.Clean(skill.Run)))
	files["SKILL.md"] = []byte(strings.Replace(skillText(def, s.Now), "run: scripts/report.py", "run: "+script, 1))
	files["assets/report.json"] = append(text, '\n')
	files["assets/answer.md"] = []byte("")
	return Report{Files: files}, nil
}
