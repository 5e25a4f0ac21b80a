package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// load reads yaml with the given variables from an otherwise empty world.
func load(t *testing.T, yaml string, env map[string]string) (*Loaded, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "sandpiper.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{Path: path, WorkDir: t.TempDir(), Getenv: func(name string) string {
		if name == "HOME" {
			return dir
		}
		return env[name]
	}})
}

func TestLoadReportsEveryProblemWithItsLine(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want []string // each stands in one problem
	}{
		"unknown key with a near one":  {"sandbox:\n  memroy: 1GiB\n", []string{`:2: unknown key "sandbox.memroy" (did you mean "sandbox.memory"?)`}},
		"unknown section":              {"listen: 127.0.0.1:1\nslak:\n  guests: true\n", []string{`:2: unknown key "slak" (did you mean "slack"?)`}},
		"unknown key with none near":   {"log:\n  destination_folder: x\n", []string{`:2: unknown key "log.destination_folder" (known here: format, level, levels)`}},
		"secret in the file":           {"slack:\n  bot_token: xoxb-1\n", []string{"secrets come from the environment"}},
		"no size":                      {"limits:\n  input: lots\n", []string{`:2: limits.input: "lots" is no size`}},
		"no duration":                  {"retention: {tasks: 90 moons}\n", []string{`:1: retention.tasks: "90 moons" is no duration`}},
		"no number":                    {"sandbox:\n  pids: many\n", []string{`:2: sandbox.pids: "many" is no whole number`}},
		"a value where a list belongs": {"fetch:\n  allow_hosts: example.com\n", []string{":2: fetch.allow_hosts is a list (write allow_hosts: [example.com])"}},
		"a value where a map belongs":  {"sandbox: runc\n", []string{":1: sandbox holds settings of its own"}},
		"a list where a value belongs": {"listen: [a, b]\n", []string{":1: listen is a single value"}},
		"two at once":                  {"lisen: x\nlog: {level: loud}\n", []string{`:1: unknown key "lisen"`, `:2: log.level: "loud" is not known`}},
		"twice the same key":           {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", []string{":2: "}},
		"broken syntax":                {"log: {level: info\n", []string{":1: "}},
		"a scalar file":                {"hello\n", []string{":1: the file holds no settings"}},
		"a second document":            {"listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n", []string{"a second YAML document"}},
		"tmpfs over memory":            {"sandbox:\n  memory: 512MiB\n  workspace: 512MiB\n", []string{":3: sandbox.workspace and sandbox.tmp take 640MiB of 512MiB memory"}},
		"too small":                    {"sandbox:\n  memory: 1MiB\n", []string{":2: sandbox.memory is too small (at least 128MiB)"}},
		"no right":                     {"policies:\n  - origin: console\n    actors: ['*']\n    may: [aks]\n", []string{`:4: policies[0].may: "aks" is no right`}},
		"no zone":                      {"schedules:\n  list:\n    - name: a\n      owner: console:a\n      when: '0 9 * * MON'\n      zone: Europe/Berlim\n      request: x\n", []string{`:6: schedules.list[0].zone: "Europe/Berlim" is no time zone`}},
		"no address":                   {"web:\n  url: sandpiper.example.com\n", []string{":2: web.url is no complete http or https address"}},
		"no repository":                {"github:\n  repositories: [owner]\n", []string{`:2: github.repositories: "owner" is no repository`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, test.yaml, nil)
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("Load gave %v, want an *Error", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("problems:\n%v\nwant one with %q", err, want)
				}
			}
		})
	}
}

func TestContractExampleLoads(t *testing.T) {
	data, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := load(t, string(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.Schedules.List[0].Grace.Std(), 6*time.Hour; got != want {
		t.Errorf("grace is %v, want %v", got, want)
	}
	if got := l.Model.Prices["some-model"]; got != (Price{1.25, 0.12, 10}) {
		t.Errorf("prices are %+v", got)
	}
	// What the contract prints as values are the defaults.
	want, got := Defaults(), *l.Config
	for _, d := range []struct {
		name      string
		got, want any
	}{
		{"listen", got.Listen, want.Listen},
		{"budgets", got.Budgets, want.Budgets},
		{"limits", got.Limits, want.Limits},
		{"sandbox", got.Sandbox, want.Sandbox},
		{"retention", got.Retention, want.Retention},
		{"log", got.Log, want.Log},
	} {
		if !reflect.DeepEqual(d.want, d.got) {
			t.Errorf("defaults of %s are %+v, the contract says %+v", d.name, d.want, d.got)
		}
	}
}

func TestVariablesOutrankTheFileAndSayWhereTheyCameFrom(t *testing.T) {
	l, err := load(t, "listen: 127.0.0.1:1\nmodel: {name: from-file}\n", map[string]string{
		"SANDPIPER_LISTEN": "127.0.0.1:2", "OPENAI_BASE_URL": "http://127.0.0.1:3/v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Listen != "127.0.0.1:2" || l.Origin("listen") != "SANDPIPER_LISTEN" {
		t.Errorf("listen is %q from %q", l.Listen, l.Origin("listen"))
	}
	if l.Model.Name != "from-file" || !strings.HasSuffix(l.Origin("model.name"), "sandpiper.yaml:2") {
		t.Errorf("model.name is %q from %q", l.Model.Name, l.Origin("model.name"))
	}
	if l.ModelProblem() != "" {
		t.Errorf("a base URL without a key does not suffice: %s", l.ModelProblem())
	}
	if l.Origin("sandbox.memory") != "default" {
		t.Errorf("sandbox.memory comes from %q", l.Origin("sandbox.memory"))
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	const secret = "xapp-not-to-be-seen"
	file := filepath.Join(t.TempDir(), "bot-token")
	if err := os.WriteFile(file, []byte("xoxb-not-to-be-seen\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load(t, "model: {base_url: 'http://user:not-to-be-seen@127.0.0.1/v1', name: m}", map[string]string{
		"SLACK_APP_TOKEN": secret, "SLACK_BOT_TOKEN_FILE": file,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Secrets.SlackBot.Reveal(); got != "xoxb-not-to-be-seen" {
		t.Errorf("the file's secret reads as %q", got)
	}
	var out bytes.Buffer
	if err := l.Show(&out); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%v %+v %#v %s", l.Secrets, l.Secrets, l.Secrets, l.Secrets.SlackApp)
	if strings.Contains(out.String(), "not-to-be-seen") {
		t.Errorf("a secret is shown:\n%s", out.String())
	}
	for _, want := range []string{"SLACK_APP_TOKEN=" + dots + "  (environment)", "SLACK_BOT_TOKEN=" + dots + "  (file " + file} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if err := os.WriteFile(file, []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh, err := l.ReloadSecrets()
	if err != nil || fresh.SlackBot.Reveal() != "rotated" {
		t.Errorf("ReloadSecrets gave %q, %v", fresh.SlackBot.Reveal(), err)
	}
}

// TestShowLoadsAgain holds that what `config show` prints is itself a valid
// configuration with the same meaning.
func TestShowLoadsAgain(t *testing.T) {
	data, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, err := load(t, string(data)+"users: {\"github:octocat\": {zone: Asia/Tokyo}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := first.Show(&out); err != nil {
		t.Fatal(err)
	}
	second, err := load(t, out.String(), nil)
	if err != nil {
		t.Fatalf("what show printed does not load: %v\n%s", err, out.String())
	}
	if !reflect.DeepEqual(first.Config, second.Config) {
		t.Errorf("what show printed means something else:\n%+v\n%+v\n%s", first.Config, second.Config, out.String())
	}
}

func TestForeignFilesAreSaidAndNotRead(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"sandpiper.yaml":      "listen: 0.0.0.0:6666\n",
		"skills/bad/SKILL.md": "---\nname: bad\n---\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] }
	l, err := Load(Options{WorkDir: dir, Getenv: env})
	if err != nil {
		t.Fatal(err)
	}
	if l.Listen != Defaults().Listen || l.File != "" {
		t.Errorf("the foreign file was read: listen is %s from %q", l.Listen, l.File)
	}
	if len(l.Notices) != 2 {
		t.Errorf("notices are %q, want one for each foreign thing", l.Notices)
	}
	l, err = Load(Options{WorkDir: dir, Path: filepath.Join(dir, "sandpiper.yaml"), Getenv: env})
	if err != nil {
		t.Fatal(err)
	}
	if l.Listen != "0.0.0.0:6666" || len(l.Notices) != 1 {
		t.Errorf("the named file: listen %s, notices %q", l.Listen, l.Notices)
	}
}

func TestMissingFiles(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	if _, err := Load(Options{WorkDir: home, Getenv: env}); err != nil {
		t.Errorf("no file at all: %v", err)
	}
	if _, err := Load(Options{WorkDir: home, Getenv: env, Path: filepath.Join(home, "none.yaml")}); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a named file that is absent: %v", err)
	}
	if _, err := Load(Options{WorkDir: home, Getenv: env, Path: home}); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[string]Size{"0": 0, "4096": 4096, "256MiB": 256 * MiB, "1 GiB": GiB, "1.5kib": 1536, "1MB": 1_000_000, "7b": 7} {
		var got Size
		if err := got.UnmarshalText([]byte(in)); err != nil || got != want {
			t.Errorf("size %q is %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "MiB", "1XB", "NaN", "99999999TiB"} {
		var got Size
		if err := got.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("size %q reads as %d", in, got)
		}
	}
	for in, want := range map[string]time.Duration{"0": 0, "90s": 90 * time.Second, "3m": 3 * time.Minute, "90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour} {
		var got Duration
		if err := got.UnmarshalText([]byte(in)); err != nil || got.Std() != want {
			t.Errorf("duration %q is %v, %v; want %v", in, got, err, want)
		}
		var again Duration
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("duration %q prints as %q, which reads as %v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{"", "5", "-3m", "d", "3 weeks"} {
		var got Duration
		if err := got.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("duration %q reads as %v", in, got)
		}
	}
}

func TestWarningsOfDefaultDeny(t *testing.T) {
	l, err := load(t, "", map[string]string{"SLACK_APP_TOKEN": "a", "SLACK_BOT_TOKEN": "b", "GITHUB_WEBHOOK_SECRET": "c"})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, w := range l.Warnings() {
		text += w.String() + "\n"
	}
	for _, want := range []string{"slack.allow is empty: nobody may ask", "github.repositories is empty: nobody may ask"} {
		if !strings.Contains(text, want) {
			t.Errorf("warnings lack %q:\n%s", want, text)
		}
	}
}

// A person's zone is found by any spelling of who they are, and is checked.
func TestZonesOfPeople(t *testing.T) {
	l, err := load(t, `users: {"github:OctoCat": {zone: America/New_York}, "slack:U0123": {zone: Asia/Tokyo}, "slack:T9/U9": {zone: Europe/Riga}}
schedules: {zone: Europe/Berlin}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for actor, want := range map[string]string{
		"github:octocat": "America/New_York", "slack:T1/U0123": "Asia/Tokyo", "slack:U0123": "Asia/Tokyo", "slack:T9/U9": "Europe/Riga",
		"slack:T1/U9": "Europe/Berlin", "github:octo": "Europe/Berlin", "console:alice": "Europe/Berlin", "": "Europe/Berlin",
	} {
		if got := l.ZoneOf(actor); got != want {
			t.Errorf("ZoneOf(%q) = %q, want %q", actor, got, want)
		}
	}
	for _, wrong := range []string{
		`users: {"github:a": {zone: Europe/Berlim}}`, `users: {octocat: {zone: UTC}}`, `users: {"slack:": {zone: UTC}}`, `users: {"github:a": {zones: UTC}}`,
		`schedules: {zone: Nowhere}`,
	} {
		if _, err := load(t, wrong+"\n", nil); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}
