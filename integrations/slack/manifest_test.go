package slack_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sandpiper-bot/sandpiper/integrations/slack"
)

// scopesOf says which scopes a call of slack-go needs, and scopesOfEvents what
// is needed for events and for what is no call.
func scopesOf() map[string][]string {
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	reading := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	write := []string{"chat:write"}
	return map[string][]string{
		"AuthTestContext": nil, "StartSocketModeContext": nil, "OpenViewContext": nil, "PublishViewContext": nil, "UploadToURL": nil,
		"PostMessageContext": write, "PostEphemeralContext": write, "UpdateMessageContext": write, "DeleteMessageContext": write,
		"OpenConversationContext": {"im:write"},
		"AddReactionContext":      {"reactions:write"}, "GetUserInfoContext": {"users:read"}, "GetUserGroupMembersContext": {"usergroups:read"},
		"GetConversationInfoContext": reading, "GetConversationsForUserContext": reading, "GetUsersInConversationContext": reading,
		"GetConversationHistoryContext": history, "GetConversationRepliesContext": history,
		"RemoveReactionContext": {"reactions:write"}, "GetFileInfoContext": {"files:read"}, "GetFilesContext": {"files:read"}, "GetUploadURLExternalContext": {"files:write"}, "CompleteUploadExternalContext": {"files:write"},
	}
}

// TestManifest compares the manifest with the calls in the adapter's source and
// with the events it handles: it asks for neither more nor less.
func TestManifest(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/slack/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Features struct {
			Shortcuts []struct {
				CallbackID string `yaml:"callback_id"`
			} `yaml:"shortcuts"`
			SlashCommands []struct {
				Command string `yaml:"command"`
			} `yaml:"slash_commands"`
		} `yaml:"features"`
		OAuth struct {
			Scopes struct {
				Bot []string `yaml:"bot"`
			} `yaml:"scopes"`
		} `yaml:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `yaml:"bot_events"`
			} `yaml:"event_subscriptions"`
			Interactivity struct {
				Enabled bool `yaml:"is_enabled"`
			} `yaml:"interactivity"`
			SocketMode bool `yaml:"socket_mode_enabled"`
		} `yaml:"settings"`
	}
	if err := yaml.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{"app_mentions:read": true, "commands": true} // events, slash command and shortcut
	known := scopesOf()
	for _, call := range calls(t) {
		scopes, ok := known[call]
		if !ok {
			t.Errorf("the adapter calls %s, and nobody says which scope that needs", call)
		}
		for _, s := range scopes {
			needed[s] = true
		}
	}
	var want []string
	for s := range needed {
		want = append(want, s)
	}
	slices.Sort(want)
	if !slices.Equal(m.OAuth.Scopes.Bot, want) {
		t.Errorf("the manifest asks for\n%q, used are\n%q", m.OAuth.Scopes.Bot, want)
	}
	if !slices.Equal(slack.Scopes(), want) {
		t.Errorf("Scopes() has\n%q, used are\n%q", slack.Scopes(), want)
	}
	if !slices.Equal(m.Settings.Events.Bot, slack.Events()) {
		t.Errorf("the manifest subscribes to %q, handled are %q", m.Settings.Events.Bot, slack.Events())
	}
	if !m.Settings.Interactivity.Enabled || !m.Settings.SocketMode || len(m.Features.Shortcuts) != 1 || m.Features.Shortcuts[0].CallbackID != "analyse" ||
		len(m.Features.SlashCommands) != 1 || m.Features.SlashCommands[0].Command != "/sandpiper" {
		t.Errorf("features %+v, settings %+v", m.Features, m.Settings)
	}
}

// calls lists the methods that the package calls on its API client.
func calls(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := call.X.(*ast.CallExpr); ok {
					if client, ok := of.Fun.(*ast.SelectorExpr); ok && client.Sel.Name == "api" && !slices.Contains(out, call.Sel.Name) {
						out = append(out, call.Sel.Name)
					}
				}
			}
			return true
		})
	}
	return out
}
