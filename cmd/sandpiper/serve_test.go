package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter"
	"github.com/sandpiper-bot/sandpiper/integrations/testadapter/testplatform"
)

// server is a running `sandpiper serve` and its address.
type server struct {
	*process
	url string
}

// serve starts a server and waits until it says where it listens.
func (h *home) serve(env ...string) *server {
	h.t.Helper()
	s := &server{process: h.start(env, "serve")}
	said := regexp.MustCompile(`"listen":"([^"]+)"`)
	h.eventually("the server listens", func() bool {
		found := said.FindStringSubmatch(s.err.String())
		if found != nil {
			s.url = "http://" + found[1]
		}
		return found != nil
	})
	return s
}

func (s *server) get(path string) (int, string) {
	s.t.Helper()
	response, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// stop ends the server in good order.
func (s *server) stop() {
	s.t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if status := s.wait(); status != 0 {
		s.t.Errorf("the server ended with %d\n%s", status, s.err.String())
	}
}

// TestServeAnswersProbesPagesAndAComposer asks through the listener, as a
// newcomer with a browser does.
func TestServeAnswersProbesPagesAndAComposer(t *testing.T) {
	h := newHome(t)
	s := h.serve()
	if status, body := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz gives %d %s", status, body)
	}
	h.eventually("the engine is connected", func() bool {
		status, body := s.get("/readyz")
		var ready struct {
			Ready bool   `json:"ready"`
			Parts []part `json:"parts"`
		}
		if err := json.Unmarshal([]byte(body), &ready); err != nil {
			t.Fatal(err)
		}
		return status == http.StatusOK && ready.Ready && len(ready.Parts) == 3 && ready.Parts[1].Status == "ok"
	})
	if _, body := s.get("/metrics"); !strings.Contains(body, "sandpiper_build_info") || !strings.Contains(body, "go_goroutines") {
		t.Errorf("/metrics gives %s", body)
	}
	if status, _ := s.get("/webhooks/github"); status == http.StatusOK {
		t.Error("a webhook is answered where none is configured")
	}
	s.ask("Report on this file: tiny")
	h.eventually("the task is done", func() bool { return strings.Contains(h.state(), `"done"`) })
	list := h.tasks()
	if len(list) != 1 || list[0].Origin != webAdapter || list[0].State != bot.TaskDone {
		t.Fatalf("tasks are %+v", list)
	}
	if status, body := s.get("/tasks/" + list[0].Task); status != http.StatusOK || !strings.Contains(body, "report.md") {
		t.Errorf("the task's page gives %d and does not name its file", status)
	}
	s.stop()
}

// ask fills the composer in and sends it.
func (s *server) ask(request string) {
	s.t.Helper()
	s.askWith("tiny", request)
}

func (s *server) askWith(skill, request string) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("files", "sales.csv")
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(file, sales); err != nil {
		s.t.Fatal(err)
	}
	if err := errors.Join(form.WriteField("text", request), form.WriteField("skill", skill), form.Close()); err != nil {
		s.t.Fatal(err)
	}
	post, err := http.NewRequest(http.MethodPost, s.url+"/tasks", &body)
	if err != nil {
		s.t.Fatal(err)
	}
	post.Header.Set("Content-Type", form.FormDataContentType())
	post.Header.Set("Origin", s.url)
	response, err := http.DefaultClient.Do(post)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body)
		s.t.Fatalf("the composer gives %d %s", response.StatusCode, text)
	}
}

// TestServeDrivesAnAdapterThroughLostResponses lets the test platform ask and
// lose every third answer: each event gets one message, whatever is lost.
func TestServeDrivesAnAdapterThroughLostResponses(t *testing.T) {
	h := newHome(t)
	platform := testplatform.New(testplatform.Faults{LoseResponse: 0.3, Duplicate: 0.3}, 1)
	listener := httptest.NewServer(platform)
	defer listener.Close()
	s := h.serve(platformVariable + "=" + listener.URL)
	platform.Store("sales", sales)
	for _, name := range []string{"one", "two"} {
		platform.Happen(bot.Event{
			Key: "test:" + name, Kind: bot.EventRequest, Text: "Report on this file", Options: bot.Options{Skill: "tiny"},
			Origin: bot.Origin{Adapter: testadapter.Name, Conversation: name, Place: "test:room", Address: name},
			Actor:  bot.Actor{ID: "test:alice"}, Inputs: []bot.InputRef{{Name: "sales.csv", Ref: "sales"}},
		})
	}
	answers := func() map[string]int {
		seen := map[string]int{}
		for _, m := range platform.Messages() {
			if m.Delivery.Kind == bot.DeliverAnswer && strings.Contains(m.Delivery.Message, "6 rows") {
				seen[m.Delivery.Origin.Address]++
			}
		}
		return seen
	}
	h.eventually("both are answered", func() bool { return len(answers()) == 2 })
	s.stop()
	if got := answers(); got["one"] != 1 || got["two"] != 1 {
		t.Errorf("answers are %v, want one for each event", got)
	}
}
