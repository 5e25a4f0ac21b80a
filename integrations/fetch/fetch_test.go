package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/fetch"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFetch(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("inner server reached") }))
	defer inner.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok.csv":
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			w.Header().Set("ETag", `"v1"`)
			_, _ = w.Write([]byte("a,b\n1,2\n"))
		case "/large":
			w.(http.Flusher).Flush() // no length
			_, _ = w.Write(make([]byte, 2000))
		case "/declared":
			_, _ = w.Write(make([]byte, 2000))
		case "/inside":
			http.Redirect(w, r, inner.URL, http.StatusFound)
		case "/down":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	host, err := netguard.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := fetch.New(fetch.Options{Exempt: []string{host}, Limit: 1000, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	defer f.Close()
	get := func(link string) (bot.Fetched, string, error) {
		var out bytes.Buffer
		got, err := f.Fetch(context.Background(), bot.Event{}, bot.InputRef{Name: "x", Ref: link}, &out)
		return got, out.String(), err
	}
	got, text, err := get(server.URL + "/ok.csv?sig=secret")
	if err != nil || text != "a,b\n1,2\n" || got.MediaType != "text/csv" || got.Source != server.URL+`/ok.csv "v1"` {
		t.Errorf("ok: %+v %q %v", got, text, err)
	}
	for link, want := range map[string]string{
		server.URL + "/large": "larger than allowed", server.URL + "/declared": "larger than allowed", server.URL + "/none": "status 404",
		server.URL + "/inside": "leads where I do not go", "https://unlisted.example/x": "not in fetch.allow_hosts", inner.URL: "only https",
		"https://127.0.0.1/x": "loopback", "https://[::1]/": "loopback", "http://169.254.169.254/": "only https", "file:///etc/passwd": "only https", "::": "no URL",
	} {
		_, _, err := get(link)
		var problem *bot.InputError
		if !errors.As(err, &problem) || !strings.Contains(problem.Reason, want) {
			t.Errorf("%s: %v, want %q", link, err, want)
		}
	}
	var problem *bot.InputError
	if _, _, err := get(server.URL + "/down?sig=secret"); err == nil || errors.As(err, &problem) || strings.Contains(err.Error(), "secret") {
		t.Errorf("down: %v", err)
	}
}
