package agent

import (
	"encoding/json"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// provenance gathers what an answer rests on, from the steps alone: a task
// that was resumed says the same as one that was not. It is guarded by its
// task's mu.
type provenance struct {
	p bot.Provenance
}

func (f *provenance) turn(turn turnData) {
	if turn.Model != "" {
		f.p.Model = turn.Model
	}
}

func (f *provenance) program(p bot.Program) {
	f.p.Programs = append(f.p.Programs, bot.ProgramVerdict{Language: p.Language, Verdict: p.Verdict, Seconds: p.Seconds})
}

func (f *provenance) profile(p profileData) {
	f.p.ImageID, f.p.Runtime, f.p.Proof = p.ImageID, p.Runtime, p.Proof
	if p.Text != "" {
		f.p.Values = string(p.Values)
	}
}

func (f *provenance) skill(name, version string) {
	if name == "" {
		return
	}
	if f.p.Skills == nil {
		f.p.Skills = map[string]string{}
	}
	f.p.Skills[name] = version
}

// provenance returns a copy.
func (t *task) provenance() bot.Provenance {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.from.p
	p.Programs = append([]bot.ProgramVerdict(nil), p.Programs...)
	skills := make(map[string]string, len(p.Skills))
	for name, version := range p.Skills {
		skills[name] = version
	}
	p.Skills = skills
	p.Proof = append(json.RawMessage(nil), p.Proof...)
	if p.Model == "" {
		p.Values = "" // nothing was sent to anybody
	}
	return p
}
