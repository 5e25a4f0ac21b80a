package skills

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds that Lint holds a skill to; the first two are the format's advice.
const (
	adviseLines   = 500
	adviseTokens  = 5000
	adviseFile    = 256 << 10 // bytes of one reference that a model may still read in parts
	leastDescribe = 40        // characters that say what and when
)

// Lint looks at a loaded skill without running anything: size, links,
// description, and what a runnable skill's metadata must hold. What needs an
// interpreter (do the scripts parse, are their imports in the image) is
// skilltest.LintScripts. Findings are in the order of their lines.
func Lint(s Skill) []Problem {
	l := linter{skill: s}
	l.description()
	l.body()
	l.links()
	l.runnable()
	slices.SortStableFunc(l.found, func(a, b Problem) int { return a.Line - b.Line })
	return l.found
}

type linter struct {
	skill Skill
	found []Problem
}

func (l *linter) tell(severity Severity, file string, line int, format string, args ...any) {
	l.found = append(l.found, Problem{
		Severity: severity, Skill: l.skill.Name, Source: l.skill.Source,
		File: l.skill.Where(file), Line: line, Message: fmt.Sprintf(format, args...),
	})
}

var (
	saysWhen   = regexp.MustCompile(`(?i)\b(use|used|useful|when|whenever|if|for)\b|когда|для|если`)
	startsWith = regexp.MustCompile(`(?i)^(i|i'll|you|we|this skill is)\b`)
)

func (l *linter) description() {
	text := l.skill.Description
	line := l.lineOf("description:")
	switch {
	case utf8.RuneCountInString(text) < leastDescribe:
		l.tell(Warning, manifest, line, "description is too short to choose by: say what the skill does and when to use it")
	case !saysWhen.MatchString(text):
		l.tell(Warning, manifest, line, "description does not say when to use the skill")
	case startsWith.MatchString(text):
		l.tell(Warning, manifest, line, "description should name what the skill does (\"Draws charts …\"), not speak as somebody")
	}
}

func (l *linter) body() {
	body := l.skill.Body
	if strings.TrimSpace(body) == "" {
		l.tell(Broken, manifest, 0, "has no instructions below the front matter")
	}
	if lines := strings.Count(body, "\n") + 1; lines > adviseLines {
		l.tell(Warning, manifest, 0, "has %d lines; over %d, move details to references/", lines, adviseLines)
	} else if tokens := EstimateTokens(body); tokens > adviseTokens {
		l.tell(Warning, manifest, 0, "costs about %d tokens to read; over %d, move details to references/", tokens, adviseTokens)
	}
	for _, name := range l.skill.Files {
		info, err := fs.Stat(l.skill.FS, name)
		if err == nil && strings.HasSuffix(name, ".md") && info.Size() > adviseFile {
			l.tell(Warning, name, 0, "has %d KiB; split it, a model reads it in parts", info.Size()>>10)
		}
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	codePath     = regexp.MustCompile("`(?:/skills/[a-z0-9-]+/)?((?:scripts|references|assets)/[A-Za-z0-9_./-]+\\.[A-Za-z0-9]+)`")
	codeSpan     = regexp.MustCompile("`[^`]*`")
	fence        = regexp.MustCompile("^\\s*(```|~~~)")
)

// links checks that what SKILL.md and the references point at is there.
func (l *linter) links() {
	for _, name := range l.skill.Files {
		if path.Ext(name) != ".md" {
			continue
		}
		data, err := fs.ReadFile(l.skill.FS, name)
		if err != nil {
			continue
		}
		fenced := false
		for n, line := range strings.Split(string(data), "\n") {
			if fence.MatchString(line) {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			for _, m := range markdownLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				l.link(name, n+1, m[1])
			}
			if name != manifest {
				continue
			}
			for _, m := range codePath.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(l.skill.Files, path.Clean(m[1])) {
					l.tell(Warning, name, n+1, "names %s, which is not in the skill", clip(m[1], 80))
				}
			}
		}
	}
}

func (l *linter) link(from string, line int, target string) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return // somewhere else, or an anchor
	}
	if path.IsAbs(u.Path) {
		l.tell(Warning, from, line, "link to %s: use a path inside the skill", clip(target, 80))
		return
	}
	to := path.Join(path.Dir(from), u.Path)
	if !fs.ValidPath(to) {
		l.tell(Broken, from, line, "link to %s leaves the skill's folder", clip(target, 80))
	} else if _, err := fs.Stat(l.skill.FS, to); err != nil {
		l.tell(Broken, from, line, "link to %s: there is no such file", clip(target, 80))
	}
}

// runnable checks what choosing and testing without a model need.
func (l *linter) runnable() {
	if !l.skill.Runnable() {
		return
	}
	meta := l.skill.Metadata
	if strings.TrimSpace(meta["words"]) == "" {
		l.tell(Warning, manifest, l.lineOf("metadata:"), "metadata.words is missing: without a model it runs only when its name is given")
	}
	for _, key := range []string{"inputs", "needs"} {
		for _, kind := range splitList(meta[key]) {
			if !slices.Contains([]string{KindTable, KindLog, KindText, KindDocument, KindCode, KindOther}, kind) {
				l.tell(Broken, manifest, l.lineOf(key+":"), "metadata.%s names %q; kinds are table, log, text, document, code, other", key, clip(kind, 40))
			}
		}
	}
	for _, key := range []string{"min-inputs", "max-inputs"} {
		if n, err := strconv.Atoi(meta[key]); meta[key] != "" && (err != nil || n < 0) {
			l.tell(Broken, manifest, l.lineOf(key+":"), "metadata.%s must be a number in quotes", key)
		}
	}
	if evals, err := fs.Glob(l.skill.FS, evalsDir+"/*.yaml"); err != nil || len(evals) == 0 {
		l.tell(Warning, manifest, 0, "has no evals/*.yaml: nobody knows whether it works")
	}
}

// lineOf finds the line of SKILL.md whose text begins with a key.
func (l *linter) lineOf(key string) int {
	data, err := fs.ReadFile(l.skill.FS, manifest)
	if err != nil {
		return 0
	}
	for n, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), key) {
			return n + 1
		}
	}
	return 1
}
