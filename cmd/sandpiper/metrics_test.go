package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// samples reads /metrics: each series with its value, and the bare names.
func (s *server) samples() (series map[string]float64, names map[string]bool) {
	s.t.Helper()
	_, body := s.get("/metrics")
	series, names = map[string]float64{}, map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			s.t.Errorf("%q has no value", line)
		}
		series[line[:at]] = value
		name, _, _ := strings.Cut(line[:at], "{")
		names[name] = true
	}
	return series, names
}

// expressions are all that the dashboard and the alert rules ask for.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	raw, err := os.ReadFile("../../deploy/grafana/sandpiper.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for i, target := range p.Targets {
			found[fmt.Sprintf("panel %s, %d", p.Title, i+1)] = target.Expr
		}
	}
	if raw, err = os.ReadFile("../../deploy/grafana/alerts.yaml"); err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(raw, &rules, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("the rule %+v is not whole", rule)
			}
			found["alert "+rule.Alert] = rule.Expr
		}
	}
	return found
}

// TestMetricsTellWhatHappened serves a task with a model and one that a
// schedule fires: every stage is measured, and the dashboard and the alert
// rules ask for nothing that is not there.
func TestMetricsTellWhatHappened(t *testing.T) {
	h := newHome(t)
	h.configure("sandbox: {pool: 1}\n")
	model := newScripted(t)
	s := h.serve("OPENAI_BASE_URL="+model.URL(), "SANDPIPER_MODEL=scripted")
	s.ask("Report on this file: tiny")
	if status := s.compose("Make the quarterly numbers, please."); status != http.StatusSeeOther {
		t.Fatalf("the composer gives %d", status)
	}
	h.eventually("both tasks are done", func() bool { return strings.Count(h.state(), `"done"`) == 2 })
	_, names := s.samples()
	used := regexp.MustCompile(`sandpiper_[a-z_]+`)
	asked := 0
	for where, expr := range expressions(t) {
		for _, name := range used.FindAllString(expr, -1) {
			asked++
			if !names[name] {
				t.Errorf("%s asks for %s, which /metrics does not have", where, name)
			}
		}
	}
	if asked < 30 {
		t.Errorf("the dashboard and the rules ask for %d metrics only", asked)
	}
	var series map[string]float64
	h.eventually("the answer is counted as sent", func() bool {
		series, _ = s.samples()
		return series[`sandpiper_stage_seconds_count{stage="deliver"}`] > 0
	})
	for name, least := range map[string]float64{
		`sandpiper_tasks_ended_total{origin="web",state="done"}`:      1,
		`sandpiper_queue_seconds_count{origin="web"}`:                 1,
		`sandpiper_task_seconds_count{origin="web"}`:                  1,
		`sandpiper_stage_seconds_count{stage="intake"}`:               1,
		`sandpiper_stage_seconds_count{stage="model_first_token"}`:    3,
		`sandpiper_stage_seconds_count{stage="model_turn"}`:           3,
		`sandpiper_stage_seconds_count{stage="session_wait"}`:         1,
		`sandpiper_stage_seconds_count{stage="program"}`:              1,
		`sandpiper_stage_seconds_count{stage="collect"}`:              1,
		`sandpiper_programs_total{language="python",verdict="ok"}`:    1,
		`sandpiper_model_turns_total{model="scripted",result="ok"}`:   3,
		`sandpiper_model_tokens_total{kind="input",model="scripted"}`: 100,
		`sandpiper_budget_used{budget="daily_tokens"}`:                100,
		`sandpiper_up{part="store"}`:                                  1,
		`sandpiper_up{part="engine"}`:                                 1,
		`sandpiper_pool_sessions{state="target"}`:                     1,
	} {
		if series[name] < least {
			t.Errorf("%s is %v, want at least %v", name, series[name], least)
		}
	}
	s.pauses()
	s.stop()
}

// pauses refuses and takes again, by signal and by page.
func (s *server) pauses() {
	s.t.Helper()
	h := &home{t: s.t}
	paused := func(want float64) func() bool {
		return func() bool {
			series, _ := s.samples()
			return series["sandpiper_paused"] == want
		}
	}
	if err := s.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	h.eventually("SIGUSR1 pauses", paused(1))
	if status := s.compose("Is anybody there?"); status != http.StatusServiceUnavailable {
		s.t.Errorf("while paused the composer gives %d", status)
	}
	if status := s.post("/health/resume", "", nil); status != http.StatusSeeOther {
		s.t.Errorf("the page's button gives %d", status)
	}
	h.eventually("the page resumes", paused(0))
	if status := s.post("/health/pause", "", nil); status != http.StatusSeeOther {
		s.t.Errorf("the page's button gives %d", status)
	}
	h.eventually("the page pauses", paused(1))
	if err := s.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	h.eventually("SIGUSR1 resumes", paused(0))
}

// post sends what one of the pages' own forms sends, and gives the status.
func (s *server) post(path, kind string, body io.Reader) int {
	s.t.Helper()
	status, _ := s.submit(path, kind, body)
	return status
}

// submit sends a form and returns where the answer leads.
func (s *server) submit(path, kind string, body io.Reader) (status int, location string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Origin", s.url)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("Location")
}

// compose sends a request without files.
func (s *server) compose(text string) int {
	s.t.Helper()
	status, _ := s.composed(text)
	return status
}

// composed is compose, and tells the page of the task that it made.
func (s *server) composed(text string) (status int, location string) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("text", text); err != nil {
		s.t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		s.t.Fatal(err)
	}
	return s.submit("/tasks", form.FormDataContentType(), &body)
}

// TestScheduleLagIsReadFromTheKey keeps the clock's keys and the reading of
// them together.
func TestScheduleLagIsReadFromTheKey(t *testing.T) {
	due := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	event := bot.Event{Key: "schedule:weekly:of:sales:" + due.Format(time.RFC3339), Options: bot.Options{Schedule: "weekly:of:sales"}}
	if got, ok := dueOf(event); !ok || !got.Equal(due) {
		t.Errorf("read %v, %t", got, ok)
	}
	event.Key = "web:1"
	if _, ok := dueOf(event); ok {
		t.Error("a due time was read from another key")
	}
}
