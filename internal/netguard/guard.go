package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// maxRedirects bounds a chain of redirects; GitHub's longest has two.
const maxRedirects = 5

// Options say what a Guard lets through. Hosts are exact, lower-case names,
// with ":port" where the port is not 443; there are no patterns.
type Options struct {
	// Known are hosts the program itself knows to need (a platform's file
	// servers). They are reached directly only.
	Known []string
	// Listed are hosts the operator listed (fetch.allow_hosts). They are
	// reached directly, and through a proxy.
	Listed []string
	// Exempt are the hosts of configured API URLs: they may lie inside, and
	// may speak plain HTTP, for an enterprise server or a test server does.
	Exempt []string
	// Proxy says which proxy a request takes; nil means the standard
	// variables (HTTPS_PROXY, NO_PROXY).
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver resolves names; nil means the system's.
	Resolver *net.Resolver
}

// HostError says that a URL is not let through before anything is dialled.
type HostError struct {
	Host   string
	Reason string
}

// Error implements error.
func (e *HostError) Error() string {
	return fmt.Sprintf("refuse host %q: %s", e.Host, e.Reason)
}

// Guard is a http.RoundTripper that checks each request (each redirect is
// one) and each address dialled. It is safe for concurrent use.
type Guard struct {
	known, listed, exempt map[string]bool
	proxy                 func(*http.Request) (*url.URL, error)

	direct  *http.Transport // checks every address
	inside  *http.Transport // for exempt hosts: dials anything
	proxied *http.Transport // dials nothing but the proxy
}

// New makes a Guard.
func New(options Options) *Guard {
	g := &Guard{
		known: set(options.Known), listed: set(options.Listed), exempt: set(options.Exempt),
		proxy: options.Proxy,
	}
	if g.proxy == nil {
		g.proxy = http.ProxyFromEnvironment
	}
	open := &net.Dialer{Timeout: 10 * time.Second, Resolver: options.Resolver}
	guarded := &net.Dialer{Timeout: 10 * time.Second, Resolver: options.Resolver, ControlContext: Control}
	g.direct = transport(guarded, nil)
	g.inside = transport(open, nil)
	g.proxied = transport(open, g.proxy)
	return g
}

// Client returns a client over the guard that follows at most five redirects.
// timeout bounds a whole exchange, its body included; 0 means no bound but
// the request's context.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: g,
		Timeout:   timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("follow redirects: more than %d", maxRedirects)
			}
			return nil
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (g *Guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.Check(request.URL); err != nil {
		return nil, err
	}
	via, err := g.proxy(request)
	if err != nil {
		return nil, fmt.Errorf("choose proxy: %w", err)
	}
	host := hostOf(request.URL)
	switch {
	case via != nil && (g.listed[host] || g.exempt[host]):
		return g.proxied.RoundTrip(request)
	case via != nil:
		return nil, &HostError{Host: host, Reason: "behind a proxy only hosts in fetch.allow_hosts are fetched from"}
	case g.exempt[host]:
		return g.inside.RoundTrip(request)
	}
	return g.direct.RoundTrip(request)
}

// Check says whether u may be asked for, by its text alone: scheme, host and
// port. It returns a *HostError or an *AddressError.
func (g *Guard) Check(u *url.URL) error {
	host := hostOf(u)
	switch {
	case u.User != nil:
		return &HostError{Host: host, Reason: "the link carries a user name"}
	case g.exempt[host] && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	case u.Scheme != "https":
		return &HostError{Host: host, Reason: "only https links are fetched"}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := CheckAddr(addr); err != nil {
			return err
		}
	}
	if !g.known[host] && !g.listed[host] {
		return &HostError{Host: host, Reason: "it is not in fetch.allow_hosts"}
	}
	return nil
}

// CloseIdleConnections closes the connections that wait for reuse.
func (g *Guard) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.inside.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// Refused says whether err, or what it wraps, is a refusal of this package
// rather than a failure of the network.
func Refused(err error) bool {
	_, host := errors.AsType[*HostError](err)
	_, addr := errors.AsType[*AddressError](err)
	return host || addr
}

// Control is a net.Dialer.ControlContext that refuses inner addresses. It
// sees the address after the name was resolved.
func Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("refuse network %q", network)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read dialled address: %w", err)
	}
	return CheckAddr(at.Addr())
}

func transport(dialer *net.Dialer, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           20,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// HostOf returns the form in which Options name the host of a configured base
// URL: lower-case, with its port unless it is the scheme's own.
func HostOf(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parse url: %w", err)
	}
	if u.Host == "" {
		return "", fmt.Errorf("parse url: %q has no host", base)
	}
	return hostOf(u), nil
}

func hostOf(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port := u.Port()
	if port == "" || (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		return host
	}
	return net.JoinHostPort(host, port)
}

func set(hosts []string) map[string]bool {
	out := make(map[string]bool, len(hosts))
	for _, host := range hosts {
		out[strings.ToLower(host)] = true
	}
	return out
}
