package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// beside writes sandpiper.yaml and files of its schedules folder, and loads them.
func beside(t *testing.T, yaml string, files map[string]string) (*Loaded, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "schedules"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "schedules", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "sandpiper.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{Path: path, WorkDir: t.TempDir(), Getenv: func(name string) string {
		if name == "HOME" {
			return dir
		}
		return ""
	}})
}

func TestSchedulesOfTheFolder(t *testing.T) {
	const rest = "owner: console:a\nwhen: every day at 9\nrequest: r\n"
	loaded, err := beside(t, "schedules:\n  list:\n    - {name: zero, owner: 'console:a', when: '@daily', request: r}\n", map[string]string{
		"b.yaml":     "- {name: two, owner: 'console:a', when: '@daily', request: r}\n- {name: three, owner: 'console:a', when: '@daily', request: r, misfire: all}\n",
		"a.yml":      "name: one\n" + rest,
		"c.yaml":     "---\nname: four\n" + rest + "---\nname: five\n" + rest,
		"empty.yaml": "# nothing yet\n",
		"notes.txt":  "no YAML: at all: {",
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range loaded.Schedules.List {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "zero one two three four five"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	if s := loaded.Schedules.List; s[1].Misfire != "once" || s[3].Misfire != "all" {
		t.Errorf("misfire is %q and %q", s[1].Misfire, s[3].Misfire)
	}
	for i, want := range []string{"sandpiper.yaml:3", "a.yml:1", "b.yaml:1", "b.yaml:2", "c.yaml:2"} {
		if got := loaded.ScheduleAt(i); filepath.Base(got) != want {
			t.Errorf("schedule %d stands in %s, want %s", i, got, want)
		}
	}
}

func TestMistakesInTheFolderAreToldWithTheirLine(t *testing.T) {
	const good = "name: a\nowner: console:a\nwhen: every day at 9\nrequest: r\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"unknown key":   {map[string]string{"a.yaml": good + "wen: x\n"}, `a.yaml:5: unknown key "schedules.list[0].wen"`},
		"twice":         {map[string]string{"a.yaml": good, "b.yaml": good}, `b.yaml:1: schedules.list[1]: a second schedule is called "a"`},
		"no owner":      {map[string]string{"a.yaml": "\nname: a\nwhen: x\nrequest: r\n"}, "a.yaml:2: schedules.list[0] has no owner"},
		"no zone":       {map[string]string{"a.yaml": good + "zone: Mars\n"}, `a.yaml:5: schedules.list[0].zone: "Mars" is no time zone`},
		"local file":    {map[string]string{"a.yaml": good + "inputs: [x.csv]\n"}, `"x.csv" is a local file, and schedules.root names no folder`},
		"broken syntax": {map[string]string{"a.yaml": "name: {a\n"}, "a.yaml:1: "},
		"no schedule":   {map[string]string{"a.yaml": "hello\n"}, "a.yaml:1: schedules.list[0] holds settings of its own"},
		"a long file":   {map[string]string{"a.yaml": "#" + strings.Repeat("x", 1<<20)}, "a.yaml: is larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := beside(t, "", test.files)
			var bad *Error
			if !errors.As(err, &bad) || !strings.Contains(bad.Error(), test.want) {
				t.Errorf("told %v, want %s", err, test.want)
			}
		})
	}
}
