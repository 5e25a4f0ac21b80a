package web

import (
	"crypto/rand"
	"errors"
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// maxText bounds a request's text in bytes.
const maxText = 64 << 10

// ask takes the composer's form: a request and files, streamed into blobs.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.opts.MaxInput*int64(s.opts.MaxInputs)+1<<20)
	form, err := r.MultipartReader()
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, "The form could not be read.", "Send it as multipart/form-data with the fields text and file.")
		return
	}
	v := viewerOf(r.Context())
	event := bot.Event{
		Kind: bot.EventRequest, Actor: v.actor, Received: time.Now(), Inline: true,
		Origin: bot.Origin{Adapter: "web", Place: "web"},
	}
	refusal, err := s.readForm(r, form, &event)
	if err != nil {
		s.broken(w, r, "store upload", err)
		return
	}
	if refusal != "" {
		s.fail(w, r, http.StatusBadRequest, refusal, "Go back, change it and send it again.")
		return
	}
	if event.Text == "" && event.Options.Skill == "" {
		s.fail(w, r, http.StatusBadRequest, "There is no request.", "Write what you want to know about the files.")
		return
	}
	if event.Origin.Conversation == "" {
		event.Origin.Conversation = "web:" + rand.Text()
	}
	ticket, err := s.opts.Intake.Submit(r.Context(), event)
	if err != nil {
		s.broken(w, r, "submit request", err)
		return
	}
	if ticket.Refused != nil {
		s.refuse(w, r, ticket.Refused)
		return
	}
	http.Redirect(w, r, "/tasks/"+ticket.Task, http.StatusSeeOther)
}

// refuse tells why nothing was accepted: never to you, not now, or too much.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refused *bot.Refusal) {
	status := http.StatusTooManyRequests
	switch refused.Kind {
	case "policy":
		status = http.StatusForbidden
	case "paused":
		status = http.StatusServiceUnavailable
	}
	s.fail(w, r, status, refused.Message, "")
}

// readForm fills the event from the form's parts, in whatever order they come,
// and returns what is wrong with them in words; an error is our own fault.
func (s *Server) readForm(r *http.Request, form *multipart.Reader, event *bot.Event) (refusal string, err error) {
	key := ""
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "The upload broke off or is larger than allowed.", nil
		}
		if part.FileName() != "" {
			if refusal, err := s.readFile(r, part, event); refusal != "" || err != nil {
				return refusal, err
			}
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, maxText+1))
		if err != nil {
			return "The upload broke off.", nil
		}
		if len(value) > maxText {
			return "The request is longer than 64 KiB: put the data into a file.", nil
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(value), "\r\n", "\n"))
		switch part.FormName() {
		case "text":
			event.Text = text
		case "skill":
			event.Options.Skill = text
		case "key": // made once when the form was drawn: a form sent twice is one request
			key = text
		case "after":
			if refusal := s.continueFrom(r, text, event); refusal != "" {
				return refusal, nil
			}
		}
	}
	if key == "" || len(key) > 64 {
		key = rand.Text()
	}
	event.Key = "web:" + event.Actor.ID + ":" + key
	return "", nil
}

func (s *Server) readFile(r *http.Request, part *multipart.Part, event *bot.Event) (refusal string, err error) {
	// Browsers write a quotation mark in a name as %22.
	name := path.Base(strings.ReplaceAll(strings.ReplaceAll(part.FileName(), `\`, "/"), "%22", `"`))
	if len(event.Inputs) >= s.opts.MaxInputs {
		return "Too many files in one request.", nil
	}
	upload := &received{r: part}
	blob, err := s.opts.Blobs.Put(r.Context(), upload, s.opts.MaxInput)
	switch {
	case errors.Is(err, bot.ErrTooLarge):
		return "The file " + name + " is larger than " + fileSize(s.opts.MaxInput) + ".", nil
	case err != nil && upload.broke:
		return "The upload of " + name + " broke off.", nil
	case err != nil:
		return "", err
	}
	event.Inputs = append(event.Inputs, bot.InputRef{
		Name: name, MediaType: part.Header.Get("Content-Type"), Size: blob.Size, Blob: blob.SHA256,
	})
	return "", nil
}

// received tells an upload that broke off from a store that does not take it.
type received struct {
	r     io.Reader
	broke bool
}

// Read implements io.Reader.
func (u *received) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.broke = true
	}
	return n, err
}

// continueFrom makes the request a follow-up of a task that was asked here.
func (s *Server) continueFrom(r *http.Request, id string, event *bot.Event) string {
	if id == "" {
		return ""
	}
	t, err := s.opts.Tasks.Task(r.Context(), id)
	if err != nil || t.Event.Origin.Adapter != "web" || t.Event.Actor.ID != event.Actor.ID {
		return "Only your own requests on these pages can be continued here."
	}
	event.Origin.Conversation = t.Event.Origin.Conversation
	event.Options.After = t.ID
	return ""
}

// saidBody is what a command answered.
type saidBody struct {
	Text template.HTML // rendered by markdown.go
	Back string
}

// change handles the buttons of a task's page.
func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	t, ok := s.visible(w, r)
	if !ok {
		return
	}
	verb := r.PathValue("verb")
	if verb != "cancel" && verb != "retry" && verb != "save" {
		s.fail(w, r, http.StatusNotFound, "There is no such action.", "")
		return
	}
	v := viewerOf(r.Context())
	if !s.mayChange(r.Context(), v, t) {
		s.fail(w, r, http.StatusForbidden, "This task belongs to somebody else.", "Ask its owner or an admin.")
		return
	}
	ticket, err := s.opts.Intake.Submit(r.Context(), bot.Event{
		Key: "web:" + verb + ":" + t.ID + ":" + rand.Text(), Kind: bot.EventCommand, Inline: true,
		Origin: t.Event.Origin, Actor: s.acting(v, t), Received: time.Now(),
		Command: bot.Command{Name: verb, Task: t.ID, Args: strings.TrimSpace(r.PostFormValue("name"))},
	})
	if err != nil {
		s.broken(w, r, verb+" task", err)
		return
	}
	if ticket.Refused != nil {
		s.refuse(w, r, ticket.Refused)
		return
	}
	if verb == "save" && ticket.Reply != "" {
		s.render(w, r, http.StatusOK, "said", page{Title: "Save", Active: "tasks", Body: saidBody{Text: renderMarkdown(ticket.Reply, nil), Back: "/tasks/" + t.ID}})
		return
	}
	target := "/tasks/" + t.ID
	if verb == "retry" && ticket.Task != "" {
		target = "/tasks/" + ticket.Task
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// acting is who a button's command comes from. The operator acts for the
// task's own asker: whoever holds the token may stop what runs on the machine.
func (s *Server) acting(v viewer, t bot.Task) bot.Actor {
	if v.operator {
		return t.Event.Actor
	}
	return v.actor
}
