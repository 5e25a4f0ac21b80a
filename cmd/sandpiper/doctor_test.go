package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
	"github.com/sandpiper-bot/sandpiper/integrations/github/githubtest"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// sickbed is a home with something wrong, and what doctor runs with.
type sickbed struct {
	*home
	conf string
	env  []string
}

// sick is one fault, and the line that tells of it.
type sick struct {
	name    string
	prepare func(s *sickbed)
	line    string // the check's name
	status  string
	says    string // stands in its message
	hint    string // stands in its advice
}

// nowhereToRun keeps doctor from an engine where the fault is elsewhere.
const nowhereToRun = "DOCKER_HOST=unix:///nonexistent/docker.sock"

func (s *sickbed) without() { s.env = append(s.env, nowhereToRun) }

// diagnose runs doctor and reads its checks.
func (s *sickbed) diagnose() []check {
	s.t.Helper()
	s.write("conf.yaml", s.conf)
	p := s.start(s.env, "doctor", "--json", "--no-probe")
	status := p.wait()
	var got struct{ Checks []check }
	if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
		s.t.Fatalf("doctor ended with %d and printed no JSON: %v\n%s\n%s", status, err, p.out.String(), p.err.String())
	}
	want := 0
	for _, c := range got.Checks {
		if c.Status == checkFailed {
			want = 3
		}
	}
	if status != want {
		s.t.Errorf("exit status %d, want %d with %+v", status, want, got.Checks)
	}
	return got.Checks
}

// TestDoctorTellsEachFault breaks one thing after the other: each has a line
// of its own that says what to do.
func TestDoctorTellsEachFault(t *testing.T) {
	faults := append(machineFaults(), append(modelFaults(), append(slackFaults(), githubFaults()...)...)...)
	if len(faults) < 25 {
		t.Errorf("%d faults, want at least 25", len(faults))
	}
	lines := map[string]string{}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			s := &sickbed{home: &home{t: t, dir: t.TempDir()}}
			f.prepare(s)
			checks := s.diagnose()
			found := false
			for _, c := range checks {
				if c.Name != f.line || c.Status != f.status || !strings.Contains(c.Message, f.says) {
					continue
				}
				found = true
				if c.Hint == "" || !strings.Contains(c.Hint, f.hint) {
					t.Errorf("the advice is %q and lacks %q", c.Hint, f.hint)
				}
				if other := lines[c.Message+c.Hint]; other != "" {
					t.Errorf("%s has the same line: %s", other, c.Message)
				}
				lines[c.Message+c.Hint] = f.name
			}
			if !found {
				t.Errorf("no line %q, %s, with %q among %+v", f.line, f.status, f.says, checks)
			}
			for _, c := range checks {
				if strings.Contains(c.Message+c.Hint, "1234567890abcdef") {
					t.Errorf("the line shows a secret: %+v", c)
				}
			}
		})
	}
}

func machineFaults() []sick {
	needsEngine := func(s *sickbed) { sandboxtest.Engine(s.t) }
	list := []sick{
		{"engine down", (*sickbed).without, "engine", checkFailed, "does not answer", "start it"},
		{"wrong API", func(s *sickbed) {
			s.env = append(s.env, "DOCKER_HOST="+notAnEngine(s.t))
		}, "engine", checkFailed, "does not answer", "docker version"},
		{"runtime absent", func(s *sickbed) {
			needsEngine(s)
			s.conf = "sandbox: {runtime: kata-none}\n"
		}, "engine", checkFailed, `no runtime "kata-none"`, "sandbox.runtime"},
		{"image absent", func(s *sickbed) {
			needsEngine(s)
			s.conf = "sandbox: {image: 'sandpiper-none:1'}\n"
		}, "image", checkFailed, "sandpiper-none:1", "sandpiper sandbox build"},
		{"rootless without limits", func(s *sickbed) {
			s.env = append(s.env, "DOCKER_HOST="+rootless(s.t))
		}, "engine", checkFailed, "rootless engine cannot limit memory", "cgroup v2"},
		{"engine over bare TCP", func(s *sickbed) {
			s.env = append(s.env, "DOCKER_HOST="+changedEngine(s.t, nil))
		}, "engine socket", checkWarning, "without TLS", "unix socket"},
		{"key in the YAML", func(s *sickbed) {
			s.without()
			s.conf = "model: {base_url: 'https://bot:1234567890abcdef@models.example/v1', name: m}\n"
		}, "secrets", checkFailed, "line 1 of", "…_FILE"},
		{"token as a key of the YAML", func(s *sickbed) {
			s.without()
			s.conf = "listen: 127.0.0.1:0\nslack: {bot_token: xoxb-1234567890abcdef-1234567890}\n"
		}, "secrets", checkFailed, "line 2 of", "revoke it"},
		{"secret file open to all", func(s *sickbed) {
			s.without()
			s.write("token", "a token of the pages")
			s.env = append(s.env, "SANDPIPER_WEB_TOKEN_FILE="+filepath.Join(s.dir, "token"))
		}, "secrets", checkWarning, "can be read by other users", "chmod 600"},
		{"data folder open to all", func(s *sickbed) {
			s.without()
			s.folder(0o755)
		}, "data folder", checkWarning, "open to other users", "chmod 700"},
		{"disk nearly full", func(s *sickbed) {
			s.without()
			s.folder(0o700)
			s.smallDisk()
		}, "disk", checkFailed, "free", "free some space"},
		{"database corrupt", func(s *sickbed) {
			s.without()
			s.folder(0o700)
			if err := os.WriteFile(filepath.Join(s.dataDir(), "sandpiper.db"), []byte(strings.Repeat("rubbish ", 4096)), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}, "database", checkFailed, "", "sandpiper restore"},
		{"unknown key", func(s *sickbed) { s.conf = "sandbocks: {}\n" }, "configuration", checkFailed, "unknown key", "sandbox"},
		{"open listener without a token", func(s *sickbed) {
			s.without()
			s.conf = "listen: 0.0.0.0:0\n"
		}, "configuration", checkWarning, "reachable from other machines", "SANDPIPER_WEB_TOKEN"},
		{"public URL leads nowhere", func(s *sickbed) {
			s.without()
			s.conf = "web: {url: 'http://127.0.0.1:1'}\n"
		}, "public url", checkFailed, "cannot be reached", "tunnel"},
		{"public URL leads elsewhere", func(s *sickbed) {
			s.without()
			other := httptest.NewServer(http.NotFoundHandler())
			s.t.Cleanup(other.Close)
			s.conf = "web: {url: '" + other.URL + "'}\n"
		}, "public url", checkFailed, "not this bot (404)", "reverse proxy"},
		{"skill that cannot be read", func(s *sickbed) {
			s.without()
			s.write("skills/bad/SKILL.md", "no front matter\n")
			s.conf = "skills: {folders: [" + filepath.Join(s.dir, "skills") + "]}\n"
		}, "skills", checkWarning, "bad", "skills lint"},
	}
	return list
}

// folder makes the data folder.
func (s *sickbed) folder(mode os.FileMode) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(s.dataDir(), 0o700), os.Chmod(s.dataDir(), mode)); err != nil {
		s.t.Fatal(err)
	}
}

// smallDisk lays a file system of 64 MiB under the data folder.
func (s *sickbed) smallDisk() {
	s.t.Helper()
	if os.Getuid() != 0 {
		s.t.Skip("skipped: only root can mount a small file system")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", s.dataDir()).CombinedOutput(); err != nil {
		s.t.Fatalf("mount: %v %s", err, out)
	}
	s.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", s.dataDir()).CombinedOutput(); err != nil {
			s.t.Errorf("umount: %v %s", err, out)
		}
	})
}

// notAnEngine answers everything, and is no engine.
func notAnEngine(t *testing.T) string {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>what?</html>", http.StatusTeapot)
	}))
	t.Cleanup(other.Close)
	return "tcp://" + other.Listener.Addr().String()
}

// rootless is the real engine that says it is rootless and applies no limits.
func rootless(t *testing.T) string {
	return changedEngine(t, func(info map[string]any) {
		info["MemoryLimit"], info["PidsLimit"], info["CpuCfsQuota"] = false, false, false
		info["SecurityOptions"] = []string{"name=seccomp,profile=default", "name=rootless"}
	})
}

// changedEngine is the real engine over TCP, with another answer to info.
func changedEngine(t *testing.T, change func(info map[string]any)) string {
	t.Helper()
	sandboxtest.Engine(t)
	_, path, _ := strings.Cut(orElse(os.Getenv(client.EnvOverrideHost), client.DefaultDockerHost), "://")
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		if change == nil || !strings.HasSuffix(r.Request.URL.Path, "/info") {
			return nil
		}
		var info map[string]any
		if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
			return err
		}
		change(info)
		body, err := json.Marshal(info)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return "tcp://" + server.Listener.Addr().String()
}

func modelFaults() []sick {
	asked := func(turn modeltest.Turn) func(*sickbed) {
		return func(s *sickbed) {
			s.without()
			server := modeltest.Start(s.t, modeltest.Script{Answer: func(modeltest.Request) modeltest.Turn { return turn }})
			s.env = append(s.env, "OPENAI_BASE_URL="+server.URL(), "SANDPIPER_MODEL=m", "OPENAI_API_KEY=k")
		}
	}
	status := func(code int) func(*sickbed) {
		return asked(modeltest.Turn{Faults: []modeltest.Fault{{Kind: modeltest.FaultStatus, Status: code}, {Kind: modeltest.FaultStatus, Status: code}}})
	}
	return []sick{
		{"no model", (*sickbed).without, "model", checkWarning, "no model is configured", "runnable skills"},
		{"model not named", func(s *sickbed) {
			s.without()
			s.env = append(s.env, "OPENAI_BASE_URL=http://127.0.0.1:1/v1")
		}, "model", checkFailed, "no model is named", ""},
		{"model unreachable", func(s *sickbed) {
			s.without()
			s.env = append(s.env, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "SANDPIPER_MODEL=m")
		}, "model", checkFailed, "does not answer", "OPENAI_BASE_URL"},
		{"model's key refused", status(http.StatusUnauthorized), "model", checkFailed, "refused the key (401)", "OPENAI_API_KEY"},
		{"no such model", status(http.StatusNotFound), "model", checkFailed, "no such model", "SANDPIPER_MODEL"},
		{"model calls no tools", asked(modeltest.Say("I am ready.")), "model", checkWarning, "does not call tools", "choose a model"},
		{"clock off", func(s *sickbed) {
			s.without()
			script := modeltest.New(modeltest.Script{Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Do("ready", map[string]any{}) }})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
				script.ServeHTTP(w, r)
			}))
			s.t.Cleanup(server.Close)
			s.env = append(s.env, "OPENAI_BASE_URL="+server.URL+"/v1", "SANDPIPER_MODEL=m")
		}, "clock", checkFailed, "ahead of that of 127.0.0.1", "set this machine's clock"},
	}
}

// slackBed is a sickbed with a workspace; change gets it before doctor runs.
func slackBed(options slacktest.Options, change func(s *sickbed, ws *slacktest.Workspace)) func(*sickbed) {
	return func(s *sickbed) {
		s.without()
		ws, err := slacktest.New(options)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = ws.Close() })
		channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
		s.conf = "slack: {allow: {channels: [" + channel + "]}}\n"
		s.env = append(s.env, "SLACK_API_URL="+ws.APIURL(), "SLACK_APP_TOKEN="+ws.AppToken(), "SLACK_BOT_TOKEN="+ws.BotToken())
		change(s, ws)
	}
}

func slackFaults() []sick {
	set := func(name, value string) func(*sickbed, *slacktest.Workspace) {
		return func(s *sickbed, _ *slacktest.Workspace) { s.env = append(s.env, name+"="+value) }
	}
	return []sick{
		{"Slack token of the wrong kind", slackBed(slacktest.Options{}, func(s *sickbed, ws *slacktest.Workspace) {
			s.env = append(s.env, "SLACK_BOT_TOKEN="+ws.AppToken())
		}), "slack", checkFailed, "bot token", ""},
		{"Slack token revoked", slackBed(slacktest.Options{}, set("SLACK_BOT_TOKEN", "xoxb-another")), "slack", checkFailed, "invalid_auth", ""},
		{"Slack app token missing", slackBed(slacktest.Options{}, set("SLACK_APP_TOKEN", "")), "configuration", checkFailed, "both SLACK_APP_TOKEN and SLACK_BOT_TOKEN", "set the other one"},
		{"Slack scope missing", slackBed(slacktest.Options{Scopes: []string{"app_mentions:read", "chat:write"}}, func(*sickbed, *slacktest.Workspace) {}), "slack", checkFailed, "files:write", "OAuth & Permissions"},
		{"socket mode off", slackBed(slacktest.Options{}, func(_ *sickbed, ws *slacktest.Workspace) { ws.Disconnect("link_disabled") }), "slack", checkFailed, "link_disabled", ""},
		{"not in the channel", slackBed(slacktest.Options{}, func(s *sickbed, ws *slacktest.Workspace) {
			s.conf = "slack: {allow: {channels: [" + ws.AddChannel(slacktest.Channel{Name: "quiet", BotAbsent: true}) + "]}}\n"
		}), "slack", checkWarning, "not in #quiet", "/invite"},
		{"no such channel", slackBed(slacktest.Options{}, func(s *sickbed, _ *slacktest.Workspace) {
			s.conf = "slack: {allow: {channels: [C0NOWHERE]}}\n"
		}), "slack", checkWarning, "no channel C0NOWHERE", "copy the id"},
		{"Slack allows nobody", slackBed(slacktest.Options{}, func(s *sickbed, _ *slacktest.Workspace) { s.conf = "" }), "configuration", checkWarning, "slack.allow is empty", "list channels"},
		{"Slack sends no events", slackBed(slacktest.Options{}, func(s *sickbed, ws *slacktest.Workspace) {
			s.serving(func() bool { return ws.Sockets() > 0 })
		}), "slack events", checkWarning, "none has come", "Event Subscriptions"},
	}
}

// serving has a process serve while doctor looks.
func (s *sickbed) serving(up func() bool) {
	s.t.Helper()
	s.conf += "listen: 127.0.0.1:0\n"
	s.write("conf.yaml", s.conf)
	s.start(s.env, "serve")
	s.eventually("it serves", func() bool {
		_, err := os.Stat(filepath.Join(s.dataDir(), "sandpiper.sock"))
		return err == nil && up()
	})
}

func githubBed(change func(s *sickbed, hub *githubtest.Server)) func(*sickbed) {
	return githubBedAt(time.Now, change)
}

func githubBedAt(now func() time.Time, change func(s *sickbed, hub *githubtest.Server)) func(*sickbed) {
	return func(s *sickbed) {
		s.without()
		hub := githubtest.New(githubtest.Options{Now: now})
		s.t.Cleanup(hub.Close)
		hub.AddRepo(githubtest.Repo{Name: githubRepo, Org: true, Visibility: "private", Files: map[string]string{"README.md": "x"}, Grants: map[string]string{"sandpiper-bot": "write", "reader": "read"}})
		s.conf = "github: {repositories: [" + githubRepo + "]}\n"
		s.env = append(s.env, "GITHUB_WEBHOOK_SECRET="+githubSecret, "GITHUB_API_URL="+hub.APIURL())
		change(s, hub)
	}
}

// asApp gives the bot a GitHub App.
func (s *sickbed) asApp(hub *githubtest.Server) (id int64) {
	s.t.Helper()
	id, key, err := hub.AddApp("sandpiper")
	if err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "GITHUB_APP_ID="+strconv.FormatInt(id, 10), "GITHUB_APP_PRIVATE_KEY="+string(key))
	return id
}

func githubFaults() []sick {
	token := func(login string) func(*sickbed, *githubtest.Server) {
		return func(s *sickbed, hub *githubtest.Server) { s.env = append(s.env, "GITHUB_TOKEN="+hub.Token(login, nil)) }
	}
	whole := map[string]string{"contents": "write", "issues": "write", "metadata": "read", "pages": "read", "pull_requests": "write"}
	return []sick{
		{"GitHub token refused", githubBed(func(s *sickbed, _ *githubtest.Server) { s.env = append(s.env, "GITHUB_TOKEN=ghp_wrong") }), "github", checkFailed, "does not accept GITHUB_TOKEN", "make a new one"},
		{"GitHub token sees nothing", githubBed(token("stranger")), "github", checkFailed, "does not see " + githubRepo, "give it access"},
		{"GitHub token may not write", githubBed(token("reader")), "github", checkFailed, "may not write", "role Write"},
		{"App from another time", githubBedAt(func() time.Time { return time.Now().Add(-time.Hour) }, func(s *sickbed, hub *githubtest.Server) { s.asApp(hub) }), "github", checkFailed, "wrong time", "NTP"},
		{"App with the wrong key", githubBed(func(s *sickbed, hub *githubtest.Server) {
			_, other, err := hub.AddApp("other")
			if err != nil {
				s.t.Fatal(err)
			}
			s.asApp(hub)
			s.env = append(s.env, "GITHUB_APP_PRIVATE_KEY="+string(other))
		}), "github", checkFailed, "not a key of this App", "generate a private key"},
		{"App lacks a permission", githubBed(func(s *sickbed, hub *githubtest.Server) {
			s.asApp(hub)
			some := map[string]string{"contents": "read", "issues": "write", "metadata": "read", "pages": "read", "pull_requests": "write"}
			hub.Install("octo", some)
		}), "github", checkFailed, "contents: write", "accept them"},
		{"App not installed", githubBed(func(s *sickbed, hub *githubtest.Server) {
			s.asApp(hub)
			hub.Install("somebody", whole)
		}), "github", checkFailed, "not installed for " + githubRepo, "install it"},
		{"webhook secret missing", githubBed(func(s *sickbed, _ *githubtest.Server) { s.env = append(s.env, "GITHUB_WEBHOOK_SECRET=") }), "configuration", checkWarning, "GITHUB_WEBHOOK_SECRET is not set", "the secret of the webhook"},
		{"GitHub allows nobody", githubBed(func(s *sickbed, hub *githubtest.Server) {
			token("sandpiper-bot")(s, hub)
			s.conf = ""
		}), "configuration", checkWarning, "github.repositories is empty", "list owner/name"},
		{"GitHub sends no webhooks", githubBed(func(s *sickbed, hub *githubtest.Server) {
			token("sandpiper-bot")(s, hub)
			s.serving(func() bool { return true })
		}), "github events", checkWarning, "none has come", "Recent Deliveries"},
	}
}

// TestDoctorFindsAHealthyBotWell is the other side: nothing is wrong, and
// nothing is said to be.
func TestDoctorFindsAHealthyBotWell(t *testing.T) {
	h := newHome(t)
	model := modeltest.Start(t, modeltest.Script{Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Do("ready", map[string]any{}) }})
	p := h.start([]string{"OPENAI_BASE_URL=" + model.URL(), "SANDPIPER_MODEL=m"}, "doctor", "--json", "--no-probe")
	if status := p.wait(); status != 0 {
		t.Errorf("exit status %d\n%s", status, p.err.String())
	}
	var got struct{ Checks []check }
	h.read(p, &got)
	seen := map[string]string{}
	for _, c := range got.Checks {
		seen[c.Name] = c.Status
		if c.Status == checkFailed {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"configuration", "database", "engine", "engine socket", "image", "program", "model", "skills", "clock"} {
		if seen[name] == "" {
			t.Errorf("there is no line about the %s: %v", name, seen)
		}
	}
}
