package sandbox

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

//go:embed probes/still.py
var stillProbes string

//go:embed probes/list.json
var probeList []byte

// ProbeResult is one attack that was tried on the running engine.
type ProbeResult struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Expect string `json:"expect"`
	Seen   string `json:"seen"`
	OK     bool   `json:"ok"`
}

// ProbeReport is the outcome of all probes.
type ProbeReport struct {
	Runtime string        `json:"runtime"`
	Engine  string        `json:"engine"`
	Image   string        `json:"image"`
	Probes  []ProbeResult `json:"probes"`
}

// Fallen counts the probes that did not end as expected.
func (r ProbeReport) Fallen() int {
	fallen := 0
	for _, probe := range r.Probes {
		if !probe.OK {
			fallen++
		}
	}
	return fallen
}

// Probe tries thirty attacks on the running engine, in sessions of its own
// with small limits, and takes about half a minute. The options' owner gets a
// suffix, so that running sessions of the same owner are left alone. An error
// means that the probes could not be run at all.
func Probe(ctx context.Context, options Options) (report ProbeReport, err error) {
	options.Owner = probeOwner(options.Owner)
	options.Sole = false
	options.Limits = probeLimits()
	options.Pool = Pool{}
	box, err := New(ctx, options)
	if err != nil {
		return ProbeReport{}, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	report = ProbeReport{Runtime: box.options.Runtime, Engine: box.info.ServerVersion, Image: box.image.id}
	if err := json.Unmarshal(probeList, &report.Probes); err != nil {
		return report, fmt.Errorf("read probes: %w", err)
	}
	p := &prober{box: box, results: map[int]outcome{}}
	p.all(ctx)
	for i := range report.Probes {
		probe := &report.Probes[i]
		got, found := p.results[probe.ID]
		if !found {
			got = outcome{seen: "it gave no result"}
		}
		probe.OK, probe.Seen = got.ok, printable(got.seen, 300)
	}
	return report, context.Cause(ctx)
}

func probeOwner(owner string) string {
	return owner[:min(len(owner), 50)] + ".probe." + newID()[:6]
}

// probeLimits are small, so that the probes reach them soon.
func probeLimits() Limits {
	return Limits{
		Memory: 256 << 20, PIDs: 64, Workspace: 64 << 20, Tmp: 32 << 20, Inodes: 2000,
		Wall: 20 * time.Second, CPU: 20 * time.Second, Output: 64 << 10, OutputStop: 8 << 20,
	}
}

type outcome struct {
	ok   bool
	seen string
}

// prober runs the probes of one report.
type prober struct {
	box     *Sandbox
	results map[int]outcome
}

func (p *prober) note(id int, ok bool, format string, args ...any) {
	p.results[id] = outcome{ok, fmt.Sprintf(format, args...)}
}

func (p *prober) all(ctx context.Context) {
	p.still(ctx)
	for id, probe := range map[int]func(context.Context) (bool, string, error){
		24: p.forkBomb, 25: p.memory, 26: p.disk, 27: p.flood, 28: p.undead, 29: p.outputs, 30: p.neighbours,
	} {
		ok, seen, err := probe(ctx)
		if err != nil {
			ok, seen = false, "could not be tried: "+err.Error()
		}
		p.note(id, ok, "%s", seen)
	}
}

// session leases one for a probe.
func (p *prober) session(ctx context.Context, name string) (*Session, error) {
	return p.box.Lease(ctx, LeaseOptions{Task: "probe-" + name})
}

// one runs one program in a session of its own.
func (p *prober) one(ctx context.Context, program Program) (Result, error) {
	session, err := p.session(ctx, "one")
	if err != nil {
		return Result{}, err
	}
	defer session.shut()
	return session.Run(ctx, program)
}

// still runs the probes that break nothing, all in one program.
func (p *prober) still(ctx context.Context) {
	l := p.box.options.Limits
	own := "False"
	if ownKernel(p.box.options.Runtime) {
		own = "True"
	}
	code := fmt.Sprintf("OWN_KERNEL, WORKSPACE, TMP = %s, %d, %d\n%s", own, l.Workspace, l.Tmp, stillProbes)
	result, err := p.one(ctx, Program{Language: Python, Code: code})
	if err != nil {
		p.note(1, false, "could not be tried: %v", err)
		return
	}
	for line := range strings.Lines(result.Stdout.Head) {
		var said struct {
			ID   int    `json:"id"`
			OK   bool   `json:"ok"`
			Seen string `json:"seen"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.ID >= 1 && said.ID <= 23 {
			p.note(said.ID, said.OK, "%s", said.Seen)
		}
	}
	if result.Verdict != OK {
		for id := 1; id <= 23; id++ {
			if _, found := p.results[id]; !found {
				p.note(id, false, "the probes ended early: %s: %s", result.Verdict, lastLines(result.Stderr.Head, 2))
			}
		}
	}
}
