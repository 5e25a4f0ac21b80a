package config

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// A Problem is one thing wrong with the configuration.
type Problem struct {
	Where   string `json:"where,omitempty"` // "sandpiper.yaml:12", or a variable's name
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // the next thing to do; may be empty
}

// String gives where, what and what next in one line.
func (p Problem) String() string {
	out := p.Message
	if p.Where != "" {
		out = p.Where + ": " + out
	}
	if p.Hint != "" {
		out += " (" + p.Hint + ")"
	}
	return out
}

// decoder walks the file's syntax tree beside the Go value it fills. It is
// strict, goes on after an error so that all are told at once, and records
// the line of each leaf it sets.
type decoder struct {
	file     string
	origins  map[string]string // "sandbox.memory" to "sandpiper.yaml:12"
	anchors  map[string]ast.Node
	problems []Problem
}

// decode reads data over what config holds already.
func (d *decoder) decode(data []byte, config *Config) {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		d.problems = append(d.problems, d.syntaxProblem(err))
		return
	}
	bodies := 0
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if bodies++; bodies > 1 {
			d.problem(doc.Body, "a second YAML document", "keep all settings in one document")
			return
		}
		d.value("", doc.Body, reflect.ValueOf(config).Elem())
	}
}

func (d *decoder) syntaxProblem(err error) Problem {
	p := Problem{Where: d.file, Message: err.Error()}
	var withToken yaml.Error
	if errors.As(err, &withToken) && withToken.GetToken() != nil {
		p.Where = fmt.Sprintf("%s:%d", d.file, withToken.GetToken().Position.Line)
		p.Message = withToken.GetMessage()
	}
	return p
}

func (d *decoder) at(node ast.Node) string {
	if node == nil || node.GetToken() == nil {
		return d.file
	}
	return fmt.Sprintf("%s:%d", d.file, node.GetToken().Position.Line)
}

func (d *decoder) problem(node ast.Node, message, hint string) {
	d.problems = append(d.problems, Problem{Where: d.at(node), Message: message, Hint: hint})
}

// plain resolves anchors, aliases and tags to the node they stand for.
func (d *decoder) plain(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			if d.anchors == nil {
				d.anchors = map[string]ast.Node{}
			}
			d.anchors[n.Name.String()] = n.Value
			node = n.Value
		case *ast.AliasNode:
			target, ok := d.anchors[n.Value.String()]
			if !ok {
				d.problem(n, "an alias of nothing: *"+n.Value.String(), "")
				return nil
			}
			node = target
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

// value fills target from node; path names it for people and for origins.
func (d *decoder) value(path string, node ast.Node, target reflect.Value) {
	node = d.plain(node)
	if node == nil {
		return
	}
	if _, null := node.(*ast.NullNode); null {
		return // "key:" with nothing behind it keeps the default
	}
	switch {
	case target.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.leaf(path, node, target)
	case target.Kind() == reflect.Struct:
		d.structure(path, node, target)
	case target.Kind() == reflect.Map:
		d.mapping(path, node, target)
	case target.Kind() == reflect.Slice:
		d.sequence(path, node, target)
	default:
		d.leaf(path, node, target)
	}
}

// pairs gives the keys and values of a mapping, nil with a problem otherwise.
func (d *decoder) pairs(path string, node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	if path == "" {
		d.problem(node, "the file holds no settings", "write keys like `listen: 127.0.0.1:8080`")
	} else {
		d.problem(node, fmt.Sprintf("%s holds settings of its own, not a single value", path), "")
	}
	return nil
}

func (d *decoder) structure(path string, node ast.Node, target reflect.Value) {
	known := fieldsOf(target.Type())
	for _, pair := range d.pairs(path, node) {
		key := pair.Key.GetToken().Value
		full := join(path, key)
		index, ok := known[key]
		if !ok {
			d.unknown(pair.Key, path, key, known)
			continue
		}
		d.value(full, pair.Value, target.Field(index))
	}
}

func (d *decoder) mapping(path string, node ast.Node, target reflect.Value) {
	if target.IsNil() {
		target.Set(reflect.MakeMap(target.Type()))
	}
	for _, pair := range d.pairs(path, node) {
		key := pair.Key.GetToken().Value
		element := reflect.New(target.Type().Elem()).Elem()
		d.value(join(path, key), pair.Value, element)
		target.SetMapIndex(reflect.ValueOf(key), element)
	}
}

func (d *decoder) sequence(path string, node ast.Node, target reflect.Value) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		d.problem(node, path+" is a list", fmt.Sprintf("write %s: [%s]", lastPart(path), node.String()))
		return
	}
	out := reflect.MakeSlice(target.Type(), 0, len(list.Values))
	for i, item := range list.Values {
		element := reflect.New(target.Type().Elem()).Elem()
		if schedule, ok := element.Addr().Interface().(*Schedule); ok {
			*schedule = scheduleDefaults()
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		d.origins[at] = d.at(item)
		d.value(at, item, element)
		out = reflect.Append(out, element)
	}
	target.Set(out)
	d.origins[path] = d.at(node)
}

func (d *decoder) leaf(path string, node ast.Node, target reflect.Value) {
	scalar, ok := node.(ast.ScalarNode)
	if !ok {
		d.problem(node, path+" is a single value", "")
		return
	}
	var err error
	if text, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		err = text.UnmarshalText([]byte(scalar.GetToken().Value))
	} else if target.Kind() == reflect.String {
		// As written: ids like 0123 and times like 09:30 must not become numbers.
		target.SetString(fmt.Sprint(stringOf(scalar)))
	} else if err = yaml.NodeToValue(node, target.Addr().Interface()); err != nil {
		err = fmt.Errorf("%q is no %s", scalar.GetToken().Value, kindName(target.Kind()))
	}
	if err != nil {
		d.problem(node, path+": "+err.Error(), "")
		return
	}
	d.origins[path] = d.at(node)
}

func stringOf(scalar ast.ScalarNode) any {
	if _, ok := scalar.(*ast.StringNode); ok {
		return scalar.GetValue()
	}
	if _, ok := scalar.(*ast.LiteralNode); ok {
		return scalar.GetValue()
	}
	return scalar.GetToken().Value
}

func kindName(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "number"
	default:
		return "whole number"
	}
}

// unknown tells of a key that does not exist, and what was likely meant.
func (d *decoder) unknown(node ast.Node, path, key string, known map[string]int) {
	var hint string
	secret := regexp.MustCompile(`(?i)token|secret|password|api_?key|private_?key`)
	if near := skills.Nearest(key, slices.Collect(maps.Keys(known))); near != "" {
		hint = fmt.Sprintf("did you mean %q?", join(path, near))
	} else if secret.MatchString(key) {
		hint = "secrets come from the environment or a …_FILE, never from this file"
	} else {
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name)
		}
		slices.Sort(names)
		hint = "known here: " + strings.Join(names, ", ")
	}
	d.problem(node, fmt.Sprintf("unknown key %q", join(path, key)), hint)
}

// fieldsOf gives the yaml names of a struct's fields with their index.
func fieldsOf(t reflect.Type) map[string]int {
	out := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			out[name] = i
		}
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func cutAfter(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
