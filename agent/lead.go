package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// profileMost bounds the profile in a prompt, in bytes.
const profileMost = 24 << 10

// runLead runs the model-and-tools loop. skill is the one that the request
// names, or empty.
func (t *task) runLead(ctx context.Context, skill skills.Skill, steps []bot.Step) (bot.Outcome, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, max(time.Second, t.budget.limit.Wall-t.active()), errWall)
	defer cancel()
	before, err := t.earlier(ctx)
	if err != nil {
		return bot.Outcome{}, err
	}
	w := &workspace{t: t, agent: lead, inputs: before.inputs, log: before.log, image: orText(t.image, before.image)}
	defer w.close()
	p, err := t.intake(bounded, w, steps)
	if err != nil {
		return bot.Outcome{}, err
	}
	l := &loop{t: t, path: lead, budget: t.budget, w: w, tools: t.a.tools, inventory: p.Inventory}
	if l.opening, err = t.opening(skill, p, before); err != nil {
		return bot.Outcome{}, err
	}
	if err := l.start(steps); err != nil {
		return bot.Outcome{}, err
	}
	t.report(t.words.Thinking, l.todo)
	end, err := l.run(bounded)
	var failed *ModelError
	switch {
	case errors.Is(err, errAsked):
		return l.waiting()
	case errors.As(err, &failed):
		return bot.Outcome{}, &bot.TaskError{Kind: "model", Message: fmt.Sprintf(t.words.ModelFailed, failed.Message), Hint: failed.Hint}
	case err != nil:
		return bot.Outcome{}, err
	}
	return l.deliver(ctx, end, steps)
}

// waiting makes the outcome of a question.
func (l *loop) waiting() (bot.Outcome, error) {
	var args askArgs
	if err := json.Unmarshal(l.pending[0].Arguments, &args); err != nil {
		return bot.Outcome{}, fmt.Errorf("read question: %w", err)
	}
	l.t.report(l.t.words.Asking, nil)
	return bot.Outcome{
		State: bot.TaskWaiting, Message: args.Question,
		Question: &bot.Question{Text: args.Question, Choices: args.Choices},
	}, nil
}

// deliver stores what the lead made and words its answer.
func (l *loop) deliver(ctx context.Context, end *ending, steps []bot.Step) (bot.Outcome, error) {
	s, done, err := recordedArtifacts(steps, lead)
	if err != nil {
		return bot.Outcome{}, err
	}
	if !done && l.made() {
		if err := l.w.open(ctx); err != nil {
			return bot.Outcome{}, err
		}
		if s, err = l.t.store(ctx, l.w, s); err != nil {
			return bot.Outcome{}, err
		}
	}
	message := end.Message
	if end.Partial != "" {
		message = l.partial(end)
	}
	return l.t.outcome(message, s, end), nil
}

// made reports whether this task ran anything that may have left files.
func (l *loop) made() bool {
	return slices.ContainsFunc(l.steps, func(s bot.Step) bool { return s.Kind == bot.StepProgram })
}

// partial words an answer that is not whole: why, what there is, what is done
// and what is not.
func (l *loop) partial(end *ending) string {
	words := l.t.words
	parts := []string{fmt.Sprintf(words.Partial, end.Partial)}
	text := bot.CloseFence(cutText(strings.TrimSpace(end.Message), 6<<10))
	if text != "" && !strings.Contains(text, words.BasedOn) {
		text = l.t.marked(text, l.unproven(text)) + "\n\n" + l.restsOn()
	}
	var finished, open []string
	for _, item := range l.todo {
		if item.Done {
			finished = append(finished, "- "+item.Text)
		} else {
			open = append(open, "- "+item.Text)
		}
	}
	if text != "" {
		parts = append(parts, text)
	}
	if len(finished) > 0 {
		parts = append(parts, words.PartialDone+"\n"+strings.Join(finished, "\n"))
	}
	if len(open) > 0 {
		parts = append(parts, words.PartialOpen+"\n"+strings.Join(open, "\n"))
	}
	if text == "" && len(finished) == 0 && !l.made() {
		parts = append(parts, words.PartialNothing)
	}
	return strings.Join(parts, "\n\n")
}

// opening makes the lead's first messages: the rules, then the conversation
// so far, the profiles and the request, unchanged.
func (t *task) opening(skill skills.Skill, p profileData, before earlier) ([]Message, error) {
	system, err := render("lead.md", systemPrompt{Skill: skill.Name, Skills: t.index(nil), Inventory: p.Inventory})
	if err != nil {
		return nil, err
	}
	problem := p.Problem
	if unread := problems(before.inputs); unread != "" {
		problem = strings.TrimSpace(problem + "\nFiles that could not be read:\n" + t.frame("input files", unread))
	}
	user, err := render("opening.md", openingPrompt{
		Earlier: before.tasks, Rebuilt: before.rebuilt, Profile: t.profileText(p), Problem: problem, Request: t.run.Task.Event.Text,
	})
	if err != nil {
		return nil, err
	}
	return []Message{{Role: RoleSystem, Content: system}, {Role: RoleUser, Content: user}}, nil
}

// profileText frames a profile for a prompt.
func (t *task) profileText(p profileData) string {
	if p.Text == "" {
		return ""
	}
	text := cutText(p.Text, profileMost)
	if text != p.Text {
		text += "\n[cut; more by read_file_content as: profile]"
	}
	return t.frame("profile", text)
}
