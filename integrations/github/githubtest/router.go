package githubtest

import (
	"net/http"
	"net/url"
	"strings"
)

// router finds the route of a request. GitHub's own paths overlap
// (/issues/comments/{id} and /issues/{number}/comments), which http.ServeMux
// refuses; here the pattern with more literal segments wins.
type router struct {
	patterns []pattern
	missing  http.HandlerFunc
}

type pattern struct {
	method   string
	segments []string
	handle   http.HandlerFunc
}

func (t *router) add(text string, handle http.HandlerFunc) {
	method, path, _ := strings.Cut(text, " ")
	t.patterns = append(t.patterns, pattern{method: method, segments: strings.Split(strings.Trim(path, "/"), "/"), handle: handle})
}

// ServeHTTP implements http.Handler.
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range path {
		if plain, err := url.PathUnescape(path[i]); err == nil {
			path[i] = plain
		}
	}
	best, values, literal := t.missing, map[string]string(nil), -1
	for _, p := range t.patterns {
		if p.method != r.Method {
			continue
		}
		if found, n := p.match(path); found != nil && n > literal {
			best, values, literal = p.handle, found, n
		}
	}
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	best(w, r)
}

// match returns the path's values and how many segments matched literally;
// nil where the path is another.
func (p pattern) match(path []string) (values map[string]string, literal int) {
	values = map[string]string{}
	for i, segment := range p.segments {
		name, isName := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		if rest, ok := strings.CutSuffix(name, "..."); isName && ok {
			if i > len(path) {
				return nil, 0
			}
			values[rest] = strings.Join(path[i:], "/")
			return values, literal
		}
		if i >= len(path) {
			return nil, 0
		}
		switch {
		case isName:
			values[name] = path[i]
		case segment == path[i]:
			literal++
		default:
			return nil, 0
		}
	}
	if len(path) != len(p.segments) {
		return nil, 0
	}
	return values, literal
}
