package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// check looks at the whole for values that could be read but make no sense.
// What can only be known by asking the engine or a platform is doctor's.
func check(l *Loaded) []Problem {
	c := &checker{l: l}
	c.oneOf("log.level", l.Log.Level, "debug", "info", "warn", "error")
	for part, level := range l.Log.Levels {
		c.oneOf("log.levels."+part, level, "debug", "info", "warn", "error")
		if !slices.Contains(LogParts(), part) {
			c.problem("log.levels", fmt.Sprintf("log.levels: %q is no part", part), "one of "+strings.Join(LogParts(), ", "))
		}
	}
	c.oneOf("log.format", l.Log.Format, "auto", "text", "json")
	c.oneOf("model.values", l.Model.Values, "full", "masked", "none")
	c.oneOf("github.outsiders", l.GitHub.Outsiders, "silent", "reply")
	c.oneOf("github.min_permission", l.GitHub.MinPermission, "read", "triage", "write", "maintain", "admin")
	c.listen()
	c.address("model.base_url", l.Model.BaseURL)
	c.address("SLACK_API_URL", l.Addresses.SlackAPI)
	c.address("GITHUB_API_URL", l.Addresses.GitHubAPI)
	c.address("web.url", l.Web.URL)
	for i, proxy := range l.Web.TrustedProxies {
		if !isAddressOrRange(proxy) {
			c.problem("web.trusted_proxies", fmt.Sprintf("web.trusted_proxies[%d]: %q is no address or range", i, proxy), "write 10.0.0.7 or 10.0.0.0/24")
		}
	}
	if l.Web.ProxyHeader != "" && len(l.Web.TrustedProxies) == 0 {
		c.problem("web.proxy_header", "web.proxy_header is believed from nobody", "list the proxy under web.trusted_proxies")
	}
	c.audit()
	c.numbers()
	c.platforms()
	for i, p := range l.Policies {
		c.policy(fmt.Sprintf("policies[%d]", i), p)
	}
	c.zone("schedules.zone", l.Schedules.Zone)
	for actor, user := range l.Users {
		c.user(actor, user)
	}
	names := map[string]bool{}
	for i, s := range l.Schedules.List {
		at := fmt.Sprintf("schedules.list[%d]", i)
		if names[s.Name] {
			c.problem(at+".name", fmt.Sprintf("%s: a second schedule is called %q", at, s.Name), "")
		}
		names[s.Name] = true
		c.schedule(at, s)
	}
	return c.problems
}

type checker struct {
	l        *Loaded
	problems []Problem
}

// problem blames the place where key's value came from.
func (c *checker) problem(key, message, hint string) {
	where := c.l.Origins[key]
	c.problems = append(c.problems, Problem{Where: where, Message: message, Hint: hint})
}

func (c *checker) oneOf(key, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	hint := "one of " + strings.Join(allowed, ", ")
	if near := skills.Nearest(value, allowed); near != "" {
		hint = fmt.Sprintf("did you mean %q? One of %s", near, strings.Join(allowed, ", "))
	}
	c.problem(key, fmt.Sprintf("%s: %q is not known", key, value), hint)
}

func (c *checker) listen() {
	_, port, err := net.SplitHostPort(c.l.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		c.problem("listen", fmt.Sprintf("listen: %q is no address", c.l.Listen), "write host:port, for instance 127.0.0.1:8080")
	}
}

func (c *checker) address(key, value string) {
	if value == "" {
		return
	}
	example := "https://api.openai.com/v1"
	if key == "web.url" {
		example = "https://sandpiper.example.com"
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		c.problem(key, key+" is no complete http or https address", "write the whole base, for instance "+example)
	}
}

// audit looks at the sink's form; whether it takes entries is doctor's to say.
func (c *checker) audit() {
	a := c.l.Audit
	if a.File != "" && a.Syslog != "" {
		c.problem("audit.syslog", "audit.file and audit.syslog are both set", "set one of them; a syslog can write files too")
	}
	if a.File != "" && !filepath.IsAbs(a.File) {
		c.problem("audit.file", fmt.Sprintf("audit.file: %q is no full path", a.File), "write it from the root, for instance /var/log/sandpiper/audit.jsonl")
	}
	if a.Syslog == "" || a.Syslog == SyslogLocal {
		return
	}
	if u, err := url.Parse(a.Syslog); err != nil || (u.Scheme != "udp" && u.Scheme != "tcp") || u.Port() == "" || u.Path != "" {
		c.problem("audit.syslog", fmt.Sprintf("audit.syslog: %q is no syslog", a.Syslog), "write local, udp://host:514 or tcp://host:514")
	}
}

func isAddressOrRange(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// numbers refuses what no engine and no clock could keep.
func (c *checker) numbers() {
	l := c.l
	for _, n := range []struct {
		key        string
		value, min float64
	}{
		{"model.concurrency", float64(l.Model.Concurrency), 1},
		{"model.turn_timeout", l.Model.TurnTimeout.Std().Seconds(), 1},
		{"budgets.turns", float64(l.Budgets.Turns), 0},
		{"budgets.tokens", float64(l.Budgets.Tokens), 0},
		{"budgets.usd", l.Budgets.USD, 0},
		{"budgets.wall", l.Budgets.Wall.Std().Seconds(), 1},
		{"budgets.sandbox", l.Budgets.Sandbox.Std().Seconds(), 1},
		{"budgets.actor_daily_tasks", float64(l.Budgets.ActorDailyTasks), 0},
		{"budgets.daily_tasks", float64(l.Budgets.DailyTasks), 0},
		{"budgets.actor_daily_tokens", float64(l.Budgets.ActorDailyTokens), 0},
		{"budgets.actor_daily_usd", l.Budgets.ActorDailyUSD, 0},
		{"budgets.daily_tokens", float64(l.Budgets.DailyTokens), 0},
		{"budgets.daily_usd", l.Budgets.DailyUSD, 0},
		{"limits.input", float64(l.Limits.Input), 1},
		{"limits.inputs", float64(l.Limits.Inputs), 1},
		{"limits.artifact", float64(l.Limits.Artifact), 1},
		{"limits.artifacts", float64(l.Limits.Artifacts), 1},
		{"limits.waiting_per_actor", float64(l.Limits.WaitingPerActor), 1},
		{"sandbox.memory", float64(l.Sandbox.Memory), float64(128 * MiB)},
		{"sandbox.cpus", l.Sandbox.CPUs, 0.01},
		{"sandbox.pids", float64(l.Sandbox.PIDs), 16},
		{"sandbox.workspace", float64(l.Sandbox.Workspace), float64(MiB)},
		{"sandbox.tmp", float64(l.Sandbox.Tmp), float64(MiB)},
		{"sandbox.inodes", float64(l.Sandbox.Inodes), 100},
		{"sandbox.wall", l.Sandbox.Wall.Std().Seconds(), 1},
		{"sandbox.cpu", l.Sandbox.CPU.Std().Seconds(), 1},
		{"sandbox.output", float64(l.Sandbox.Output), 1024},
		{"sandbox.output_stop", float64(l.Sandbox.OutputStop), float64(l.Sandbox.Output)},
		{"sandbox.pool", float64(l.Sandbox.Pool), 0},
		{"schedules.per_owner", float64(l.Schedules.PerOwner), 0},
	} {
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) || n.value < n.min {
			c.problem(n.key, fmt.Sprintf("%s is too small", n.key), fmt.Sprintf("at least %s", smallest(n.key, n.min)))
		}
	}
	// tmpfs counts to the container's memory; /skills takes 32 MiB of it, what the
	// guest needs for itself 4, and /dev/shm at least 1.
	if used := l.Sandbox.Workspace + l.Sandbox.Tmp; used+37*MiB > l.Sandbox.Memory*2/3 {
		c.problem("sandbox.workspace", fmt.Sprintf("sandbox.workspace and sandbox.tmp take %s of %s memory", used, l.Sandbox.Memory), "they count to sandbox.memory: keep them, with 37MiB for skills and the sandbox itself, at most two thirds of it")
	}
}

func smallest(key string, least float64) string {
	for _, part := range []string{"memory", "workspace", "tmp", "input", "artifact", "output"} {
		if strings.HasSuffix(key, "."+part) || strings.HasSuffix(key, "_stop") {
			return Size(least).String()
		}
	}
	for _, part := range []string{"wall", "cpu", "timeout", ".sandbox"} {
		if strings.HasSuffix(key, part) {
			return Duration(least * float64(time.Second)).String()
		}
	}
	return fmt.Sprint(least)
}

func (c *checker) platforms() {
	l := c.l
	if l.Secrets.SlackApp.Set() != l.Secrets.SlackBot.Set() {
		c.problem("SLACK_BOT_TOKEN", "Slack needs both SLACK_APP_TOKEN and SLACK_BOT_TOKEN", "set the other one too, or unset this one")
	}
	if l.Secrets.GitHubAppKey.Set() != (l.Addresses.GitHubAppID != "") {
		c.problem("GITHUB_APP_ID", "a GitHub App needs both GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY", "set the other one too, or unset this one")
	}
	for _, repository := range l.GitHub.Repositories {
		owner, name, ok := strings.Cut(repository, "/")
		if !ok || owner == "" || name == "" || owner == "*" || strings.Contains(name, "/") {
			c.problem("github.repositories", fmt.Sprintf("github.repositories: %q is no repository", repository), "write owner/name or owner/*")
		}
	}
}

func (c *checker) policy(at string, p Policy) {
	if p.Origin == "" {
		c.problem(at, at+" names no origin", `write origin: "slack:C0123", "github:owner/name", "console" or "web"`)
	}
	if len(p.Actors) == 0 {
		c.problem(at+".origin", at+" names no actors and so grants nothing", `write actors: ["*"] for everybody who reaches that origin`)
	}
	known := []string{string(bot.MayAsk), string(bot.MaySave), string(bot.MaySchedule), string(bot.MayCancelOthers), string(bot.MayPublish), string(bot.MayAdmin)}
	for _, right := range p.May {
		if !slices.Contains(known, string(right)) {
			c.problem(at+".may", fmt.Sprintf("%s.may: %q is no right", at, right), "one of "+strings.Join(known, ", "))
		}
	}
}

func (c *checker) schedule(at string, s Schedule) {
	for _, needed := range []struct{ key, value string }{{"name", s.Name}, {"owner", s.Owner}, {"when", s.When}} {
		if needed.value == "" {
			c.problem(at, fmt.Sprintf("%s has no %s", at, needed.key), "")
		}
	}
	if s.Request == "" && s.Skill == "" {
		c.problem(at, at+" asks for nothing", "write a request or name a runnable skill")
	}
	c.oneOf(at+".misfire", s.Misfire, "skip", "once", "all")
	c.oneOf(at+".overlap", s.Overlap, "skip", "queue")
	c.zone(at+".zone", s.Zone)
	if len(s.Inputs) > 0 && c.l.Schedules.Root == "" {
		for _, input := range s.Inputs {
			if !strings.Contains(input, ":") {
				c.problem(at+".inputs", fmt.Sprintf("%s.inputs: %q is a local file, and schedules.root names no folder", at, input), "set schedules.root to the folder that schedules may read")
			}
		}
	}
}

func (c *checker) zone(at, zone string) {
	if _, err := time.LoadLocation(zone); err != nil {
		c.problem(at, fmt.Sprintf("%s: %q is no time zone", at, zone), "write it like Europe/Berlin")
	}
}

func (c *checker) user(actor string, user User) {
	adapter, id, _ := strings.Cut(actor, ":")
	if id == "" || !slices.Contains([]string{"slack", "github", "console", "web"}, adapter) {
		c.problem("users", fmt.Sprintf("users: %q is nobody", actor), `write "github:octocat", "slack:U0123" or "console:alice"`)
	}
	c.zone("users."+actor+".zone", user.Zone)
}

// Warnings are settings that are legal and likely not meant.
func (l *Loaded) Warnings() []Problem {
	var out []Problem
	if l.Secrets.SlackBot.Set() && l.Slack.Allow.Empty() {
		out = append(out, Problem{Where: "slack.allow", Message: "Slack tokens are set and slack.allow is empty: nobody may ask there", Hint: "list channels, users or groups under slack.allow"})
	}
	if l.Secrets.GitHubWebhook.Set() && len(l.GitHub.Repositories) == 0 {
		out = append(out, Problem{Where: "github.repositories", Message: "a GitHub webhook secret is set and github.repositories is empty: nobody may ask there", Hint: "list owner/name or owner/* under github.repositories"})
	}
	if !l.Secrets.GitHubWebhook.Set() && len(l.GitHub.Repositories) > 0 {
		out = append(out, Problem{Where: "github.repositories", Message: "github.repositories are listed and GITHUB_WEBHOOK_SECRET is not set: no webhook is accepted", Hint: "set GITHUB_WEBHOOK_SECRET to the secret of the webhook"})
	}
	if l.Secrets.GitHubToken.Set() && !l.Secrets.GitHubWebhook.Set() && len(l.GitHub.Repositories) == 0 {
		out = append(out, Problem{Where: "GITHUB_TOKEN", Message: "GITHUB_TOKEN is set and GITHUB_WEBHOOK_SECRET is not: GitHub is not served", Hint: "set GITHUB_WEBHOOK_SECRET to the secret of the webhook, and list repositories under github.repositories"})
	}
	if l.ModelProblem() == "" && l.Model.Name != "" && len(l.Model.Prices) > 0 {
		if _, ok := l.Model.Prices[l.Model.Name]; !ok {
			out = append(out, Problem{Where: "model.prices", Message: fmt.Sprintf("no price for %s: its cost counts as nothing", l.Model.Name), Hint: "add it under model.prices"})
		}
	}
	if host, _, err := net.SplitHostPort(l.Listen); err == nil && !isLoopback(host) && !l.Secrets.WebToken.Set() && l.Web.ProxyHeader == "" {
		out = append(out, Problem{Where: "listen", Message: "the listener is reachable from other machines and nothing opens the pages", Hint: "set SANDPIPER_WEB_TOKEN or web.proxy_header to use them"})
	}
	return out
}

// ModelProblem says why no model can be asked; empty when one is configured.
// A base URL without a key suffices, and a key alone means the public server.
func (l *Loaded) ModelProblem() string {
	switch {
	case l.Model.BaseURL == "" && !l.Secrets.OpenAI.Set():
		return "no model is configured: only runnable skills work (set OPENAI_API_KEY, or OPENAI_BASE_URL of your own server, and SANDPIPER_MODEL)"
	case l.Model.Name == "":
		return "a model server is configured, and no model is named (set SANDPIPER_MODEL or model.name)"
	}
	return ""
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
