package schedules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// Misfire says what happens to runs that were missed.
type Misfire string

// The misfire policies.
const (
	MisfireSkip Misfire = "skip" // missed runs are recorded and not made up for
	MisfireOnce Misfire = "once" // the latest missed run is made up for, within the grace period
	MisfireAll  Misfire = "all"  // each missed run within the grace period, at most MaxCatchUp
)

// MaxCatchUp bounds how many missed runs MisfireAll makes up for at once, so
// that a long sleep does not become a bill.
const MaxCatchUp = 24

// Overlap says what happens when the run before has not ended.
type Overlap string

// The overlap policies.
const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue"
)

// State is whether a schedule fires.
type State string

// The states of a schedule.
const (
	Active   State = "active"
	Paused   State = "paused"
	Proposed State = "proposed" // waits for its owner's confirmation
)

// From says where a schedule was made; it decides what it may reach.
type From string

// Where schedules come from.
const (
	FromConfig  From = "config"  // may name local paths
	FromCommand From = "command" // may name local paths
	FromChat    From = "chat"    // bound by PerOwner and MinInterval, no local paths
)

// where tells people the place.
func (f From) where() string {
	switch f {
	case FromConfig:
		return "in the configuration"
	case FromCommand:
		return "on the command line"
	default:
		return "in a chat"
	}
}

// Defaults, stated in every confirmation.
const (
	DefaultMisfire = MisfireOnce
	DefaultGrace   = 6 * time.Hour
	DefaultOverlap = OverlapSkip
	// PauseAfter is the number of failures in a row that pauses a schedule.
	PauseAfter = 5
)

// Schedule is a request or runnable skill that runs by the clock, with its
// owner's rights. Times are UTC instants.
type Schedule struct {
	Name  string    `json:"name"`
	Owner bot.Actor `json:"owner"`
	Cron  string    `json:"cron"`
	Zone  string    `json:"zone"`
	Words string    `json:"words,omitempty"` // what the owner wrote, when it was no cron line

	Request string         `json:"request"`
	Skill   string         `json:"skill,omitempty"`
	Inputs  []bot.InputRef `json:"inputs,omitempty"`
	To      []bot.Origin   `json:"to"`
	Misfire Misfire        `json:"misfire"`
	Grace   time.Duration  `json:"grace"`
	Overlap Overlap        `json:"overlap"`
	// Jitter spreads fires over this much time after they are due.
	Jitter time.Duration `json:"jitter,omitempty"`

	From From `json:"from"`
	// Made is the key of the event that made it, so that it is made once.
	Made    string    `json:"made,omitempty"`
	Created time.Time `json:"created"`
	State   State     `json:"state"`
	// Why says why it is paused.
	Why string `json:"why,omitempty"`
	// Home is where it was made in a chat: words for its owner find them there.
	Home bot.Origin `json:"home,omitzero"`
	// Untold is what its owner is still to be told, under a key of its own.
	Untold    string `json:"untold,omitempty"`
	UntoldKey string `json:"untold_key,omitempty"`

	// Next is the next time it is due; it is only moved past a due time
	// together with that time's Fire.
	Next     time.Time `json:"next,omitzero"`
	Last     time.Time `json:"last,omitzero"` // last due time that ran
	LastTask string    `json:"last_task,omitempty"`
	// Reviewed is the last task whose ending was counted.
	Reviewed string `json:"reviewed,omitempty"`
	Failures int    `json:"failures,omitempty"` // in a row
	// Failure is the message of the last failure, so that repeats are folded.
	Failure string `json:"failure,omitempty"`
}

// Result is what became of one due time.
type Result string

// The results of a fire.
const (
	Ran     Result = "ran"
	Skipped Result = "skipped"
	Failed  Result = "failed" // could not even be submitted
	Tried   Result = "tried"  // run for its asker alone, which counts for nothing
)

// Fire records one due time of a schedule: that it ran, or why it did not.
type Fire struct {
	Due    time.Time `json:"due"`
	At     time.Time `json:"at"`
	Result Result    `json:"result"`
	Why    string    `json:"why,omitempty"`
	Task   string    `json:"task,omitempty"`
	// Count is more than 1 when it stands for that many due times up to Due.
	Count int `json:"count,omitempty"`
}

// FolderAdapter is the Origin.Adapter of local folders as destinations: the
// console's channel writes there.
const FolderAdapter = "console"

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Normalize fills the defaults in and checks the schedule whole.
func (s *Schedule) Normalize() (Line, error) {
	if s.Misfire == "" {
		s.Misfire = DefaultMisfire
	}
	if s.Grace == 0 {
		s.Grace = DefaultGrace
	}
	if s.Overlap == "" {
		s.Overlap = DefaultOverlap
	}
	if s.State == "" {
		s.State = Active
	}
	switch {
	case !nameForm.MatchString(s.Name):
		return Line{}, fmt.Errorf("name %q: use lower-case letters, digits and dashes, at most 63", s.Name)
	case s.Owner.ID == "":
		return Line{}, fmt.Errorf("schedule %s: an owner is needed, it runs with the owner's rights", s.Name)
	case strings.TrimSpace(s.Request) == "" && s.Skill == "":
		return Line{}, fmt.Errorf("schedule %s: a request or a skill is needed", s.Name)
	case len(s.To) == 0:
		return Line{}, fmt.Errorf("schedule %s: a destination is needed", s.Name)
	case s.Misfire != MisfireSkip && s.Misfire != MisfireOnce && s.Misfire != MisfireAll:
		return Line{}, fmt.Errorf("schedule %s: misfire %q is none of skip, once, all", s.Name, s.Misfire)
	case s.Overlap != OverlapSkip && s.Overlap != OverlapQueue:
		return Line{}, fmt.Errorf("schedule %s: overlap %q is none of skip, queue", s.Name, s.Overlap)
	case s.Grace < 0 || s.Jitter < 0:
		return Line{}, fmt.Errorf("schedule %s: grace and jitter are not negative", s.Name)
	}
	for _, in := range s.Inputs {
		if s.From == FromChat && in.Adapter == LocalAdapter {
			return Line{}, errors.New("local paths can be named in the configuration or on the command line only")
		}
	}
	for _, to := range s.To {
		if err := s.checkTitle(to.Title); err != nil {
			return Line{}, err
		}
		if s.From == FromChat && to.Adapter == FolderAdapter {
			return Line{}, errors.New("a local folder can be named in the configuration or on the command line only")
		}
	}
	return ParseLine(s.Cron, s.Zone)
}

// Describe says in words what a confirmation must say, with the next three
// times in the schedule's zone.
func (s *Schedule) Describe(line Line, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)\n", s.Name, line, s.Zone)
	if s.Words != "" {
		fmt.Fprintf(&b, "understood from: %s\n", s.Words)
	}
	fmt.Fprintf(&b, "missed runs: %s; while the run before goes on: %s\n", describeMisfire(s.Misfire, s.Grace), s.Overlap)
	upcoming := line.Upcoming(now, 3)
	for i, to := range s.To {
		if to.Title == "" || len(upcoming) == 0 {
			continue
		}
		fmt.Fprintf(&b, "each answer opens an issue in %s: %s\n", placeName(to), s.places(upcoming[0])[i].Title)
	}
	b.WriteString("next:\n")
	for _, at := range upcoming {
		fmt.Fprintf(&b, "  %s\n", at.In(line.Zone()).Format("Mon 2 Jan 2006 15:04 MST"))
	}
	return b.String()
}

func describeMisfire(m Misfire, grace time.Duration) string {
	switch m {
	case MisfireSkip:
		return "skipped"
	case MisfireAll:
		return fmt.Sprintf("all made up for within %s, at most %d", shortDuration(grace), MaxCatchUp)
	default:
		return fmt.Sprintf("the latest made up for once within %s", shortDuration(grace))
	}
}

// shortDuration writes whole hours and minutes without trailing zeros.
func shortDuration(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
