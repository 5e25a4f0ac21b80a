package slacktest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLives uses a trigger id and a response URL at the last moment of their
// lives, and a moment later.
func TestLives(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := &Workspace{
				triggers: map[string]trigger{}, answers: map[string]*responseURL{}, views: map[string][]View{}, messages: map[string][]*Message{}, channels: map[string]*Channel{"C1": {ID: "C1"}},
				changed: make(chan struct{}),
			}
			id := w.newTrigger("U1")
			url := w.responseURL(responseURL{channel: "C1", user: "U1"})
			wait := func(life time.Duration) {
				if late {
					life++
				}
				time.Sleep(life)
			}
			wait(triggerLife)
			got := w.viewsOpen(map[string]string{"trigger_id": id, "view": `{"type":"modal","title":{"type":"plain_text","text":"t"},"blocks":[]}`})
			if code, _ := got["error"].(string); (code == "expired_trigger_id") != late {
				t.Errorf("late %v: views.open gives %v", late, got)
			}
			wait(responseLife - time.Since(w.answers[strings.TrimPrefix(url, "/response/")].made))
			request := httptest.NewRequest(http.MethodPost, url, strings.NewReader(`{"text":"x","delete_original":false}`))
			request.SetPathValue("id", strings.TrimPrefix(url, "/response/"))
			answer := httptest.NewRecorder()
			w.serveResponse(answer, request)
			if (answer.Code == http.StatusNotFound) != late {
				t.Errorf("late %v: the response URL gives %d %s", late, answer.Code, answer.Body)
			}
		})
	}
}
