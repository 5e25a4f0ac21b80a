package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/integrations/slack/internal/render"
)

const (
	// uploadBucket holds the file ids of groups on their way. Slack takes no
	// metadata with files; their ids, kept before anything is shared, find them
	// again.
	uploadBucket = "slack.uploads"
	maxFileName  = 255
	maxAlt       = 1_000
	// shareWait is how long the share of a completed upload is waited for, and
	// lookWait how long that of an upload of which this is not sure: completing
	// it once more does no harm.
	shareWait = 20 * time.Second
	lookWait  = 2 * time.Second
)

// upload is the record of a group of files.
type upload struct {
	Files []uploaded `json:"files"`
	// Refused names those that Slack does not take.
	Refused []bot.Undelivered `json:"refused,omitempty"`
}

// uploaded is one file whose bytes Slack has.
type uploaded struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// sendFiles uploads the files of an answer and shares them as one message. The
// ids are recorded before they are shared, and the same ids are completed when
// it is tried again: Slack completes an id once.
func (a *Adapter) sendFiles(ctx context.Context, at address, d bot.Delivery) (bot.Receipt, error) {
	u, err := a.uploadOf(ctx, d.ID)
	if err != nil {
		return bot.Receipt{}, &bot.SendError{Class: bot.Retryable, Err: err}
	}
	if u == nil {
		if u, err = a.upload(ctx, d); err != nil {
			return bot.Receipt{}, err
		}
	}
	if len(u.Files) == 0 {
		return bot.Receipt{ID: "none", At: a.clock.Now(), Undelivered: u.Refused}, nil
	}
	params := slack.CompleteUploadExternalParameters{Channel: at.Channel, ThreadTimestamp: at.Thread}
	for _, f := range u.Files {
		params.Files = append(params.Files, slack.FileSummary{ID: f.ID, Title: f.Title})
	}
	if len(u.Refused) > 0 {
		params.InitialComment = render.Inert(comment(u.Refused), maxText)
	}
	_, err = a.api().CompleteUploadExternalContext(ctx, params)
	switch code(err) {
	case "":
	case "file_not_found", "invalid_arguments", "file_already_completed":
		// Completed before, or expired. The share tells which.
		receipt, found, lookErr := a.findFiles(ctx, at, d, shareWait)
		if lookErr == nil && !found {
			a.forgetUpload(ctx, d.ID)
		}
		if lookErr == nil && found {
			return receipt, nil
		}
		return bot.Receipt{}, &bot.SendError{Class: bot.Retryable, Err: fmt.Errorf("share files: %w", err)}
	}
	if err != nil {
		return bot.Receipt{}, classify("share files", err)
	}
	return a.shared(ctx, at, d)
}

// comment names the files that are not in the group.
func comment(refused []bot.Undelivered) string {
	lines := []string{"Not delivered:"}
	for _, r := range refused {
		lines = append(lines, "• "+r.Name+": "+r.Reason)
	}
	return strings.Join(lines, "\n")
}

// shared waits for the message of a completed upload. Where Slack takes its
// time the files count as sent: the call said so.
func (a *Adapter) shared(ctx context.Context, at address, d bot.Delivery) (bot.Receipt, error) {
	receipt, found, err := a.findFiles(ctx, at, d, shareWait)
	if err != nil || !found {
		a.log.Info("the message of shared files is not to be seen yet", "delivery", d.ID, "error", err)
		receipt = bot.Receipt{ID: "files", At: a.clock.Now(), Detail: at.Channel}
	}
	return receipt, nil
}

// upload brings the bytes to Slack and records the ids.
func (a *Adapter) upload(ctx context.Context, d bot.Delivery) (*upload, error) {
	u := &upload{Refused: d.Undelivered}
	for _, f := range d.Files {
		id, refused, err := a.uploadOne(ctx, d.Task, f)
		switch {
		case err != nil:
			return nil, err
		case refused != "":
			u.Refused = append(u.Refused, bot.Undelivered{Name: f.Name, Reason: refused})
		default:
			u.Files = append(u.Files, uploaded{ID: id, Title: render.Cut(f.Name, maxFileName)})
		}
	}
	raw, err := json.Marshal(u)
	if err == nil {
		_, err = a.opts.Records.Put(ctx, uploadBucket, d.ID, raw, 0)
	}
	if err != nil {
		return nil, &bot.SendError{Class: bot.Retryable, Err: fmt.Errorf("record upload: %w", err)}
	}
	return u, nil
}

// uploadOne brings one file to Slack, or says why Slack does not take it.
// Nothing of it is visible yet, so any failure may be repeated.
func (a *Adapter) uploadOne(ctx context.Context, task string, f bot.Artifact) (id, refused string, err error) {
	if f.Size == 0 {
		return "", "it is empty, and Slack takes no empty files", nil
	}
	var target *slack.GetUploadURLExternalResponse
	err = a.patiently(ctx, func(ctx context.Context) (err error) {
		target, err = a.api().GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{
			FileName: render.Cut(f.Name, maxFileName), FileSize: int(f.Size), AltTxt: render.Cut(a.altOf(ctx, task, f), maxAlt),
		})
		return err
	})
	switch code(err) {
	case "":
	case "file_upload_size_restricted", "file_uploads_disabled", "file_uploads_except_images_disabled", "file_type_not_supported",
		"storage_limit_reached", "slack_connect_file_upload_sharing_blocked", "slack_connect_blocked_file_type", "invalid_arguments":
		return "", "Slack does not take it (" + code(err) + ")", nil
	}
	if err != nil {
		return "", "", repeatable("ask for an upload", err)
	}
	content, err := a.opts.Blobs.Open(ctx, f.Blob)
	if errors.Is(err, bot.ErrNotFound) {
		return "", "its content is kept no longer", nil
	}
	if err != nil {
		return "", "", repeatable("open file", err)
	}
	defer content.Close()
	err = a.patientlyFor(ctx, transferTimeout, func(ctx context.Context) error {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read file: %w", err)
		}
		// Only to be read: the client would close it behind a refusal.
		body := struct{ io.Reader }{content}
		return a.api().UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: target.UploadURL, Reader: body, Filename: render.Cut(f.Name, maxFileName)})
	})
	if err != nil {
		return "", "", repeatable("upload file", err)
	}
	return target.FileID, "", nil
}

// altOf describes a picture for people who cannot see it: in the words of who
// made it or, where there are none, by its name and what was asked.
func (a *Adapter) altOf(ctx context.Context, task string, f bot.Artifact) string {
	if f.Alt != "" || !strings.HasPrefix(f.MediaType, "image/") {
		return f.Alt
	}
	alt := "Picture: " + strings.Join(strings.FieldsFunc(strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name)), func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r == ' '
	}), " ")
	if tasks := a.shown(); tasks != nil {
		if t, err := tasks.Task(ctx, task); err == nil && t.Title != "" && !t.Forgotten() {
			alt += ", made for “" + t.Title + "”"
		}
	}
	return alt
}

// repeatable is a failure before anything was visible.
func repeatable(verb string, err error) error {
	return &bot.SendError{Class: bot.Retryable, After: retryAfter(err), Err: fmt.Errorf("%s: %w", verb, explain(err))}
}

// findFiles looks for the message of a group by the recorded ids, for as long
// as wait: it comes a while after the upload.
func (a *Adapter) findFiles(ctx context.Context, at address, d bot.Delivery, wait time.Duration) (bot.Receipt, bool, error) {
	u, err := a.uploadOf(ctx, d.ID)
	if err != nil || u == nil || len(u.Files) == 0 {
		return bot.Receipt{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 3*time.Second) {
		ts, err := a.shareOf(ctx, at, u.Files[0].ID)
		switch {
		case ts != "":
			receipt := a.receipt(at, ts)
			return receipt, true, nil
		case err != nil && ctx.Err() == nil && retryAfter(err) == 0:
			return bot.Receipt{}, false, fmt.Errorf("look for shared files: %w", explain(err))
		}
		if sleep(ctx, max(pause, retryAfter(err))) == nil {
			continue
		}
		if err != nil {
			return bot.Receipt{}, false, fmt.Errorf("look for shared files: %w", explain(err))
		}
		return bot.Receipt{}, false, nil
	}
}

// shareOf returns the ts of the message in which a file stands at an address.
func (a *Adapter) shareOf(ctx context.Context, at address, id string) (string, error) {
	f, _, _, err := a.api().GetFileInfoContext(ctx, id, 1, 1)
	if code(err) == "file_not_found" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, shares := range []map[string][]slack.ShareFileInfo{f.Shares.Public, f.Shares.Private} {
		for _, s := range shares[at.Channel] {
			if at.Thread == "" || s.ThreadTs == at.Thread {
				return s.Ts, nil
			}
		}
	}
	return "", nil
}

func (a *Adapter) uploadOf(ctx context.Context, delivery string) (*upload, error) {
	r, err := a.opts.Records.Get(ctx, uploadBucket, delivery)
	if errors.Is(err, bot.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read upload: %w", err)
	}
	var u upload
	if err := json.Unmarshal(r.Value, &u); err != nil {
		return nil, fmt.Errorf("read upload: %w", err)
	}
	return &u, nil
}

// forgetUpload drops the record of a group whose ids are of no use any more.
func (a *Adapter) forgetUpload(ctx context.Context, delivery string) {
	if err := a.opts.Records.Delete(context.WithoutCancel(ctx), uploadBucket, delivery); err != nil {
		a.log.Info("the record of an upload stays", "delivery", delivery, "error", err)
	}
}

// keepUploads is how long the ids of a group are kept: until no delivery can
// still be looked up by them.
const keepUploads = 7 * 24 * time.Hour

// pruneUploads drops records of long ago. A delivery's id is a ULID and tells
// its time.
func (a *Adapter) pruneUploads(ctx context.Context) {
	records, err := a.opts.Records.List(ctx, uploadBucket, "")
	if err != nil {
		a.log.Warn("old uploads are not forgotten", "error", err)
		return
	}
	for _, r := range records {
		id, err := ulid.ParseStrict(r.Key)
		if err == nil && a.clock.Now().Sub(ulid.Time(id.Time())) > keepUploads {
			a.forgetUpload(ctx, r.Key)
		}
	}
}
