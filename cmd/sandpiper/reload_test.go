package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter/testplatform"
)

// timeTeller is a model server that reads words about time, and remembers the
// keys that it was shown.
type timeTeller struct {
	mu   sync.Mutex // guards keys
	keys []string
}

// ServeHTTP implements http.Handler.
func (m *timeTeller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.keys = append(m.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a test's answer
		"choices": []any{map[string]any{
			"message": map[string]any{"role": "assistant", "content": `{"cron": "0 9 1 * *", "zone": "UTC", "rest": "report"}`}, "finish_reason": "stop",
		}},
		"usage": map[string]any{"prompt_tokens": 2000, "completion_tokens": 30},
	})
}

func (m *timeTeller) shown() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.keys...)
}

// bearer gets a page with a token.
func (s *server) bearer(token string) int {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+"/tasks", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// hup sends SIGHUP and waits until the log says so for the nth time.
func (s *server) hup(said string, times int) {
	s.t.Helper()
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	(&home{t: s.t}).eventually(said, func() bool { return strings.Count(s.err.String(), said) >= times })
}

// TestSecretsFilesAreReadAgain changes the files of the pages' token and the
// model's key under a serving binary. What the model is asked outside of tasks is
// measured, paid for and limited as a task's turn is.
func TestSecretsFilesAreReadAgain(t *testing.T) {
	model := &timeTeller{}
	listener := httptest.NewServer(model)
	defer listener.Close()
	h := &home{t: t, dir: t.TempDir()}
	platform := testplatform.New(testplatform.Faults{}, 1)
	chat := httptest.NewServer(platform)
	defer chat.Close()
	h.write("conf.yaml", "listen: 127.0.0.1:0\nbudgets: {daily_tokens: 4300}\nmodel: {prices: {m: {input: 1000, output: 0}}}\n"+
		`policies: [{origin: "test:room", actors: ["*"], may: [ask, schedule]}]`+"\n")
	h.write("web", "the-first-token\n")
	h.write("key", "the-first-key\n")
	s := h.serve(nowhereToRun, platformVariable+"="+chat.URL, "SANDPIPER_WEB_TOKEN_FILE="+filepath.Join(h.dir, "web"), "OPENAI_API_KEY_FILE="+filepath.Join(h.dir, "key"),
		"OPENAI_BASE_URL="+listener.URL+"/v1", "SANDPIPER_MODEL=m")
	if status := s.bearer("the-first-token"); status != http.StatusOK {
		t.Fatalf("the token gives %d", status)
	}
	said := 0
	schedule := func(want string) {
		t.Helper()
		said++
		platform.Happen(bot.Event{
			Key: fmt.Sprint("test:", said), Kind: bot.EventCommand, Command: bot.Command{Name: "schedule", Args: "whenever the moon begins anew report " + fmt.Sprint(said)},
			Origin: bot.Origin{Adapter: testadapter.Name, Conversation: "one", Place: "test:room", Address: "one"}, Actor: bot.Actor{ID: "test:alice"},
		})
		h.eventually("it answers about the schedule", func() bool { return len(platform.Messages()) == said })
		if got := platform.Messages()[said-1].Delivery.Message; !strings.Contains(got, want) {
			t.Errorf("it answers %q, want %q", got, want)
		}
	}
	schedule("schedules confirm")

	h.write("web", "the-second-token\n")
	h.write("key", "the-second-key\n")
	s.hup("secrets are reloaded", 1)
	if log := s.err.String(); !strings.Contains(log, `"changed":"SANDPIPER_WEB_TOKEN OPENAI_API_KEY"`) || strings.Contains(log, "at the next start") {
		t.Errorf("the log says\n%s", log)
	}
	schedule("schedules confirm")
	if keys := strings.Join(model.shown(), " "); keys != "the-first-key the-second-key" {
		t.Errorf("the model was shown the keys %s", keys)
	}
	for token, want := range map[string]int{"the-first-token": http.StatusUnauthorized, "the-second-token": http.StatusOK} {
		if status := s.bearer(token); status != want {
			t.Errorf("%s gives %d, want %d", token, status, want)
		}
	}
	series, _ := s.samples()
	for name, want := range map[string]float64{
		`sandpiper_model_turns_total{model="m",result="ok"}`:     2,
		`sandpiper_model_tokens_total{kind="input",model="m"}`:   4000,
		`sandpiper_model_cost_usd_total{model="m"}`:              4,
		`sandpiper_budget_used{budget="daily_tokens"}`:           4060,
		`sandpiper_budget_used{budget="daily_usd"}`:              4,
		`sandpiper_stage_seconds_count{stage="model_turn"}`:      2,
		`sandpiper_model_turns_total{model="m",result="failed"}`: 0,
	} {
		if series[name] != want {
			t.Errorf("%s is %v, want %v", name, series[name], want)
		}
	}

	// The day's tokens do not allow a third question: it is not asked.
	schedule("How often?")
	if log := s.err.String(); !strings.Contains(log, "budget daily_tokens of 4300 tokens a day is used up") {
		t.Errorf("beyond the day's budget the log says\n%s", log)
	}
	if n := len(model.shown()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}

	h.write("web", "")
	s.hup("secrets are not reloaded", 1)
	if status := s.bearer("the-second-token"); status != http.StatusOK || s.bearer("") == http.StatusOK {
		t.Errorf("after an empty file the token gives %d, and none %d", status, s.bearer(""))
	}
	if log := s.err.String(); strings.Contains(log, "-token") || strings.Contains(log, "-key") {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	s.stop()
}

// TestReloadedSecretsAreStruckOut reloads twice: what people get to see holds no
// secret that was ever in force.
func TestReloadedSecretsAreStruckOut(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	h.write("conf.yaml", "listen: 127.0.0.1:0\ndata_dir: "+filepath.Join(h.dir, "data")+"\n")
	h.write("web", "the-first-token")
	loaded, err := config.Load(config.Options{Path: filepath.Join(h.dir, "conf.yaml"), Getenv: func(name string) string {
		return map[string]string{"HOME": h.dir, "SANDPIPER_WEB_TOKEN_FILE": filepath.Join(h.dir, "web")}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", strings.TrimPrefix(nowhereToRun, "DOCKER_HOST="))
	a, err := start(t.Context(), loaded, slog.New(slog.DiscardHandler), startOptions{serve: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, token := range []string{"the-second-token", "the-third-token"} {
		h.write("web", token)
		a.reload()
	}
	if got := a.redactor.Text("the-first-token the-second-token the-third-token"); strings.Contains(got, "-token") {
		t.Errorf("it strikes out %q", got)
	}
}
