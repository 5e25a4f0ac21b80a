package agent

import (
	"context"
)

type askArgs struct {
	Question string   `json:"question" jsonschema:"one question that can be answered in a sentence"`
	Choices  []string `json:"choices,omitempty" jsonschema:"the answers to pick from, when there are few"`
}

func askTool() (*tool, error) {
	return makeTool("ask_user", func(_ context.Context, l *loop, args askArgs) (observation, error) {
		if cleanLine(args.Question, 10) == "" {
			return failed("The question is empty."), nil
		}
		if len(args.Choices) > 10 {
			return failed("Offer at most 10 choices."), nil
		}
		// The answer, once it is there, is the call's result.
		if l.answered < len(l.t.run.Task.Answers) {
			answer := l.t.run.Task.Answers[l.answered]
			return told("The person answered:\n%s", answer.Text), nil
		}
		// What comes by the clock is read where it is posted: an answer there
		// would not find the question, and the next run would wait for it.
		if l.t.run.Task.Event.Options.Schedule != "" {
			return failed("This is a scheduled run, and nobody is there to answer. Take the most usual meaning, go on, and say in the answer what you took for granted."), nil
		}
		return observation{asked: true}, nil
	})
}
