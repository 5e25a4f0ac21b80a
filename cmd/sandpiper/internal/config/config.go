package config

import (
	"os"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Config is the whole shape of sandpiper.yaml, with what the environment adds.
// The yaml tags are the outer contract.
type Config struct {
	DataDir  string   `yaml:"data_dir"`
	Listen   string   `yaml:"listen"`
	Web      Web      `yaml:"web"`
	Log      Log      `yaml:"log"`
	Model    Model    `yaml:"model"`
	Budgets  Budgets  `yaml:"budgets"`
	Limits   Limits   `yaml:"limits"`
	Sandbox  Sandbox  `yaml:"sandbox"`
	Slack    Slack    `yaml:"slack"`
	GitHub   GitHub   `yaml:"github"`
	Fetch    Fetch    `yaml:"fetch"`
	Policies []Policy `yaml:"policies"`
	// Users is what no platform knows of people, by actor: "github:octocat",
	// "slack:U0123", "console:alice".
	Users     map[string]User `yaml:"users"`
	Schedules Schedules       `yaml:"schedules"`
	Costs     Costs           `yaml:"costs"`
	Skills    Skills          `yaml:"skills"`
	Retention Retention       `yaml:"retention"`
	Audit     Audit           `yaml:"audit"`

	// Secrets and Addresses come from the environment alone.
	Secrets   Secrets   `yaml:"-"`
	Addresses Addresses `yaml:"-"`
}

// Web says how the pages know who looks at them.
type Web struct {
	// URL is where people reach the pages, for links to them; empty: none.
	URL string `yaml:"url"`
	// ProxyHeader carries the viewer's identity; it counts only from TrustedProxies.
	ProxyHeader    string   `yaml:"proxy_header"`
	TrustedProxies []string `yaml:"trusted_proxies"` // addresses or CIDR ranges
}

// LogParts are the parts that may have a level of their own.
func LogParts() []string {
	return []string{"agent", "core", "github", "http", "model", "sandbox", "schedules", "slack", "web"}
}

// Log says what is logged and how.
type Log struct {
	Level string `yaml:"level"` // debug, info, warn, error
	// Levels are those of parts that log at another level; see LogParts.
	Levels map[string]string `yaml:"levels"`
	Format string            `yaml:"format"` // auto, text, json
}

// Model is the language model and what it may see.
type Model struct {
	BaseURL     string           `yaml:"base_url"`
	Name        string           `yaml:"name"`
	Fallbacks   []string         `yaml:"fallbacks"`
	TurnTimeout Duration         `yaml:"turn_timeout"`
	Concurrency int              `yaml:"concurrency"`
	Values      string           `yaml:"values"` // full, masked, none
	Prices      map[string]Price `yaml:"prices"`
}

// Price is in USD per million tokens.
type Price struct {
	Input  float64 `yaml:"input"`
	Cached float64 `yaml:"cached"`
	Output float64 `yaml:"output"`
}

// Budgets bound what a task, an actor and a day may cost; 0 is no limit of that kind.
// In a policy, 0 takes the budget of all, and a negative number is no limit.
type Budgets struct {
	Turns            int      `yaml:"turns"`
	Tokens           int64    `yaml:"tokens"`
	USD              float64  `yaml:"usd"`
	Wall             Duration `yaml:"wall"`
	Sandbox          Duration `yaml:"sandbox"`
	ActorDailyTasks  int      `yaml:"actor_daily_tasks"`
	DailyTasks       int      `yaml:"daily_tasks"`
	ActorDailyTokens int64    `yaml:"actor_daily_tokens"`
	ActorDailyUSD    float64  `yaml:"actor_daily_usd"`
	DailyTokens      int64    `yaml:"daily_tokens"`
	DailyUSD         float64  `yaml:"daily_usd"`
}

// Bot gives the budgets in the core's type.
func (b Budgets) Bot() bot.Budgets {
	return bot.Budgets{
		Turns: b.Turns, Tokens: b.Tokens, USD: b.USD,
		Wall: time.Duration(b.Wall), Sandbox: time.Duration(b.Sandbox),
		ActorDailyTasks: b.ActorDailyTasks, DailyTasks: b.DailyTasks,
		ActorDailyTokens: b.ActorDailyTokens, ActorDailyUSD: b.ActorDailyUSD,
		DailyTokens: b.DailyTokens, DailyUSD: b.DailyUSD,
	}
}

// Limits bound files and waiting tasks.
type Limits struct {
	Input           Size `yaml:"input"` // bytes of one input
	Inputs          int  `yaml:"inputs"`
	Artifact        Size `yaml:"artifact"` // bytes of one artifact
	Artifacts       int  `yaml:"artifacts"`
	WaitingPerActor int  `yaml:"waiting_per_actor"`
}

// Sandbox is the container's image, runtime and limits.
type Sandbox struct {
	Image      string   `yaml:"image"` // empty: the one this version's recipe names
	Runtime    string   `yaml:"runtime"`
	Memory     Size     `yaml:"memory"`
	CPUs       float64  `yaml:"cpus"`
	PIDs       int64    `yaml:"pids"`
	Workspace  Size     `yaml:"workspace"`
	Tmp        Size     `yaml:"tmp"`
	Inodes     int64    `yaml:"inodes"`
	Wall       Duration `yaml:"wall"`
	CPU        Duration `yaml:"cpu"`
	Output     Size     `yaml:"output"`
	OutputStop Size     `yaml:"output_stop"`
	Pool       int      `yaml:"pool"`
}

// Slack says where in Slack the bot may be asked.
type Slack struct {
	Allow    SlackAllow `yaml:"allow"`
	Guests   bool       `yaml:"guests"`
	External bool       `yaml:"external"`
	Catchup  Duration   `yaml:"catchup"`
}

// SlackAllow lists who may ask and where; empty means nobody.
type SlackAllow struct {
	Channels []string `yaml:"channels"` // C0123 or T0123/C0456
	Users    []string `yaml:"users"`
	Groups   []string `yaml:"groups"`
}

// Empty reports whether nobody may ask.
func (a SlackAllow) Empty() bool {
	return len(a.Channels) == 0 && len(a.Users) == 0 && len(a.Groups) == 0
}

// GitHub says where on GitHub the bot may be asked.
type GitHub struct {
	Handle        string          `yaml:"handle"`
	Repositories  []string        `yaml:"repositories"` // owner/name or owner/*; empty means none
	MinPermission string          `yaml:"min_permission"`
	Outsiders     string          `yaml:"outsiders"` // silent, reply
	Label         string          `yaml:"label"`     // makes an issue's text a request; empty: none does
	Catchup       Duration        `yaml:"catchup"`
	Artifacts     GitHubArtifacts `yaml:"artifacts"`
}

// GitHubArtifacts says where an answer's files are committed.
type GitHubArtifacts struct {
	Branch     string `yaml:"branch"`
	Repository string `yaml:"repository"` // empty: the asking repository
}

// Fetch lists hosts that inputs may be fetched from.
type Fetch struct {
	AllowHosts []string `yaml:"allow_hosts"`
}

// Policy grants rights at an origin.
type Policy struct {
	Origin       string      `yaml:"origin"` // "slack:C0123", "github:owner/name", "console", "web", "*"
	Actors       []string    `yaml:"actors"`
	May          []bot.Right `yaml:"may"`
	Budgets      Budgets     `yaml:"budgets"`
	Model        string      `yaml:"model"`
	Runtime      string      `yaml:"runtime"`
	Destinations []string    `yaml:"destinations"`
}

// User is what is known of a person.
type User struct {
	Zone string `yaml:"zone"` // of their schedules, where neither they nor their platform names one
}

// UserOf is what is known of an actor. Slack's ids are written with or without
// their workspace; logins are the same in any letters.
func (c *Config) UserOf(actor string) User {
	adapter, id, _ := strings.Cut(actor, ":")
	for key, user := range c.Users {
		if strings.EqualFold(key, actor) || strings.EqualFold(key, adapter+":"+id[strings.LastIndexByte(id, '/')+1:]) {
			return user
		}
	}
	return User{}
}

// ZoneOf is the time zone of an actor's schedules where nobody names one.
func (c *Config) ZoneOf(actor string) string {
	if zone := c.UserOf(actor).Zone; zone != "" {
		return zone
	}
	return c.Schedules.Zone
}

// Schedules bound schedules and list those of the operator.
type Schedules struct {
	Root        string     `yaml:"root"` // local inputs and destinations lie under it; empty: none allowed
	MinInterval Duration   `yaml:"min_interval"`
	PerOwner    int        `yaml:"per_owner"`
	Zone        string     `yaml:"zone"` // where neither a schedule nor its person names one
	List        []Schedule `yaml:"list"`
}

// Schedule is one schedule of the operator.
type Schedule struct {
	Name    string   `yaml:"name"`
	Owner   string   `yaml:"owner"`
	When    string   `yaml:"when"`
	Zone    string   `yaml:"zone"`
	Request string   `yaml:"request"`
	Skill   string   `yaml:"skill"`
	Inputs  []string `yaml:"inputs"`
	To      []string `yaml:"to"`
	Title   string   `yaml:"title"`   // of a new issue each time, where a destination is github:owner/name
	Misfire string   `yaml:"misfire"` // skip, once, all
	Grace   Duration `yaml:"grace"`
	Overlap string   `yaml:"overlap"` // skip, queue
}

// Costs is the weekly message about costs.
type Costs struct {
	To   []string `yaml:"to"` // destinations; empty: nobody is told
	When string   `yaml:"when"`
	Zone string   `yaml:"zone"`
}

// Skills names further folders of skills.
type Skills struct {
	Folders []string `yaml:"folders"`
}

// Retention says how long things are kept.
type Retention struct {
	Tasks Duration `yaml:"tasks"`
	Blobs Duration `yaml:"blobs"`
	Audit Duration `yaml:"audit"`
}

// Audit says where a copy of each audit entry goes; empty: it stays in the
// database alone.
type Audit struct {
	File   string `yaml:"file"`   // appended to, one JSON value a line
	Syslog string `yaml:"syslog"` // SyslogLocal, udp://host:514 or tcp://host:514
}

// SyslogLocal means the syslog of this machine.
const SyslogLocal = "local"

// Addresses are the complete bases of the platforms' interfaces, as the
// client libraries want them; empty means the public one.
type Addresses struct {
	SlackAPI    string // SLACK_API_URL
	GitHubAPI   string // GITHUB_API_URL
	GitHubAppID string // GITHUB_APP_ID
}

// Defaults is the configuration of somebody who has set nothing.
func Defaults() *Config {
	return &Config{
		Listen: "127.0.0.1:8080",
		Log:    Log{Level: "info", Levels: map[string]string{}, Format: "auto"},
		Model:  Model{TurnTimeout: Duration(3 * time.Minute), Concurrency: 8, Values: "full"},
		Budgets: Budgets{
			Turns: 40, Tokens: 400_000, USD: 2,
			Wall: Duration(20 * time.Minute), Sandbox: Duration(10 * time.Minute),
			ActorDailyTasks: 500, DailyTasks: 10_000,
			ActorDailyTokens: 4_000_000, ActorDailyUSD: 20, DailyTokens: 40_000_000, DailyUSD: 200,
		},
		Limits: Limits{Input: 256 * MiB, Inputs: 20, Artifact: 50 * MiB, Artifacts: 20, WaitingPerActor: 20},
		Sandbox: Sandbox{
			Runtime: "runc", Memory: GiB, CPUs: 1, PIDs: 128, Workspace: 512 * MiB, Tmp: 128 * MiB,
			Inodes: 20000, Wall: Duration(2 * time.Minute), CPU: Duration(90 * time.Second),
			Output: MiB, OutputStop: 64 * MiB, Pool: 2,
		},
		Users: map[string]User{},
		Slack: Slack{Catchup: Duration(6 * time.Hour)},
		GitHub: GitHub{
			Handle: "sandpiper", MinPermission: "write", Outsiders: "silent", Catchup: Duration(6 * time.Hour),
			Artifacts: GitHubArtifacts{Branch: "sandpiper-artifacts"},
		},
		Costs:     Costs{To: []string{}, When: "0 9 * * MON", Zone: LocalZone()},
		Schedules: Schedules{MinInterval: Duration(15 * time.Minute), PerOwner: 20, Zone: LocalZone()},
		Retention: Retention{Tasks: 90 * Day, Blobs: 30 * Day, Audit: 400 * Day},
	}
}

// scheduleDefaults are the values of keys that an entry of schedules.list
// leaves out.
func scheduleDefaults() Schedule {
	return Schedule{Misfire: "once", Grace: Duration(6 * time.Hour), Overlap: "skip"}
}

// LocalZone is the host's time zone by name, UTC where the host has none.
func LocalZone() string {
	if zone := os.Getenv("TZ"); zone != "" {
		if _, err := time.LoadLocation(zone); err == nil {
			return zone
		}
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, zone, ok := cutAfter(link, "zoneinfo/"); ok {
			return zone
		}
	}
	return "UTC"
}
