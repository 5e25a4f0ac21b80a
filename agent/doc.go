// Package agent plans and acts: it runs a task with a model and tools, or with
// a runnable skill alone, journaling every step before it acts on it.
//
// An Agent implements bot.Runner. What a model sees is a pure function of the
// task and its journal: the conversation is folded from the recorded steps
// before each turn, so a run that was cut off goes on exactly where it stood
// and no finished turn is paid twice. Sessions are rebuilt by replaying the
// program log; the same replay answers follow-ups and reproduces old tasks.
//
// The loop reads: build request, call model, record, act, record, check
// budget. Tools never fail a run: what goes wrong is told to the model as an
// observation. All text that comes from files, programs and skills is framed
// as data before it enters a prompt; no tool reaches beyond the task.
package agent
