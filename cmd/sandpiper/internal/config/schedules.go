package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// scheduleFiles reads schedules/*.yaml beside the configuration at path: one
// schedule, or a list of them, in each document. They come behind those of
// schedules.list, in the order of the files' names.
func (l *Loaded) scheduleFiles(path string) []Problem {
	if path == "" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(path), "schedules")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Problem{{Where: dir, Message: reasonOf(err), Hint: "schedules are read from its *.yaml"}}
	}
	var problems []Problem
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(entry.Name())) {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		data, err := readConfig(file)
		if err != nil {
			problems = append(problems, Problem{Where: file, Message: reasonOf(err)})
			continue
		}
		d := &decoder{file: file, origins: l.Origins}
		d.schedules(data, &l.Schedules.List)
		problems = append(problems, d.problems...)
	}
	return problems
}

// ScheduleAt says where the schedule of an index in schedules.list stands.
func (l *Loaded) ScheduleAt(index int) string {
	return l.Origin(fmt.Sprintf("schedules.list[%d]", index))
}

// schedules appends the schedules of a file to list.
func (d *decoder) schedules(data []byte, list *[]Schedule) {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		d.problems = append(d.problems, d.syntaxProblem(err))
		return
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		items := []ast.Node{doc.Body}
		if sequence, ok := d.plain(doc.Body).(*ast.SequenceNode); ok {
			items = sequence.Values
		}
		for _, item := range items {
			schedule := scheduleDefaults()
			at := fmt.Sprintf("schedules.list[%d]", len(*list))
			d.origins[at] = d.at(item)
			d.value(at, item, reflect.ValueOf(&schedule).Elem())
			*list = append(*list, schedule)
		}
	}
}
