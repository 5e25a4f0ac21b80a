package slack

import (
	"regexp"
	"strings"
)

// control is what Slack puts for mentions and links: <@U1|ada>, <#C1|sales>,
// <!here>, <https://example.com|label>.
var control = regexp.MustCompile(`<([^<>|]+)(?:\|([^<>]*))?>`)

// plainText turns Slack's form of a message into what the person typed, without
// the mention of us.
func plainText(text, self string) string {
	text = control.ReplaceAllStringFunc(text, func(found string) string {
		parts := control.FindStringSubmatch(found)
		target, label := parts[1], parts[2]
		switch {
		case target == "@"+self:
			return ""
		case strings.HasPrefix(target, "@") && label != "":
			return "@" + strings.TrimPrefix(label, "@")
		case strings.HasPrefix(target, "@"):
			return target
		case strings.HasPrefix(target, "#") && label != "":
			return "#" + strings.TrimPrefix(label, "#")
		case strings.HasPrefix(target, "#"):
			return target
		case strings.HasPrefix(target, "!subteam^"), strings.HasPrefix(target, "!date^"):
			return label
		case strings.HasPrefix(target, "!"):
			return "@" + strings.TrimPrefix(target, "!")
		case strings.HasPrefix(target, "mailto:") && label != "":
			return label
		case label != "" && shortOf(target, label):
			return target
		case label != "":
			return label + " (" + target + ")"
		}
		return target
	})
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text))
}

// shortOf reports whether label is what the person typed for the address that
// Slack completed: example.com for http://example.com.
func shortOf(target, label string) bool {
	_, bare, _ := strings.Cut(target, "://")
	return label == target || strings.TrimSuffix(bare, "/") == strings.TrimSuffix(label, "/")
}

// mentions reports whether text addresses user.
func mentions(text, user string) bool {
	return user != "" && (strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|"))
}
