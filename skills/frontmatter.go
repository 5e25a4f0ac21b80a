package skills

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of the published format, and one of ours (maxFront).
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
	maxFront         = 64 << 10 // bytes of front matter that are parsed at all
)

// front is a SKILL.md taken apart. Lines count from 1 in the whole file.
type front struct {
	name, description, license, compatibility string
	allowedTools                              []string
	metadata                                  map[string]string
	body                                      string
	bodyLine                                  int
	lines                                     map[string]int // "name", "metadata.run", … to its line
}

// finding is a Problem before its file and skill are known.
type finding struct {
	severity Severity
	line     int
	message  string
}

func broken(line int, format string, args ...any) finding {
	return finding{Broken, line, fmt.Sprintf(format, args...)}
}

func warning(line int, format string, args ...any) finding {
	return finding{Warning, line, fmt.Sprintf(format, args...)}
}

// parseFront reads the front matter of a SKILL.md. It takes all that the
// published format has; what real skills add beyond it (own keys, numbers as
// metadata, tools as a list, an unquoted colon in the description) is taken
// too and warned about, so that a skill written elsewhere works unchanged.
func parseFront(data []byte) (front, []finding) {
	f := front{metadata: map[string]string{}, lines: map[string]int{}}
	if !utf8.Valid(data) {
		return f, []finding{broken(firstInvalidLine(data), "SKILL.md is not UTF-8 text; save it as UTF-8")}
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	head, body, bodyLine, problem := split(text)
	if problem != nil {
		return f, []finding{*problem}
	}
	f.body, f.bodyLine = body, bodyLine

	var found []finding
	root, err := parseMapping(head)
	if err != nil {
		mended := quotePlain(head)
		if again, err2 := parseMapping(mended); mended != head && err2 == nil {
			root = again
			found = append(found, warning(yamlLine(err)+1, "a value with a colon should stand in quotes; it was read as text"))
		} else {
			return f, []finding{broken(yamlLine(err)+1, "front matter is not valid YAML: %s", yamlMessage(err))}
		}
	}
	for _, pair := range root {
		found = append(found, f.take(pair)...)
	}
	return f, append(found, f.check()...)
}

// split separates front matter and body; the line between `---` and `---` is
// the front matter, and it starts on the file's second line.
func split(text string) (head, body string, bodyLine int, problem *finding) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		p := broken(1, "SKILL.md must start with a line `---`, then name and description, then `---`")
		return "", "", 0, &p
	}
	line := 2
	for remaining := rest; ; line++ {
		current, after, more := strings.Cut(remaining, "\n")
		if strings.TrimRight(current, " \t") == "---" {
			head = rest[:len(rest)-len(remaining)]
			if len(head) > maxFront {
				p := broken(2, "front matter has %d bytes; at most %d are read", len(head), maxFront)
				return "", "", 0, &p
			}
			return head, after, line + 1, nil
		}
		if !more {
			p := broken(line, "the front matter never ends: a line `---` is missing")
			return "", "", 0, &p
		}
		remaining = after
	}
}

// parseMapping parses YAML that must be one mapping, into its pairs.
func parseMapping(head string) ([]*ast.MappingValueNode, error) {
	file, err := parser.ParseBytes([]byte(head), 0)
	if err != nil {
		return nil, err
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, errors.New("it is empty")
	}
	switch node := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		return node.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}, nil
	default:
		return nil, errors.New("it must be a list of `key: value` lines")
	}
}

// yamlLine gives the line an error of the YAML parser points at, from 1.
func yamlLine(err error) int {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil && located.GetToken().Position != nil {
		return located.GetToken().Position.Line
	}
	return 1
}

func yamlMessage(err error) string {
	var located yaml.Error
	if errors.As(err, &located) {
		return located.GetMessage()
	}
	return err.Error()
}

var plainPair = regexp.MustCompile(`(?m)^([a-z][a-z-]*):[ \t]+([^\s"'|>\[{&*!#].*)$`)

// quotePlain puts the plain one-line values of top-level keys in quotes.
func quotePlain(head string) string {
	return plainPair.ReplaceAllStringFunc(head, func(line string) string {
		parts := plainPair.FindStringSubmatch(line)
		return parts[1] + ": '" + strings.ReplaceAll(strings.TrimRight(parts[2], " \t"), "'", "''") + "'"
	})
}

// take reads one top-level pair into f.
func (f *front) take(pair *ast.MappingValueNode) []finding {
	key, line := pair.Key.GetToken().Value, pair.Key.GetToken().Position.Line+1
	if _, twice := f.lines[key]; twice {
		return []finding{broken(line, "key %q stands twice", key)}
	}
	f.lines[key] = line
	switch key {
	case "name":
		return text(&f.name, key, line, pair.Value)
	case "description":
		return text(&f.description, key, line, pair.Value)
	case "license":
		return text(&f.license, key, line, pair.Value)
	case "compatibility":
		return text(&f.compatibility, key, line, pair.Value)
	case "allowed-tools":
		return f.takeTools(line, pair.Value)
	case "metadata":
		return f.takeMetadata(line, pair.Value)
	default:
		return []finding{warning(line, "key %q is not part of the Agent Skills format and is left out", key)}
	}
}

func text(into *string, key string, line int, node ast.Node) []finding {
	value, ok := scalar(node)
	if !ok {
		return []finding{broken(line, "%s must be text", key)}
	}
	*into = strings.TrimSpace(value)
	return nil
}

// scalar gives a scalar node as text; numbers and booleans as they are written.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode, nil:
		return "", true
	default:
		return "", false
	}
}

// takeTools reads allowed-tools: words with their arguments in parentheses,
// separated by spaces or commas, or a list of them.
func (f *front) takeTools(line int, node ast.Node) []finding {
	if list, ok := node.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			value, ok := scalar(item)
			if !ok {
				return []finding{broken(item.GetToken().Position.Line+1, "allowed-tools must be a list of words")}
			}
			f.allowedTools = append(f.allowedTools, strings.TrimSpace(value))
		}
		return []finding{warning(line, "allowed-tools is one text with spaces between the tools in the format; the list was read")}
	}
	value, ok := scalar(node)
	if !ok {
		return []finding{broken(line, "allowed-tools must be text")}
	}
	depth := 0
	f.allowedTools = strings.FieldsFunc(value, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', ',', '\t', '\n':
			return depth <= 0
		}
		return false
	})
	return nil
}

func (f *front) takeMetadata(line int, node ast.Node) []finding {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		return []finding{broken(line, "metadata must be a map of names to text")}
	}
	var found []finding
	for _, pair := range pairs {
		key, at := pair.Key.GetToken().Value, pair.Key.GetToken().Position.Line+1
		value, ok := scalar(pair.Value)
		if !ok {
			found = append(found, warning(at, "metadata.%s is not text and is left out", key))
			continue
		}
		f.metadata[key] = strings.TrimSpace(value)
		f.lines["metadata."+key] = at
	}
	return found
}

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// check holds what was read against the format's bounds.
func (f *front) check() []finding {
	var found []finding
	at := func(key string) int { return max(f.lines[key], 1) }
	switch {
	case f.name == "":
		found = append(found, broken(at("name"), "name is missing"))
	case !validName.MatchString(f.name) || len(f.name) > maxName:
		found = append(found, broken(at("name"), "name %q must be lower-case letters, digits and single hyphens, at most %d", clip(f.name, 40), maxName))
	}
	switch n := utf8.RuneCountInString(f.description); {
	case n == 0:
		found = append(found, broken(at("description"), "description is missing: say what the skill does and when to use it"))
	case n > maxDescription:
		found = append(found, warning(at("description"), "description has %d characters; the format allows %d", n, maxDescription))
	}
	if n := utf8.RuneCountInString(f.compatibility); n > maxCompatibility {
		found = append(found, warning(at("compatibility"), "compatibility has %d characters; the format allows %d", n, maxCompatibility))
	}
	return found
}

func firstInvalidLine(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(data[:i], []byte("\n"))
		}
		i += size
	}
	return 1
}

// clip shortens text to at most n runes, with an ellipsis when it was cut.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:max(n-1, 0)]), " ,;:") + "…"
}
