package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

type auditBody struct {
	Task    bot.Task
	Rows    []auditRow
	Holds   bool
	Verdict string
}

type auditRow struct {
	Seq         uint64
	At          time.Time
	Kind        bot.AuditKind
	Actor, Data string
	Hash, Prev  string
}

// audit shows a task's links of the audit chain.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) {
	t, ok := s.visible(w, r)
	if !ok {
		return
	}
	if s.opts.Audit == nil {
		s.fail(w, r, http.StatusNotFound, "There is no such page.", "")
		return
	}
	view, err := s.opts.Audit(r.Context(), t.ID)
	if err != nil {
		s.broken(w, r, "read audit", err)
		return
	}
	body := auditBody{Task: t, Holds: view.Holds, Verdict: view.Verdict}
	for _, e := range view.Entries {
		row := auditRow{Seq: e.Seq, At: e.At, Kind: e.Kind, Actor: e.Actor, Hash: e.Hash, Prev: e.Prev}
		var pretty any
		if json.Unmarshal(e.Data, &pretty) == nil {
			if text, err := json.MarshalIndent(pretty, "", "  "); err == nil {
				row.Data = string(text)
			}
		}
		body.Rows = append(body.Rows, row)
	}
	s.render(w, r, http.StatusOK, "audit", page{Title: "Audit of " + t.Title, Active: "tasks", Body: body})
}
