package inert

import (
	"regexp"
	"strings"
)

// joiner is U+2060 WORD JOINER: it shows nothing and breaks what it stands in.
const joiner = "\u2060"

// What GitHub and its bots read into text.
var (
	// GitHub links a URL after a digit or an underscore, too.
	urlPattern       = regexp.MustCompile("(?i)(?:(?:https?|ftp)://|www\\.|mailto:)[^\\s<>\"`]+")
	mentionPattern   = regexp.MustCompile(`@([0-9A-Za-z_])`)
	referencePattern = regexp.MustCompile(`#(\d)`)
	ghPattern        = regexp.MustCompile(`(?i)(GH)-(\d)`)
	shaPattern       = regexp.MustCompile(`(?i)\b[0-9a-f]{7,40}\b`)
	// slashPattern finds a command on a line of its own margin: "/approve", but
	// not a path.
	slashPattern = regexp.MustCompile(`(?m)^([\s>*+|\\-]*)/([A-Za-z][\w-]*)(\s|$)`)
	// spokenPattern finds commands that are words.
	spokenPattern = regexp.MustCompile(`(?mi)^([\s>*+|\\-]*)(?:(?:atlantis|digger)\s+[a-z]|(?:bors|homu)\s*[a-z:]|r[+?]|re(?:check|test)\s*$|(?:re)?test this|build this|ok to test|add to whitelist|jenkins\b|trunk (?:merge|cancel)|azp run)`)
	// botPattern finds calls to bots that listen anywhere, code included. We are
	// none of them: our name in code can be copied.
	botPattern    = regexp.MustCompile(`(?i)@(dependabot|mergify|renovate|bors|rustbot|k8s|copilot|claude|codex|coderabbit|openhands|sweep|greptile|cursor|gemini|devin|jenkins|homu|pre-commit|allcontributors|github-actions|probot)`)
	numberPattern = regexp.MustCompile(`^(\d{1,9})([.)])(\s|$)`)
	pipePattern   = regexp.MustCompile(`\\*\|`)
)

// special are the characters that may mean something in GitHub's Markdown.
const special = "\\`*_{}[]<>()#+-.!|~$^=:&"

// escape writes text so that Markdown shows it as it is. A character that
// only matters in some places is escaped everywhere: it costs nothing.
func escape(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			out.WriteString("&lt;")
		case r == '&':
			out.WriteString("&amp;")
		case r == '-' || r == '.' || r == '(' || r == ')' || r == ':' || r == '=' || r == '+':
			// Only dangerous at the start of a line; lineStart sees to that.
			out.WriteRune(r)
		case r < 0x80 && strings.ContainsRune(special, r):
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || (r < 0x20 && r != '\n' && r != '\t'):
			out.WriteByte(' ')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// lineStart escapes what would open a list, a heading line or a rule at the
// start of a line.
func lineStart(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimLeft(line, " \t")
		switch {
		case line == "":
		case strings.ContainsRune("-+=:", rune(line[0])):
			line = `\` + line
		default:
			line = numberPattern.ReplaceAllString(line, `$1\$2$3`)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// disarm breaks mentions and references in text that is shown as text.
func disarm(text string) string {
	text = mentionPattern.ReplaceAllString(text, "@"+joiner+"$1")
	text = referencePattern.ReplaceAllString(text, "#"+joiner+"$1")
	text = ghPattern.ReplaceAllString(text, "${1}-"+joiner+"$2")
	return shaPattern.ReplaceAllStringFunc(text, func(hex string) string {
		// Ids of commits become links; plain numbers and words do not matter.
		if !strings.ContainsAny(hex, "0123456789") || !strings.ContainsAny(hex, "abcdefABCDEF") {
			return hex
		}
		return hex[:3] + joiner + hex[3:]
	})
}

// disarmLines breaks commands that other bots read from the start of a line,
// and calls to bots anywhere, code included.
func disarmLines(text string) string {
	text = slashPattern.ReplaceAllString(text, "${1}"+joiner+"/$2$3")
	text = spokenPattern.ReplaceAllStringFunc(text, func(found string) string {
		at := len(found) - len(strings.TrimLeft(found, "\t\n\v\f\r >*+|\\-"))
		return found[:at+1] + joiner + found[at+1:]
	})
	return botPattern.ReplaceAllString(text, "@"+joiner+"$1")
}

// Text makes one line of plain text (a name, a title) safe to stand in a
// comment outside of code.
func Text(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = urlPattern.ReplaceAllStringFunc(text, func(url string) string {
		return strings.NewReplacer("://", ":"+joiner+"//", "www.", "www"+joiner+".", ":", ":"+joiner).Replace(strings.ToLower(url))
	})
	return disarmLines(lineStart(escape(disarm(text))))
}

// Code puts text into a code span that it cannot leave.
func Code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return disarmLines(fence + pad + text + pad + fence)
}

// Fence puts text into a fenced block that it cannot leave. Languages that
// GitHub draws or acts on (mermaid, suggestion, …) are shown as plain text.
func Fence(language, text string) string {
	fence := strings.Repeat("`", max(longestRun(text)+1, 3))
	return fence + safeLanguage(language) + "\n" + disarmLines(strings.TrimRight(text, "\n")) + "\n" + fence
}

func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

func safeLanguage(language string) string {
	switch l := strings.ToLower(language); l {
	case "text", "txt", "csv", "tsv", "json", "yaml", "yml", "toml", "ini", "xml", "html", "css", "python", "py",
		"javascript", "js", "typescript", "ts", "bash", "sh", "shell", "console", "sql", "diff", "go", "rust", "java",
		"c", "cpp", "r", "ruby", "julia", "scala", "kotlin", "php", "perl", "lua", "powershell", "dockerfile", "makefile", "latex", "log":
		return l
	}
	return ""
}
