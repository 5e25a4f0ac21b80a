package web

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

type taskBody struct {
	Task        bot.Task
	Actor       string
	Answer      template.HTML // rendered by markdown.go from hostile Markdown
	Question    template.HTML
	Choices     []string
	Plan        []bot.TodoItem
	Pictures    []fileRow
	Tables      []tableView
	Files       []fileRow
	Undelivered []bot.Undelivered
	Steps       []stepRow
	Deliveries  []bot.Delivery
	Proof       string
	Proven      string // the proof in a sentence
	ProofFails  bool
	Audit       bool
	MayAnswer   bool
	MayChange   bool
	Going       bool
	Duration    string
	Cost        string
	Skills      []string
}

type fileRow struct {
	Name, Size, Type, Link, SHA256, Alt string
}

type stepRow struct {
	Seq      uint64
	At       time.Time
	Offset   string // since the task's start
	Agent    string
	Helper   bool // another agent than the lead
	Key      string
	Kind     bot.StepKind
	Headline string
	Body     string
	Program  *bot.Program
}

func (s *Server) task(w http.ResponseWriter, r *http.Request) {
	t, ok := s.visible(w, r)
	if !ok {
		return
	}
	steps, err := s.opts.Tasks.Steps(r.Context(), t.ID)
	if err != nil {
		s.broken(w, r, "read steps", err)
		return
	}
	deliveries, err := s.opts.Tasks.Deliveries(r.Context(), t.ID)
	if err != nil {
		s.broken(w, r, "read deliveries", err)
		return
	}
	body := taskBody{
		Task: t, Actor: actorName(t.Event.Actor), Deliveries: deliveries, Going: !t.State.Final(),
		MayChange: s.mayChange(r.Context(), viewerOf(r.Context()), t),
	}
	for _, step := range steps {
		body.Steps = append(body.Steps, s.row(t, step))
	}
	if s.opts.Plan != nil {
		body.Plan = s.opts.Plan(steps)
	}
	own := t.Event.Origin.Adapter == "web" && t.Event.Actor.ID == viewerOf(r.Context()).actor.ID
	body.MayAnswer = own && (t.State == bot.TaskWaiting || t.State.Final())
	if t.Outcome != nil {
		s.fillOutcome(r.Context(), &body, t)
	}
	if !t.Started.IsZero() && !t.Ended.IsZero() {
		body.Duration = duration(t.Ended.Sub(t.Started))
	}
	p := page{Title: t.Title, Active: "tasks", Body: body}
	if body.Going && t.State != bot.TaskWaiting {
		p.Refresh = 5
	}
	s.render(w, r, http.StatusOK, "task", p)
}

func (s *Server) fillOutcome(ctx context.Context, body *taskBody, t bot.Task) {
	o := t.Outcome
	body.Answer = renderMarkdown(o.Message, typedLinks(t.Event.Text))
	if o.Question != nil {
		body.Question, body.Choices = renderMarkdown(o.Question.Text, nil), o.Question.Choices
	}
	body.Undelivered = o.Undelivered
	for i, f := range o.Files {
		row := fileRow{
			Name: f.Name, Size: fileSize(f.Size), Type: f.MediaType, SHA256: f.Blob, Alt: f.Alt,
			Link: "/tasks/" + t.ID + "/files/" + strconv.Itoa(i) + "/" + url.PathEscape(f.Name),
		}
		body.Files = append(body.Files, row)
		if shownInline(f.MediaType) {
			body.Pictures = append(body.Pictures, row)
		}
		if table, ok := s.table(ctx, f, row.Link); ok && len(body.Tables) < mostTables {
			body.Tables = append(body.Tables, table)
		}
	}
	body.proof(o.Provenance.Proof)
	body.Audit = s.opts.Audit != nil
	for _, name := range slices.Sorted(maps.Keys(o.Provenance.Skills)) {
		version := o.Provenance.Skills[name]
		body.Skills = append(body.Skills, name+" "+version[:min(12, len(version))])
	}
	if o.Usage.CostUSD > 0 {
		body.Cost = "$" + strconv.FormatFloat(o.Usage.CostUSD, 'f', 4, 64)
	}
}

// proof tells the sandbox's proof of enforcement in a sentence and whole.
func (b *taskBody) proof(raw json.RawMessage) {
	var pretty any
	if len(raw) == 0 || json.Unmarshal(raw, &pretty) != nil {
		return
	}
	if text, err := json.MarshalIndent(pretty, "", "  "); err == nil {
		b.Proof = string(text)
	}
	var said struct{ Checked, Mismatches []string }
	if json.Unmarshal(raw, &said) != nil {
		return
	}
	b.ProofFails = len(said.Mismatches) > 0
	b.Proven = strconv.Itoa(len(said.Checked)) + " settings of the container were read back from the engine and from inside it before the first program, and all hold"
	if b.ProofFails {
		b.Proven = strconv.Itoa(len(said.Mismatches)) + " of " + strconv.Itoa(len(said.Checked)) + " settings of the container do not hold"
	}
}

func (s *Server) row(t bot.Task, step bot.Step) stepRow {
	row := stepRow{Seq: step.Seq, At: step.At, Agent: step.Agent, Helper: step.Agent != "lead", Kind: step.Kind, Key: "step-" + strconv.FormatUint(step.Seq, 10)}
	start := t.Started
	if start.IsZero() {
		start = t.Created
	}
	row.Offset = offset(step.At.Sub(start))
	if row.Helper {
		row.Agent = "helper " + strings.TrimPrefix(step.Agent, "lead/")
	}
	if step.Kind == bot.StepProgram {
		var p bot.Program
		if json.Unmarshal(step.Data, &p) == nil {
			row.Program, row.Headline = &p, p.Title
			if row.Headline == "" {
				row.Headline = "ran " + p.Language
			}
			return row
		}
	}
	row.Headline, row.Body = s.opts.Describe(step)
	if strings.Contains(row.Headline, row.Body) {
		row.Body = "" // nothing more than was said
	}
	return row
}

// offset writes how long after the start something happened.
func offset(d time.Duration) string {
	d = max(d, 0)
	return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
}

// shownInline reports whether a browser may draw a file of this type: raster
// pictures alone, for anything else may run something.
func shownInline(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// file hands out one file of a task, as a download or, for raster pictures, to
// be drawn; its type is never guessed by the browser and its page runs nothing.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	t, ok := s.visible(w, r)
	if !ok {
		return
	}
	i, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || t.Outcome == nil || i < 0 || i >= len(t.Outcome.Files) {
		s.fail(w, r, http.StatusNotFound, "There is no such file.", "")
		return
	}
	f := t.Outcome.Files[i]
	content, err := s.opts.Blobs.Open(r.Context(), f.Blob)
	if err != nil {
		s.fail(w, r, http.StatusGone, "This file is no longer kept.", "Run the task again to make it anew.")
		return
	}
	defer content.Close()
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if shownInline(f.MediaType) && r.URL.Query().Get("download") == "" {
		h.Set("Content-Type", f.MediaType)
		h.Set("Content-Disposition", "inline")
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": baseName(f.Name)}))
	}
	h.Set("ETag", `"`+f.Blob+`"`)
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(w, r, "", time.Time{}, io.ReadSeeker(content))
}

func baseName(name string) string {
	return name[strings.LastIndexByte(name, '/')+1:]
}

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

func fileSize(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, suffix := float64(n), ""
	for _, suffix = range []string{"KiB", "MiB", "GiB"} {
		value /= unit
		if value < unit {
			break
		}
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + suffix
}
