package skills

import "io/fs"

// Skill is one loaded skill.
type Skill struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	AllowedTools  []string
	Metadata      map[string]string
	// Run is the program of a runnable skill, relative to its folder
	// ("scripts/report.py"); empty when the skill needs a model.
	Run string
	// Source is "builtin", "folder" or "saved".
	Source string
	// Dir is where it was loaded from, for people; empty for built-in ones.
	Dir string
	// Version is the SHA-256 over the names and contents of its files, hex.
	Version string
	// Body is SKILL.md without its front matter.
	Body string
	// Files are the skill's regular files, relative to FS, sorted.
	Files []string
	FS    fs.FS
}

// Auxiliary lists the outputs of a runnable skill that only accompany its
// answer, for programs or for a closer look. In a chat they are named and not
// attached, unless the request asks for them.
func (s Skill) Auxiliary() []string { return splitList(s.Metadata["auxiliary"]) }

// Runnable reports whether the skill needs no model.
func (s Skill) Runnable() bool { return s.Run != "" }
