package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// filesInfo is files.info. The caller holds mu, as in all methods.
func (w *Workspace) filesInfo(args map[string]string) result {
	f := w.files[args["file"]]
	if f == nil || f.Tombstone {
		return failed("file_not_found")
	}
	return result{"file": w.wireFile(f, false)}
}

func (w *Workspace) filesDelete(args map[string]string) result {
	f := w.files[args["file"]]
	if f == nil || f.Tombstone {
		return failed("file_not_found")
	}
	f.Tombstone, f.Data = true, nil
	w.notify()
	return result{}
}

// filesUploadURL is files.getUploadURLExternal, the first of three steps.
func (w *Workspace) filesUploadURL(args map[string]string) result {
	length, err := strconv.ParseInt(args["length"], 10, 64)
	if err != nil || length <= 0 || args["filename"] == "" || runes(args["filename"]) > MaxFileName || runes(args["alt_txt"]) > MaxAlt {
		return failed("invalid_arguments")
	}
	f := &File{
		ID: w.id("F"), Name: args["filename"], Title: args["filename"], Alt: args["alt_txt"], User: BotUser,
		Type: typeByName(args["filename"]), declared: length, Created: time.Now(),
	}
	w.files[f.ID] = f
	return result{"upload_url": w.base + "/upload/" + f.ID, "file_id": f.ID}
}

// serveUpload takes the bytes, the second step: multipart with one file, or
// the plain body.
func (w *Workspace) serveUpload(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	fault := w.fault("upload", map[string]string{"file": id})
	if fault != nil && w.breakBefore(rw, "upload", nil, fault) {
		return
	}
	data, err := readUpload(r)
	w.mu.Lock()
	f := w.files[id]
	ok := err == nil && f != nil && !f.completed && int64(len(data)) == f.declared
	if ok {
		f.Data, f.Size = data, int64(len(data))
	}
	w.mu.Unlock()
	if fault != nil && fault.Kind == Lose {
		w.log("upload", nil, "lost")
		panic(http.ErrAbortHandler)
	}
	if !ok {
		w.log("upload", nil, "refused")
		http.Error(rw, "upload does not match", http.StatusBadRequest)
		return
	}
	w.log("upload", nil, "ok")
	_, _ = fmt.Fprintf(rw, "OK - %d", len(data))
}

func readUpload(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return io.ReadAll(r.Body)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fmt.Errorf("read upload: %w", err)
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, fmt.Errorf("read upload: %w", err)
		}
		if part.FileName() != "" {
			return io.ReadAll(part)
		}
	}
}

// filesComplete is files.completeUploadExternal, the third step: one message
// with all files, which stands only after ShareDelay.
func (w *Workspace) filesComplete(args map[string]string) result {
	var in []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(args["files"]), &in) != nil || len(in) == 0 {
		return failed("invalid_arguments")
	}
	c := w.channels[args["channel_id"]]
	blocks, ok := parseBlocks(args["blocks"])
	switch {
	case args["channel_id"] != "" && (c == nil || c.BotAbsent):
		return failed("channel_not_found")
	case strings.Contains(args["channels"], ","):
		return failed("invalid_arguments") // one channel a call
	case !ok:
		return failed("invalid_blocks_format")
	}
	for _, b := range blocks {
		if b.Type == "markdown" {
			return failed("internal_error")
		}
	}
	if problem := checkBlocks(blocks, MaxBlocks); problem != "" {
		return failed(problem)
	}
	m := &Message{Channel: args["channel_id"], User: BotUser, Bot: true, Text: args["initial_comment"], Subtype: "file_share"}
	if m.Text == "" {
		m.Blocks = rawBlocks(args)
	}
	var done []any
	for _, one := range in {
		f := w.files[one.ID]
		if f == nil || f.completed || int64(len(f.Data)) != f.declared {
			return failed("file_not_found")
		}
		if one.Title != "" {
			f.Title = one.Title
		}
		m.Files = append(m.Files, f)
		done = append(done, map[string]any{"id": f.ID, "title": f.Title})
	}
	for _, f := range m.Files {
		f.completed = true
	}
	if c != nil {
		w.shareLater(m, args["thread_ts"])
	}
	return result{"files": done}
}

// shareLater posts m after ShareDelay. The caller holds mu.
func (w *Workspace) shareLater(m *Message, thread string) {
	w.wait.Go(func() {
		select {
		case <-time.After(w.options.ShareDelay):
		case <-w.closed:
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if root := w.find(m.Channel, thread); thread != "" && root != nil {
			m.ThreadTS, m.Lost = thread, root.ThreadTS != "" && root.ThreadTS != root.TS
		}
		w.add(m)
	})
}

// serveDownload serves the bytes of a file, or Slack's login page.
func (w *Workspace) serveDownload(rw http.ResponseWriter, r *http.Request) {
	fault := w.fault("download", map[string]string{"file": r.PathValue("file")})
	if fault != nil && w.breakBefore(rw, "download", nil, fault) {
		return
	}
	w.mu.Lock()
	f := w.files[r.PathValue("file")]
	var data []byte
	var size int64
	var fill, kind string
	locked := true
	if f != nil && !f.Tombstone {
		data, size, fill, kind, locked = f.Data, f.Size, f.Fill, f.Type, f.Locked
	}
	w.mu.Unlock()
	w.log("download", map[string]string{"file": r.PathValue("file")}, "ok")
	switch {
	case f == nil || f.Tombstone:
		http.NotFound(rw, r)
	case r.Header.Get("Authorization") != "Bearer "+w.BotToken():
		http.Redirect(rw, r, "/signin?redir="+r.URL.Path, http.StatusFound)
	case locked || !w.holds("files:read"):
		serveSignIn(rw, r)
	default:
		if kind == "" {
			kind = "application/octet-stream"
		}
		rw.Header().Set("Content-Type", kind)
		rw.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if fill == "" {
			send(rw, data, fault)
			return
		}
		_, _ = io.CopyN(rw, &repeater{pattern: []byte(fill)}, size)
	}
}

// send writes data, and only half of it with a fault that loses the rest.
func send(rw http.ResponseWriter, data []byte, fault *Fault) {
	if fault == nil || fault.Kind != Lose {
		_, _ = rw.Write(data)
		return
	}
	_, _ = rw.Write(data[:len(data)/2])
	panic(http.ErrAbortHandler)
}

// serveSignIn is what Slack answers, with status 200, to whoever may not read
// a file.
func serveSignIn(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(rw, "<!DOCTYPE html>\n<html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>\n")
}

// repeater reads pattern again and again.
type repeater struct {
	pattern []byte
	at      int
}

// Read implements io.Reader.
func (r *repeater) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = r.pattern[r.at]
		r.at = (r.at + 1) % len(r.pattern)
	}
	return len(p), nil
}

func typeByName(name string) string {
	switch path.Ext(name) {
	case ".csv":
		return "text/csv"
	case ".md":
		return "text/markdown"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
