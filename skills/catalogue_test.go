package skills_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/skills"
)

// put writes files below dir; keys are slash paths.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

func manifest(name string, more ...string) string {
	return "---\nname: " + name + "\ndescription: Does a thing. Use when a thing is wanted.\n" + strings.Join(more, "") + "---\n# " + name + "\n"
}

func TestBuiltinSkillsLoadWithoutAProblem(t *testing.T) {
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	require.NoError(t, err)
	require.Empty(t, c.Problems())
	require.NotEmpty(t, c.List())
	for _, s := range c.List() {
		require.Equal(t, skills.SourceBuiltin, s.Source)
		require.Empty(t, s.Dir)
	}
}

func TestWholeFormatIsRead(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"pdf-forms/SKILL.md": "---\nname: pdf-forms\ndescription: >-\n  Fills forms.\n  Use when there is a form.\nlicense: MIT\n" +
			"compatibility: Needs python3\nallowed-tools: Bash(git:* --stat) Read, Write\nmetadata:\n  author: someone\n  version: 1.0\n  run: scripts/fill.py\n---\n\n# Body\n",
		"pdf-forms/scripts/fill.py":     "print(1)\n",
		"pdf-forms/references/a b.md":   "x",
		"pdf-forms/evals/one.yaml":      "request: x",
		"pdf-forms/.git/config":         "no part of it",
		"pdf-forms/__pycache__/f.pyc":   "no part of it",
		"nested/deeper/inside/SKILL.md": manifest("inside"),
	})
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Empty(t, c.Problems())

	s, err := c.Get("pdf-forms")
	require.NoError(t, err)
	require.Equal(t, "Fills forms. Use when there is a form.", s.Description)
	require.Equal(t, "MIT", s.License)
	require.Equal(t, "Needs python3", s.Compatibility)
	require.Equal(t, []string{"Bash(git:* --stat)", "Read", "Write"}, s.AllowedTools)
	require.Equal(t, map[string]string{"author": "someone", "version": "1.0", "run": "scripts/fill.py"}, s.Metadata)
	require.True(t, s.Runnable())
	require.Equal(t, "\n# Body\n", s.Body)
	require.Equal(t, []string{"SKILL.md", "references/a b.md", "scripts/fill.py"}, s.Files, "evals are not sent to sessions")
	require.Len(t, s.Version, 64)
	require.NoError(t, fstest.TestFS(s.FS, "SKILL.md", "references/a b.md", "scripts/fill.py", "evals/one.yaml"))

	_, err = c.Get("inside")
	require.NoError(t, err)
	_, err = c.Get("absent")
	require.ErrorIs(t, err, skills.ErrUnknown)
	require.ErrorContains(t, err, "inside, pdf-forms")
}

func TestBrokenSkillIsNamedWithFileAndLine(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		line     int
		contains string
		warns    bool // it loads all the same
	}{
		"no front matter":     {text: "# Hello\n", line: 1, contains: "must start with a line `---`"},
		"never ends":          {text: "---\nname: broken\n", line: 3, contains: "never ends"},
		"empty file":          {text: "", line: 1, contains: "must start"},
		"invalid yaml":        {text: "---\nname: broken\ndescription: [a\n---\n", line: 3, contains: "not valid YAML"},
		"no mapping":          {text: "---\n- a\n- b\n---\n", line: 2, contains: "`key: value`"},
		"no name":             {text: "---\ndescription: x\n---\n", line: 1, contains: "name is missing"},
		"bad name":            {text: "---\ndescription: x\nname: ../up\n---\n", line: 3, contains: "lower-case"},
		"double hyphen":       {text: "---\nname: a--b\ndescription: x\n---\n", line: 2, contains: "single hyphens"},
		"no description":      {text: "---\nname: broken\n---\n", line: 1, contains: "description is missing"},
		"empty description":   {text: "---\nname: broken\ndescription:\n---\n", line: 3, contains: "description is missing"},
		"description no text": {text: "---\nname: broken\ndescription: {a: b}\n---\n", line: 3, contains: "must be text"},
		"key twice":           {text: "---\nname: broken\nname: broken\ndescription: x\n---\n", line: 3, contains: ""},
		"metadata no map":     {text: "---\nname: broken\ndescription: x\nmetadata: [a]\n---\n", line: 4, contains: "must be a map"},
		"run is absent":       {text: manifest("broken", "metadata:\n  run: scripts/no.py\n"), line: 5, contains: "not in the skill's folder"},
		"run leaves":          {text: manifest("broken", "metadata:\n  run: ../../x.py\n"), line: 5, contains: "inside the skill's folder"},
		"run is no python":    {text: manifest("broken", "metadata:\n  run: SKILL.md\n"), line: 5, contains: "Python program"},
		"not utf-8":           {text: "---\nname: broken\ndescription: caf\xe9\n---\n", line: 3, contains: "not UTF-8"},
		"unknown key":         {text: manifest("broken", "model: large\n"), line: 4, contains: "not part of", warns: true},
		"colon in plain text": {text: "---\nname: broken\ndescription: Use when: it's there\n---\n", line: 3, contains: "quotes", warns: true},
		"tools as a list":     {text: manifest("broken", "allowed-tools: [Read, Write]\n"), line: 4, contains: "list was read", warns: true},
		"other name":          {text: manifest("another"), line: 2, contains: "not the folder's", warns: true},
		"long description":    {text: "---\nname: broken\ndescription: " + strings.Repeat("é", 1025) + "\n---\n", line: 3, contains: "1025 characters", warns: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{"broken/SKILL.md": test.text, "good/SKILL.md": manifest("good")})
			c, err := skills.Load(skills.Options{Folders: []string{dir}})
			require.NoError(t, err)
			_, err = c.Get("good")
			require.NoError(t, err, "a broken skill leaves the others alone")

			require.NotEmpty(t, c.Problems())
			p := c.Problems()[0]
			require.Equal(t, filepath.Join(dir, "broken", "SKILL.md"), p.File)
			require.Equal(t, test.line, p.Line, p.Message)
			require.Contains(t, p.Message, test.contains)
			if test.warns {
				require.Equal(t, skills.Warning, p.Severity)
				require.Len(t, c.List(), 2)
			} else {
				require.Equal(t, skills.Broken, p.Severity)
				require.Len(t, c.List(), 1)
				_, err = c.Get("broken")
				require.ErrorIs(t, err, skills.ErrUnknown)
			}
		})
	}
}

func TestNameIsNeverShadowedInSilence(t *testing.T) {
	one, two, saved := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, one, map[string]string{"chart/SKILL.md": manifest("chart"), "mine/SKILL.md": manifest("mine", "license: first\n")})
	put(t, two, map[string]string{"mine/SKILL.md": manifest("mine", "license: second\n")})
	put(t, saved, map[string]string{"mine/SKILL.md": manifest("mine"), "report/SKILL.md": manifest("report")})
	elsewhere := t.TempDir()
	put(t, elsewhere, map[string]string{"chart/SKILL.md": manifest("chart"), "mine/SKILL.md": manifest("mine"), "new/SKILL.md": manifest("new")})
	builtin := fstest.MapFS{"chart/SKILL.md": &fstest.MapFile{Data: []byte(manifest("chart", "license: ours\n"))}}

	c, err := skills.Load(skills.Options{Builtin: builtin, Folders: []string{one, two}, Saved: saved})
	require.NoError(t, err)
	require.Len(t, c.List(), 3)
	chart, err := c.Get("chart")
	require.NoError(t, err)
	require.Equal(t, "ours", chart.License)
	mine, err := c.Get("mine")
	require.NoError(t, err)
	require.Equal(t, "first", mine.License)

	var told []string
	for _, p := range c.Problems() {
		require.Equal(t, skills.Broken, p.Severity)
		told = append(told, p.File+" "+p.Message)
	}
	require.Len(t, told, 3)
	require.Contains(t, told[0], filepath.Join(one, "chart"))
	require.Contains(t, told[0], "taken by a built-in skill")
	require.Contains(t, told[1], filepath.Join(two, "mine"))
	require.Contains(t, told[1], "taken by "+filepath.Join(one, "mine"))
	require.Contains(t, told[2], filepath.Join(saved, "mine"))

	// The same, asked of a folder on its own, configured or not.
	for _, test := range []struct {
		dir  string
		want []string
	}{
		{one, []string{"error chart a built-in skill"}},
		{two, []string{"error mine " + filepath.Join(one, "mine")}},
		{elsewhere, []string{"error chart a built-in skill", "warning mine " + filepath.Join(one, "mine")}},
	} {
		alone, err := skills.Load(skills.Options{Folders: []string{test.dir}})
		require.NoError(t, err)
		found := c.Shadowed(alone.List())
		require.Len(t, found, len(test.want), test.dir)
		for i, p := range found {
			want := strings.SplitN(test.want[i], " ", 3)
			require.Equal(t, want[:2], []string{string(p.Severity), p.Skill}, p.String())
			require.Contains(t, p.Message, want[2])
		}
	}
}

func TestLinksAndSpecialFilesAreRefused(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, outside, map[string]string{"secret.txt": "secret", "skill/SKILL.md": manifest("skill")})
	for _, name := range []string{"a-file", "b-parent", "c-absolute", "d-pipe", "e-inside", "f-control", "good"} {
		put(t, dir, map[string]string{name + "/SKILL.md": manifest(name)})
	}
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "a-file", "secret.txt")))
	require.NoError(t, os.Symlink("../..", filepath.Join(dir, "b-parent", "up")))
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "c-absolute", "etc")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "d-pipe", "pipe"), 0o644))
	require.NoError(t, os.Symlink("SKILL.md", filepath.Join(dir, "e-inside", "again.md")))
	put(t, dir, map[string]string{"f-control/a\x1b[2Jb": "x"})
	require.NoError(t, os.Symlink(filepath.Join(outside, "skill"), filepath.Join(dir, "skill")))

	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Len(t, c.List(), 1)
	require.Equal(t, "good", c.List()[0].Name)
	require.Len(t, c.Problems(), 7)
	for _, p := range c.Problems() {
		require.Equal(t, skills.Broken, p.Severity)
	}
	_, err = c.Get("skill")
	require.ErrorContains(t, err, "symbolic link")
}

func TestTooLargeSkillIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"big/SKILL.md": manifest("big"), "many/SKILL.md": manifest("many")})
	require.NoError(t, os.Truncate(filepath.Join(dir, "big", "SKILL.md"), 1<<40))
	for i := range 1001 {
		put(t, dir, map[string]string{filepath.Join("many", "f", strings.Repeat("x", i%100+1)+"-"+string(rune('a'+i/100))): "x"})
	}
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Empty(t, c.List())
	require.Contains(t, c.Problems()[0].Message, "more than 32 MiB")
	require.Contains(t, c.Problems()[1].Message, "more than 1000 files")
}

func TestReloadTakesChangesAndKeepsWhatWasHandedOut(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"one/SKILL.md": manifest("one"), "one/a.txt": "before"})
	c, err := skills.Load(skills.Options{Folders: []string{dir}, Saved: filepath.Join(dir, "not-yet")})
	require.NoError(t, err)
	old, err := c.Get("one")
	require.NoError(t, err)

	put(t, dir, map[string]string{"one/a.txt": "after", "two/SKILL.md": manifest("two"), "three/SKILL.md": "broken"})
	require.NoError(t, c.Reload())
	require.Len(t, c.List(), 2)
	require.Len(t, c.Problems(), 1)
	renewed, err := c.Get("one")
	require.NoError(t, err)
	require.NotEqual(t, old.Version, renewed.Version)
	before, err := fs.ReadFile(old.FS, "a.txt")
	require.NoError(t, err)
	require.Equal(t, "before", string(before), "a task in flight keeps the version it began with")

	require.NoError(t, os.RemoveAll(dir))
	require.Error(t, c.Reload())
	require.Len(t, c.List(), 2, "a failed reload changes nothing")
}

func TestMissingFolderIsAnError(t *testing.T) {
	_, err := skills.Load(skills.Options{Folders: []string{filepath.Join(t.TempDir(), "absent")}})
	require.True(t, errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "no such file"))
}
