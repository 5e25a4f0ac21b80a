package netguard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

func TestCheckAddr(t *testing.T) {
	t.Parallel()
	refused := []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255", "168.63.129.16", "192.0.0.192",
		"192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:db8::1",
		"3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "4000::1", "::2",
	}
	for _, text := range refused {
		var refusal *netguard.AddressError
		if err := netguard.CheckAddr(netip.MustParseAddr(text)); !errors.As(err, &refusal) {
			t.Errorf("CheckAddr(%s) = %v, want a refusal", text, err)
		}
	}
	if err := netguard.CheckAddr(netip.Addr{}); err == nil {
		t.Error("CheckAddr let the zero address through")
	}
	for _, text := range []string{
		"140.82.121.4", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1",
		"::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2606:50c0:8000::153", "2a00:1450::1",
	} {
		if err := netguard.CheckAddr(netip.MustParseAddr(text)); err != nil {
			t.Errorf("CheckAddr(%s) = %v, want nil", text, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	guard := netguard.New(netguard.Options{
		Known:  []string{"github.com"},
		Listed: []string{"data.example.org", "files.example.org:8443"},
		Exempt: []string{"127.0.0.1:9999", "ghe.corp"},
	})
	for link, allowed := range map[string]bool{
		"https://github.com/o/r":                true,
		"https://GitHub.com./o/r":               true,
		"https://github.com:443/o/r":            true,
		"https://github.com:8443/o/r":           false,
		"http://github.com/o/r":                 false,
		"https://user@github.com/o/r":           false,
		"https://github.com.evil.example/o":     false,
		"https://sub.data.example.org/x":        false,
		"https://data.example.org/x":            true,
		"https://files.example.org:8443/x":      true,
		"https://files.example.org/x":           false,
		"http://127.0.0.1:9999/x":               true,
		"http://127.0.0.1:9998/x":               false,
		"https://127.0.0.1/x":                   false,
		"https://[::1]/x":                       false,
		"https://[::ffff:10.0.0.1]/x":           false,
		"https://2130706433/x":                  false,
		"https://0x7f.1/x":                      false,
		"http://ghe.corp/api/v3":                true,
		"ftp://ghe.corp/x":                      false,
		"file:///etc/passwd":                    false,
		"gopher://github.com/x":                 false,
		"https://github.com%2eevil.example/o/r": false,
	} {
		u, err := url.Parse(link)
		if err != nil {
			if allowed {
				t.Errorf("parse %s: %v", link, err)
			}
			continue
		}
		err = guard.Check(u)
		if (err == nil) != allowed {
			t.Errorf("Check(%s) = %v, want allowed=%v", link, err, allowed)
		}
		if err != nil && !netguard.Refused(err) {
			t.Errorf("Refused(%v) = false", err)
		}
	}
}

// names serves DNS over UDP: each name answers with its address.
func names(t *testing.T, table map[string]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply := answer(buffer[:n], table); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer builds the reply to one query for an A record, by hand: header,
// the question as it came, and one answer that points back at its name.
func answer(query []byte, table map[string]string) []byte {
	if len(query) < 17 {
		return nil
	}
	name, at := "", 12
	for at < len(query) && query[at] != 0 {
		n := int(query[at])
		name += string(query[at+1:at+1+n]) + "."
		at += n + 1
	}
	question := query[12 : at+5]
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	address, known := table[strings.ToLower(name)]
	if !known || query[at+2] != 1 {
		return reply
	}
	addr := netip.MustParseAddr(address).As4()
	reply[7] = 1
	reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(reply, addr[:]...)
}

// A name that points inwards is refused at the dial, though it is listed.
func TestNameThatPointsInside(t *testing.T) {
	t.Parallel()
	reached := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	host := "inward.example.org:" + port
	guard := netguard.New(netguard.Options{
		Listed: []string{host}, Proxy: noProxy,
		Resolver: names(t, map[string]string{"inward.example.org.": "127.0.0.1"}),
	})
	defer guard.CloseIdleConnections()
	_, err := guard.Client(10 * time.Second).Get("https://" + host + "/")
	var refusal *netguard.AddressError
	if !errors.As(err, &refusal) || refusal.Kind != "loopback" {
		t.Fatalf("Get = %v, want a refusal of loopback", err)
	}
	if reached {
		t.Fatal("the server was reached")
	}
}

// Redirects from an exempt host inwards, to another scheme, or to an unlisted
// host are refused; a chain is cut.
func TestRedirects(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("inner server reached") }))
	defer inner.Close()
	targets := map[string]string{
		"/loopback": inner.URL + "/", "/metadata": "http://169.254.169.254/latest/meta-data/",
		"/private": "https://10.0.0.1/", "/v6": "https://[::ffff:127.0.0.1]/", "/other": "https://evil.example/",
		"/file": "file:///etc/passwd", "/loop": "/loop",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, ok := targets[r.URL.Path]; ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	host, err := netguard.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	guard := netguard.New(netguard.Options{Exempt: []string{host}, Proxy: noProxy})
	defer guard.CloseIdleConnections()
	client := guard.Client(10 * time.Second)
	for path := range targets {
		response, err := client.Get(server.URL + path)
		if err == nil {
			_ = response.Body.Close()
			t.Errorf("Get(%s) followed its redirect", path)
		}
	}
	response, err := client.Get(server.URL + "/plain")
	if err != nil {
		t.Fatalf("exempt host: %v", err)
	}
	_ = response.Body.Close()
}

// Behind a proxy only listed hosts are asked for; the proxy itself may lie
// inside.
func TestProxy(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	to, _ := url.Parse(proxy.URL)
	guard := netguard.New(netguard.Options{
		Known: []string{"github.com"}, Listed: []string{"data.example.org"}, Proxy: http.ProxyURL(to),
	})
	client := guard.Client(10 * time.Second)
	if _, err := client.Get("https://github.com/"); !netguard.Refused(err) {
		t.Errorf("Get known host = %v, want a refusal", err)
	}
	if _, err := client.Get("https://data.example.org/"); err == nil || netguard.Refused(err) || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("Get listed host = %v, want the proxy's own no", err)
	}
	if len(asked) != 1 || asked[0] != "data.example.org:443" {
		t.Errorf("proxy was asked for %v", asked)
	}
}

func TestHostOf(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.github.com/": "api.github.com", "http://127.0.0.1:80/x": "127.0.0.1",
		"https://GHE.corp:8443/api/v3": "ghe.corp:8443", "http://h:443/": "h:443",
	} {
		if got, err := netguard.HostOf(base); err != nil || got != want {
			t.Errorf("HostOf(%s) = %q, %v, want %q", base, got, err, want)
		}
	}
	if _, err := netguard.HostOf("not a url at all\x7f"); err == nil {
		t.Error("HostOf took rubbish")
	}
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }
