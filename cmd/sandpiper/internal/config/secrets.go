package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is a value that is never printed: it formats, marshals and logs as
// dots. Reveal gives the value to the client that needs it.
type Secret string

const dots = "••••••••"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// Set reports whether there is a secret.
func (s Secret) Set() bool { return s != "" }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return dots
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Secrets are what the environment, or files it names, entrust to the bot.
type Secrets struct {
	WebToken              Secret
	SlackApp              Secret
	SlackBot              Secret
	GitHubWebhook         Secret
	GitHubWebhookPrevious Secret
	GitHubToken           Secret
	GitHubAppKey          Secret // PEM
	OpenAI                Secret
}

// Values returns the secrets that are set, for redaction.
func (s Secrets) Values() []string {
	var out []string
	for _, v := range secretVariables(&s) {
		if v.into.Set() {
			out = append(out, v.into.Reveal())
		}
	}
	return out
}

// Changed names the variables whose values differ in fresh.
func (s Secrets) Changed(fresh Secrets) (names []string) {
	after := secretVariables(&fresh)
	for i, v := range secretVariables(&s) {
		if *v.into != *after[i].into {
			names = append(names, v.name)
		}
	}
	return names
}

// SecretFiles are the files that secrets are read from.
func (l *Loaded) SecretFiles() (paths []string) {
	for _, v := range secretVariables(&Secrets{}) {
		if path := l.options.Getenv(v.name + "_FILE"); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

type secretVariable struct {
	name string
	into *Secret
}

// secretVariables lists the variables and where each goes; each may also be
// given as NAME_FILE.
func secretVariables(s *Secrets) []secretVariable {
	return []secretVariable{
		{"SANDPIPER_WEB_TOKEN", &s.WebToken},
		{"SLACK_APP_TOKEN", &s.SlackApp},
		{"SLACK_BOT_TOKEN", &s.SlackBot},
		{"GITHUB_WEBHOOK_SECRET", &s.GitHubWebhook},
		{"GITHUB_WEBHOOK_SECRET_PREVIOUS", &s.GitHubWebhookPrevious},
		{"GITHUB_TOKEN", &s.GitHubToken},
		{"GITHUB_APP_PRIVATE_KEY", &s.GitHubAppKey},
		{"OPENAI_API_KEY", &s.OpenAI},
	}
}

// readSecrets fills s from the environment and records where each came from.
// It is called again on SIGHUP, so that a rotated file takes effect.
func readSecrets(getenv func(string) string, s *Secrets, origins map[string]string) []Problem {
	var problems []Problem
	for _, v := range secretVariables(s) {
		value, path := getenv(v.name), getenv(v.name+"_FILE")
		switch {
		case value != "" && path != "":
			problems = append(problems, Problem{
				Where:   v.name,
				Message: fmt.Sprintf("both %s and %s_FILE are set", v.name, v.name), Hint: "unset one of them",
			})
		case value != "":
			*v.into = Secret(strings.TrimSpace(value))
			origins[v.name] = "environment"
		case path != "":
			data, err := os.ReadFile(path)
			if err != nil {
				problems = append(problems, Problem{Where: v.name + "_FILE", Message: err.Error(), Hint: "make the file readable to the user that runs sandpiper"})
				continue
			}
			if *v.into = Secret(strings.TrimSpace(string(data))); !v.into.Set() {
				problems = append(problems, Problem{Where: v.name + "_FILE", Message: path + " is empty"})
			}
			origins[v.name] = "file " + path
		}
	}
	return problems
}
