package schedules

import (
	"fmt"
	"strings"
	"time"
)

// maxTold is how many characters of a request a confirmation shows.
const maxTold = 200

// Told is Describe for a chat: Markdown, with the cron line as code, for its
// stars would be read as marks.
func (s *Schedule) Told(line Line, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** `%s` (%s)\n\n", s.Name, line, s.Zone)
	switch {
	case s.Skill != "":
		fmt.Fprintf(&b, "- What: the report `%s`\n", s.Skill)
	case s.Request != "":
		fmt.Fprintf(&b, "- What: %s\n", oneLine(s.Request))
	}
	if s.Words != "" {
		fmt.Fprintf(&b, "- Understood from: %s\n", oneLine(s.Words))
	}
	for _, in := range s.Inputs {
		fmt.Fprintf(&b, "- File: `%s`\n", strings.ReplaceAll(oneLine(in.Name), "`", "'"))
	}
	fmt.Fprintf(&b, "- Missed runs: %s\n", describeMisfire(s.Misfire, s.Grace))
	overlap := "the new one is skipped"
	if s.Overlap == OverlapQueue {
		overlap = "the new one waits for it"
	}
	fmt.Fprintf(&b, "- If the run before still goes on: %s\n", overlap)
	upcoming := line.Upcoming(now, 3)
	for i, to := range s.To {
		if to.Title != "" && len(upcoming) > 0 {
			fmt.Fprintf(&b, "- Each answer opens an issue in %s: %s\n", placeName(to), s.places(upcoming[0])[i].Title)
		}
	}
	b.WriteString("\nThe next three times:\n\n")
	for _, at := range upcoming {
		fmt.Fprintf(&b, "- %s\n", at.In(line.Zone()).Format("Mon 2 Jan 2006 15:04 MST"))
	}
	return b.String()
}

// oneLine is text in one line of a bounded length.
func oneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxTold {
		return strings.TrimRight(string(runes[:maxTold-1]), " ") + "…"
	}
	return string(runes)
}
