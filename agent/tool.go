package agent

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed tool_*.md
var toolTexts embed.FS

// observation is what a tool tells the model. Failures are observations too:
// they say what to do.
type observation struct {
	toolData
	// asked ends the turn: the task waits for its person.
	asked bool
}

func failed(format string, args ...any) observation {
	return observation{toolData: toolData{Result: fmt.Sprintf(format, args...), Failed: true}}
}

func told(format string, args ...any) observation {
	return observation{toolData: toolData{Result: fmt.Sprintf(format, args...)}}
}

// tool is one thing a model can do. Its error ends the run: only what the
// model cannot mend is one.
type tool struct {
	spec   ToolSpec
	schema *jsonschema.Resolved
	call   func(ctx context.Context, l *loop, args json.RawMessage) (observation, error)
}

// makeTool makes a tool whose arguments are a T. Its description is the file
// tool_NAME.md beside this one.
func makeTool[T any](name string, call func(ctx context.Context, l *loop, args T) (observation, error)) (*tool, error) {
	text, err := toolTexts.ReadFile("tool_" + name + ".md")
	if err != nil {
		return nil, fmt.Errorf("read description of tool %s: %w", name, err)
	}
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("make schema of tool %s: %w", name, err)
	}
	plainTypes(schema)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema of tool %s: %w", name, err)
	}
	raw, err := schemaJSON(schema)
	if err != nil {
		return nil, err
	}
	return &tool{
		spec:   ToolSpec{Name: name, Description: strings.TrimSpace(string(text)), Schema: raw},
		schema: resolved,
		call: func(ctx context.Context, l *loop, raw json.RawMessage) (observation, error) {
			var args T
			if err := json.Unmarshal(raw, &args); err != nil {
				return failed("The arguments do not fit the tool's schema: %s. Correct them and call it again.", cleanLine(err.Error(), 300)), nil
			}
			return call(ctx, l, args)
		},
	}, nil
}

// plainTypes has lists be lists, never null: Go's slices may be nil, and some
// servers know no list of types.
func plainTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	plainTypes(s.Items)
	for _, p := range s.Properties {
		plainTypes(p)
	}
}

// run checks a call's arguments and makes it.
func (t *tool) run(ctx context.Context, l *loop, call Call) (observation, error) {
	if call.Problem != "" {
		return failed("The call could not be read: %s.", call.Problem), nil
	}
	var value any
	if err := json.Unmarshal(call.Arguments, &value); err != nil {
		return failed("The arguments are no JSON: send a JSON object."), nil
	}
	if t.textual(value) {
		raw, err := json.Marshal(value)
		if err != nil {
			return observation{}, fmt.Errorf("write arguments of %s: %w", t.spec.Name, err)
		}
		call.Arguments = raw
	}
	if err := t.schema.Validate(value); err != nil {
		return failed("The arguments do not fit the schema of %s: %s. Correct them and call it again.", t.spec.Name, cleanLine(err.Error(), 300)), nil
	}
	return t.call(ctx, l, call.Arguments)
}

// textual writes whole numbers as text where the schema asks for text, since
// models name an item by its number; it reports whether it changed any.
func (t *tool) textual(value any) bool {
	args, ok := value.(map[string]any)
	changed := false
	for name, property := range t.schema.Schema().Properties {
		n, number := args[name].(float64)
		if ok && number && property.Type == "string" && len(property.Enum) == 0 && n == math.Trunc(n) {
			args[name] = strconv.FormatFloat(n, 'f', -1, 64)
			changed = true
		}
	}
	return changed
}

// allTools makes the tools in the order in which models see them.
func allTools() ([]*tool, error) {
	var list []*tool
	for _, build := range []func() (*tool, error){
		todoTool, completeTool, reviseTool, listFilesTool, readFileTool, readSkillTool, executeTool, delegateTool, askTool, finishTool,
	} {
		t, err := build()
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
