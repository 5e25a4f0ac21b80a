package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// sessionCookie carries proof that its holder knew the token.
const sessionCookie = "sandpiper_session"

// viewer is who looks at a page.
type viewer struct {
	actor bot.Actor
	// operator holds the token or sits at the machine: nobody's name is known.
	operator bool
}

type viewerKey struct{}

func viewerOf(ctx context.Context) viewer {
	v, _ := ctx.Value(viewerKey{}).(viewer)
	return v
}

// identify finds out who asks: a trusted proxy's word, the token, or the open
// loopback. Loopback alone is no identity.
func (s *Server) identify(r *http.Request) (viewer, bool) {
	if s.opts.ProxyHeader != "" && s.fromTrustedProxy(r) {
		if name := strings.TrimSpace(r.Header.Get(s.opts.ProxyHeader)); name != "" {
			return viewer{actor: bot.Actor{ID: "web:" + name, Name: name}}, true
		}
		return viewer{}, false
	}
	operator := viewer{actor: bot.Actor{ID: "web:operator", Name: "operator"}, operator: true}
	if s.locked {
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			return operator, s.tokenIs(bearer)
		}
		c, err := r.Cookie(sessionCookie)
		return operator, err == nil && s.opts.Token() != "" && subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.sessionValue())) == 1
	}
	return operator, s.opts.OpenOnLoopback
}

func (s *Server) tokenIs(given string) bool {
	token := s.opts.Token()
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// sessionValue is what the cookie holds: derived from the token, so that a
// changed token ends every session, and never the token itself.
func (s *Server) sessionValue() string {
	mac := hmac.New(sha256.New, []byte(s.opts.Token()))
	mac.Write([]byte("sandpiper web session"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *Server) fromTrustedProxy(r *http.Request) bool {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, p := range s.opts.TrustedProxies {
		if p.Contains(ap.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// hostAllowed stops DNS rebinding: without a token, only requests that name
// the machine itself are answered.
func (s *Server) hostAllowed(r *http.Request) bool {
	if !s.opts.OpenOnLoopback || s.locked {
		return r.Host != ""
	}
	return IsLoopback(r.Host)
}

// IsLoopback reports whether a request's Host names the machine itself.
func IsLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameOrigin reports whether a request that changes something comes from our
// own pages.
func sameOrigin(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		return true // no browser sends it by itself
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		origin = r.Header.Get("Referer")
	}
	u, err := url.Parse(origin)
	return err == nil && origin != "" && u.Host == r.Host
}

// guard lets a request through to next when host, identity and, for changes,
// origin are right.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if !s.hostAllowed(r) {
			s.fail(w, r, http.StatusMisdirectedRequest, "This name does not lead here.", "Open the pages by the address that the bot listens on, for instance http://127.0.0.1:8080/.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !sameOrigin(r) {
			s.fail(w, r, http.StatusForbidden, "This request came from another site.", "Use the form on the page itself.")
			return
		}
		if strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/login" && s.locked {
			next.ServeHTTP(w, r)
			return
		}
		v, ok := s.identify(r)
		if !ok {
			s.deny(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, v)))
	})
}

func (s *Server) deny(w http.ResponseWriter, r *http.Request) {
	if s.locked {
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="sandpiper"`)
		s.fail(w, r, http.StatusUnauthorized, "A token is needed.", "Send it as “Authorization: Bearer …”, or open /login.")
		return
	}
	s.fail(w, r, http.StatusForbidden, "These pages are closed.",
		"They are open without a token only on a loopback listener with no webhook secret set. Set SANDPIPER_WEB_TOKEN, or web.proxy_header with web.trusted_proxies.")
}

// setHeaders forbids everything a page of ours does not need.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// sight says how much of a task a viewer sees.
type sight int

const (
	hidden sight = iota // not there at all
	masked              // in the list, without its title
	whole
)

// sees decides what v sees of a task: their own; what stands in a place they
// may ask in; private ones only as an admin, which is recorded when they look.
func (s *Server) sees(ctx context.Context, v viewer, t bot.Task) (sight, bool) {
	if t.Event.Actor.ID == v.actor.ID {
		return whole, false
	}
	event := bot.Event{Origin: t.Event.Origin, Actor: v.actor}
	admin := s.opts.Policy.Decide(ctx, event, bot.MayAdmin).Allowed
	switch {
	case t.Event.Origin.Private && admin:
		return whole, true
	case t.Event.Origin.Private && v.operator:
		return masked, false
	case t.Event.Origin.Private:
		return hidden, false
	case admin, v.operator, s.opts.Policy.Decide(ctx, event, bot.MayAsk).Allowed:
		return whole, false
	}
	return hidden, false
}

// mayChange reports whether v may cancel or retry a task.
func (s *Server) mayChange(ctx context.Context, v viewer, t bot.Task) bool {
	if t.Event.Actor.ID == v.actor.ID || v.operator {
		return true
	}
	return s.opts.Policy.Decide(ctx, bot.Event{Origin: t.Event.Origin, Actor: v.actor}, bot.MayCancelOthers).Allowed
}
