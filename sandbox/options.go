package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/docker/go-units"
)

// Options say which engine, image and limits a Sandbox uses.
type Options struct {
	// Owner names this installation (an id kept in its data folder). Every
	// container carries it; nobody else's is ever touched.
	Owner string
	// Sole says that no other process of this owner lives (the data folder is
	// locked): whatever it left behind is removed at the start, running or not.
	Sole bool

	// Engine is the engine's address ("unix://…", "tcp://…", "ssh://…"); empty
	// takes DOCKER_HOST and Docker's other variables.
	Engine string
	// Image is the image's name; empty takes ImageName().
	Image string
	// ImageID is the recorded id ("sha256:…") that Image must have; empty
	// accepts what the name means now.
	ImageID string
	// Runtime is the OCI runtime; empty means "runc". One that the engine does
	// not have is refused.
	Runtime string

	Limits Limits
	Pool   Pool

	// Preload lists Python modules that idle sessions import one by one; nil
	// takes the usual libraries.
	Preload []string
	// TaskWall is the longest that a session may live once it is leased; 0
	// takes 30 minutes.
	TaskWall time.Duration
	// StartTimeout bounds the way from a container's creation to a ready
	// guest; 0 takes 60 s.
	StartTimeout time.Duration
	// MaxMemory bounds what all sessions together may use, in bytes; 0 takes
	// three quarters of the engine's memory. A lease beyond it waits.
	MaxMemory int64

	Log *slog.Logger
	// Point, when set, is called at "container-created" and "program-running";
	// tests crash the process there.
	Point func(name string)
}

// Pool says how sessions are kept ready.
type Pool struct {
	// Size is how many sessions stand ready; 0 keeps none.
	Size int
	// Max is how far the pool may grow while leases keep finding it empty; 0
	// takes twice Size. It shrinks back when they stop.
	Max int
	// MaxAge is how old a ready session may become; 0 takes 30 minutes.
	MaxAge time.Duration
}

// Limits bound one session and its programs. Zero fields take the defaults
// of DefaultLimits.
type Limits struct {
	Memory    int64   // bytes, with swap and all tmpfs in it
	CPUs      float64 // cores
	PIDs      int64
	Workspace int64 // bytes of /workspace
	Tmp       int64 // bytes of /tmp
	Inodes    int64 // files in each of them

	Wall time.Duration // of one program
	CPU  time.Duration // of one program and its children

	Output     int64 // bytes kept of each stream
	OutputStop int64 // bytes of both streams at which a program is ended

	Artifact      int64 // bytes of one collected file
	Artifacts     int   // collected files
	ArtifactTotal int64 // bytes of all collected files
}

// DefaultLimits are the limits in force where the configuration names none.
func DefaultLimits() Limits {
	return Limits{
		Memory: 1 << 30, CPUs: 1, PIDs: 128, Workspace: 512 << 20, Tmp: 128 << 20, Inodes: 20000,
		Wall: 2 * time.Minute, CPU: 90 * time.Second, Output: 1 << 20, OutputStop: 64 << 20,
		Artifact: 50 << 20, Artifacts: 20, ArtifactTotal: 500 << 20,
	}
}

const (
	skillsSize = 32 << 20 // bytes of /skills
	guestSize  = 4 << 20  // bytes of /run/sandpiper: the guest's package and one program
	leastShm   = 1 << 20  // bytes of /dev/shm
	mostShm    = 64 << 20 // likewise
)

// files is how much the folders in memory may hold, without /dev/shm, which
// gets what is left of their share.
func (l Limits) files() int64 { return l.Workspace + l.Tmp + skillsSize + guestSize }

// filesShare is how much of the memory may be taken by files.
func (l Limits) filesShare() int64 { return l.Memory * 2 / 3 }

// shm is the size of /dev/shm, in bytes.
func (l Limits) shm() int64 { return max(leastShm, min(mostShm, (l.filesShare()-l.files())>>12<<12)) }

// defaultPreload is what nearly every program about tables imports, cheapest
// gain first. Further libraries cost more memory than they save time.
func defaultPreload() []string {
	return []string{"pandas", "matplotlib.pyplot", "openpyxl", "sandpiper.reader", "sandpiper.rehearsal"}
}

var validOwner = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)

// checked fills in defaults and says all that is wrong.
func (o Options) checked() (Options, error) {
	o.Limits = o.Limits.withDefaults()
	o.fill()
	var wrong []error
	if !validOwner.MatchString(o.Owner) {
		wrong = append(wrong, fmt.Errorf("owner %q: want 1 to 64 letters, digits, _ . : -", o.Owner))
	}
	if o.Pool.Size < 0 || o.Pool.Max < o.Pool.Size {
		wrong = append(wrong, fmt.Errorf("pool of %d growing to %d: want 0 <= size <= max", o.Pool.Size, o.Pool.Max))
	}
	wrong = append(wrong, o.Limits.check()...)
	if len(wrong) > 0 {
		return o, fmt.Errorf("check sandbox options: %w", errors.Join(wrong...))
	}
	return o, nil
}

func (o *Options) fill() {
	if o.Image == "" {
		o.Image = ImageName()
	}
	if o.Runtime == "" {
		o.Runtime = "runc"
	}
	if o.Preload == nil {
		o.Preload = defaultPreload()
	}
	if o.Pool.Max == 0 {
		o.Pool.Max = 2 * o.Pool.Size
	}
	if o.Pool.MaxAge == 0 {
		o.Pool.MaxAge = 30 * time.Minute
	}
	if o.TaskWall == 0 {
		o.TaskWall = 30 * time.Minute
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Point == nil {
		o.Point = func(string) {}
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, pair := range []struct{ have, want *int64 }{
		{&l.Memory, &d.Memory},
		{&l.PIDs, &d.PIDs},
		{&l.Workspace, &d.Workspace},
		{&l.Tmp, &d.Tmp},
		{&l.Inodes, &d.Inodes},
		{&l.Output, &d.Output},
		{&l.OutputStop, &d.OutputStop},
		{&l.Artifact, &d.Artifact},
		{&l.ArtifactTotal, &d.ArtifactTotal},
	} {
		if *pair.have == 0 {
			*pair.have = *pair.want
		}
	}
	if l.CPUs == 0 {
		l.CPUs = d.CPUs
	}
	if l.Wall == 0 {
		l.Wall = d.Wall
	}
	if l.CPU == 0 {
		l.CPU = d.CPU
	}
	if l.Artifacts == 0 {
		l.Artifacts = d.Artifacts
	}
	return l
}

func (l Limits) check() []error {
	var wrong []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	require(l.Memory >= 128<<20, "memory of %s: a session needs at least 128 MiB", size(l.Memory))
	require(l.CPUs >= 0.01, "cpus of %g: want at least 0.01", l.CPUs)
	require(l.PIDs >= 16, "pids of %d: a session needs at least 16", l.PIDs)
	require(l.Workspace >= 1<<20 && l.Tmp >= 1<<20, "workspace of %s and tmp of %s: want at least 1 MiB each", size(l.Workspace), size(l.Tmp))
	require(l.Inodes >= 100, "inodes of %d: want at least 100", l.Inodes)
	files := l.files() + leastShm
	require(files <= l.filesShare(), "workspace, tmp and the sandbox's own folders take %s together, more than two thirds of the memory of %s, to which they count: raise memory or lower them", size(files), size(l.Memory))
	require(l.Wall > 0 && l.CPU > 0, "wall of %s and cpu of %s: want more than nothing", l.Wall, l.CPU)
	require(l.Output >= 1<<10 && l.OutputStop >= l.Output, "output of %s, stop at %s: want 1 KiB <= output <= output_stop", size(l.Output), size(l.OutputStop))
	require(l.Artifact > 0 && l.Artifacts > 0 && l.ArtifactTotal > 0, "artifact limits must be positive")
	return wrong
}

// size shows bytes as people read them.
func size(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}
