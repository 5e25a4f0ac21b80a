package config

import (
	"encoding"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// Entry is one setting in force.
type Entry struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Entries lists what is in force in the order of the contract: settings by
// their dotted key, then the variables of the environment. Secrets are dots.
func (l *Loaded) Entries() []Entry {
	var out []Entry
	l.walk("", reflect.ValueOf(l.Config).Elem(), &out)
	for _, v := range []struct{ name, value string }{
		{"SLACK_API_URL", l.Addresses.SlackAPI},
		{"GITHUB_API_URL", l.Addresses.GitHubAPI},
		{"GITHUB_APP_ID", l.Addresses.GitHubAppID},
	} {
		out = append(out, Entry{Key: v.name, Value: withoutUser(v.value), Origin: l.variableOrigin(v.name)})
	}
	for _, v := range secretVariables(&l.Secrets) {
		out = append(out, Entry{Key: v.name, Value: v.into.String(), Origin: l.variableOrigin(v.name)})
	}
	return out
}

func (l *Loaded) variableOrigin(name string) string {
	switch from := l.Origins[name]; from {
	case "":
		return "not set"
	case name:
		return "environment"
	default:
		return from
	}
}

func (l *Loaded) walk(path string, v reflect.Value, out *[]Entry) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == "" || name == "-" {
			continue
		}
		key, field := join(path, name), v.Field(i)
		if field.Kind() == reflect.Struct {
			l.walk(key, field, out)
			continue
		}
		*out = append(*out, Entry{Key: key, Value: plainValue(field), Origin: l.originUnder(key)})
	}
}

// originUnder finds the origin of key or, for maps and lists of structures,
// of the first leaf below it.
func (l *Loaded) originUnder(key string) string {
	if from, ok := l.Origins[key]; ok {
		return from
	}
	var below []string
	for k := range l.Origins {
		if strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[") {
			below = append(below, k)
		}
	}
	if len(below) == 0 {
		return "default"
	}
	sort.Strings(below)
	return l.Origins[below[0]]
}

// plainValue gives v as people write it in YAML.
func plainValue(v reflect.Value) any {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		out, err := text.MarshalText()
		if err == nil {
			return string(out)
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainValue(v.Index(i))
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" && !v.Field(i).IsZero() {
				out[name] = plainValue(v.Field(i))
			}
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = plainValue(v.MapIndex(k))
		}
		return out
	case reflect.String:
		return withoutUser(v.String())
	default:
		return v.Interface()
	}
}

// withoutUser strikes a name and password out of a URL.
func withoutUser(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil || u.Host == "" {
		return s
	}
	u.User = url.User(dots)
	return strings.Replace(u.String(), url.User(dots).String(), dots, 1)
}

// Show writes what is in force as YAML that loads again, each value with where
// it came from as a comment; variables stand behind it as comments.
func (l *Loaded) Show(w io.Writer) error {
	source := "no configuration file is read; these are defaults and variables"
	if l.File != "" {
		source = "read from " + l.File
	}
	if _, err := fmt.Fprintf(w, "# %s\n", source); err != nil {
		return err
	}
	var open []string
	for _, entry := range l.Entries() {
		if strings.ToUpper(entry.Key) == entry.Key {
			if err := showVariable(w, entry); err != nil {
				return err
			}
			continue
		}
		parts := strings.Split(entry.Key, ".")
		depth := len(parts) - 1
		for i := range depth {
			if i < len(open) && open[i] == parts[i] {
				continue
			}
			open = append(open[:i:i], parts[i])
			if _, err := fmt.Fprintf(w, "%s%s:\n", strings.Repeat("  ", i), parts[i]); err != nil {
				return err
			}
		}
		open = open[:depth]
		line, err := yamlLine(parts[depth], entry.Value)
		if err != nil {
			return fmt.Errorf("show %s: %w", entry.Key, err)
		}
		if _, err := fmt.Fprintf(w, "%s%s  # %s\n", strings.Repeat("  ", depth), line, entry.Origin); err != nil {
			return err
		}
	}
	return nil
}

func showVariable(w io.Writer, entry Entry) error {
	value := fmt.Sprint(entry.Value)
	if value == "" {
		_, err := fmt.Fprintf(w, "# %s is not set\n", entry.Key)
		return err
	}
	_, err := fmt.Fprintf(w, "# %s=%s  (%s)\n", entry.Key, value, entry.Origin)
	return err
}

// yamlLine renders one key with its value in flow style.
func yamlLine(key string, value any) (string, error) {
	out, err := yaml.MarshalWithOptions(value, yaml.Flow(true))
	if err != nil {
		return "", err
	}
	return key + ": " + strings.TrimSpace(string(out)), nil
}
