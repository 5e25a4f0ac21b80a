package skilltest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sandpiper-bot/sandpiper/skills"
)

// Eval is one case of a skill, as evals/NAME.yaml holds it.
type Eval struct {
	// Name is the file's without .yaml.
	Name    string  `yaml:"-"`
	Request string  `yaml:"request"`
	Lang    string  `yaml:"language"` // "en" (when empty) or "ru"
	Inputs  []Input `yaml:"inputs"`
	// Worked says how the figures were found without the skill's script.
	Worked string `yaml:"worked"`
	Expect Expect `yaml:"expect"`
}

// Input is a file of an eval: its text stands in the eval, or it is a file
// below evals/.
type Input struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
	File string `yaml:"file"`
}

// Expect is what must hold. The fields travel to check.py as JSON.
type Expect struct {
	// Refused, when set, means that the skill must refuse with a sentence
	// that holds this text.
	Refused string `yaml:"refused" json:"refused,omitempty"`
	Answer  Text   `yaml:"answer" json:"answer,omitzero"`
	Files   []File `yaml:"files" json:"files,omitempty"`
}

// Text is what must hold of text.
type Text struct {
	Contains []string `yaml:"contains" json:"contains,omitempty"`
	Lacks    []string `yaml:"lacks" json:"lacks,omitempty"`
	Figures  []Figure `yaml:"figures" json:"figures,omitempty"`
}

// File is what must hold of one file in /workspace/out.
type File struct {
	Name string `yaml:"name" json:"name"`
	Text `yaml:",inline"`
	// Sheets must be a workbook's, in this order.
	Sheets []string `yaml:"sheets" json:"sheets,omitempty"`
	// Slides and Pages count a presentation's and a PDF's; 0 is not checked.
	Slides int `yaml:"slides" json:"slides,omitempty"`
	Pages  int `yaml:"pages" json:"pages,omitempty"`
	// Fonts must be named by the styles of a document or the theme of slides.
	Fonts []string `yaml:"fonts" json:"fonts,omitempty"`
	// Rows counts a sheet's or CSV's rows below its header; 0 is not checked.
	Rows int `yaml:"rows" json:"rows,omitempty"`
	// Numbers, Texts and Dates are cells of a workbook that must be of that kind.
	Numbers []Cell `yaml:"numbers" json:"numbers,omitempty"`
	Texts   []Cell `yaml:"texts" json:"texts,omitempty"`
	Dates   []Cell `yaml:"dates" json:"dates,omitempty"`
}

// Cell is where Row (a cell of its line) and Column (its header) cross.
type Cell struct {
	Sheet  string `yaml:"sheet" json:"sheet,omitempty"`
	Row    string `yaml:"row" json:"row"`
	Column string `yaml:"column" json:"column"`
}

// Figure is one number. In a table it stands where Row (a cell of its line)
// and Column (its header) cross, on Sheet where there are several; in text it
// is the Nth number (from 1) after After on that line; in JSON it lies at Path.
type Figure struct {
	Sheet  string `yaml:"sheet" json:"sheet,omitempty"`
	Row    string `yaml:"row" json:"row,omitempty"`
	Column string `yaml:"column" json:"column,omitempty"`
	After  string `yaml:"after" json:"after,omitempty"`
	Nth    int    `yaml:"nth" json:"nth,omitempty"`
	Path   string `yaml:"path" json:"path,omitempty"`

	Equals    float64 `yaml:"equals" json:"equals"`
	Tolerance float64 `yaml:"tolerance" json:"tolerance,omitempty"` // absolute; 0 allows rounding noise only
}

// Evals reads a skill's evals, in the order of their names. An error names the
// file and, for YAML, the line.
func Evals(s skills.Skill) ([]Eval, error) {
	names, err := fs.Glob(s.FS, "evals/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list evals of %s: %w", s.Name, err)
	}
	var list []Eval
	for _, name := range names {
		data, err := fs.ReadFile(s.FS, name)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", name, s.Name, err)
		}
		var e Eval
		if err := yaml.UnmarshalWithOptions(data, &e, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s/%s: %s", s.Name, name, yaml.FormatError(err, false, false))
		}
		e.Name = strings.TrimSuffix(path.Base(name), ".yaml")
		if err := e.check(s); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", s.Name, name, err)
		}
		list = append(list, e)
	}
	return list, nil
}

func (e *Eval) check(s skills.Skill) error {
	if e.Lang == "" {
		e.Lang = "en"
	}
	if e.Lang != "en" && e.Lang != "ru" {
		return fmt.Errorf("language %q is neither en nor ru", e.Lang)
	}
	if e.Request == "" {
		return errors.New("request is missing")
	}
	for _, in := range e.Inputs {
		if in.Name == "" || path.Base(in.Name) != in.Name {
			return fmt.Errorf("input name %q is not a plain file name", in.Name)
		}
		if in.File != "" {
			if _, err := fs.Stat(s.FS, path.Join("evals", in.File)); err != nil {
				return fmt.Errorf("input %s: %w", in.Name, err)
			}
		}
	}
	x := e.Expect
	if x.Refused == "" && len(x.Files) == 0 && len(x.Answer.Contains) == 0 && len(x.Answer.Figures) == 0 {
		return errors.New("expects nothing")
	}
	return nil
}

// content gives an input's bytes.
func (in Input) content(s skills.Skill) ([]byte, error) {
	if in.File == "" {
		return []byte(in.Text), nil
	}
	return fs.ReadFile(s.FS, path.Join("evals", in.File))
}
