package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say where to read from.
type Options struct {
	// Path is what --config names; empty leaves it to SANDPIPER_CONFIG and
	// the user's configuration folder.
	Path string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// WorkDir is searched for foreign files that are not read; empty means ".".
	WorkDir string
}

// Loaded is a configuration with where each value came from.
type Loaded struct {
	*Config
	// File is the YAML that was read; empty when there is none.
	File string
	// Origins maps a key ("sandbox.memory") or a variable to where its value
	// came from; keys that are absent hold their defaults.
	Origins map[string]string
	// Notices are worth telling and stop nothing.
	Notices []string

	options Options
}

// An Error is a configuration that cannot be used. It lists every problem.
type Error struct{ Problems []Problem }

// Error implements error.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Load reads file, variables and secrets over the defaults and checks the
// whole. The error is an *Error with all problems.
func Load(options Options) (*Loaded, error) {
	if options.Getenv == nil {
		options.Getenv = os.Getenv
	}
	if options.WorkDir == "" {
		options.WorkDir = "."
	}
	loaded := &Loaded{Config: Defaults(), Origins: map[string]string{}, options: options}
	var problems []Problem

	path, explicit := configPath(options)
	switch data, err := readConfig(path); {
	case err == nil:
		loaded.File = path
		d := &decoder{file: path, origins: loaded.Origins}
		d.decode(data, loaded.Config)
		problems = append(problems, d.problems...)
	case errors.Is(err, fs.ErrNotExist) && !explicit:
	default:
		problems = append(problems, Problem{Where: path, Message: reasonOf(err), Hint: "name a file that is there and readable"})
	}
	problems = append(problems, loaded.scheduleFiles(path)...)
	readVariables(options.Getenv, loaded)
	problems = append(problems, readSecrets(options.Getenv, &loaded.Secrets, loaded.Origins)...)
	problems = append(problems, loaded.defaultDataDir(options.Getenv)...)
	problems = append(problems, check(loaded)...)
	loaded.Notices = loaded.foreign(options.WorkDir)
	if len(problems) > 0 {
		return loaded, &Error{Problems: problems}
	}
	return loaded, nil
}

// ReloadSecrets reads the secrets again, as SIGHUP asks for. On a problem the
// earlier ones stay in force.
func (l *Loaded) ReloadSecrets() (Secrets, error) {
	var fresh Secrets
	if problems := readSecrets(l.options.Getenv, &fresh, map[string]string{}); len(problems) > 0 {
		return l.Secrets, &Error{Problems: problems}
	}
	return fresh, nil
}

// Again loads file and environment as they are now.
func (l *Loaded) Again() (*Loaded, error) {
	options := l.options
	if options.Path == "" {
		options.Path = l.File
	}
	return Load(options)
}

// Socket is the control socket's place beside the database.
func (l *Loaded) Socket() string { return filepath.Join(l.DataDir, "sandpiper.sock") }

// Origin says where key's value came from.
func (l *Loaded) Origin(key string) string {
	if from, ok := l.Origins[key]; ok {
		return from
	}
	return "default"
}

// configPath finds the file to read, and whether somebody asked for it.
func configPath(options Options) (path string, explicit bool) {
	if options.Path != "" {
		return options.Path, true
	}
	if path := options.Getenv("SANDPIPER_CONFIG"); path != "" {
		return path, true
	}
	dir := options.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home := options.Getenv("HOME")
		if home == "" {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "sandpiper", "sandpiper.yaml"), false
}

// readConfig reads at most 1 MiB of a regular file.
func readConfig(path string) ([]byte, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a folder")
	}
	if info.Size() > int64(MiB) {
		return nil, errors.New("is larger than 1 MiB, which no configuration is")
	}
	return os.ReadFile(path)
}

// reasonOf leaves the path out of an error that is told with its path.
func reasonOf(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

// readVariables lays the plain variables over the file's values.
func readVariables(getenv func(string) string, l *Loaded) {
	for _, v := range []struct {
		name, key string
		into      *string
	}{
		{"SANDPIPER_DATA_DIR", "data_dir", &l.DataDir},
		{"SANDPIPER_LISTEN", "listen", &l.Listen},
		{"OPENAI_BASE_URL", "model.base_url", &l.Model.BaseURL},
		{"SANDPIPER_MODEL", "model.name", &l.Model.Name},
		{"SLACK_API_URL", "SLACK_API_URL", &l.Addresses.SlackAPI},
		{"GITHUB_API_URL", "GITHUB_API_URL", &l.Addresses.GitHubAPI},
		{"GITHUB_APP_ID", "GITHUB_APP_ID", &l.Addresses.GitHubAppID},
	} {
		if value := getenv(v.name); value != "" {
			*v.into = value
			l.Origins[v.key] = v.name
		}
	}
}

// defaultDataDir fills in the user's state folder and makes the path absolute.
func (l *Loaded) defaultDataDir(getenv func(string) string) []Problem {
	if l.DataDir == "" {
		state := getenv("XDG_STATE_HOME")
		if state == "" {
			home := getenv("HOME")
			if home == "" {
				return []Problem{{Message: "no data folder: neither SANDPIPER_DATA_DIR nor HOME is set", Hint: "set SANDPIPER_DATA_DIR to a folder of the bot's own"}}
			}
			state = filepath.Join(home, ".local", "state")
		}
		l.DataDir = filepath.Join(state, "sandpiper")
	}
	abs, err := filepath.Abs(l.DataDir)
	if err != nil {
		return []Problem{{Where: l.Origin("data_dir"), Message: err.Error()}}
	}
	l.DataDir = abs
	return nil
}

// foreign names what lies in the working folder, looks like ours and is not read.
func (l *Loaded) foreign(dir string) []string {
	var out []string
	for _, name := range []string{"sandpiper.yaml", "sandpiper.yml"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil && !sameFile(path, l.File) {
			out = append(out, fmt.Sprintf("%s in this folder is not read, for it may be somebody else's; use --config %s if it is yours", name, name))
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "skills", "*", "SKILL.md"))
	configured := slices.ContainsFunc(l.Skills.Folders, func(folder string) bool { return sameFile(folder, filepath.Join(dir, "skills")) })
	if err == nil && len(found) > 0 && !configured {
		out = append(out, "the skills/ in this folder are not read, for they may be somebody else's; name the folder under skills.folders if they are yours")
	}
	return out
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
