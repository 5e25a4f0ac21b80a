package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func appRoutes() []route {
	return []route{
		{pattern: "GET /app", permission: "jwt", handle: (*call).getApp},
		{pattern: "GET /app/installations", permission: "jwt", handle: (*call).listInstallations},
		{pattern: "GET /repos/{owner}/{repo}/installation", permission: "jwt", handle: (*call).getRepoInstallation},
		{pattern: "POST /app/installations/{id}/access_tokens", permission: "jwt", handle: (*call).createToken},
		{pattern: "GET /installation/repositories", permission: "metadata:read", handle: (*call).listInstallationRepos},
	}
}

// checkJWT returns GitHub's words for what is wrong with an App's token, ""
// for nothing. The lock must be held.
func (s *Server) checkJWT(text string) string {
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(text, ".")
	head, err1 := base64.RawURLEncoding.DecodeString(parts[0])
	body, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err3 := base64.RawURLEncoding.DecodeString(parts[2])
	var header struct{ Alg string }
	var claims struct {
		Iss json.RawMessage `json:"iss"`
		Iat float64         `json:"iat"`
		Exp float64         `json:"exp"`
	}
	if err1 != nil || err2 != nil || err3 != nil || json.Unmarshal(head, &header) != nil || json.Unmarshal(body, &claims) != nil || header.Alg != "RS256" {
		return undecodable
	}
	id, _ := strconv.ParseInt(strings.Trim(string(claims.Iss), `"`), 10, 64)
	if s.state.app == nil || id != s.state.app.id {
		return "Integration not found"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&s.state.app.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return undecodable
	}
	now := s.options.Now()
	issued, expires := time.Unix(int64(claims.Iat), 0), time.Unix(int64(claims.Exp), 0)
	switch {
	case claims.Iat == 0 || issued.After(now.Add(time.Second)):
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case expires.After(now.Add(10*time.Minute + time.Second)):
		return "'Expiration time' claim ('exp') is too far in the future"
	case !expires.After(now):
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	}
	return ""
}

func (c *call) getApp() (int, any) {
	events := []string{}
	if h := c.hook(); h != nil {
		events = h.events
	}
	return http.StatusOK, map[string]any{"id": c.state.app.id, "slug": c.state.app.slug, "name": c.state.app.slug, "events": events}
}

func (c *call) installationJSON(i *installation) map[string]any {
	return map[string]any{"id": i.id, "app_id": c.state.app.id, "account": c.userJSON(i.owner), "permissions": i.permissions, "repository_selection": "all"}
}

func (c *call) listInstallations() (int, any) {
	out := []any{}
	for id := int64(0); id <= c.state.nextID; id++ {
		if i := c.state.installations[id]; i != nil {
			out = append(out, c.installationJSON(i))
		}
	}
	return http.StatusOK, page(c, out)
}

func (c *call) getRepoInstallation() (int, any) {
	for _, i := range c.state.installations {
		if i.owner == c.repo.owner {
			return http.StatusOK, c.installationJSON(i)
		}
	}
	return notFound()
}

func (c *call) createToken() (int, any) {
	i := c.state.installations[c.number("id")]
	if i == nil {
		return notFound()
	}
	expires := c.options.Now().Add(time.Hour)
	t := fmt.Sprintf("ghs_%d_%d", i.id, c.state.id())
	c.state.tokens[t] = caller{token: t, user: c.state.app.bot, installation: i, permissions: i.permissions, expires: expires}
	return http.StatusCreated, map[string]any{"token": t, "expires_at": stamp(expires), "permissions": i.permissions}
}

func (c *call) listInstallationRepos() (int, any) {
	if c.caller.installation == nil {
		return http.StatusForbidden, message("You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	out := []any{}
	for _, name := range sortedKeys(c.state.repos) {
		if r := c.state.repos[name]; r.owner == c.caller.installation.owner {
			out = append(out, c.repoJSON(r))
		}
	}
	total := len(out)
	return http.StatusOK, map[string]any{"total_count": total, "repositories": page(c, out)}
}
