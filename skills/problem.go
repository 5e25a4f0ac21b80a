package skills

import (
	"fmt"
	"strings"
)

// Severity says whether a problem keeps a skill from loading.
type Severity string

// The severities.
const (
	Broken  Severity = "error"   // the skill is not loaded
	Warning Severity = "warning" // it is loaded; somebody should look
)

// Problem is one thing wrong with a skill, told so that its author finds it.
type Problem struct {
	Severity Severity `json:"severity"`
	// Skill is the skill's name, or its folder's where it has no valid name.
	Skill  string `json:"skill"`
	Source string `json:"source,omitempty"` // "builtin", "folder" or "saved"
	// File is the path as people find it: with the folder for skills on disk,
	// "builtin/NAME/…" for the embedded ones.
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // counted from 1; 0 when no line is to blame
	Message string `json:"message"`
}

// String renders "file:line: message".
func (p Problem) String() string {
	var at strings.Builder
	at.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&at, ":%d", p.Line)
	}
	if p.Severity == Warning {
		at.WriteString(": warning")
	}
	return at.String() + ": " + p.Message
}

// Error implements error.
func (p Problem) Error() string { return p.String() }
