package agent

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// nameForm is a request that names a report to run or to have mended, and what
// follows the name.
var nameForm = regexp.MustCompile("(?is)^\\s*(/?)(run|запусти|выполни|mend|исправь|почини)\\s+((?:the\\s+)?report\\s+|отч[её]т\\s+)?`?([\\p{L}\\p{N}]+(?:[-_][\\p{L}\\p{N}]+)*)`?(?:$|[\\s.,:;!])(.*)$")

// fileWords stand between a report's name and the files that it is to run on.
var fileWords = regexp.MustCompile(`(?i)^(?:with|on|from|for|of|using|and|the|this|these|new|newest|attached|file|files|data|please|по|на|из|с|и|этом|этим|новом|новым|файле|файлом|файлам|файла|файлу|пожалуйста)$`)

// links are what a chat writes for a file: Markdown's, or a bare address.
var links = regexp.MustCompile(`!?\[[^\]]*\]\([^)\s]*\)|<?[A-Za-z][A-Za-z0-9+.-]*://\S+`)

// asksFor is what a request says that names a report.
type asksFor struct {
	name string // as it is written
	mend bool
	// sure says that nothing else than a report's name can be meant: "/run x",
	// "run report x".
	sure bool
}

// asksFor reads a request that names a report and says nothing else but which
// files to run it on.
func (t *task) asksFor() (asksFor, bool) {
	found := nameForm.FindStringSubmatch(t.run.Task.Event.Text)
	if found == nil || !onlyFiles(found[5]) {
		return asksFor{}, false
	}
	verb := strings.ToLower(found[2])
	return asksFor{
		name: strings.ToLower(found[4]), sure: found[1] != "" || found[3] != "",
		mend: verb == "mend" || verb == "исправь" || verb == "почини",
	}, true
}

// onlyFiles reports whether a text names files alone.
func onlyFiles(text string) bool {
	for word := range strings.FieldsSeq(links.ReplaceAllString(text, " ")) {
		word = strings.Trim(word, "`'\"“”«».,:;!?()<>")
		if word != "" && !fileWords.MatchString(word) && len(path.Ext(word)) < 2 && !strings.ContainsAny(word, "/*") {
			return false
		}
	}
	return true
}

// mendAsked reports whether a request has a report mended.
func (t *task) mendAsked() bool {
	asked, ok := t.asksFor()
	return ok && asked.mend && t.run.Task.Event.Options.Skill == ""
}

// named is the skill that the request names: by its options, or as "run NAME"
// or "mend NAME", where there is such a runnable skill.
func (t *task) named() string {
	if name := t.run.Task.Event.Options.Skill; name != "" {
		return name
	}
	asked, ok := t.asksFor()
	if !ok {
		return ""
	}
	if s, err := t.skills().Get(asked.name); err == nil && s.Runnable() {
		return s.Name
	}
	return ""
}

// misnamed is a report's name that there is none of, where nothing else can be
// meant or one of nearly that name is there, which is near.
func (t *task) misnamed() (name string, near []string) {
	asked, ok := t.asksFor()
	if !ok || t.run.Task.Event.Options.Skill != "" || t.named() != "" {
		return "", nil
	}
	var names []string
	for _, s := range t.skills().List() {
		if s.Runnable() {
			names = append(names, s.Name)
		}
	}
	if best := skills.Nearest(asked.name, names); best != "" {
		near = []string{best}
	}
	if near == nil && !asked.sure {
		return "", nil
	}
	return asked.name, near
}

// unknownSkill says that there is no skill of a name, and which one may be meant.
func (t *task) unknownSkill(name string, near ...string) error {
	hint := t.words.UnknownSkillHint
	if len(near) > 0 {
		hint = fmt.Sprintf(t.words.DidYouMean, near[0]) + " " + hint
	}
	return &bot.TaskError{Kind: "skill", Message: fmt.Sprintf(t.words.UnknownSkill, code(name)), Hint: hint}
}
