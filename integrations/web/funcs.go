package web

import (
	"crypto/rand"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// funcs are what templates may call.
func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"when":     when,
		"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"size":     fileSize,
		"seconds":  func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " s" },
		"key":      rand.Text,
		"finished": func(st bot.TaskState) bool { return st.Final() },
		"money":    func(v float64) string { return "$" + strconv.FormatFloat(v, 'f', 4, 64) },
		// weblink is for the platforms' own links alone: any other scheme may run something.
		"weblink": func(link string) bool { return strings.HasPrefix(link, "https://") },
		"short": func(hash string) string {
			return hash[:min(12, len(hash))]
		},
	}
}

// when writes an instant as people read it, with its zone.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2 Jan 2006 15:04:05 MST")
}
