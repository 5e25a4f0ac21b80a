package agent

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// maxTodo bounds the list, maxItem the runes of one of its lines.
const (
	maxTodo = 20
	maxItem = 200
)

type todoArgs struct {
	Items []string `json:"items" jsonschema:"the steps, in order, each one short line"`
}

func todoTool() (*tool, error) {
	return makeTool("create_todo_list", func(_ context.Context, l *loop, args todoArgs) (observation, error) {
		if len(l.todo) > 0 {
			return failed("There is a list already. Use revise_todo_list to change it."), nil
		}
		items, problem := todoItems(args.Items, nil)
		if problem != "" {
			return failed("%s", problem), nil
		}
		return listed("The list stands.", items), nil
	})
}

type completeArgs struct {
	Item string `json:"item" jsonschema:"the item's text, or its number counted from 1"`
}

func completeTool() (*tool, error) {
	return makeTool("complete_todo", func(_ context.Context, l *loop, args completeArgs) (observation, error) {
		at := findItem(l.todo, args.Item)
		if at < 0 {
			return failed("No item %q stands in the list:\n%s", cleanLine(args.Item, maxItem), todoText(l.todo)), nil
		}
		items := slices.Clone(l.todo)
		items[at].Done = true
		return listed("Done.", items), nil
	})
}

type reviseArgs struct {
	Items  []string `json:"items" jsonschema:"the whole new list; items that keep their text keep their state"`
	Reason string   `json:"reason" jsonschema:"what was found that changes the plan"`
}

func reviseTool() (*tool, error) {
	return makeTool("revise_todo_list", func(_ context.Context, l *loop, args reviseArgs) (observation, error) {
		items, problem := todoItems(args.Items, l.todo)
		if problem != "" {
			return failed("%s", problem), nil
		}
		return listed("The list was revised.", items), nil
	})
}

// listed tells the list and records it.
func listed(what string, items []bot.TodoItem) observation {
	o := told("%s\n%s", what, todoText(items))
	o.Todo = items
	return o
}

// todoItems cleans the lines of a list; done items of the old one stay done.
func todoItems(lines []string, old []bot.TodoItem) ([]bot.TodoItem, string) {
	var items []bot.TodoItem
	for _, line := range lines {
		line = cleanLine(line, maxItem)
		if line == "" {
			continue
		}
		item := bot.TodoItem{Text: line}
		for _, o := range old {
			item.Done = item.Done || o.Done && o.Text == line
		}
		items = append(items, item)
	}
	switch {
	case len(items) == 0:
		return nil, "A list needs at least one item."
	case len(items) > maxTodo:
		return nil, "A list holds at most " + strconv.Itoa(maxTodo) + " items: join steps."
	}
	return items, ""
}

// findItem finds an item by its text, its number, or an unmistakable part.
func findItem(items []bot.TodoItem, name string) int {
	name = cleanLine(name, maxItem)
	if at := slices.IndexFunc(items, func(i bot.TodoItem) bool { return strings.EqualFold(i.Text, name) }); at >= 0 {
		return at
	}
	if n, err := strconv.Atoi(strings.TrimRight(name, ".)")); err == nil && n >= 1 && n <= len(items) {
		return n - 1
	}
	found := -1
	for i, item := range items {
		if name != "" && (strings.Contains(strings.ToLower(item.Text), strings.ToLower(name)) || strings.Contains(strings.ToLower(name), strings.ToLower(item.Text))) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

func todoText(items []bot.TodoItem) string {
	var b strings.Builder
	for i, item := range items {
		mark := "[ ]"
		if item.Done {
			mark = "[x]"
		}
		b.WriteString(strconv.Itoa(i+1) + ". " + mark + " " + item.Text + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
