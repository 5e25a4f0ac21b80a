package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// listLength is how many tasks one page of the list shows.
const listLength = 50

type listBody struct {
	Rows          []listRow
	State, Query  string
	States        []bot.TaskState
	Older         string // link to the next page, "" on the last
	MaxInputs     int
	MaxInput      string
	SkillNames    []string
	LiveURL       string
	ReadyToAnswer bool
}

type listRow struct {
	ID, Title, Place, Actor string
	Masked                  bool
	Task                    bot.Task
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	body := listBody{
		State: query.Get("state"), Query: strings.TrimSpace(query.Get("q")), MaxInputs: s.opts.MaxInputs, MaxInput: fileSize(s.opts.MaxInput),
		States: []bot.TaskState{bot.TaskQueued, bot.TaskRunning, bot.TaskWaiting, bot.TaskDone, bot.TaskFailed, bot.TaskCancelled, bot.TaskRefused},
	}
	if s.opts.Skills != nil {
		for _, k := range s.opts.Skills() {
			if k.Runnable {
				body.SkillNames = append(body.SkillNames, k.Name)
			}
		}
	}
	rows, older, err := s.rows(r, body.State, body.Query, query.Get("before"))
	if err != nil {
		s.broken(w, r, "list tasks", err)
		return
	}
	body.Rows = rows
	if older != "" {
		next := url.Values{"before": {older}}
		for _, k := range []string{"state", "q"} {
			if v := query.Get(k); v != "" {
				next.Set(k, v)
			}
		}
		body.Older = "/tasks?" + next.Encode()
	}
	s.render(w, r, http.StatusOK, "tasks", page{Title: "Tasks", Active: "tasks", Body: body})
}

// rows collects a page of what the viewer may see; older continues the list.
func (s *Server) rows(r *http.Request, state, words, before string) (rows []listRow, older string, err error) {
	v := viewerOf(r.Context())
	const rounds = 20 // bounds the search where nearly nothing may be seen
	for range rounds {
		tasks, err := s.opts.Tasks.Tasks(r.Context(), bot.TaskQuery{State: bot.TaskState(state), Before: before, Limit: listLength})
		if err != nil {
			return nil, "", err
		}
		for _, t := range tasks {
			before = t.ID
			see, _ := s.sees(r.Context(), v, t)
			row := listRow{ID: t.ID, Title: t.Title, Place: t.Event.Origin.Place, Actor: actorName(t.Event.Actor), Task: t}
			// In lists, the title of a private talk is its asker's alone.
			if see == masked || t.Event.Origin.Private && t.Event.Actor.ID != v.actor.ID {
				row.Masked, row.Title = true, "a private request"
			}
			if see == hidden || !matches(row, words) {
				continue
			}
			rows = append(rows, row)
			if len(rows) == listLength {
				return rows, before, nil
			}
		}
		if len(tasks) < listLength {
			return rows, "", nil
		}
	}
	return rows, before, nil
}

func matches(row listRow, words string) bool {
	text := strings.ToLower(strings.Join([]string{row.ID, row.Title, row.Place, row.Actor}, " "))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(word string) bool { return !strings.Contains(text, word) })
}

func actorName(a bot.Actor) string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}
